"""Counts what an archive contains, and how much of the logs was read. Checks whether its file is intact."""

import sqlite3
from typing import Any

import msgspec

from recollect.shown_time import estimate_field
from recollect.store.sqlite.folders import WorkingFolders


class Inventory(WorkingFolders):
    """The queries of `status`, `sources` and `doctor`."""

    def counts(self) -> dict[str, Any]:
        """The number of sessions, turns and events, and their first and last times, by source."""
        rows = self._rows(
            """
            SELECT source, count(*), sum(turn_count), sum(event_count), min(started_at), max(updated_at),
                   max(CASE WHEN estimated THEN updated_at END)
              FROM session WHERE event_count > 0
             GROUP BY source ORDER BY source"""
        )
        names = ("source", "sessions", "turns", "events", "first", "last")
        return {
            row[0]: {**dict(zip(names, row, strict=True)), **estimate_field(newest_estimated == row[-1])}
            for *row, newest_estimated in rows
        }

    def coverage(self) -> dict[str, dict[str, Any]]:
        """The part of each source's logs that was read, and the counts of entries by class."""
        coverage: dict[str, dict[str, Any]] = {}
        for source, size, offset, lines, tally in self._rows("SELECT source, size, offset, line, tally FROM cursor"):
            sums = coverage.setdefault(source, {"files": 0, "bytes": 0, "read": 0, "lines": 0, "tally": {}})
            sums["files"] += 1
            sums["bytes"] += size
            sums["read"] += min(offset, size)  # a compressed log yields more bytes than the file has
            sums["lines"] += lines
            for kind, count in msgspec.json.decode(tally).items():
                sums["tally"][kind] = sums["tally"].get(kind, 0) + count
        return coverage

    def size_read(self, path: str) -> int | None:
        """The size of a log when it was last read."""
        row = self._one("SELECT size FROM cursor WHERE path = ?", (path,))
        return row[0] if row else None

    def problems(self) -> list[tuple[str, str, int, str, int, str]]:
        """(source, reason, count, a path, its line, an excerpt) for each kind of problem."""
        return self._rows(
            """
            SELECT source, reason, count(*), min(path), line, excerpt
              FROM problem
             GROUP BY source, reason
             ORDER BY count(*) DESC, source, reason"""
        )

    def redactions(self) -> dict[str, int]:
        """The number of redactions, by rule."""
        sums: dict[str, int] = {}
        for (counts,) in self._rows("SELECT redactions FROM session WHERE redactions <> '{}'"):
            for rule, count in msgspec.json.decode(counts).items():
                sums[rule] = sums.get(rule, 0) + count
        return sums

    def integrity_fault(self) -> str | None:
        """The fault that SQLite finds in the file; None if it finds none."""
        try:
            (answer,) = self.db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError as reason:
            return str(reason)
        return None if answer == "ok" else str(answer)
