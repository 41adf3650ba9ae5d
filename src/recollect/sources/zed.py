"""Zed stores its agent's threads in threads/threads.db in its data folder: one row per thread, with the thread as JSON.

Evidence: the published source code for versions 0.1.0 to 0.3.0 of that JSON; no real thread was read.
The JSON is plain in old rows and compressed with zstd in all others. Messages are `{"User": …}`, `{"Agent": …}` or
`"Resume"`; up to 0.2.0 they have a role, segments and tools. A message has no time: the last one gets the time when the
thread was saved, all others the thread's start.
The log does not record the end of a turn. But a message is stored when it is complete, and a message without a tool call
ends the turn. If a prompt leads to several requests, only the tokens of the last one are stored.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import zstandard
from msgspec import Raw, Struct, field

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import data_home, user_home
from recollect.sources.formats.json import decode_each, decode_or_none
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Database, Source
from recollect.sources.formats.sqlite import query, select_one
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import arguments_of, as_text, parse_time

UNTITLED = {"New Thread", "New Conversation", "New Agent Thread"}
CANCELED = "Tool canceled by user"
TEXT_KINDS = {Kind.ASSISTANT_RESPONSE, Kind.REASONING}
MAX_THREAD_BYTES = 1 << 28  # of a thread's JSON
COLUMNS = ("summary", "updated_at", "created_at", "data_type", "data", "parent_id", "folder_paths")


class Model(Struct):
    model: str | None = None


class Subagent(Struct):
    parent_thread_id: str | None = None


class Snapshot(Struct):
    """The state of the project when the thread began."""

    worktree_snapshots: list[dict[str, Any]] = []


class Thread(Struct):
    messages: list[Raw] = []
    model: Model | None = None
    request_token_usage: Any = None  # by the prompt's id; up to 0.2.0, by the answer's place
    subagent_context: Subagent | None = None
    initial_project_snapshot: Snapshot | None = None


class User(Struct):
    id: str | None = None
    content: list[Any] = []


class Agent(Struct):
    content: list[Any] = []
    tool_results: dict[str, Any] = {}


class Message(Struct):
    """A message. One of the fields is set, unless the message has the older form."""

    user: User | None = field(default=None, name="User")
    agent: Agent | None = field(default=None, name="Agent")


class OldMessage(Struct):
    role: str
    text: str | None = None  # from before segments existed
    segments: list[dict[str, Any]] = []
    tool_uses: list[dict[str, Any]] = []
    tool_results: list[dict[str, Any]] = []
    context: str = ""
    is_hidden: bool = False


def read(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    row = select_one(db, "threads", COLUMNS, session)
    thread = decode_or_none(_json(row), Thread)
    if thread is None:
        yield Problem(path, 0, "the thread has an unknown shape", session)
        return
    yield _metadata(session, row, thread)
    saved_at = parse_time(row["updated_at"])
    entries = list(_messages(thread, session, parse_time(row["created_at"]) or saved_at))
    records = [entry for entry in entries if isinstance(entry, Record)]
    if records:
        records[-1].at = saved_at
    yield from entries


def _json(row: dict[str, Any]) -> bytes | str:
    """The thread's JSON; empty if its compressed data is damaged."""
    data = row["data"]
    if not isinstance(data, bytes):
        return as_text(data)
    if row["data_type"] != "zstd":
        return data
    try:
        return zstandard.ZstdDecompressor().stream_reader(data).read(MAX_THREAD_BYTES)
    except zstandard.ZstdError:
        return b""


def _metadata(session: str, row: dict[str, Any], thread: Thread) -> SessionMetadata:
    title = as_text(row["summary"])
    trees = thread.initial_project_snapshot.worktree_snapshots if thread.initial_project_snapshot else []
    tree = trees[0] if trees else {}
    git = tree.get("git_state")
    parent = thread.subagent_context.parent_thread_id if thread.subagent_context else None
    return SessionMetadata(
        session=session,
        title=None if title in UNTITLED else title,
        title_rank=TitleRank.GENERATED,
        parent=as_text(row["parent_id"]) or parent,
        cwd=as_text(row["folder_paths"]).partition("\n")[0] or as_text(tree.get("worktree_path")) or None,
        branch=as_text(git.get("current_branch")) or None if isinstance(git, dict) else None,
    )


def _messages(thread: Thread, session: str, started_at: int | None) -> Iterator[Entry]:
    model = thread.model.model if thread.model else None
    usage: Usage | None = None
    for place, message, raw in decode_each(thread.messages, Message):
        builder = RecordBuilder(session=session, key=f"{session}@{place}", at=started_at, line=place, model=model)
        match message:
            case Message(user=User() as user):
                builder.key = f"{session}/{user.id}" if user.id else builder.key
                usage = _usage(thread.request_token_usage, user.id)
                yield from _read_user(builder, user)
            case Message(agent=Agent() as agent):
                builder.usage, usage = usage, None
                yield from _read_agent(builder, agent)
            case None if raw == '"Resume"':
                yield Ignored("Resume")
            case _:
                builder.usage = _usage(thread.request_token_usage, place - 1)
                yield from _old_message(builder, decode_or_none(raw, OldMessage), raw)


