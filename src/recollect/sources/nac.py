"""NAC stores all sessions in one database under ~/.config/nac/: store.db, later stable.db, beta.db or dev.db by its track.

Evidence: a published sample of the first schema and NAC's own code up to schema 32; no real session was read.
A session's messages are a JSON list in its row. In newer versions that list only contains the first messages; later ones
are rows of `thread_events` under the name `__orchestrator__`, each with its place in the list. A worker's log is its
episodes with their tasks and results: each worker thread is a separate session. The other `thread_events`, between the
episodes, are not read. An answer without a tool call ends a run. Only rows of `thread_events` have times.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.homes import config_homes
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, read_chat_message
from recollect.sources.formats.recognition import has_tables
from recollect.sources.formats.source import Database, Source
from recollect.sources.formats.sqlite import select
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_text, parse_time

LOG = "__orchestrator__"  # the thread whose events are the session's own messages
WORKER = "/worker/"  # between a session's id and the name of a worker thread
ENDS = {"ok": Stop.ANSWER, "error": Stop.CRASH, "timed_out": Stop.CRASH, "cancelled": Stop.CANCEL}
SESSIONS = "SELECT session_id, updated_at, length(messages_json) FROM sessions"
LAST_EVENTS = "SELECT session_id, max(id) FROM thread_events WHERE thread_name = ? GROUP BY session_id"
TITLES = "SELECT session_id, title FROM session_presentations"
WORKERS = "SELECT session_id || ? || thread_name, max(id) FROM episodes GROUP BY session_id, thread_name"


class TranscriptEntry(Struct):
    idx: int = 0
    message: str = ""


class ThreadEvent(Struct):
    nac_transcript_message: TranscriptEntry | None = None


def homes(env: Mapping[str, str]) -> list[Path]:
    return [Path(env["NAC_HOME"])] if env.get("NAC_HOME") else [config_homes(env)[0] / "nac"]


def sessions(db: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    last_events = dict(db.execute(LAST_EVENTS, (LOG,))) if _has_table(db, "thread_events") else {}
    titles = dict(db.execute(TITLES)) if _has_table(db, "session_presentations") else {}
    for session, *values in db.execute(SESSIONS):
        yield session, *values, last_events.get(session), titles.get(session)
    yield from db.execute(WORKERS, (WORKER,))


def _has_table(db: sqlite3.Connection, table: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone() is not None


def read(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    if WORKER in session:
        yield from _worker(db, session)
        return
    columns = ("cwd", "host_id", "model", "messages_json", "token_usages_json", "created_at")
    for row in select(db, "sessions", columns, "WHERE session_id = ?", (session,)):
        yield from _session(db, session, row)


def _session(db: sqlite3.Connection, session: str, row: dict[str, Any]) -> Iterator[Entry]:
    cwd = _text(row["cwd"]) if not row["host_id"] else None  # with a host, the folder is on another machine
    model = _text(row["model"])
    yield SessionMetadata(session=session, title=_title(db, session), title_rank=TitleRank.CUSTOM, cwd=cwd, model=model)
    usages = _usages(row["token_usages_json"])
    at = _utc(row["created_at"])
    for place, message, created in _messages(db, session, row["messages_json"]):
        builder = RecordBuilder(session=session, key=f"{session}/{place}", line=place + 1, model=model)
        builder.at, at = _utc(created) or at, None
        for record in _message(builder, message):
            if record.stop is Stop.ANSWER and usages:
                record.usage = usages.pop(0)
            yield record


def _title(db: sqlite3.Connection, session: str) -> str | None:
    if not _has_table(db, "session_presentations"):
        return None
    rows = select(db, "session_presentations", ("title",), "WHERE session_id = ?", (session,))
    return _text(rows[0]["title"]) if rows else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _messages(db: sqlite3.Connection, session: str, first: str) -> Iterator[tuple[int, Any, str | None]]:
    """(place, message, time) of a session's first messages and of its later ones from the log."""
    first_messages = decode_or_none(first or "[]", list[Any])
    if first_messages is None:
        first_messages = [first]
    yield from ((place, message, None) for place, message in enumerate(first_messages))
    if not _has_table(db, "thread_events"):
        return
    condition = "WHERE session_id = ? AND thread_name = ? ORDER BY id"
    for row in select(db, "thread_events", ("event_json", "created_at"), condition, (session, LOG)):
        event = decode_or_none(row["event_json"] or "", ThreadEvent)
        entry = event.nac_transcript_message if event else None
        if entry is not None and entry.idx >= len(first_messages):
            yield entry.idx, decode_or_none(entry.message, object) or entry.message, row["created_at"]


def _message(builder: RecordBuilder, message: Any) -> Iterator[Record]:
    if not isinstance(message, dict):
        yield builder.unknown(message)
        return
    if "reasoning_text" in message:
        message = {**message, "reasoning": message["reasoning_text"]}
    records = list(read_chat_message(builder, message))
    if message.get("role") == "assistant" and not message.get("tool_calls"):
        for record in records[-1:]:
            record.stop = Stop.ANSWER
    yield from records


def _usages(counts_json: str | None) -> list[Usage]:
    """The tokens of each answer that ended a run, in order."""
    counts = decode_or_none(counts_json or "[]", list[dict[str, Any]]) or []
    return [usage for count in counts if (usage := _usage(count))]


_usage = tokens(input="input_tokens", output="output_tokens", cache_read="cache_read_tokens", cached_in_input=True)


def _worker(db: sqlite3.Connection, worker: str) -> Iterable[Entry]:
    session, _, thread = worker.partition(WORKER)
    yield SessionMetadata(session=worker, parent=session, title=thread, title_rank=TitleRank.AGENT)
    columns = ("id", "action", "content", "created_at", "status")
    condition = "WHERE session_id = ? AND thread_name = ? ORDER BY id"
    for place, row in enumerate(select(db, "episodes", columns, condition, (session, thread)), 1):
        builder = RecordBuilder(session=worker, key=f"{worker}/{row['id']}", at=_utc(row["created_at"]), line=place)
        yield builder.prompt(as_text(row["action"]))
        stop = ENDS.get(_text(row["status"]) or "ok", Stop.OTHER)
        kind = Kind.ASSISTANT_RESPONSE if stop is Stop.ANSWER else Kind.RUNTIME
        yield builder.record(kind, as_text(row["content"]), stop=stop, failed=stop is Stop.CRASH)


def _utc(stamp: str | None) -> int | None:
    """A time from the database, which is UTC and has no zone."""
    return parse_time(f"{stamp}Z") if isinstance(stamp, str) else None


SOURCE = Source(
    name="nac",
    title="NAC",
    formats=(
        Database(
            homes=homes,
            endings=("store.db", "stable.db", "beta.db", "dev.db"),
            recursive=False,
            recognises=has_tables("sessions", "episodes"),
            sessions=sessions,
            read=read,
        ),
    ),
)
