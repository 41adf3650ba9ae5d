"""Omnigent, which runs other agents, stores all conversations in one database, ~/.omnigent/chat.db.

Evidence: published samples of single items, and Omnigent's own code; no real database was read.
An item is a row with its type and its data as JSON. Newer versions write types as numbers, ids as 16 bytes, and long data
compressed; they have a separate table for the conversation's metadata. Items do not change after they are written. An
answer is the last one of its turn if no other item of the same response follows. A sub-agent's conversation names its
parent. Tokens are counted per conversation only, so they are not read.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank, TurnStart
from recollect.sources.formats.homes import home
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, read_user_message, text_of
from recollect.sources.formats.recognition import has_tables
from recollect.sources.formats.source import Database, Source
from recollect.sources.formats.sqlite import query, select
from recollect.sources.formats.values import as_count, as_object, parse_time

TYPES = (
    "message", "function_call", "function_call_output", "reasoning", "error", "compaction", "native_tool",
    "resource_event", "routing_decision", "slash_command", "terminal_command",
)  # fmt: skip
METADATA = "omnigent_conversation_metadata"
SESSIONS = """
    SELECT CASE typeof(id) WHEN 'blob' THEN lower(hex(id)) ELSE id END, title, updated_at,
           (SELECT count(*) || '.' || max(position) FROM conversation_items WHERE conversation_id = conversations.id)
      FROM conversations"""
COMPRESSED = b"\0\1"  # the prefix of compressed data; data that is not compressed has the prefix b"\0\0"
MAX_ITEM_BYTES = 1 << 28  # decompressed


def read(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    ids = _ids(session)
    yield _metadata(db, session, ids)
    columns = ("id", "position", "type", "data", "created_at", "response_id")
    rows = select(db, "conversation_items", columns, "WHERE conversation_id IN (?, ?) ORDER BY position", ids)
    for place, row in enumerate(rows, 1):
        key = _as_name(row["id"]) or f"{session}@{row['position']}"
        builder = RecordBuilder(
            session=session, key=key, at=parse_time(row["created_at"]), line=as_count(row["position"]) + 1
        )
        is_last = all(after["response_id"] != row["response_id"] for after in rows[place : place + 1])
        yield from _item(builder, _type(row["type"]), _data(row["data"]), is_last=is_last)


def _ids(session: str) -> tuple[Any, Any]:
    """A conversation's id as text and as bytes."""
    try:
        return session, bytes.fromhex(session)
    except ValueError:
        return session, session


def _as_name(value: Any) -> str | None:
    """A name or an id as text. Newer versions store ids as bytes."""
    return value.hex() if isinstance(value, bytes) else value if isinstance(value, str) else None


def _metadata(db: sqlite3.Connection, session: str, ids: tuple[Any, Any]) -> SessionMetadata:
    columns = ("title", "parent_conversation_id", "sub_agent_name", "workspace", "git_branch", "reported_model")
    row = next(iter(select(db, "conversations", columns, "WHERE id IN (?, ?)", ids)), dict.fromkeys(columns))
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (METADATA,)).fetchone():
        for details in select(db, METADATA, columns[2:], "WHERE id IN (?, ?)", ids):
            row |= {name: value for name, value in details.items() if value}
    return SessionMetadata(
        session=session,
        title=_as_name(row["title"] or row["sub_agent_name"]),
        title_rank=TitleRank.GENERATED,
        parent=_as_name(row["parent_conversation_id"]),
        cwd=_as_name(row["workspace"]),
        branch=_as_name(row["git_branch"]),
        model=_as_name(row["reported_model"]),
    )


def _type(value: Any) -> str:
    return TYPES[value - 1] if isinstance(value, int) and 0 < value <= len(TYPES) else str(value)


def _data(value: Any) -> dict[str, Any]:
    """An item's data, from text or from bytes whose prefix shows whether they are compressed. Other values stay."""
    content: Any = value
    if isinstance(value, bytes):
        try:
            is_compressed = value.startswith(COMPRESSED)
            content = (
                zstandard.ZstdDecompressor().decompress(value[2:], MAX_ITEM_BYTES)
                if is_compressed
                else value.removeprefix(b"\0\0")
            )
        except zstandard.ZstdError:
            content = ""
    data = decode_or_none(content, dict[str, Any]) if isinstance(content, bytes | str) else None
    return data if data is not None else {"damaged": str(value)}


def _item(builder: RecordBuilder, kind: str, data: dict[str, Any], *, is_last: bool) -> Iterator[Entry]:
    match kind:
        case "message":
            yield from _message(builder, data, is_last=is_last)
        case "function_call":
            yield builder.call(
                text_of(data.get("name")) or None, text_of(data.get("call_id")) or None, data.get("arguments")
            )
        case "function_call_output":
            yield builder.result(text_of(data.get("call_id")) or None, data.get("output"))
        case "native_tool":
            yield _native(builder, data.get("item"))
        case "reasoning":
            yield builder.record(Kind.REASONING, text_of(data.get("content")) or text_of(data.get("summary")))
        case "error":
            is_notice = data.get("level") == "info"
            stop = None if is_notice else Stop.CRASH
            yield builder.record(Kind.RUNTIME, text_of(data.get("message")), stop=stop, failed=not is_notice)
        case "compaction":
            yield builder.record(Kind.COMPACTION, text_of(data.get("summary")))
        case "resource_event":
            yield Ignored("resource event")
        case _:
            yield _side_item(builder, kind, data)


def _side_item(builder: RecordBuilder, kind: str, data: dict[str, Any]) -> Record:
    """An event beside the conversation, which the model does not get."""
    match kind:
        case "routing_decision":
            model, reason = text_of(data.get("model")), text_of(data.get("rationale"))
            return builder.record(Kind.RUNTIME, f"routed to {model}: {reason}")
        case "slash_command":
            return _command(builder, f"/{text_of(data.get('name'))} {text_of(data.get('arguments'))}")
        case "terminal_command" if data.get("kind") == "input":
            return _command(builder, f"!{text_of(data.get('input'))}")
        case "terminal_command":
            return builder.record(Kind.SYSTEM, text_of([data.get("stdout"), data.get("stderr")]))
        case _:
            return builder.unknown({"type": kind, **data})


def _message(builder: RecordBuilder, data: dict[str, Any], *, is_last: bool) -> Iterator[Record]:
    content = data.get("content")
    match data.get("role"):
        case "user" if data.get("is_meta"):
            yield builder.record(Kind.SYSTEM, text_of(content))
        case "user":
            yield from read_user_message(builder, content)
        case "assistant":
            stop = Stop.INTERRUPT if data.get("interrupted") else Stop.ANSWER if is_last else None
            yield builder.record(Kind.ASSISTANT_RESPONSE, text_of(content), stop=stop)
        case _:
            yield builder.unknown(data)


def _native(builder: RecordBuilder, item: Any) -> Record:
    """A tool that the model's provider ran, such as its web search. The log does not have its output."""
    item = as_object(item)
    return builder.call(text_of(item.get("type")) or None, None, item.get("action"))


def _command(builder: RecordBuilder, text: str) -> Record:
    return builder.record(Kind.USER_INPUT, text.strip(), opens=TurnStart.COMMAND)


SOURCE = Source(
    name="omnigent",
    title="Omnigent",
    formats=(
        Database(
            homes=home("OMNIGENT_DATA_DIR", ".omnigent"),
            endings=("chat.db",),
            recursive=False,
            recognises=has_tables("conversations", "conversation_items", "alembic_version"),
            sessions=query(SESSIONS),
            read=read,
        ),
    ),
)
