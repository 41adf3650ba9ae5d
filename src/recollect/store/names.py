"""The queries of completion in a shell: names and ids that begin with what was typed.

The module imports the standard library only. Other modules of the store take 60 ms to import, and a person waits.
"""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

WAIT_S = 0.1  # seconds to wait for a lock: a reader meets one only while a database is repaired
MOST = 400  # names: more than a shell lists without asking
SESSIONS = 40  # ids: a screen
SHORT, LONGER, DIGITS = 8, 16, 32  # digits of an id: its short form, one that is surely unique, the whole id
END = "\U0010ffff"  # sorts after every character of a name

ARCHIVE, MEMORY = "archive.db", "memory.db"
NEWEST_FIRST = (
    "SELECT {name} FROM session WHERE {name} IS NOT NULL AND event_count > 0 GROUP BY 1 ORDER BY max(updated_at) DESC"
)
QUERIES = {  # a kind of names: its database and its query
    "agent": (ARCHIVE, NEWEST_FIRST.format(name="source")),
    "project": (ARCHIVE, NEWEST_FIRST.format(name="project")),
    "branch": (ARCHIVE, NEWEST_FIRST.format(name="branch")),
    "model": (ARCHIVE, NEWEST_FIRST.format(name="model")),
    "tool": (ARCHIVE, "SELECT text FROM word WHERE key IN (SELECT tool FROM session_count) ORDER BY text"),
    "label": (MEMORY, "SELECT DISTINCT name FROM label ORDER BY 1"),
}

Session = tuple[str, str, str, str]
"""Short id, agent, project, title."""


def names(realm: Path, kind: str) -> list[str]:
    """The names of a kind; none if the database cannot be read."""
    database, query = QUERIES[kind]
    return [name for (name,) in _rows(realm / database, f"{query} LIMIT {MOST}", ())]


def sessions(realm: Path, typed: str) -> list[Session]:
    """The newest sessions whose ids begin with what was typed; else those whose agent's own ids do."""
    digits = typed.replace("-", "").lower()
    select = "SELECT lower(hex(id)), source, coalesce(project, ''), title FROM session WHERE event_count > 0"
    newest = f"ORDER BY updated_at DESC LIMIT {SESSIONS}"
    rows = []
    if len(digits) <= DIGITS and not set(digits) - set("0123456789abcdef"):
        ends = [bytes.fromhex(digits.ljust(DIGITS, end)) for end in "0f"]
        rows = _rows(realm / ARCHIVE, f"{select} AND id BETWEEN ? AND ? {newest}", tuple(ends))
    if rows or not typed:
        shared = _shared([row[0][:SHORT] for row in rows])
        return [(row[0][: LONGER if row[0][:SHORT] in shared else SHORT], *row[1:]) for row in rows]
    by_native_id = select.replace("lower(hex(id))", "native_id")
    return _rows(realm / ARCHIVE, f"{by_native_id} AND native_id BETWEEN ? AND ? {newest}", (typed, typed + END))


def _shared(beginnings: list[str]) -> set[str]:
    """The beginnings that more than one of these sessions has."""
    ordered = sorted(beginnings)
    return {earlier for earlier, later in pairwise(ordered) if earlier == later}


def _rows(path: Path, query: str, values: tuple[object, ...]) -> list[Any]:
    if not path.exists():
        return []
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=WAIT_S)) as db:
            return db.execute(query, values).fetchall()
    except sqlite3.Error:
        return []
