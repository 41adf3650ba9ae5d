"""Queries of the library: pages, facets and sums of sessions."""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import KIND_CODE, KINDS, Kind, Usage
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.rows import SESSION, SessionRow, session_of
from recollect.store.sqlite.session_filter import SessionFilter
from recollect.store.sqlite.session_queries import LISTED

CALL = KIND_CODE[Kind.TOOL_CALL]
WORK = tuple(KIND_CODE[kind] for kind in (Kind.USER_INPUT, Kind.REASONING, Kind.TOOL_CALL, Kind.TOOL_RESPONSE))
CHANGED = "SELECT session FROM event NOT INDEXED WHERE event.key > ?"  # the sessions with events above a key
CHANGING = "('changed', 'created', 'deleted')"
SORTS = {  # a sort's name, and its value in SQL; the values of `price` are filled in where costs are known
    "updated": "updated_at",
    "started": "started_at",
    "duration": "updated_at - started_at",
    "tokens": "tokens",
    "events": "event_count",
    "cost": "cost",
}
FACETS = {  # a facet's name: the field of the filter that it shows, and the query of its values
    "agent": ("sources", "SELECT source, count(*) FROM session WHERE {where} GROUP BY 1"),
    "project": ("projects", "SELECT project, count(*) FROM session WHERE {where} GROUP BY 1"),
    "branch": ("branches", "SELECT branch, count(*) FROM session WHERE {where} GROUP BY 1"),
    "mode": ("modes", "SELECT mode, count(*) FROM session WHERE {where} GROUP BY 1"),
    "model": (
        "models",
        "SELECT word.text, count(*) FROM"
        " (SELECT DISTINCT session, model FROM session_count WHERE session IN (SELECT key FROM session WHERE {where}))"
        " JOIN word ON word.key = model GROUP BY 1",
    ),
    "tool": (
        "tools",
        "SELECT word.text, count(*) FROM"
        " (SELECT DISTINCT session, tool FROM session_count WHERE session IN (SELECT key FROM session WHERE {where}))"
        " JOIN word ON word.key = tool GROUP BY 1",
    ),
    "type": (
        "kinds",
        "SELECT kind, count(*) FROM"
        " (SELECT DISTINCT session, kind FROM session_count WHERE session IN (SELECT key FROM session WHERE {where}))"
        " GROUP BY 1",
    ),
}


class PageOrder(Struct, frozen=True):
    """The value that sessions are sorted by, one of `SORTS`. Sessions with equal values are sorted by id."""

    sort: str
    descending: bool

    def direction(self) -> str:
        return "DESC" if self.descending else "ASC"

    def comparison(self) -> str:
        return "<" if self.descending else ">"

    def is_after(self) -> Callable[[Any, Any], bool]:
        """A test whether one (value, id) comes after another."""
        return operator.lt if self.descending else operator.gt


class PageStart(Struct, frozen=True):
    """The position after which a page starts, and the state of the archive when the first page was read."""

    after: tuple[Any, bytes] | None
    last_key: int  # of an event
    last_session: int  # its key


class SessionTotals(Struct, kw_only=True):
    """What the events of a session add up to."""

    tool_calls: int = 0
    errors: int = 0
    models: list[str] = []
    active_ms: int = 0
    files_changed: int = 0
    spent: "list[SpentRow]" = []


class SpentRow(Struct, frozen=True):
    """Tokens of calls to one model, by a key: a session, or a quarter of an hour."""

    key: int
    quarter: int
    model: str
    calls: int
    usage: Usage  # its cost is the recorded one


