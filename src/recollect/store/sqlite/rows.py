"""Rows of the archive that readers return."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import KIND_CODE, KINDS, TOKEN_USAGE_CODE, Kind, SessionMode, Usage
from recollect.store.sqlite.body import decode_arguments, decode_body, preview
from recollect.store.sqlite.event_cells import ESTIMATED, FAILED, OWN

ESCAPED = re.compile(r'["\\\x00-\x1f]')  # characters that JSON escapes
BETWEEN_STRINGS = "\n\ufdd0\n"  # of a call, so that no text is found across two of them; no text has this character


class ArchiveState(Struct, frozen=True):
    """The progress of the archive and of its text index at one moment."""

    identity: str  # of this archive; an index stores the identity of the archive that it was built from
    last_key: int  # the highest key that an event ever had; 0 if nothing was ever stored
    indexed: int  # the text index has all events up to this key
    published: int  # the archive has all live sessions up to this change

    def unindexed(self) -> int:
        """The number of keys that the text index does not have yet."""
        return self.last_key - self.indexed


class SessionRow(Struct, kw_only=True):
    key: int
    id: bytes
    source: str
    native_id: str
    path: str
    title: str
    started_at: int
    updated_at: int
    completed: bool
    turn_count: int
    event_count: int
    mode: SessionMode
    cwd: str | None
    branch: str | None
    project: str | None
    model: str | None
    usage: str
    redactions: str
    estimated: bool


class TurnRow(Struct, kw_only=True):
    session: int
    ordinal: int
    started_at: int
    updated_at: int
    event_count: int
    prompt: int | None
    answer: int | None
    terminal: int | None
    stop: str | None
    last: int
    tools: list[str]
    kinds: list[Kind]
    usage: str
    estimated: bool

    def position_of(self, seq: int) -> int:
        """The position of an event in this turn, from 1. The events of a turn have consecutive numbers."""
        return seq - (self.last - self.event_count)


class EventPlace(Struct, frozen=True):
    """The position of an event in its session, without its content."""

    key: int
    id: bytes
    turn: int
    seq: int
    kind: int
    is_terminal: bool


class EventRow(Struct, kw_only=True):
    key: int
    id: bytes
    session: int
    turn: int
    seq: int
    kind: Kind
    at: int
    line: int
    failed: bool
    own: bool
    estimated: bool
    tool: str | None
    model: str | None
    answers: int | None
    exit_code: int | None
    usage: str | None
    body: str | bytes

    def text(self) -> str:
        """The text; for a tool call, its arguments as JSON."""
        return decode_body(self.body)

    def preview(self, max_length: int) -> tuple[str, bool]:
        """The first characters of the text, and whether it has more."""
        return preview(self.body, max_length)

    def arguments(self) -> dict[str, Any]:
        return decode_arguments(self.body)

    def full_text(self) -> str:
        return full_text(self.kind, self.tool, self.body)

    def has_failed(self) -> bool:
        """Whether a tool response is a failure: the log says so, or the exit code is not 0."""
        return self.failed or bool(self.exit_code)

    def index_kind(self) -> int:
        """The code of its kind in the n-gram index, where a token count has its own code."""
        return KIND_CODE[self.kind] + TOKEN_USAGE_CODE * (self.kind is Kind.RUNTIME and self.usage is not None)

    def tokens(self) -> Usage | None:
        return msgspec.json.decode(self.usage, type=Usage) if self.usage else None


def full_text(kind: Kind, tool: str | None, body: str | bytes) -> str:
    """All text of an event. A tool call has its name, its arguments as JSON, and unescaped the strings that JSON escapes."""
    text = decode_body(body)
    if kind is not Kind.TOOL_CALL:
        return text
    escaped = _escaped(msgspec.json.decode(text)) if "\\" in text else ()
    return BETWEEN_STRINGS.join((f"{tool or 'tool'} {text}", *escaped))


def _escaped(value: Any) -> Iterator[str]:
    """The strings inside a value that JSON escapes."""
    if isinstance(value, str):
        if ESCAPED.search(value):
            yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _escaped(name)
            yield from _escaped(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _escaped(inner)


SESSION = "session." + ", session.".join(SessionRow.__struct_fields__)
TURN = """session, ordinal, started_at, updated_at, event_count, prompt, answer, terminal, stop, last, tools, kinds, usage,
          estimated"""
EVENT = """event.key, event.id, event.session, event.turn, event.seq, event.kind, event.at, event.line, event.flags,
           tool.text, model.text, event.answers, event.exit_code, event.usage, event.body"""
EVENT_FROM = "event LEFT JOIN word AS tool ON tool.key = event.tool LEFT JOIN word AS model ON model.key = event.model"


def session_of(row: Any) -> SessionRow:
    return SessionRow(**dict(zip(SessionRow.__struct_fields__, row, strict=True)))


def turn_of(row: Any) -> TurnRow:
    *fields, tools, kinds, usage, estimated = row
    names = TurnRow.__struct_fields__[:-4]
    return TurnRow(
        **dict(zip(names, fields, strict=True)),
        tools=msgspec.json.decode(tools),
        kinds=msgspec.json.decode(kinds, type=list[Kind]),
        usage=usage,
        estimated=bool(estimated),
    )


def event_of(row: Any) -> EventRow:
    key, event, session, turn, seq, kind, at, line, flags, tool, model, answers, exit_code, usage, body = row
    return EventRow(
        key=key,
        id=event,
        session=session,
        turn=turn,
        seq=seq,
        kind=KINDS[kind],
        at=at,
        line=line,
        failed=bool(flags & FAILED),
        own=bool(flags & OWN),
        estimated=bool(flags & ESTIMATED),
        tool=tool,
        model=model,
        answers=answers,
        exit_code=exit_code,
        usage=usage,
        body=body,
    )
