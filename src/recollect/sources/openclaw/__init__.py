"""OpenClaw keeps one log per session, ~/.openclaw/agents/<agent>/sessions/<id>.jsonl, and a `sessions.json` next to them.

Evidence: its documentation and source code, and published sessions of March to August 2026, read in part.
The log has Pi's format (see `pi.session`). A reset or deleted session is renamed, `<id>.jsonl.reset.<time>`, and may be
compressed. Only `sessions.json` has the parents of sub-agents. It names sessions by keys, which pass from one log to the
next at a reset. A person's text has much context around it (see `openclaw.text`).
Since mid-2026 the live sessions are in <agent>/agent/openclaw-agent.sqlite: the same lines, one per row; long lines are
compressed. Its schema, version 24, is known; no real database was read.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import zstandard
from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Problem, SessionMetadata, TitleRank
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.json import decode_or_none, json_document
from recollect.sources.formats.recognition import has_tables
from recollect.sources.formats.source import Database, Document, Lines, Source
from recollect.sources.formats.sqlite import select
from recollect.sources.openclaw.text import without_envelope
from recollect.sources.pi.family import family
from recollect.sources.pi.session import PiState, begin, read
from recollect.sources.pi.shapes import Row

STORE = "sessions.json"
FOLDERS = (".openclaw", ".clawdbot", ".moltbot")  # the agent's names, the current one first
DATABASE = "openclaw-agent.sqlite"
TABLES = {"transcript_events", "session_nodes"}
MAX_LINE = 1 << 22  # bytes of a line that the agent compresses
NOT_LOGS = (".trajectory.", ".checkpoint.")  # other files with a session's name
SESSIONS = """
    SELECT session_id, count(*), max(seq), max(transcript_events.created_at), max(label)
      FROM transcript_events
      LEFT JOIN session_nodes ON current_session_id = session_id
     GROUP BY session_id"""


class Session(Struct, rename="camel"):
    """One session in `sessions.json`."""

    session_id: str
    spawned_by: str | None = None
    label: str | None = None


def homes(env: Mapping[str, str]) -> list[Path]:
    if env.get("OPENCLAW_STATE_DIR"):
        return [Path(env["OPENCLAW_STATE_DIR"]) / "agents"]
    return [user_home(env) / folder / "agents" for folder in FOLDERS]


def is_log(path: Path) -> bool:
    is_transcript = ".jsonl" in path.name and not any(part in path.name for part in NOT_LOGS)
    return is_transcript and path.parent.name == "sessions"


def is_store(path: Path) -> bool:
    return path.name == STORE and path.parent.name == "sessions"


def recognises(head: Head) -> bool:
    return family(head) == "openclaw"


def recognises_store(head: Head) -> bool:
    entries = list(head.first().values())
    return bool(entries) and all(isinstance(entry, dict) and {"sessionId", "updatedAt"} <= entry.keys() for entry in entries)


def read_store(path: Path, sessions: dict[str, Raw]) -> Iterable[Entry]:
    known = {key: session for key, raw in sessions.items() if (session := decode_or_none(raw, Session))}
    if not known:
        yield Ignored("empty store")
    for session in known.values():
        parent = known.get(session.spawned_by or "")
        yield SessionMetadata(
            session=session.session_id,
            title=session.label,
            title_rank=TitleRank.CUSTOM,
            parent=parent.session_id if parent else None,
        )


# ---- the database


def sessions(db: sqlite3.Connection) -> Iterable[tuple[Any, ...]]:
    """Every session with values that change with it; none if this version of OpenClaw stores its sessions in files."""
    known = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return db.execute(SESSIONS) if known >= TABLES else []


def read_database(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    nodes = select(db, "session_nodes", ("session_key", "current_session_id", "spawned_by", "label"))
    current = {node["session_key"]: node["current_session_id"] for node in nodes}
    for node in nodes:
        if node["current_session_id"] == session:
            parent = current.get(node["spawned_by"])
            yield SessionMetadata(session=session, title=node["label"], title_rank=TitleRank.CUSTOM, parent=parent)
    state = PiState(session=session, named=True)
    columns = ("seq", "event_json", "event_zstd")
    for row in select(db, "transcript_events", columns, "WHERE session_id = ? ORDER BY seq", (session,)):
        raw = _line(row)
        value = decode_or_none(raw, Row)
        if value is None:
            yield Problem(path, row["seq"] + 1, "the line has an unknown shape", session)
        else:
            yield from read(Line(path, row["seq"], row["seq"] + 1, value, raw), state, without_envelope)


def _line(row: dict[str, Any]) -> bytes:
    """The entry's JSON; empty if its compressed data is damaged."""
    if row["event_json"] is not None:
        return str(row["event_json"]).encode()
    try:
        return zstandard.ZstdDecompressor().decompress(row["event_zstd"] or b"", MAX_LINE)
    except zstandard.ZstdError:
        return b""


SOURCE = Source(
    name="openclaw",
    title="OpenClaw",
    formats=(
        Lines(
            homes=homes,
            endings=(".jsonl", "Z", ".zst"),
            is_log=is_log,
            shape=Row,
            state=PiState,
            begin=begin,
            read=partial(read, split=without_envelope),
            recognises=recognises,
        ),
        Document(
            homes=homes,
            endings=(STORE,),
            is_log=is_store,
            recognises=recognises_store,
            load=json_document(dict[str, Raw]),
            read=read_store,
        ),
        Database(homes=homes, endings=(DATABASE,), recognises=has_tables(*TABLES), sessions=sessions, read=read_database),
    ),
)
