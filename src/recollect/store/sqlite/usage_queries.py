"""Sums of tokens, turns and sessions by day, week, project, agent, model or session."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from recollect.model import Usage
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.library_queries import SpentRow
from recollect.store.sqlite.session_filter import Condition, Names, SessionFilter
from recollect.store.sqlite.session_queries import LISTED
from recollect.store.sqlite.tallies import QUARTER_MS

By = Literal["day", "week", "project", "agent", "model", "session"]
QUARTERS_A_DAY = 96
TO_MONDAY = 3  # days from Monday to 1 January 1970, a Thursday
OWN_MODEL = "(SELECT model FROM session AS own WHERE own.key = session_usage.session)"
MODEL = f"CASE session_usage.model WHEN 0 THEN coalesce({OWN_MODEL}, '') ELSE session_usage.model END"
"""A call's model: the key of a word, or the name of its session's model if the log does not tell."""


class UsageQueries(SqliteDatabase):
    """The part of the reader that adds up tokens.

    `offsets` are pairs (time, offset in milliseconds): from each time on, local time differs from UTC by the offset. Tokens
    are stored by quarters of an hour, so the bounds of a filter take the quarters in which they are.
    """

    def spent_by(self, by: By, filters: SessionFilter, offsets: Sequence[tuple[int, int]]) -> list[SpentRow]:
        """Tokens by a key, by model and by day. Calls with a recorded cost have rows of their own."""
        where, values = self._condition("session_usage", filters)
        per_day = "1" if by == "day" else f"quarter / {QUARTERS_A_DAY}"
        rows = self._rows(
            f"""
            SELECT {_key(by, "quarter", "session_usage.session", offsets)}, min(quarter), {MODEL}, sum(calls),
                   sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(cost), sum(cache_write_1h)
              FROM session_usage
             WHERE {where}
             GROUP BY 1, {MODEL}, is_recorded, {per_day}""",
            values,
        )
        names = self._model_names()
        spent = [
            SpentRow(key, quarter, names.get(model, model), *sums) for key, quarter, model, *sums in map(_with_usage, rows)
        ]
        return [replace(row, key=row.model) for row in spent] if by == "model" else spent

    def turns_by(self, by: By, filters: SessionFilter, offsets: Sequence[tuple[int, int]]) -> dict[Any, int]:
        """The number of turns that began, by a key. A model's turns are all turns of the sessions that spent its tokens."""
        if by == "model":
            turns = self.turns_by("session", filters, offsets)
            counted: dict[Any, int] = {}
            for model, session in self._members(by, filters, offsets):
                counted[model] = counted.get(model, 0) + turns.get(session, 0)
            return counted
        where, values = self._condition("turn", filters)
        key = _key(by, f"(started_at / {QUARTER_MS})", "turn.session", offsets)
        return dict(self._rows(f"SELECT {key}, count(*) FROM turn WHERE {where} GROUP BY 1", values))

    def sessions_by(self, by: By, filters: SessionFilter, offsets: Sequence[tuple[int, int]]) -> dict[Any, set[int]]:
        """The sessions that spent tokens or began turns, by a key. A model has those that spent its tokens."""
        members: dict[Any, set[int]] = {}
        for key, session in self._members(by, filters, offsets):
            members.setdefault(key, set()).add(session)
        if by != "model":
            where, values = self._condition("turn", filters)
            key = _key(by, f"(started_at / {QUARTER_MS})", "turn.session", offsets)
            for place, session in self._rows(f"SELECT DISTINCT {key}, session FROM turn WHERE {where}", values):
                members.setdefault(place, set()).add(session)
        return members

    def _members(self, by: By, filters: SessionFilter, offsets: Sequence[tuple[int, int]]) -> list[tuple[Any, int]]:
        """The sessions that spent tokens, with the key of each sum that they are in."""
        where, values = self._condition("session_usage", filters)
        key = _key(by, "quarter", "session_usage.session", offsets)
        rows = self._rows(f"SELECT DISTINCT {key}, session FROM session_usage WHERE {where}", values)
        names = self._model_names() if by == "model" else {}
        return [(names.get(key, key), session) for key, session in rows]

    def _model_names(self) -> dict[Any, str]:
        """The names of models by their words' keys."""
        return dict(self._rows("SELECT key, text FROM word WHERE key IN (SELECT DISTINCT model FROM session_count)"))

    def _condition(self, table: str, filters: SessionFilter) -> Condition:
        """The condition on the rows of `session_usage` or `turn`. The bounds of a filter limit rows, not sessions."""
        sessions = replace(filters, since=None, until=None)
        if sessions.is_empty():  # it is faster to leave out the few others than to look up all
            parts, values = [f"{table}.session NOT IN (SELECT key FROM session WHERE NOT ({LISTED}))"], list[Any]()
        else:
            condition, values = sessions.condition()
            parts = [f"{table}.session IN (SELECT key FROM session WHERE {condition})"]
        for sql, value in _bounds(table, filters):
            parts.append(sql)
            values.append(value)
        if table == "session_usage":
            for sql, names in _models(filters.models):
                listed = msgspec.json.encode([*names, *(key for key, name in self._model_names().items() if name in names)])
                parts.append(f"{MODEL} {sql} (SELECT value FROM json_each(?))")
                values.append(listed.decode())
        return " AND ".join(parts), values

    def time_range(self) -> tuple[int, int]:
        """The first and the last time of any session, in milliseconds."""
        first, last = self._one("SELECT min(started_at), max(updated_at) FROM session WHERE event_count > 0")
        return first or 0, last or 0

    def parent_keys(self, keys: Sequence[int]) -> dict[int, int]:
        """The sessions that started these, by key, as far as they are among them."""
        listed = msgspec.json.encode(keys).decode()
        rows = self._rows(
            """
            SELECT child.key, parent.key
              FROM link
              JOIN session AS child ON child.id = link.child
              JOIN session AS parent ON parent.id = link.parent
             WHERE child.key IN (SELECT value FROM json_each(?1)) AND parent.key IN (SELECT value FROM json_each(?1))""",
            (listed,),
        )
        return dict(rows)