class LibraryQueries(SqliteDatabase):
    """The part of the reader that answers the library."""

    # ---- sessions

    def library_page(self, filters: SessionFilter, order: PageOrder, start: PageStart, limit: int) -> list[Any]:
        """(session, value) of the sessions after a position, by the value that they are sorted by."""
        value = SORTS[order.sort]
        rows = self._page_rows(filters, order, start, limit, value)
        if order.sort == "updated" and start.after is not None:
            rows += self._rows_updated_since(filters, order, start)
            rows = sorted(rows, key=lambda row: (row[-1], row[1]), reverse=order.descending)[:limit]
        return [(session_of(row[:-1]), row[-1]) for row in rows]

    def _page_rows(
        self, filters: SessionFilter, order: PageOrder, start: PageStart, limit: int, value: str
    ) -> list[tuple[Any, ...]]:
        where, values = filters.condition()
        if start.after is not None:
            where, values = f"{where} AND ({value}, id) {order.comparison()} (?, ?)", [*values, *start.after]
            if order.sort == "updated":
                where, values = f"{where} AND session.key NOT IN ({CHANGED})", [*values, start.last_key]
        direction = order.direction()
        return self._rows(
            f"SELECT {SESSION}, {value} FROM session WHERE {where} ORDER BY {value} {direction}, id {direction} LIMIT ?",
            [*values, limit],
        )

    def _rows_updated_since(self, filters: SessionFilter, order: PageOrder, start: PageStart) -> list[tuple[Any, ...]]:
        """The sessions that went on after the first page was read, at the place that they had then.

        All events of a rewritten session are new; it is where it is now.
        """
        where, values = filters.condition()
        rows = self._rows(
            f"""
            SELECT {SESSION},
                   coalesce((SELECT max(at) FROM event WHERE event.session = session.key AND event.key <= ?), updated_at)
              FROM session WHERE {where} AND session.key <= ? AND session.key IN ({CHANGED})""",
            [start.last_key, *values, start.last_session, start.last_key],
        )
        is_after = order.is_after()
        return [row for row in rows if is_after((row[-1], row[1]), start.after)]

    def last_session(self) -> int:
        """The highest key of a session; 0 without sessions."""
        return int(self._one("SELECT coalesce(max(key), 0) FROM session")[0])

    def session_ids(self, keys: Iterable[int]) -> dict[int, bytes]:
        """The ids of sessions, by key."""
        return dict(self._rows_in("SELECT key, id FROM session WHERE key IN", keys))

    def count_sessions(self, filters: SessionFilter) -> int:
        where, values = filters.condition()
        return int(self._one(f"SELECT count(*) FROM session WHERE {where}", values)[0])

    def filtered_keys(self, filters: SessionFilter) -> list[int]:
        """The keys of all sessions that pass."""
        where, values = filters.condition()
        return [key for (key,) in self._rows(f"SELECT key FROM session WHERE {where}", values)]

    def facet(self, name: str, filters: SessionFilter) -> list[tuple[str | None, int]]:
        """The values of a property and the numbers of sessions that have each, as if they were not filtered by it."""
        field, sql = FACETS[name]
        where, values = filters.condition(without=field)
        rows = self._rows(sql.format(where=where), values)
        if name == "type":
            rows = [(KINDS[kind], count) for kind, count in rows]
        return sorted(rows, key=lambda row: (-row[1], row[0] or ""))

    def recent_sessions(self, since: int) -> list[SessionRow]:
        """The sessions that were updated since a time, newest first."""
        rows = self._rows(
            f"SELECT {SESSION} FROM session WHERE {LISTED} AND updated_at >= ? ORDER BY updated_at DESC, id DESC", (since,)
        )
        return [session_of(row) for row in rows]

    def keys_updated_before(self, at: int) -> list[int]:
        return [key for (key,) in self._rows(f"SELECT key FROM session WHERE {LISTED} AND updated_at < ?", (at,))]

    def complete_sessions(self, keys: Sequence[int]) -> set[int]:
        """Those of these sessions whose last turn is complete: it has an end, or nothing followed its answer."""
        rows = self._rows(
            f"""
            WITH last (session, turn, answer, terminal) AS (
                SELECT session, max(ordinal), answer, terminal FROM turn
                 WHERE session IN (SELECT value FROM json_each(?)) GROUP BY session)
            SELECT session FROM last
             WHERE terminal IS NOT NULL
                OR (answer IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM event
                     WHERE event.session = last.session AND event.turn = last.turn AND event.seq > last.answer
                       AND event.kind IN {WORK}))""",
            (msgspec.json.encode(keys).decode(),),
        )
        return {key for (key,) in rows}

    def session_totals(self, keys: Sequence[int]) -> dict[int, SessionTotals]:
        """What the events of these sessions add up to, by key."""
        totals = {key: SessionTotals() for key in keys}
        count = "SELECT session, sum(CASE WHEN kind = {call} THEN events ELSE 0 END), sum(failures) FROM session_count"
        for key, calls, errors in self._grouped(count.format(call=CALL), "session", keys):
            totals[key].tool_calls, totals[key].errors = calls, errors
        active = "SELECT session, sum(updated_at - started_at) FROM turn"
        for key, active_ms in self._grouped(active, "session", keys):
            totals[key].active_ms = active_ms
        files = f"SELECT session, count(DISTINCT path) FROM file_change WHERE operation IN {CHANGING}"
        for key, changed in self._grouped(files, "session", keys, joined=True):
            totals[key].files_changed = changed
        for key, model in self._models(keys):
            totals[key].models.append(model)
        for row in self.spent_by_session(keys):
            totals[row.key].spent.append(row)
        return totals

    def _grouped(self, sql: str, column: str, keys: Sequence[int], *, joined: bool = False) -> list[Any]:
        word = "AND" if joined else "WHERE"
        listed = msgspec.json.encode(keys).decode()
        return self._rows(f"{sql} {word} {column} IN (SELECT value FROM json_each(?)) GROUP BY {column}", (listed,))

    def _models(self, keys: Sequence[int]) -> list[tuple[int, str]]:
        return self._rows(
            """
            SELECT session, word.text FROM session_count JOIN word ON word.key = session_count.model
             WHERE session IN (SELECT value FROM json_each(?))
             GROUP BY session, word.text ORDER BY sum(events) DESC""",
            (msgspec.json.encode(keys).decode(),),
        )

    def outcomes(self, keys: Sequence[int]) -> dict[int, str | bytes]:
        """The bodies of the last answers of these sessions, by key."""
        rows = self._rows(
            """
            WITH last (session, turn, answer) AS (
                SELECT session, max(ordinal), answer FROM turn
                 WHERE answer IS NOT NULL AND session IN (SELECT value FROM json_each(?))
                 GROUP BY session)
            SELECT event.session, event.body
              FROM last CROSS JOIN event
                ON event.session = last.session AND event.turn = last.turn AND event.seq = last.answer""",
            (msgspec.json.encode(keys).decode(),),
        )
        return dict(rows)

    def sub_agents(self, keys: Sequence[int]) -> dict[int, list[bytes]]:
        """The ids of the sub-agents of these sessions, by key."""
        children: dict[int, list[bytes]] = {}
        rows = self._rows(
            """
            SELECT parent.key, child.id
              FROM session AS parent
              JOIN link ON link.parent = parent.id
              JOIN session AS child ON child.id = link.child AND child.event_count > 0 AND child.duplicate_of IS NULL
             WHERE parent.key IN (SELECT value FROM json_each(?))
             ORDER BY child.started_at, child.id""",
            (msgspec.json.encode(keys).decode(),),
        )
        for key, child in rows:
            children.setdefault(key, []).append(child)
        return children

    def parents(self, keys: Sequence[int]) -> dict[int, bytes]:
        """The ids of the sessions that started these, by key."""
        return dict(
            self._rows(
                """
                SELECT session.key, link.parent FROM session JOIN link ON link.child = session.id
                  JOIN session AS parent ON parent.id = link.parent AND parent.event_count > 0
                 WHERE session.key IN (SELECT value FROM json_each(?))""",
                (msgspec.json.encode(keys).decode(),),
            )
        )

    # ---- tokens

    def spent_by_session(self, keys: Sequence[int] | None = None) -> list[SpentRow]:
        """The tokens of sessions by model, by quarter of an hour. A call without a model is one to its session's model."""
        where = "" if keys is None else "AND session_usage.session IN (SELECT value FROM json_each(?))"
        rows = self._rows(
            f"""
            SELECT session_usage.session, quarter, coalesce(word.text, session.model, ''), calls,
                   input, output, cache_read, cache_write, reasoning, cost, cache_write_1h
              FROM session_usage
              JOIN session ON session.key = session_usage.session
              LEFT JOIN word ON word.key = session_usage.model
             WHERE {LISTED} {where}""",
            () if keys is None else (msgspec.json.encode(keys).decode(),),
        )
        return [SpentRow(key, quarter, model, calls, Usage(*usage)) for key, quarter, model, calls, *usage in rows]

    # ---- names that filters can have

    def names_of(self, column: str) -> list[str]:
        """All values of a column of sessions: `source`, `project`, `branch`, `model` or `cwd`."""
        rows = self._rows(f"SELECT DISTINCT {column} FROM session WHERE {LISTED} AND {column} IS NOT NULL")
        return [name for (name,) in rows]

    def words_used_as(self, column: str) -> dict[str, int]:
        """The words that events have as `tool` or `model`, with their keys."""
        return dict(self._rows(f"SELECT text, key FROM word WHERE key IN (SELECT DISTINCT {column} FROM session_count)"))

    def sessions_of_native_id(self, native_id: str) -> list[bytes]:
        rows = self._rows("SELECT id FROM session WHERE native_id = ? AND event_count > 0", (native_id,))
        return [session for (session,) in rows]

    def native_ids_between(self, first: str, last: str, limit: int) -> list[tuple[bytes, str]]:
        """(id, native id) of sessions whose native ids are between two texts."""
        return self._rows(
            "SELECT id, native_id FROM session WHERE native_id >= ? AND native_id < ? AND event_count > 0 LIMIT ?",
            (first, last, limit),
        )
