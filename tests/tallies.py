"""Counts the events of an archive by other code than the archive's own, to compare with its tallies."""

import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

FAILED, DUPLICATE = 1, 8  # flags of an event
QUARTER_MS = 900_000


def assert_tallies(db: sqlite3.Connection) -> None:
    """The tallies of an archive are equal to its events, and no file is listed without an event."""
    counts: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0])
    usage: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    keys = set()
    for key, session, kind, at, flags, tool, model, exit_code, spent in db.execute(
        "SELECT key, session, kind, at, flags, tool, model, exit_code, usage FROM event"
    ):
        keys.add(key)
        count = counts[session, kind, tool or 0, model or 0]
        count[0] += 1
        count[1] += bool(flags & FAILED or exit_code)
        if spent is not None and not flags & DUPLICATE:
            numbers = [*json.loads(spent), 0, 0, 0, 0, 0, 0][:6]
            total = usage[session, at // QUARTER_MS, model or 0, int(numbers[5] > 0)]
            total.update(dict(enumerate([1, *numbers])))
    stored = {tuple(row[:4]): list(row[4:]) for row in db.execute("SELECT * FROM session_count")}
    assert stored == counts
    stored_usage = {tuple(row[:4]): Counter(dict(enumerate(row[4:]))) for row in db.execute("SELECT * FROM session_usage")}
    assert stored_usage == usage
    assert {key for (key,) in db.execute("SELECT event FROM file_change")} <= keys
    listed = {path for (path,) in db.execute("SELECT path FROM file_change")}
    assert {key for (key,) in db.execute("SELECT key FROM file_path")} == listed


def recorded_files(archive: Path) -> list[tuple[str, str, int | None, int | None]]:
    """(path, operation, lines added, lines removed) of all files, in the order of the calls. Deletions come first."""
    with closing(sqlite3.connect(archive)) as db:
        return db.execute("""
            SELECT file_path.path, operation, added, removed
              FROM file_change
              JOIN file_path ON file_path.key = file_change.path
              JOIN event ON event.key = file_change.event
             ORDER BY event.session, event.seq, operation DESC, file_path.path""").fetchall()
