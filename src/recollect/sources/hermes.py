"""Hermes stores its sessions in ~/.hermes/state.db; some versions also write copies to ~/.hermes/sessions/.

Evidence: its published schema up to version 30, and 5 samples of the other forms; no real session was available.
Messages have OpenAI's form, with the thoughts in `reasoning`. In the database, content that is more than text is JSON after
a mark. A compaction either rewrites the session and repeats the retained messages, or continues in a new session whose
parent is the old one. Tokens are counted per session only. Copies are `<session>.jsonl`, whose first line has the role
`session_meta`, and `session_<session>.json`, which is rewritten each time and only has the time of its start: all three are
the same session. Times without a zone are local times.
A trajectory is an export for training, one conversation per line, in which thoughts, calls and results are tags in the
text.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, TurnStart, Usage
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.json import decode_each, decode_or_none, json_document
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, read_chat_message, text_of
from recollect.sources.formats.recognition import marked
from recollect.sources.formats.source import Database, Document, Source
from recollect.sources.formats.sqlite import select
from recollect.sources.formats.tags import find_blocks, without_blocks
from recollect.sources.formats.usage import tokens, with_total
from recollect.sources.formats.values import arguments_of, as_count, as_object, as_text, parse_time

STRUCTURED = "\0json:"  # the mark before content that is more than text
SUMMARY = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]", "[PRIOR CONTEXT")
INVOKED = re.compile(r"\[(?:SYSTEM|IMPORTANT): The user has invoked")  # a skill, started by a slash command
INJECTED = (
    *("[SYSTEM:", "[System", "[IMPORTANT: You are running", "[IMPORTANT: Background process"),
    *("[IMPORTANT: Watch patterns", "[ASYNC DELEGATION"),
    *("[Your active task list was preserved", "[Continuing toward your standing goal]"),
)
FINAL = {"stop", "end_turn", "length", "max_tokens", "content_filter"}
TAG = re.compile(r"<(think|tool_call|tool_response)>")
SESSION_COLUMNS = (
    *("model", "parent_session_id", "title", "title_source", "cwd", "git_branch", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
)
MESSAGE_COLUMNS = (
    *("id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "finish_reason", "reasoning"),
    *("reasoning_content", "observed", "_compressed_summary", "display_kind"),
)


class Snapshot(Struct):
    session_id: str | None = None
    model: str | None = None
    session_start: Any = None
    cwd: Any = None
    model_config: Any = None
    messages: list[Raw] = []


class Trajectory(Struct):
    conversations: list[Any] = []
    timestamp: Any = None
    model: Any = None
    prompt_index: Any = None
    completed: Any = None


def home(env: Mapping[str, str]) -> Path:
    return Path(env["HERMES_HOME"]) if env.get("HERMES_HOME") else user_home(env) / ".hermes"


def profiles(env: Mapping[str, str]) -> list[Path]:
    """The home folder and the folders of its profiles."""
    return [home(env), *sorted(home(env).glob("profiles/*"))]


def copies(env: Mapping[str, str]) -> list[Path]:
    return [profile / "sessions" for profile in profiles(env)]


# ---- messages, which every form shares


def _message(builder: RecordBuilder, message: dict[str, Any]) -> Iterator[Entry]:
    if message.get("role") == "session_meta":
        yield Ignored("session_meta")
        return
    records = list(read_chat_message(builder, _decode_columns(message), _read_user_text))
    has_call = any(record.kind is Kind.TOOL_CALL for record in records)
    for record in records:
        if record.kind is Kind.TOOL_RESPONSE:
            _set_outcome(record, message)
        elif message.get("_compressed_summary") or (not has_call and record.text.startswith(SUMMARY)):
            record.kind, record.opens = Kind.COMPACTION, TurnStart.NO
        elif record.kind is Kind.USER_INPUT and (message.get("observed") or message.get("display_kind") == "hidden"):
            record.kind, record.opens = Kind.SYSTEM, TurnStart.NO
    last = records[-1] if records else None
    if last and last.kind is Kind.ASSISTANT_RESPONSE and as_text(message.get("finish_reason")) in FINAL and not has_call:
        last.stop = Stop.ANSWER
    yield from records
    if not records:
        yield Ignored(f"empty {as_text(message.get('role'))}")


def _decode_columns(message: dict[str, Any]) -> dict[str, Any]:
    """A message in the usual form of chat messages: columns of the database that contain JSON are decoded."""
    decoded = dict(message)
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, str) and content.startswith(STRUCTURED):
        decoded["content"] = decode_or_none(content.removeprefix(STRUCTURED), list[Any]) or content.removeprefix(STRUCTURED)
    if isinstance(calls, str):
        decoded["tool_calls"] = decode_or_none(calls, list[Any])
    if message.get("tool_name"):
        decoded["name"] = message["tool_name"]
    return decoded


def _read_user_text(builder: RecordBuilder, text: str) -> Iterator[Record]:
    if text.startswith(SUMMARY):
        yield builder.record(Kind.COMPACTION, text)
    elif INVOKED.match(text):
        yield builder.record(Kind.USER_INPUT, text, opens=TurnStart.COMMAND)
    elif text.startswith(INJECTED):
        yield builder.record(Kind.SYSTEM, text)
    else:
        yield builder.prompt(text)


def _set_outcome(record: Record, message: dict[str, Any]) -> None:
    """Set the exit code and failure of a tool's result, whose text is a JSON object."""
    result = decode_or_none(record.text, dict[str, Any]) or {}
    code = result.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        record.exit_code = as_count(code)
    record.failed = bool(record.exit_code or result.get("error") or message.get("finish_reason") == "error")


