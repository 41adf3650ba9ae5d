"""Reads chats of Cursor's command line: ~/.cursor/chats/<workspace>/<chat>/store.db, one database per chat.

`meta` holds one JSON object, written as hexadecimal digits; `blobs` holds everything else under its SHA-256. The latest root
is a protobuf message whose field 1 lists the messages that the model sees, each a JSON blob. When a chat is summarised, the
list is rebuilt without earlier messages. Their blobs remain, and are read in the order in which they were stored.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.cursor.text import read_query
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_user_message, text_of
from recollect.sources.formats.values import as_object, parse_time, text_or_none
from recollect.sources.formats.vscode import path_of

MESSAGES, WORKSPACE, LOCATION = 1, 9, 21  # fields of the root; in LOCATION, field 1 is the folder and field 2 the branch
VARINT, BYTES = 0, 2  # wire types of a field
FIXED = {1: 8, 5: 4}  # bytes of the fixed-size wire types
MAX_VARINT = 10  # bytes
ID_BYTES = 32
UNREADABLE = {"redacted-reasoning", "redacted_reasoning"}  # blocks that only the model's provider can read
UNNAMED = "New Agent"
EXIT_CODE = re.compile(r"Exit code: (\d{1,9})\b")


class Meta(Struct, rename="camel"):
    agent_id: str
    name: Any = None
    created_at: Any = None
    last_used_model: Any = None
    latest_root_blob_id: Any = None


class Message(Struct, rename="camel"):
    role: str = ""
    content: Any = None
    provider_options: Any = None


class Sidecar(Struct, rename="camel"):
    """`meta.json` next to the database, if it exists."""

    title: Any = None
    cwd: Any = None


def recognises(head: Head) -> bool:
    return head.tables == {"blobs", "meta"}


def is_sidecar(head: Head) -> bool:
    return head.path.name == "meta.json" and "hasConversation" in head.first()


def read_sidecar(path: Path, sidecar: Sidecar) -> Iterator[Entry]:
    yield SessionMetadata(
        session=path.parent.name,
        title=text_or_none(sidecar.title),
        title_rank=TitleRank.GENERATED,
        cwd=text_or_none(sidecar.cwd),
    )


def sessions(db: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    meta = _meta(db)
    if meta is not None:
        (last,) = db.execute("SELECT max(rowid) FROM blobs").fetchone()
        yield meta.agent_id, meta.latest_root_blob_id, meta.name, last


def read(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    meta = _meta(db) or Meta(agent_id=session)
    root = db.execute("SELECT data FROM blobs WHERE id = ?", (str(meta.latest_root_blob_id),)).fetchone()
    fields = list(_fields(_bytes(root[0]))) if root else []
    yield _session_metadata(session, meta, fields)
    listed = [value.hex() for number, value in fields if number == MESSAGES and len(value) == ID_BYTES]
    at = parse_time(meta.created_at)
    seen: Counter[str] = Counter()
    for place, (blob, data) in enumerate(_in_order(db, listed), 1):
        suffix = f"~{seen[blob]}" if seen[blob] else ""  # two messages with the same text are one blob
        seen[blob] += 1
        builder = RecordBuilder(session=session, key=f"{session}/{blob}{suffix}", at=at, line=place)
        at = None
        yield from _message(builder, data)


def _meta(db: sqlite3.Connection) -> Meta | None:
    row = db.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
    try:
        return decode_or_none(bytes.fromhex(str(row[0])), Meta) if row else None
    except ValueError:
        return None


def _session_metadata(session: str, meta: Meta, fields: list[tuple[int, bytes]]) -> SessionMetadata:
    workspace = next((value for number, value in fields if number == WORKSPACE), b"")
    location = dict(_fields(next((value for number, value in fields if number == LOCATION), b"")))
    return SessionMetadata(
        session=session,
        title=text_or_none(meta.name) if meta.name != UNNAMED else None,
        title_rank=TitleRank.GENERATED,
        cwd=path_of(workspace.decode("utf-8", "replace")) or location.get(1, b"").decode("utf-8", "replace") or None,
        branch=location.get(2, b"").decode("utf-8", "replace") or None,
        model=text_or_none(meta.last_used_model),
    )


def _in_order(db: sqlite3.Connection, listed: list[str]) -> Iterator[tuple[str, bytes]]:
    """The messages that the root lists; before each of them, the older messages that it no longer lists."""
    rows = db.execute("SELECT rowid, id, data FROM blobs WHERE substr(CAST(data AS BLOB), 1, 1) = x'7B' ORDER BY rowid")
    blobs = {str(blob): (number, _bytes(data)) for number, blob, data in rows}
    in_root = set(listed)
    unlisted = [blob for blob, (_, data) in blobs.items() if blob not in in_root and _is_message(data)]
    for blob in listed:
        if blob not in blobs:
            continue
        while unlisted and blobs[unlisted[0]][0] < blobs[blob][0]:
            older = unlisted.pop(0)
            yield older, blobs[older][1]
        yield blob, blobs[blob][1]
    yield from ((blob, blobs[blob][1]) for blob in unlisted)


def _is_message(data: bytes) -> bool:
    message = decode_or_none(data, Message)
    return message is not None and message.role in {"user", "assistant", "tool"}


def _message(builder: RecordBuilder, data: bytes) -> Iterator[Record]:
    message = decode_or_none(data, Message)
    if message is None:
        yield builder.unknown(data.decode("utf-8", "replace"))
        return
    options = as_object(message.provider_options)
    details = options["cursor"] if isinstance(options.get("cursor"), dict) else {}
    match message.role:
        case _ if details.get("isSummary"):
            yield builder.record(Kind.COMPACTION, text_of(message.content))
        case "system":
            yield builder.record(Kind.SYSTEM, text_of(message.content))
        case "user":
            yield from read_user_message(builder, message.content, read_query)
        case "assistant":
            yield from _answer(builder, message.content)
        case "tool":
            yield from _results(builder, message.content, details)
        case _:
            yield builder.unknown(data.decode("utf-8", "replace"))


def _answer(builder: RecordBuilder, content: Any) -> Iterator[Record]:
    """Reads an agent message. Cursor stores it when it is complete; a message without a tool call ends the turn."""
    blocks = content if isinstance(content, list) else [content]
    kinds = [text_or_none(block.get("type")) if isinstance(block, dict) else None for block in blocks]
    readable = [block for block, kind in zip(blocks, kinds, strict=True) if kind not in UNREADABLE]
    yield from read_agent_message(builder, readable, None if "tool-call" in kinds else Stop.ANSWER)


def _results(builder: RecordBuilder, content: Any, details: dict[str, Any]) -> Iterator[Record]:
    outcome = details.get("highLevelToolCallResult")
    failed = isinstance(outcome, dict) and outcome.get("isError") is True
    for record in read_agent_message(builder, content):
        record.failed = record.failed or failed
        if code := EXIT_CODE.match(record.text):
            record.exit_code = int(code[1])
        yield record


def _bytes(data: Any) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode()


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, value) of the bytes fields of a protobuf message, up to the first error."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == VARINT:
            _, place = _varint(message, place)
        elif kind == BYTES:
            size, place = _varint(message, place)
            if place + size <= len(message):
                yield key >> 3, message[place : place + size]
            place += size
        elif kind in FIXED:
            place += FIXED[kind]
        else:
            return


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A protobuf varint (seven bits per byte, lowest first) and its end."""
    value = 0
    for group, byte in enumerate(message[place : place + MAX_VARINT]):
        value |= (byte & 0x7F) << (7 * group)
        if byte < 0x80:
            return value, place + group + 1
    return value, len(message)
