"""The one question that a hook asks the memory at the start of a session.

It stands alone, with nothing but the standard library: the rest of the store takes 60 ms to import, and an agent waits.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

WAIT_S = 0.2  # for a lock; readers meet one only while a database is being repaired

Row = tuple[bytes, str, str, int, str, str, int]
"""id, who made it, type, milliseconds since 1970, title, facts as JSON, whether the time is estimated"""


def newest(
    realm: Path, project: str, limit: int, asking: tuple[str, str], open_without_lock: Callable[[Path], sqlite3.Connection]
) -> list[Row]:
    """The latest observations of a project. None where nothing is remembered yet.

    `asking`: the id and the log of the session that starts. Its own words are left out, and those of its sub-agents: their
    logs lie in a folder that is named by the id. `open_without_lock` opens a database in a folder that cannot be written.
    """
    session, log = asking
    path = realm / "memory.db"
    if not path.exists():
        return []
    values = (project, session, session, log, limit)
    try:
        return _select(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_S), values)
    except sqlite3.OperationalError:
        if os.access(realm, os.W_OK):
            raise
        return _select(open_without_lock(path), values)


def _select(db: sqlite3.Connection, values: tuple[str, str, str, str, int]) -> list[Row]:
    try:
        return db.execute(
            f"""
            SELECT id, made_by, type, at, title, facts, {_estimated(db)}
              FROM observation
             WHERE project = ? COLLATE NOCASE AND (? = '' OR instr(path, ?) = 0) AND path <> ?
             ORDER BY at DESC
             LIMIT ?""",
            values,
        ).fetchall()
    finally:
        db.close()


def _estimated(db: sqlite3.Connection) -> str:
    """The column that says so. A memory that an earlier version wrote does not have it until the next sync."""
    found = db.execute("SELECT 1 FROM pragma_table_info('observation') WHERE name = 'estimated'").fetchone()
    return "estimated" if found else "0"
