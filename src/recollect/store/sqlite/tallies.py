"""Tallies: what the events of each session add up to. They are kept as events are stored, so that lists read no events."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import astuple

from recollect.model import Usage
from recollect.store.sqlite.event_cells import CELLS, DUPLICATE, FAILED, EventCells
from recollect.store.sqlite.file_changes import FileChanges

QUARTER_MS = 900_000  # the difference between two time zones is a multiple of a quarter of an hour
EVENT_MARKS = ", ".join("?" * len(EventCells._fields))
COUNTED = """
    SELECT session, kind, coalesce(tool, 0) AS tool, coalesce(model, 0) AS model,
           count(*) AS events, sum(flags & 1 OR coalesce(exit_code, 0) <> 0) AS failures
      FROM event WHERE {where} GROUP BY 1, 2, 3, 4"""


class Tallies(FileChanges):
    """The part of the writer that inserts and deletes events, and keeps the tallies equal to them."""

    def insert_events(self, rows: list[EventCells]) -> None:
        """Insert events and count them."""
        self.db.executemany(f"INSERT INTO event ({CELLS}) VALUES ({EVENT_MARKS})", rows)
        counts: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0])
        for row in rows:
            count = counts[row.session, row.kind, row.tool or 0, row.model or 0]
            count[0] += 1
            count[1] += bool(row.flags & FAILED or row.exit_code)
        self._add_counts((*key, *count) for key, count in counts.items())
        self._add_usage(rows, sign=1)

    def delete_events(self, where: str, values: tuple[Any, ...]) -> None:
        """Delete events, and note their keys, so that the indexes delete them too."""
        removed = self.db.execute(f"INSERT OR IGNORE INTO removed_event SELECT key FROM event WHERE {where}", values)
        if not removed.rowcount:
            return
        counts = self.db.execute(COUNTED.format(where=where), values).fetchall()
        self._add_counts((*key, -events, -failures) for *key, events, failures in counts)
        spent = self.db.execute(f"SELECT {CELLS} FROM event WHERE ({where}) AND usage IS NOT NULL", values)
        self._add_usage(map(EventCells._make, spent.fetchall()), sign=-1)
        self.delete_file_changes(where, values)
        self.db.execute(f"DELETE FROM event WHERE {where}", values)

    def _add_counts(self, counts: Iterable[tuple[int, ...]]) -> None:
        rows = list(counts)
        self.db.executemany(
            """
            INSERT INTO session_count VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET events = events + excluded.events, failures = failures + excluded.failures""",
            rows,
        )
        emptied = [row[:4] for row in rows if row[4] < 0]
        self.db.executemany(
            "DELETE FROM session_count WHERE (session, kind, tool, model) = (?, ?, ?, ?) AND events <= 0", emptied
        )

    def _add_usage(self, rows: Iterable[EventCells], sign: int) -> None:
        """Add the tokens of events, or subtract them. Those of events that a live session also has are counted there."""
        sums: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * (1 + len(Usage.__struct_fields__)))
        for row in rows:
            if row.usage is None or row.flags & DUPLICATE:
                continue
            usage = msgspec.json.decode(row.usage, type=Usage)
            total = sums[row.session, row.at // QUARTER_MS, row.model or 0, int(usage.cost > 0)]
            total[:] = [old + sign * new for old, new in zip(total, (1, *astuple(usage)), strict=True)]
        self.db.executemany(
            """
            INSERT INTO session_usage (session, quarter, model, is_recorded,
                                       calls, input, output, cache_read, cache_write, reasoning, cost, cache_write_1h)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET
                calls = calls + excluded.calls, input = input + excluded.input, output = output + excluded.output,
                cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
                reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost,
                cache_write_1h = cache_write_1h + excluded.cache_write_1h""",
            [(*key, *total) for key, total in sums.items()],
        )
        if sign < 0:
            self.db.executemany(
                "DELETE FROM session_usage WHERE (session, quarter, model, is_recorded) = (?, ?, ?, ?) AND calls <= 0",
                list(sums),
            )

    def tally_again(self, session: int) -> None:
        """Count the events of a session from scratch: they were copied from another archive."""
        self.db.execute("DELETE FROM session_count WHERE session = ?", (session,))
        self.db.execute("DELETE FROM session_usage WHERE session = ?", (session,))
        self._add_counts(self.db.execute(COUNTED.format(where="session = ?"), (session,)).fetchall())
        spent = self.db.execute(f"SELECT {CELLS} FROM event WHERE session = ? AND usage IS NOT NULL", (session,))
        self._add_usage(map(EventCells._make, spent.fetchall()), sign=1)
