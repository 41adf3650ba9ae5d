"""Copies sessions out of a damaged archive if their logs no longer exist."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from recollect.errors import StoreFault
from recollect.store.sqlite.writer import Writer

COLUMNS = {
    "session": "id, source, native_id, path, title, title_rank, started_at, updated_at, completed, turn_count, event_count,"
    " mode, cwd, branch, project, model, usage, redactions, estimated",
    "turn": "ordinal, started_at, updated_at, event_count, opened, prompt, answer, terminal, stop, last, tools, kinds,"
    " usage, estimated",
    "event": "id, turn, seq, kind, at, line, flags, answers, exit_code, usage, body",
}


def salvage(damaged: Path, archive: Writer) -> int:
    """Copy every readable session that the archive does not have. Returns the number of copied sessions."""
    db = archive.db
    try:
        db.execute("ATTACH ? AS old", (str(damaged),))
    except sqlite3.DatabaseError:
        return 0
    try:
        known = {session for (session,) in db.execute("SELECT id FROM main.session WHERE event_count > 0")}
        missing = [key for key, session in _sessions(db) if session not in known]
        copied = [new for key in missing if (new := _copy(db, archive, key)) is not None]
        if copied:
            with archive.transaction():
                archive.files_are_missing(copied[0], copied[-1])
        return len(copied)
    finally:
        with suppress(sqlite3.DatabaseError):
            db.execute("DETACH old")


def _sessions(db: sqlite3.Connection) -> list[tuple[int, bytes]]:
    """(key, id) of the old archive's sessions. Pages that cannot be read end the list."""
    sessions: list[tuple[int, bytes]] = []
    with suppress(sqlite3.DatabaseError):
        sessions.extend(db.execute("SELECT key, id FROM old.session WHERE event_count > 0"))
    return sessions


def _copy(db: sqlite3.Connection, archive: Writer, key: int) -> int | None:
    """Copy one session, completely or not at all. Returns its new key."""
    session, turn, event = COLUMNS["session"], COLUMNS["turn"], COLUMNS["event"]
    try:
        with archive.transaction():
            db.execute("INSERT OR IGNORE INTO main.word (text) SELECT text FROM old.word")
            db.execute(f"DELETE FROM main.session WHERE id = (SELECT id FROM old.session WHERE key = {key})")
            db.execute(f"INSERT INTO main.session ({session}) SELECT {session} FROM old.session WHERE key = {key}")
            (new,) = db.execute("SELECT last_insert_rowid()").fetchone()
            db.execute(f"INSERT INTO main.turn (session, {turn}) SELECT {new}, {turn} FROM old.turn WHERE session = {key}")
            db.execute(f"""
                INSERT OR IGNORE INTO main.event (session, {event}, tool, model)
                SELECT {new}, {event},
                       (SELECT key FROM main.word WHERE text = (SELECT text FROM old.word WHERE key = found.tool)),
                       (SELECT key FROM main.word WHERE text = (SELECT text FROM old.word WHERE key = found.model))
                  FROM old.event AS found WHERE session = {key} ORDER BY seq""")
            archive.tally_again(new)
        return int(new)
    except StoreFault:
        return None