def _with_usage(row: tuple[Any, ...]) -> tuple[Any, ...]:
    key, quarter, model, calls, *usage = row
    return key, quarter, model, calls, Usage(*usage)


def _key(by: By, quarter: str, session: str, offsets: Sequence[tuple[int, int]]) -> str:
    """The expression that rows are summed by: a number of days or weeks since 1970, a name, or a session's key."""
    match by:
        case "day":
            return f"({_local(quarter, offsets)}) / {QUARTERS_A_DAY}"
        case "week":
            return f"(({_local(quarter, offsets)}) / {QUARTERS_A_DAY} + {TO_MONDAY}) / 7"
        case "project":
            return f"(SELECT coalesce(project, '') FROM session AS own WHERE own.key = {session})"
        case "agent":
            return f"(SELECT source FROM session AS own WHERE own.key = {session})"
        case "model":
            return MODEL
        case "session":
            return session


def _local(quarter: str, offsets: Sequence[tuple[int, int]]) -> str:
    """A number of quarters since 1970 in local time."""
    cases = [f"WHEN {quarter} >= {at // QUARTER_MS} THEN {offset // QUARTER_MS}" for at, offset in reversed(offsets)]
    last = offsets[0][1] // QUARTER_MS if offsets else 0
    return f"{quarter} + CASE {' '.join(cases)} ELSE {last} END" if cases else f"{quarter} + {last}"


def _bounds(table: str, filters: SessionFilter) -> Iterator[tuple[str, int]]:
    if table == "turn":
        times = (("started_at >= ?", filters.since), ("started_at < ?", filters.until))
    else:
        since = None if filters.since is None else filters.since // QUARTER_MS
        until = None if filters.until is None else -(-filters.until // QUARTER_MS)
        times = (("quarter >= ?", since), ("quarter < ?", until))
    yield from ((sql, bound) for sql, bound in times if bound is not None)


def _models(names: Names) -> list[tuple[str, tuple[Any, ...]]]:
    """Only the tokens of the models that a filter keeps, not all tokens of the sessions that used them."""
    kept = [] if names.any_of is None else [("IN", names.any_of)]
    return [*kept, *([("NOT IN", names.none_of)] if names.none_of else [])]