def _read_user(builder: RecordBuilder, user: User) -> Iterator[Record]:
    """The prompt with the names that it mentions, then the mentioned contents."""
    prompt = "".join(map(_typed, user.content)).strip()
    if prompt:
        yield builder.prompt(prompt)
    for item in user.content:
        match item:
            case {"Mention": {"content": str(content)}} if content.strip():
                yield builder.record(Kind.SYSTEM, content)
            case {"Text": _} | {"Image": _} | {"Mention": _}:
                continue
            case _:
                yield builder.unknown(item)


def _typed(item: Any) -> str:
    match item:
        case {"Text": text}:
            return as_text(text)
        case {"Image": _}:
            return "\n[image]"
        case {"Mention": {"uri": {**uri}}}:
            target = next(iter(uri.values()), None)
            return "@" + text_of(next(iter(target.values()), "") if isinstance(target, dict) else target)
        case _:
            return ""


def _read_agent(builder: RecordBuilder, agent: Agent) -> Iterator[Record]:
    """One API answer with the results of its tool calls."""
    results = dict(agent.tool_results)
    records: list[Record] = []
    for item in agent.content:
        records += _read_item(builder, item)
        match item:
            case {"ToolUse": {"id": str(call)}} if call in results:
                records.append(_result(builder, call, results.pop(call)))
    records += [_result(builder, call, result) for call, result in results.items()]
    if records and all(record.kind in TEXT_KINDS for record in records):
        records[-1].stop = Stop.ANSWER
    yield from records


def _read_item(builder: RecordBuilder, item: Any) -> Iterator[Record]:
    match item:
        case {"Text": text}:
            if answer := as_text(text).strip():
                yield builder.record(Kind.ASSISTANT_RESPONSE, answer)
        case {"Thinking": thinking}:
            if thought := text_of(thinking).strip():
                yield builder.record(Kind.REASONING, thought)
        case {"RedactedThinking": _}:
            yield builder.record(Kind.REASONING, "")
        case {"ToolUse": {**use}}:
            name, call = as_text(use.get("name")) or None, as_text(use.get("id")) or None
            yield builder.call(name, call, use.get("input") or arguments_of(use.get("raw_input")))
        case _:
            yield builder.unknown(item)


def _result(builder: RecordBuilder, call: str, result: Any) -> Record:
    fields = result if isinstance(result, dict) else {"content": result}
    output = _output(fields.get("content")) or text_of(fields.get("output"))
    stop = Stop.INTERRUPT if output == CANCELED else None
    return builder.result(call, output, failed=bool(fields.get("is_error")), stop=stop)


def _output(content: Any) -> str:
    match content:
        case {"Text": text}:
            return text_of(text)
        case {"Image": _}:
            return "[image]"
        case list():
            return "\n".join(map(_output, content))
        case _:
            return text_of(content)


def _old_message(builder: RecordBuilder, message: OldMessage | None, raw: str) -> Iterator[Record]:
    """A message of the older form, converted to the newer form. Up to 0.1.0, tool results were in the user's message."""
    if message is None:
        yield builder.unknown(raw)
        return
    segments = message.segments or [{"type": "text", "text": message.text or ""}]
    with_text = [segment for segment in segments if text_of(segment.get("text")).strip()]
    results = {as_text(result.get("tool_use_id")): result for result in message.tool_results}
    if message.role == "assistant" or results:
        parts = [_tagged(segment) for segment in with_text if message.role == "assistant"]
        yield from _read_agent(builder, Agent([*parts, *({"ToolUse": use} for use in message.tool_uses)], results))
    elif message.role == "user" and not message.is_hidden:
        yield from _read_user(builder, User(content=[{"Text": text_of(segment.get("text"))} for segment in with_text]))
        if message.context.strip():
            yield builder.record(Kind.SYSTEM, message.context)
    else:
        yield builder.record(Kind.SYSTEM, text_of(with_text))


def _tagged(segment: dict[str, Any]) -> dict[str, Any]:
    kind = "Thinking" if segment.get("type") == "thinking" else "Text"
    return {kind: segment.get("text")}


def _usage(usages: Any, key: str | int | None) -> Usage | None:
    """The tokens of an answer, by its prompt's id, or in older threads by its place."""
    match usages, key:
        case dict(), str():
            usage = usages.get(key)
        case list(), int():
            usage = usages[key] if key < len(usages) else None
        case _:
            usage = None
    return _read_counts(usage)


_read_counts = tokens(
    input="input_tokens",
    output="output_tokens",
    cache_read="cache_read_input_tokens",
    cache_write="cache_creation_input_tokens",
)


def homes(env: Mapping[str, str]) -> list[Path]:
    home = user_home(env)
    windows = [Path(env["LOCALAPPDATA"]) / "Zed"] if env.get("LOCALAPPDATA") else []
    places = [data_home(env) / "zed", home / "Library/Application Support/Zed", home / ".var/app/dev.zed.Zed/data/zed"]
    return [place / "threads" for place in (*places, *windows)]


def recognises(head: Head) -> bool:
    """Whether this is Zed's database. Databases of other agents have a table of that name too, but also other tables."""
    return "threads" in head.tables and (head.path.name == "threads.db" or head.tables <= {"threads", "migrations"})


SOURCE = Source(
    name="zed",
    title="Zed",
    formats=(
        Database(
            homes=homes,
            endings=("threads.db",),
            recognises=recognises,
            sessions=query("SELECT id, updated_at, summary, length(data) FROM threads"),
            read=read,
        ),
    ),
)
