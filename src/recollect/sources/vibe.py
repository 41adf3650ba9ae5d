"""Mistral Vibe stores a folder per session under ~/.vibe/logs/session/: `messages.jsonl`, and `meta.json` with its metadata.

Evidence: two published samples and the code that writes the files; no real session was read.
`messages.jsonl` only grows, but has no times and no session id. The session's id, folder, branch and title are in
`meta.json`, which is written right after the first messages; before that, nothing is read. A message is written when it is
complete, and an answer without a tool call is the last of its turn. Vibe's own messages are in tags. A compaction or a
rewind starts a new session that names the old one. Tokens are counted per session only, so they are not read.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import home
from recollect.sources.formats.json import read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, read_chat_message, read_prompt, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import parse_time

MESSAGES, META = "messages.jsonl", "meta.json"
UUID_LENGTH = 36  # characters
CANCELLED, FAILED = "<user_cancellation>", "<tool_error>"
NOTES = ("<vibe_stop_event>", "<vibe_warning>", CANCELLED)
STOPS = {"<vibe_stop_event>": Stop.OTHER, CANCELLED: Stop.INTERRUPT}


class Meta(Struct):
    session_id: str | None = None
    parent_session_id: str | None = None
    start_time: Any = None
    git_branch: str | None = None
    model: str | None = None
    environment: dict[str, Any] = {}
    title: str | None = None
    title_source: str | None = None
    config: Any = None


def recognises(head: Head) -> bool:
    first = head.first()
    is_meta = head.path.name == META and {"session_id", "environment", "total_messages"} <= first.keys()
    return is_meta or (head.path.name == MESSAGES and "role" in first and "message_id" in first)


def messages_of(path: Path) -> Path | None:
    return path.with_name(MESSAGES) if path.name == META else None


def read(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    meta = read_sidecar(path.with_name(META), Meta)
    if meta is None or not meta.session_id:
        yield Ignored("messages of a session that is not known yet")
        return
    yield _metadata(meta.session_id, meta)
    started_at = parse_time(meta.start_time)
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        message = line.value if isinstance(line.value, dict) else {"content": line.value}
        key = _key(meta.session_id, message.get("message_id"), line.number)
        builder = RecordBuilder(session=meta.session_id, key=key, at=started_at, line=line.number, model=_model(meta))
        yield from _message(builder, message, line)
        started_at = None  # the session's start is the time of its first message; the others have no time


def _key(session: str, message_id: Any, line: int) -> str:
    """A record's key. Messages have a UUID, which identifies copies in a new session; tool results have none."""
    if not isinstance(message_id, str) or not message_id:
        return f"{session}@{line}"
    return message_id if len(message_id) == UUID_LENGTH else f"{session}/{message_id}"


def _metadata(session: str, meta: Meta) -> SessionMetadata:
    folder = meta.environment.get("working_directory")
    return SessionMetadata(
        session=session,
        title=meta.title,
        title_rank=TitleRank.CUSTOM if meta.title_source == "manual" else TitleRank.SUMMARY,
        parent=meta.parent_session_id,
        cwd=folder if isinstance(folder, str) else None,
        branch=meta.git_branch,
    )


def _model(meta: Meta) -> str | None:
    match meta:
        case Meta(model=str(model)):
            return model
        case Meta(config={"active_model": str(model)}):
            return model
        case _:
            return None


def _message(builder: RecordBuilder, message: dict[str, Any], line: Line) -> Iterator[Record]:
    match message.get("role"):
        case "user" if message.get("injected"):
            yield builder.record(Kind.SYSTEM, text_of(message.get("content")))
        case "assistant":
            records = list(read_chat_message(builder, message))
            if records and records[-1].kind is Kind.ASSISTANT_RESPONSE:
                records[-1].stop = Stop.ANSWER
            yield from records or [builder.record(Kind.ASSISTANT_RESPONSE, "")]
        case "tool":
            text = text_of(message.get("content"))
            for record in read_chat_message(builder, message):
                record.failed = text.startswith((FAILED, CANCELLED))
                record.stop = Stop.INTERRUPT if text.startswith(CANCELLED) else None
                yield record
        case "user" | "system":
            yield from read_chat_message(builder, message, _read_user_text)
        case _:
            yield builder.unknown(line.raw.decode("utf-8", "replace"))


def _read_user_text(builder: RecordBuilder, text: str) -> Iterator[Record]:
    if not text.startswith(NOTES):
        yield from read_prompt(builder, text)
        return
    stop = next((stop for tag, stop in STOPS.items() if text.startswith(tag)), None)
    yield builder.record(Kind.RUNTIME, text, stop=stop)


SOURCE = Source(
    name="vibe",
    title="Mistral Vibe",
    formats=(
        Document(
            homes=home("VIBE_HOME", ".vibe", "logs/session"),
            endings=(MESSAGES,),
            recognises=recognises,
            load=json_lines(Any),
            read=read,
            sidecars=lambda path: [path.with_name(META)],
            owner=messages_of,
        ),
    ),
)
