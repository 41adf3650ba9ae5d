"""Simple formats, declared in one call: chat messages with a role, as lines, in a document or in a database.

Each message is an object with `role` and `content`; a message that calls tools also has `tool_calls`. `at` is the name of
the field with the message's time. A source that needs more declares `Lines`, `Document` or `Database` itself.
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from recollect.model import Entry, Usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.homes import Homes, no_homes
from recollect.sources.formats.json import decode_or_none, json_document
from recollect.sources.formats.message import RecordBuilder, read_chat_message
from recollect.sources.formats.recognition import Recognises
from recollect.sources.formats.source import Database, Document, Lines, ReaderState
from recollect.sources.formats.sqlite import query, select
from recollect.sources.formats.values import parse_time, text_or_none

UsageOf = Callable[[Any], Usage | None]


def chat_lines(
    *,
    homes: Homes = no_homes,
    recognises: Recognises,
    endings: tuple[str, ...] = (".jsonl",),
    at: str = "timestamp",
    usage: UsageOf | None = None,
) -> Lines:
    """A log with one chat message per line. The file's name is the session's id; `usage` reads a message's `usage`."""

    def read(line: Line, state: ReaderState) -> Iterator[Entry]:
        builder = RecordBuilder(session=state.session, key=f"{state.session}@{line.offset}", line=line.number)
        yield from _read_message(builder, line.value, at, usage)

    return Lines(
        homes=homes,
        endings=endings,
        recognises=recognises,
        shape=dict[str, Any],
        begin=lambda path, first: ReaderState(session=path.stem),
        read=read,
    )


def chat_document(
    *,
    homes: Homes = no_homes,
    recognises: Recognises,
    endings: tuple[str, ...] = (".json",),
    messages: str = "messages",
    at: str = "timestamp",
    usage: UsageOf | None = None,
) -> Document:
    """A JSON document with a list of chat messages. The file's name is the session's id."""

    def read(path: Path, content: dict[str, Any]) -> Iterator[Entry]:
        items = content.get(messages)
        for place, message in enumerate(items if isinstance(items, list) else [], 1):
            builder = RecordBuilder(session=path.stem, key=f"{path.stem}@{place}", line=place)
            yield from _read_message(builder, message, at, usage)

    return Document(homes=homes, endings=endings, recognises=recognises, load=json_document(dict[str, Any]), read=read)


def chat_database(
    *,
    homes: Homes = no_homes,
    recognises: Recognises,
    endings: tuple[str, ...] = (".db",),
    sessions: str = "sessions",
    messages: str = "messages",
    session: str = "session_id",
    at: str = "created_at",
    usage: UsageOf | None = None,
) -> Database:
    """A database with one chat message per row of the table `messages`, in which the column `session` names its session.

    The table `sessions` has each session's `id` and `updated_at`. `content`, `tool_calls` and `usage` may hold JSON.
    """
    counted = f'(SELECT count(*) FROM "{messages}" WHERE "{session}" = listed.id)'
    changes = f'SELECT id, updated_at, {counted} FROM "{sessions}" AS listed'
    columns = ("id", "role", "content", "tool_calls", "tool_call_id", "name", "usage", at)

    def read(path: Path, db: sqlite3.Connection, name: str) -> Iterator[Entry]:
        for place, row in enumerate(select(db, messages, columns, f'WHERE "{session}" = ? ORDER BY id', (name,)), 1):
            builder = RecordBuilder(session=name, key=f"{name}/{row['id']}", line=place)
            parsed = {field: _parse_column(row[field]) for field in ("content", "tool_calls", "usage")}
            yield from _read_message(builder, row | parsed, at, usage)

    return Database(
        homes=homes,
        endings=endings,
        recognises=recognises,
        sessions=query(changes),
        read=read,
    )


def _read_message(builder: RecordBuilder, message: Any, at: str, usage: UsageOf | None) -> Iterator[Entry]:
    if not isinstance(message, dict):
        yield builder.unknown(message)
        return
    builder.at, builder.model = parse_time(message.get(at)), text_or_none(message.get("model"))
    builder.usage = usage(message.get("usage")) if usage else None
    yield from read_chat_message(builder, message)
    if not builder.count:
        yield builder.unknown(message)


def _parse_column(value: Any) -> Any:
    """A column's JSON, if it holds an object or a list; else the value itself."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    decoded = decode_or_none(value, dict[str, Any] | list[Any])  # type: ignore[arg-type]
    return value if decoded is None else decoded
