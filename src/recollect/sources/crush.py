"""Crush stores one database per project, <project>/.crush/crush.db; ~/.local/share/crush/projects.json lists the projects.

Evidence: 3 real databases of August 2025, 116 messages.
Its times are seconds, although the schema's comments say milliseconds. In most databases everything is still in the
write-ahead log. A message is one row with its parts as JSON; tool results are rows of their own. A sub-agent's session is
named after the message and the call that started it: `<message>$$<call>`.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.homes import data_home
from recollect.sources.formats.json import decode_or_none, read_sidecar
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.recognition import has_tables
from recollect.sources.formats.source import Database, Source
from recollect.sources.formats.sqlite import query, select, select_one
from recollect.sources.formats.usage import with_session_cost
from recollect.sources.formats.values import parse_time

STOPS = {
    "stop": Stop.ANSWER,
    "end_turn": Stop.ANSWER,
    "max_tokens": Stop.ANSWER,
    "canceled": Stop.INTERRUPT,
    "error": Stop.CRASH,
    "permission_denied": Stop.CANCEL,
}
SESSIONS = """
    SELECT id, title, updated_at, message_count,
           -- Dates are whole seconds: the length shows whether a recent session changed within the same second.
           CASE WHEN updated_at >= (SELECT max(updated_at) FROM sessions) - 3600
                THEN (SELECT total(length(parts)) FROM messages WHERE session_id = sessions.id) END
      FROM sessions"""


class Part(Struct):
    type: str = ""
    data: dict[str, Any] = {}


class Project(Struct):
    path: str = ""
    data_dir: str = ""


class Projects(Struct):
    projects: list[Project] = []


def homes(env: Mapping[str, str]) -> list[Path]:
    listed = read_sidecar(data_home(env) / "crush/projects.json", Projects)
    return [Path(project.data_dir) for project in (listed or Projects()).projects if project.data_dir.startswith("/")]


def read(path: Path, db: sqlite3.Connection, session: str) -> Iterable[Entry]:
    """A session's entries. Crush counts no tokens; it adds the cost of a sub-agent to that of its parent."""
    ((cost,),) = db.execute(
        """
        SELECT cost - (SELECT total(cost) FROM sessions AS child WHERE child.parent_session_id = sessions.id)
          FROM sessions WHERE id = ?""",
        (session,),
    )
    return with_session_cost(_entries(path, db, session), cost)


def _entries(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    info = select_one(db, "sessions", ("title", "parent_session_id", "summary_message_id"), session)
    yield SessionMetadata(
        session=session,
        title=info["title"],
        title_rank=TitleRank.GENERATED,
        parent=info["parent_session_id"],
        parent_call=session.partition("$$")[2] or None,
        cwd=str(path.parent.parent) if path.parent.name == ".crush" else None,
    )
    columns = ("id", "role", "parts", "model", "created_at", "is_summary_message")
    rows = select(db, "messages", columns, "WHERE session_id = ? ORDER BY created_at, rowid", (session,))
    for place, row in enumerate(rows, 1):
        builder = RecordBuilder(
            session=session, key=row["id"], at=parse_time(row["created_at"]), line=place, model=row["model"] or None
        )
        is_summary = bool(row["is_summary_message"]) or row["id"] == info["summary_message_id"]
        yield from _message(builder, row, is_summary=is_summary)


def _message(builder: RecordBuilder, row: dict[str, Any], *, is_summary: bool) -> Iterator[Record]:
    parts = decode_or_none(row["parts"], list[Part])
    if parts is None:
        yield builder.unknown(row["parts"])
        return
    for part in parts:
        yield from _part(builder, part, row["role"], is_summary=is_summary)
    if not builder.count:  # the message is still empty, or has only a finish part
        yield builder.record(Kind.RUNTIME, "")


def _part(builder: RecordBuilder, part: Part, role: str, *, is_summary: bool) -> Iterator[Record]:
    data = part.data
    match part.type:
        case "text" if is_summary:
            yield builder.record(Kind.COMPACTION, text_of(data))
        case "text" if role == "user":
            yield builder.prompt(text_of(data))
        case "text":
            if text := text_of(data).strip():
                yield builder.record(Kind.ASSISTANT_RESPONSE, text)
        case "reasoning":
            if thinking := text_of(data.get("thinking")):
                yield builder.record(Kind.REASONING, thinking)
        case "tool_call":
            yield builder.call(data.get("name"), data.get("id"), data.get("input"))
        case "tool_result":
            failed = bool(data.get("is_error"))
            yield builder.result(data.get("tool_call_id"), data.get("content"), tool=data.get("name"), failed=failed)
        case "finish" if role == "assistant":
            yield from _finish(builder, data)
        case "finish":
            return  # has no meaning in rows other than answers
        case "binary" | "image_url":
            yield builder.record(Kind.USER_INPUT, f"[{data.get('path') or data.get('Path') or part.type}]")
        case _:
            yield builder.unknown({"type": part.type, "data": data})


def _finish(builder: RecordBuilder, data: dict[str, Any]) -> Iterator[Record]:
    stop = STOPS.get(str(data.get("reason")))
    if stop is not None:
        text = " ".join(str(data[name]) for name in ("message", "details") if data.get(name))
        yield builder.record(Kind.RUNTIME, text or str(data["reason"]), stop=stop, failed=stop is Stop.CRASH)


SOURCE = Source(
    name="crush",
    title="Crush",
    formats=(
        Database(
            homes=homes,
            endings=("crush.db",),
            recursive=False,
            in_projects=(".crush/crush.db",),
            recognises=has_tables("sessions", "messages", "goose_db_version"),
            sessions=query(SESSIONS),
            read=read,
        ),
    ),
    real_sessions=2,
)
