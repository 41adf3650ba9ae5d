"""The query of the memory that a hook runs at the start of a session.

The module imports the standard library only. Other modules of the store take 60 ms to import, and an agent waits.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

WAIT_S = 0.2  # seconds to wait for a lock: a reader meets one only while a database is repaired

Row = tuple[bytes, str, str, int, str, str, int]
"""id, author, type, milliseconds since 1970, title, facts as JSON, whether the time is estimated"""


def newest(
    realm: Path, project: str, limit: int, caller: tuple[str, str], open_without_lock: Callable[[Path], sqlite3.Connection]
) -> list[Row]:
    """The latest observations of a project.

    `caller`: the id and the log of the session that starts. Its own observations are left out. So are those of its
    sub-agents, whose logs are in a folder named by the id. `open_without_lock` opens a database in a read-only folder.
    """
    session, log = caller
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
            SELECT id, made_by, type, at, title, facts, {_estimated_column(db)}
              FROM observation
             WHERE project = ? COLLATE NOCASE AND (? = '' OR instr(path, ?) = 0) AND path <> ?
             ORDER BY at DESC
             LIMIT ?""",
            values,
        ).fetchall()
    finally:
        db.close()


def _estimated_column(db: sqlite3.Connection) -> str:
    """The column `estimated`, or 0 if a memory of an earlier version does not have it before the next sync."""
    has_column = db.execute("SELECT 1 FROM pragma_table_info('observation') WHERE name = 'estimated'").fetchone()
    return "estimated" if has_column else "0"