# ---- the database


def is_database(head: Head) -> bool:
    """Whether this is Hermes's database. Goose has the same tables, but neither a search index nor a state table."""
    tables = head.tables
    return {"sessions", "messages", "schema_version"} <= tables and bool({"messages_fts", "state_meta"} & tables)


def sessions(db: sqlite3.Connection) -> Iterable[tuple[Any, ...]]:
    """Each session with the values that show a change: its row, its number of messages and its last message's id."""
    messages = {
        session: counts for session, *counts in db.execute("SELECT session_id, count(*), max(id) FROM messages GROUP BY 1")
    }
    for row in select(db, "sessions", ("id", *SESSION_COLUMNS)):
        yield (*row.values(), *messages.get(row["id"], ()))


def read_database(path: Path, db: sqlite3.Connection, session: str) -> Iterable[Entry]:
    (info,) = select(db, "sessions", SESSION_COLUMNS, "WHERE id = ?", (session,))
    fields = {name: as_text(value) or None for name, value in info.items()}
    metadata = SessionMetadata(
        session=session,
        title=fields["title"],
        title_rank=TitleRank.CUSTOM if fields["title_source"] == "user" else TitleRank.GENERATED,
        parent=fields["parent_session_id"],
        cwd=fields["cwd"],
        branch=fields["git_branch"],
        model=fields["model"],
    )
    rows = select(db, "messages", MESSAGE_COLUMNS, "WHERE session_id = ? ORDER BY timestamp, id", (session,))
    entries = [
        entry for place, row in enumerate(_without_copies(rows), 1) for entry in _row(row, place, session, fields["model"])
    ]
    return with_total([metadata, *entries], _usage(info) or Usage())


def _row(row: dict[str, Any], place: int, session: str, model: str | None) -> Iterator[Entry]:
    key, at = f"{session}/{row['id']}", parse_time(row["timestamp"])
    yield from _message(RecordBuilder(session=session, key=key, at=at, line=place, model=model), row)


