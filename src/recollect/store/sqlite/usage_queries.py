"""Sums of tokens, turns and sessions by day, week, project, agent, model or session."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from recollect.model import Usage
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.library_queries import SpentRow
from recollect.store.sqlite.session_filter import Condition, Names, SessionFilter
from recollect.store.sqlite.tallies import QUARTER_MS

By = Literal["day", "week", "project", "agent", "model", "session", "all"]
QUARTERS_A_DAY = 96
MODEL = "coalesce(word.text, session.model, '')"  # a call without a model is one to its session's model
TO_MONDAY = 3  # days from Monday to 1 January 1970, a Thursday
SPENT_FROM = """session_usage
              JOIN session ON session.key = session_usage.session
              LEFT JOIN word ON word.key = session_usage.model"""


class Activity(Struct, frozen=True):
    """How many sessions spent tokens or began turns, and how many turns began."""

    sessions: int
    turns: int


class UsageQueries(SqliteDatabase):
    """The part of the reader that adds up tokens.

    `offsets` are pairs (time, offset in milliseconds): from each time on, local time differs from UTC by the offset. Tokens
    are stored by quarters of an hour, so the bounds of a filter take the quarters in which they are.
    """

    def spent_by(self, by: By, filters: SessionFilter, offsets: Sequence[tuple[int, int]]) -> list[SpentRow]:
        """Tokens by a key, by model and by day. Calls with a recorded cost have rows of their own."""
        where, values = _spent_condition(filters)
        quarter = "session_usage.quarter"
        per_day = "1" if by == "day" else f"{quarter} / {QUARTERS_A_DAY}"
        rows = self._rows(
            f"""
            SELECT {_key(by, quarter, offsets)}, min({quarter}), {MODEL}, sum(calls),
                   sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning), sum(cost), sum(cache_write_1h)
              FROM {SPENT_FROM}
             WHERE {where}
             GROUP BY 1, {MODEL}, is_recorded, {per_day}""",
            values,
        )
        return [SpentRow(key, quarter, model, calls, Usage(*usage)) for key, quarter, model, calls, *usage in rows]

    def activity_by(self, by: By, filters: SessionFilter, offsets: Sequence[tuple[int, int]]) -> dict[Any, Activity]:
        """Sessions and turns by a key. A model's turns are all turns of the sessions that spent its tokens."""
        spent_where, spent_values = _spent_condition(filters)
        spent = f"SELECT DISTINCT {_key(by, 'session_usage.quarter', offsets)} AS place, session.key AS member"
        turn_where, turn_values = _turn_condition(filters)
        if by == "model":
            counted = "SELECT count(*) FROM turn WHERE turn.session = member"
            rows = self._rows(
                f"SELECT place, count(*), sum(({counted})) FROM ({spent} FROM {SPENT_FROM} WHERE {spent_where}) GROUP BY 1",
                spent_values,
            )
        else:
            key = _key(by, f"(turn.started_at / {QUARTER_MS})", offsets)
            begun = f"SELECT {key} AS place, session.key AS member, count(*) AS turns"
            rows = self._rows(
                f"""
                SELECT place, count(DISTINCT member), sum(turns)
                  FROM ({begun} FROM turn JOIN session ON session.key = turn.session WHERE {turn_where} GROUP BY 1, 2
                        UNION ALL
                        SELECT place, member, 0 FROM ({spent} FROM {SPENT_FROM} WHERE {spent_where}))
                 GROUP BY 1""",
                [*turn_values, *spent_values],
            )
        return {place: Activity(sessions, turns) for place, sessions, turns in rows}

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


def _key(by: By, quarter: str, offsets: Sequence[tuple[int, int]]) -> str:
    """The expression that rows are summed by: a number of days or weeks since 1970, a name, or a session's key."""
    match by:
        case "day":
            return f"({_local(quarter, offsets)}) / {QUARTERS_A_DAY}"
        case "week":
            return f"(({_local(quarter, offsets)}) / {QUARTERS_A_DAY} + {TO_MONDAY}) / 7"
        case "project":
            return "coalesce(session.project, '')"
        case "agent":
            return "session.source"
        case "model":
            return MODEL
        case "session":
            return "session.key"
        case _:
            return "'total'"


def _local(quarter: str, offsets: Sequence[tuple[int, int]]) -> str:
    """A number of quarters since 1970 in local time."""
    cases = [f"WHEN {quarter} >= {at // QUARTER_MS} THEN {offset // QUARTER_MS}" for at, offset in reversed(offsets)]
    last = offsets[0][1] // QUARTER_MS if offsets else 0
    return f"{quarter} + CASE {' '.join(cases)} ELSE {last} END" if cases else f"{quarter} + {last}"


def _spent_condition(filters: SessionFilter) -> Condition:
    sessions, values = filters.condition()
    parts = [f"session_usage.session IN (SELECT key FROM session WHERE {sessions})"]
    if filters.since is not None:
        parts.append("session_usage.quarter >= ?")
        values.append(filters.since // QUARTER_MS)
    if filters.until is not None:
        parts.append("session_usage.quarter < ?")
        values.append(-(-filters.until // QUARTER_MS))
    for sql, names in _models(filters.models):
        parts.append(f"{MODEL} {sql} (SELECT value FROM json_each(?))")
        values.append(msgspec.json.encode(names).decode())
    return " AND ".join(parts), values


def _models(names: Names) -> list[tuple[str, tuple[Any, ...]]]:
    """Only the tokens of the models that a filter keeps, not all tokens of the sessions that used them."""
    kept = [] if names.any_of is None else [("IN", names.any_of)]
    return [*kept, *([("NOT IN", names.none_of)] if names.none_of else [])]


def _turn_condition(filters: SessionFilter) -> Condition:
    sessions, values = filters.condition()
    parts = [f"turn.session IN (SELECT key FROM session WHERE {sessions})"]
    for sql, bound in (("turn.started_at >= ?", filters.since), ("turn.started_at < ?", filters.until)):
        if bound is not None:
            parts.append(sql)
            values.append(bound)
    return " AND ".join(parts), values
