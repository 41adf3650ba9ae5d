"""Goose stores its sessions in ~/.local/share/goose/sessions/sessions.db; until late 2025, in one JSONL file each.

Evidence: the published schema (versions 1 to 16), and published readings of sessions of 1.35 to 1.51; no real session was
read.
A message is a row with its content as JSON. Tool results are in user messages. Compaction rewrites all messages: earlier
ones are then visible to the person only; the summary, a note to continue and a copy of the last prompt are visible to the
agent only; those of an earlier compaction are hidden from both. Since 1.51 a message for the agent only follows each
prompt (`turnContext`), and an answer has its model and token counts. Earlier versions count tokens per session; these
counts are not read. A tool's output is often stored twice, for the agent and for the person.
The log does not record the end of a turn. But an answer is stored when it is complete, and an answer without a tool call
ends Goose's loop.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import data_home
from recollect.sources.formats.json import decode_each, decode_or_none
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, read_prompt, text_of
from recollect.sources.formats.source import Database, Document, Source
from recollect.sources.formats.sqlite import select, select_one
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_object, as_text, parse_time

UNTITLED = re.compile(r"CLI Session|New [Ss]ession.*|Untitled.*")
INTERRUPTED = re.compile(r"The (existing call to .*|tool calling loop) was interrupted\. How would you like to proceed\?")
NOTES = {"systemNotification", "conversationCompacted", "contextLengthExceeded", "summarizationRequested"}
SESSION = ("id", "name", "description", "user_set_name", "working_dir", "model_config_json", "parent_session_id")
MESSAGE = ("message_id", "role", "content_json", "created_timestamp", "metadata_json")
MESSAGES = "SELECT session_id, count(*), max(id) FROM messages GROUP BY session_id"
LENGTHS = """
    SELECT session_id, total(length(content_json)) FROM messages
     WHERE session_id IN (
           -- Dates are whole seconds: the length shows whether a recent session changed within the same second.
           SELECT id FROM sessions WHERE updated_at >= datetime((SELECT max(updated_at) FROM sessions), '-1 hour'))
     GROUP BY session_id"""


class ModelConfig(Struct):
    model_name: str | None = None


_usage = tokens(
    input="inputTokens",
    output="outputTokens",
    cache_read="cacheReadTokens",
    cache_write="cacheWriteTokens",
    cached_in_input=True,
)


class Metadata(Struct, rename="camel"):
    user_visible: Any = True
    turn_context: Any = False
    inference: Any = None
    usage: Any = None

    def model(self) -> str | None:
        inference = as_object(self.inference)
        return as_text(inference.get("resolvedModel")) or as_text(inference.get("requestedModel")) or None


class Content(Struct, rename="camel"):
    type: str = ""
    text: Any = None
    id: str | None = None
    thinking: Any = None
    tool_call: Any = None
    tool_result: Any = None
    tool_name: str | None = None
    msg: Any = None
    message: Any = None
    data: Any = None


class Row(Struct):
    """A line of the older form: the header first, then messages."""

    role: str | None = None
    created: Any = None
    content: list[Raw] = []
    metadata: Metadata | None = None
    working_dir: str | None = None
    description: str | None = None


def read_lines(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    session, prompts = path.stem, set[str]()
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        row = line.value
        builder = RecordBuilder(session=session, key=f"{session}@{line.number}", line=line.number)
        if isinstance(row, WrongShape) or (row.role is None and row.working_dir is None):
            yield builder.unknown(line.raw.decode("utf-8", "replace"))
        elif row.role is None:
            yield SessionMetadata(
                session=session, title=row.description, title_rank=TitleRank.GENERATED, cwd=row.working_dir or None
            )
        else:
            builder.at = parse_time(row.created)
            yield from _message(builder, row.role, row.content, row.metadata, prompts)


def sessions(db: sqlite3.Connection) -> Iterable[tuple[Any, ...]]:
    messages = {session: (count, last) for session, count, last in db.execute(MESSAGES)}
    lengths = dict(db.execute(LENGTHS).fetchall())
    for row in select(db, "sessions", ("id", "updated_at", "name", "description")):
        yield (*row.values(), *messages.get(row["id"], (0, 0)), lengths.get(row["id"]))


def read_database(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    info = select_one(db, "sessions", SESSION, session)
    model = (decode_or_none(as_text(info["model_config_json"]), ModelConfig) or ModelConfig()).model_name
    yield _metadata(session, info)
    prompts, rows_of_id, counted = set[str](), dict[str, int](), set[str]()
    for place, row in enumerate(select(db, "messages", MESSAGE, "WHERE session_id = ? ORDER BY id", (session,)), 1):
        name = as_text(row["message_id"]) or f"@{place}"
        rows_of_id[name] = rows_of_id.get(name, 0) + 1  # one API answer may have several rows
        key = f"{session}/{name}" + (f"#{rows_of_id[name]}" if rows_of_id[name] > 1 else "")
        builder = RecordBuilder(session=session, key=key, at=parse_time(row["created_timestamp"]), line=place, model=model)
        content = decode_or_none(as_text(row["content_json"]), list[Raw])
        if content is None:
            yield builder.unknown(row["content_json"])
            continue
        metadata = decode_or_none(as_text(row["metadata_json"]), Metadata) or Metadata()
        builder.model = metadata.model() or model
        if name not in counted and (usage := _usage(metadata.usage)):
            counted.add(name)
            builder.usage = usage
        yield from _message(builder, as_text(row["role"]), content, metadata, prompts)


def _metadata(session: str, info: dict[str, Any]) -> SessionMetadata:
    title = as_text(info["name"]) or as_text(info["description"])
    return SessionMetadata(
        session=session,
        title=None if UNTITLED.fullmatch(title) else title,
        title_rank=TitleRank.CUSTOM if info["user_set_name"] else TitleRank.GENERATED,
        parent=as_text(info["parent_session_id"]) or None,
        cwd=as_text(info["working_dir"]) or None,
    )


def _message(
    builder: RecordBuilder, role: str, content: list[Raw], metadata: Metadata | None, prompts: set[str]
) -> Iterator[Record]:
    """The records of a message. `prompts` are the earlier prompts: their copies from a compaction are not prompts."""
    for_agent = metadata is not None and not metadata.user_visible
    parts = list(decode_each(content, Content))
    if metadata is not None and metadata.turn_context:
        yield builder.record(Kind.SYSTEM, "\n\n".join(text_of(item.text) for _, item, _ in parts if item is not None))
    elif role == "user":
        yield from _read_user(builder, [item for _, item, _ in parts if item is not None], prompts, for_agent=for_agent)
    records = [record for _, item, raw in parts for record in _agent_part(builder, role, item, raw, for_agent=for_agent)]
    if records and not for_agent and not any(record.kind is Kind.TOOL_CALL for record in records):
        last = records[-1]
        last.stop = last.stop or (Stop.ANSWER if last.kind is Kind.ASSISTANT_RESPONSE else None)
    yield from records


def _read_user(builder: RecordBuilder, parts: list[Content], prompts: set[str], *, for_agent: bool) -> Iterator[Record]:
    texts = [text_of(item.text) if item.type == "text" else f"[{item.type}]" for item in parts if _is_speech(item)]
    prompt = "\n\n".join(text for text in texts if text.strip())
    if not prompt:
        return
    if not for_agent:
        prompts.add(prompt)
        yield from read_prompt(builder, prompt)
    else:
        yield builder.record(Kind.SYSTEM if prompt in prompts else Kind.COMPACTION, prompt)


def _is_speech(item: Content) -> bool:
    return item.type in {"text", "image", "document"}


def _agent_part(builder: RecordBuilder, role: str, item: Content | None, raw: str, *, for_agent: bool) -> Iterator[Record]:
    match item:
        case Content() if _is_speech(item) and role == "user":
            return  # part of the prompt
        case Content(type="text"):
            if text := text_of(item.text).strip():
                yield _answer(builder, text, for_agent=for_agent)
        case Content(type="thinking" | "reasoning"):
            if thinking := text_of(item.thinking or item.text).strip():
                yield builder.record(Kind.REASONING, thinking)
        case Content(type="redactedThinking"):
            yield builder.record(Kind.REASONING, "")
        case Content(type="toolRequest" | "frontendToolRequest"):
            yield _call(builder, item)
        case Content(type="toolResponse"):
            yield _result(builder, item)
        case Content(type=kind) if kind in NOTES:
            yield builder.record(Kind.RUNTIME, text_of(item.msg))
        case Content(type="error"):
            yield builder.record(Kind.RUNTIME, text_of(item.message), stop=Stop.CRASH, failed=True)
        case Content(type="toolConfirmationRequest" | "actionRequired"):
            yield builder.record(Kind.RUNTIME, f"confirmation: {text_of(item.data) or item.tool_name or ''}")
        case _:
            yield builder.unknown(raw)


def _answer(builder: RecordBuilder, text: str, *, for_agent: bool) -> Record:
    if for_agent:
        return builder.record(Kind.SYSTEM, text)
    if INTERRUPTED.fullmatch(text):
        return builder.record(Kind.RUNTIME, text, stop=Stop.INTERRUPT)
    return builder.record(Kind.ASSISTANT_RESPONSE, text)


def _call(builder: RecordBuilder, item: Content) -> Record:
    """A tool call. Goose also stores calls that it could not parse."""
    call = as_object(item.tool_call)
    value = call.get("value")
    if not isinstance(value, dict):
        return builder.call(None, item.id, call.get("error"), failed=True)
    return builder.call(as_text(value.get("name")) or None, item.id, value.get("arguments"))


def _result(builder: RecordBuilder, item: Content) -> Record:
    result = as_object(item.tool_result)
    value = result.get("value")
    failed = result.get("status") == "error" or (isinstance(value, dict) and bool(value.get("isError")))
    return builder.result(item.id, result.get("error") if value is None else _for_agent(value), failed=failed)


def _for_agent(value: Any) -> Any:
    """A tool's output without the parts that are only for the person, unless it has no other parts."""
    parts = value.get("content") if isinstance(value, dict) else value
    if not isinstance(parts, list):
        return value
    return [part for part in parts if not _is_for_person(part)] or value


