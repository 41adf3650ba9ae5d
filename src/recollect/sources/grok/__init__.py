"""Grok keeps a folder per session under ~/.grok/sessions/<encoded folder>/<session>/.

Evidence: published sessions of 1.0, and samples that others wrote with Grok Build's own types, in both of its formats.
`chat_history.jsonl` has what the model sees: chat messages, in format 0 with a `role`, from format 1 on with a `type` and
with thoughts as separate items. It has no times and no ids, and a compaction or a rewind rewrites it. Title, folder and
parent are in `summary.json`; times, tokens, exit codes and the end of each turn are in `updates.jsonl`. A prompt is wrapped
in <user_query>. Texts that the program wrote in the user's role have a `synthetic_reason`, except the <user_info> at the
start and the copy of the last prompt that a compaction leaves. A fork's inherited messages cannot be recognised, so they
are stored twice.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import home
from recollect.sources.formats.injected import split_context
from recollect.sources.formats.json import json_document, read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import (
    RecordBuilder,
    read_chat_message,
    read_each_line,
    read_prompt_or_command,
    text_of,
)
from recollect.sources.formats.recognition import either, marked
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import as_text, parse_time
from recollect.sources.grok.updates import Turns

HISTORY, SUMMARY, UPDATES = "chat_history.jsonl", "summary.json", "updates.jsonl"
QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
INJECTED = ("<user_info>",)
CANCELLED = "Tool execution was cancelled by the user"
OMITTED = "[Tool result omitted"  # replaces a result in the history that the model sees
EXITED = "The previous turn was interrupted (the system exited"
COMPACTED = "compaction_meta"
INTERRUPTS = {"permission_rejected": Stop.CANCEL, "permission_cancelled": Stop.CANCEL}
ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool_result": "tool"}


def _is_injected(text: str) -> bool:
    return text.startswith(INJECTED) or not split_context(text)[0]


class Info(Struct, frozen=True):
    id: str | None = None
    cwd: str | None = None


class Summary(Struct):
    """summary.json, or a sub-agent's meta.json in its parent's folder."""

    info: Info = Info()
    generated_title: str | None = None
    session_summary: str | None = None
    head_branch: str | None = None
    created_at: Any = None
    session_kind: str | None = None
    forked_at: Any = None
    parent_session_id: str | None = None
    child_session_id: str | None = None


def recognises(head: Head) -> bool:
    return head.path.name == HISTORY or any(
        row.get("type") == "backend_tool_call"
        or (row.get("type") == "user" and ("synthetic_reason" in row or "prompt_index" in row))
        or ("model_id" in row and "assistant" in {row.get("type"), row.get("role")})
        for row in head.objects()
    )


def sidecars_of(path: Path) -> list[Path]:
    return [path.with_name(SUMMARY), path.with_name(UPDATES)]


def read(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    summary = read_sidecar(path.with_name(SUMMARY), Summary) or Summary()
    session = summary.info.id or path.parent.name
    history = History(Turns.read(path.with_name(UPDATES)), parse_time(summary.created_at))
    yield from read_each_line(lines, session, history.item)
    yield from history.end(session)


class History:
    """Reads the items of a session in order, and adds the data of their updates."""

    def __init__(self, turns: Turns, created: int | None) -> None:
        self.turns = turns
        self.created = created if turns.started_at else None
        self.index: int | None = None  # of the running turn's prompt
        self.compacted = False  # whether a compaction wrote the previous item

    def item(self, builder: RecordBuilder, line: Line) -> Iterator[Record]:
        item: dict[str, Any] = line.value
        kind = item.get("type")
        message = {**item, "role": ROLES.get(kind, kind)} if isinstance(kind, str) else item
        index = message.get("prompt_index")
        if message.get("role") == "user" and isinstance(index, int):
            yield from self.end(builder.session)
            self.index = index
            builder.at = self.turns.started_at.get(index)
        elif self.index is None:
            builder.at = self.created
        else:
            call = next((call.get("id") for call in _calls(message)), None) or message.get("tool_call_id")
            builder.at = self.turns.time(self.index, message.get("role"), call)
        match message.get("role"):
            case "user":
                yield from self._user(builder, message)
            case "assistant":
                yield from self._assistant(builder, message)
            case "tool":
                yield from self._tool(builder, message)
            case "reasoning":
                builder.usage = self.turns.usage(self.index)
                yield builder.record(Kind.REASONING, text_of(item.get("content") or item.get("summary")))
            case "backend_tool_call":
                yield from _backend_call(builder, item.get("kind"))
            case _:
                yield from read_chat_message(builder, message)
        self.compacted = message.get("synthetic_reason") == COMPACTED

    def end(self, session: str) -> Iterator[Record]:
        """The end of the running turn, unless it ended with an answer."""
        if self.index is not None and (end := self.turns.ends.get(self.index)) and end.stop is not None:
            builder = RecordBuilder(session=session, key=f"{session}#{self.index}", at=end.at)
            yield builder.record(Kind.RUNTIME, end.reason, stop=end.stop, failed=end.stop is Stop.CRASH)
        self.index = None

    def _user(self, builder: RecordBuilder, message: dict[str, Any]) -> Iterator[Record]:
        interrupt = message.get("prior_turn_interrupt")
        if interrupt and not self.turns.ends:
            stop = INTERRUPTS.get(str(interrupt), Stop.INTERRUPT)
            yield builder.record(Kind.RUNTIME, str(interrupt), stop=stop)
        text = text_of(message.get("content"))
        query = QUERY.search(text)
        own = query[1] if query else text
        match message.get("synthetic_reason"):
            case None if _is_injected(text) or (self.compacted and self.index is None):
                yield builder.record(Kind.SYSTEM, text)
            case None:
                yield from read_prompt_or_command(builder, own)
            case "interjection":
                yield builder.record(Kind.USER_INPUT, own)
            case reason if reason == COMPACTED and not _is_injected(text):
                yield builder.record(Kind.COMPACTION, text)
            case _:
                yield builder.record(Kind.SYSTEM, text, stop=Stop.EXIT if EXITED in text else None)

    def _assistant(self, builder: RecordBuilder, message: dict[str, Any]) -> Iterator[Record]:
        model = message.get("model_id")
        builder.model = model if isinstance(model, str) else None
        builder.usage = self.turns.usage(self.index)
        yield from read_chat_message(builder, message, stop=None if message.get("tool_calls") else Stop.ANSWER)

    def _tool(self, builder: RecordBuilder, message: dict[str, Any]) -> Iterator[Record]:
        for record in read_chat_message(builder, message):
            record.failed = record.text.startswith(CANCELLED)
            if (run := self.turns.tool_runs.get(record.call or "")) is not None:
                record.exit_code = run.exit_code
                record.failed = record.failed or bool(run.exit_code)
                record.text = run.output if record.text.startswith(OMITTED) and run.output else record.text
            yield record


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _backend_call(builder: RecordBuilder, kind: Any) -> Iterator[Record]:
    """Reads a tool that ran on the server: its call and its result are one item."""
    if not isinstance(kind, dict):
        yield builder.unknown(kind)
        return
    call = as_text(kind.get("id")) or None
    arguments = next((kind[name] for name in ("action", "input", "code") if name in kind), None)
    arguments = dict(arguments) if isinstance(arguments, dict) else arguments
    output = arguments.pop("sources", None) if isinstance(arguments, dict) else kind.get("outputs")
    yield builder.call(as_text(kind.get("name") or kind.get("tool_type")) or None, call, arguments)
    if output:
        yield builder.result(call, output, failed=kind.get("status") == "failed")


def read_summary(path: Path, summary: Summary) -> Iterator[Entry]:
    if summary.child_session_id:
        yield SessionMetadata(session=summary.child_session_id, parent=summary.parent_session_id)
        return
    forked = summary.forked_at is not None and summary.session_kind != "subagent"
    yield SessionMetadata(
        session=summary.info.id or path.parent.name,
        title=summary.generated_title or summary.session_summary,
        title_rank=TitleRank.GENERATED if summary.generated_title else TitleRank.SUMMARY,
        parent=None if forked else summary.parent_session_id,
        cwd=summary.info.cwd,
        branch=summary.head_branch,
    )


SOURCE = Source(
    name="grok",
    title="Grok",
    formats=(
        Document(
            homes=home("GROK_HOME", ".grok", "sessions"),
            endings=(HISTORY,),
            recognises=recognises,
            load=json_lines(dict[str, Any]),
            read=read,
            sidecars=sidecars_of,
        ),
        Document(
            homes=home("GROK_HOME", ".grok", "sessions"),
            endings=(SUMMARY, "meta.json"),
            recognises=either(marked("info", "num_chat_messages"), marked("parent_session_id", "child_session_id")),
            load=json_document(Summary),
            read=read_summary,
        ),
    ),
)
