"""The one question that a hook asks the memory at the start of a session.

It stands alone, with nothing but the standard library: the rest of the store takes 60 ms to import, and an agent waits.
"""

import os
import sqlite3
from pathlib import Path

WAIT_S = 0.2  # for a lock; readers meet one only while a database is being repaired

Row = tuple[bytes, str, str, int, str, str]
"""id, who made it, type, milliseconds since 1970, title, facts as JSON"""


def newest(realm: Path, project: str, limit: int, asking: tuple[str, str] = ("", "")) -> list[Row]:
    """The latest observations of a project. None where nothing is remembered yet.

    `asking`: the id and the log of the session that starts. Its own words are left out, and those of its sub-agents: their
    logs lie in a folder that is named by the id.
    """
    session, log = asking
    path = realm / "memory.db"
    if not path.exists():
        return []
    # In a folder that we may not write to, SQLite cannot make the files it would share with a writer; there is none then.
    how = "mode=ro" if os.access(realm, os.W_OK) else "mode=ro&immutable=1"
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=WAIT_S)
    try:
        return db.execute(
            """
            SELECT id, made_by, type, at, title, facts
              FROM observation
             WHERE project = ? COLLATE NOCASE AND (? = '' OR instr(path, ?) = 0) AND path <> ?
             ORDER BY at DESC
             LIMIT ?""",
            (project, session, session, log, limit),
        ).fetchall()
    finally:
        db.close()