def _is_for_person(part: Any) -> bool:
    match part:
        case {"annotations": {"audience": ["user"]}}:
            return True
    return False


def homes(env: Mapping[str, str]) -> list[Path]:
    if env.get("GOOSE_PATH_ROOT"):
        return [Path(env["GOOSE_PATH_ROOT"]) / "data/sessions"]
    windows = [Path(env["APPDATA"]) / "Block/goose/data/sessions"] if env.get("APPDATA") else []
    return [data_home(env) / "goose/sessions", *windows]


def is_lines(head: Head) -> bool:
    first = head.first()
    is_header = "working_dir" in first and bool({"message_count", "description"} & first.keys())
    return is_header or ({"role", "created", "content"} <= first.keys() and isinstance(first["content"], list))


def is_database(head: Head) -> bool:
    """Whether this is Goose's database. Hermes has the same tables, and others."""
    return {"sessions", "messages", "schema_version"} <= head.tables and not {"state_meta", "messages_fts"} & head.tables


SOURCE = Source(
    name="goose",
    title="Goose",
    formats=(
        Document(homes=homes, endings=(".jsonl",), recognises=is_lines, load=json_lines(Row), read=read_lines),
        Database(homes=homes, endings=("sessions.db",), recognises=is_database, sessions=sessions, read=read_database),
    ),
)