def _without_copies(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages without the copies that a compaction made. A copy has the time of the original."""
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        identity = tuple(row[name] for name in ("role", "content", "tool_call_id", "tool_calls", "timestamp"))
        if identity not in seen:
            seen.add(identity)
            yield row


_usage = tokens(
    input="input_tokens",
    output="output_tokens",
    cache_read="cache_read_tokens",
    cache_write="cache_write_tokens",
    reasoning="reasoning_tokens",
)


# ---- the copies


def is_snapshot(head: Head) -> bool:
    first = head.first()
    return {"session_id", "messages"} <= first.keys() and ("session_start" in first or "last_updated" in first)


def read_snapshot(path: Path, snapshot: Snapshot) -> Iterable[Entry]:
    session = snapshot.session_id or path.stem.removeprefix("session_")
    config = as_object(snapshot.model_config)
    cwd = snapshot.cwd or config.get("cwd")
    yield SessionMetadata(session=session, cwd=cwd if isinstance(cwd, str) else None, model=snapshot.model)
    for place, message, raw in decode_each(snapshot.messages, dict[str, Any]):
        builder = RecordBuilder(session=session, key=f"{session}@{place}", line=place, model=snapshot.model)
        builder.at = parse_time((message or {}).get("timestamp") or (snapshot.session_start if place == 1 else None))
        yield from _message(builder, message) if message is not None else [builder.unknown(raw)]


def read_transcript(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    session, model = path.stem, None
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        builder = RecordBuilder(session=session, key=f"{session}@{line.number}", line=line.number)
        if isinstance(line.value, WrongShape):
            yield builder.unknown(line.raw.decode("utf-8", "replace"))
            continue
        message: dict[str, Any] = line.value
        if message.get("role") == "session_meta":
            model = as_text(message.get("model")) or None
        builder.at, builder.model = parse_time(message.get("timestamp")), model
        yield from _message(builder, message)


# ---- trajectories


def is_trajectory(head: Head) -> bool:
    first = head.first()
    turns = first.get("conversations")
    return (
        "completed" in first and isinstance(turns, list) and any(isinstance(turn, dict) and "from" in turn for turn in turns)
    )


def read_trajectories(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif isinstance(line.value, WrongShape):
            builder = RecordBuilder(session=path.stem, key=f"{path.stem}@{line.number}", line=line.number)
            yield builder.unknown(line.raw.decode("utf-8", "replace"))
        else:
            yield from _trajectory(line, line.value, path.stem)


def _trajectory(line: Line, trajectory: Trajectory, name: str) -> Iterator[Record]:
    """The records of one trajectory. Its session is named by its time and its prompt's number in the batch."""
    run = as_text(trajectory.timestamp) or f"{name}@{line.number}"
    session = f"trajectory-{run}-{as_text(trajectory.prompt_index)}"
    calls: list[str] = []
    records: list[Record] = []
    for place, turn in enumerate(trajectory.conversations, 1):
        builder = RecordBuilder(
            session=session, key=f"{session}/{place}", at=parse_time(trajectory.timestamp), line=line.number
        )
        builder.model = as_text(trajectory.model) or None
        records += _turn(builder, turn if isinstance(turn, dict) else {"value": turn}, calls)
    if trajectory.completed is True and records and records[-1].kind is Kind.ASSISTANT_RESPONSE:
        records[-1].stop = Stop.ANSWER
    yield from records


def _turn(builder: RecordBuilder, turn: dict[str, Any], calls: list[str]) -> Iterator[Record]:
    text = text_of(turn.get("value"))
    match turn.get("from"):
        case "system":
            yield builder.record(Kind.SYSTEM, text)
        case "human" | "user":
            yield builder.prompt(text)
        case "gpt" | "assistant" | "tool":
            yield from _tagged(builder, text, calls)
        case _:
            yield builder.unknown(turn)


def _tagged(builder: RecordBuilder, text: str, calls: list[str]) -> Iterator[Record]:
    """The records of a tagged text. Calls have no ids; their results follow in order."""
    for block in find_blocks(text, TAG):
        parsed = arguments_of(block.text.strip())
        match block.name:
            case "think":
                yield builder.record(Kind.REASONING, block.text.strip())
            case "tool_call":
                calls.append(f"{builder.key}.{builder.count}")
                yield builder.call(as_text(parsed.get("name")) or None, calls[-1], parsed.get("arguments", parsed))
            case _:
                call = calls.pop(0) if calls else None
                yield builder.result(call, parsed.get("content", parsed), tool=as_text(parsed.get("name")) or None)
    if answer := without_blocks(text, TAG).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, answer)


SOURCE = Source(
    name="hermes",
    title="Hermes",
    formats=(
        Database(
            homes=profiles,
            endings=("state.db",),
            recursive=False,
            recognises=is_database,
            sessions=sessions,
            read=read_database,
        ),
        Document(
            homes=copies,
            endings=(".json",),
            is_log=lambda path: path.name.startswith("session_"),
            recognises=is_snapshot,
            load=json_document(Snapshot),
            read=read_snapshot,
        ),
        Document(
            homes=copies,
            endings=(".jsonl",),
            recognises=marked(role="session_meta"),
            load=json_lines(dict[str, Any]),
            read=read_transcript,
        ),
        Document(endings=(".jsonl",), recognises=is_trajectory, load=json_lines(Trajectory), read=read_trajectories),
    ),
)
