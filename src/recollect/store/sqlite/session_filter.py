"""A filter of sessions, as a condition in SQL."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from recollect.store.sqlite.session_queries import LISTED

Condition = tuple[str, list[Any]]
LISTS = {  # a field of the filter, and the condition that a session of its list meets
    "sources": "source IN ({list})",
    "modes": "mode IN ({list})",
    "branches": "branch IN ({list})",
    "projects": "project IN ({list})",
    "models": "(model IN ({list}) OR EXISTS (SELECT 1 FROM session_count JOIN word ON word.key = session_count.model"
    " WHERE session_count.session = session.key AND word.text IN ({list})))",
    "tools": "EXISTS (SELECT 1 FROM session_count WHERE session_count.session = session.key AND tool IN ({list}))",
    "kinds": "EXISTS (SELECT 1 FROM session_count WHERE session_count.session = session.key AND kind IN ({list}))",
    "paths": "session.key IN (SELECT session FROM file_change WHERE path IN ({list}))",
    "keys": "session.key IN ({list})",
}
LIST = "SELECT value FROM json_each(?)"
HAS_FAILED = "EXISTS (SELECT 1 FROM session_count WHERE session_count.session = session.key AND failures > 0)"


class Names(Struct, frozen=True):
    """The sessions that a filter keeps and leaves out, by one of their properties. None keeps all."""

    any_of: tuple[Any, ...] | None = None
    none_of: tuple[Any, ...] = ()


EVERY = Names()


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Which sessions to list. All conditions must be met."""

    sources: Names = EVERY
    projects: Names = EVERY
    branches: Names = EVERY
    models: Names = EVERY
    modes: Names = EVERY
    tools: Names = EVERY  # keys of words
    kinds: Names = EVERY  # codes
    paths: Names = EVERY  # keys of files
    keys: tuple[Names, ...] = ()  # of sessions: from labels, states, `in:` and words
    has_failed: bool | None = None
    since: int | None = None
    until: int | None = None

    def condition(self, without: str = "") -> Condition:
        """The condition in SQL, with its values. `without` is a field that does not count, for its facet."""
        parts = [(LISTED, list[Any]())]
        for field, sql in LISTS.items():
            names = getattr(self, field)
            for one in names if isinstance(names, tuple) else (names,):
                if field != without:
                    parts += _conditions(sql, one)
        if self.has_failed is not None:
            parts.append((HAS_FAILED if self.has_failed else f"NOT {HAS_FAILED}", []))
        if self.since is not None:
            parts.append(("updated_at >= ?", [self.since]))
        if self.until is not None:
            parts.append(("started_at < ?", [self.until]))
        return " AND ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]

    def with_keys(self, names: Names) -> "SessionFilter":
        """The same filter, limited further to some sessions."""
        return replace(self, keys=(*self.keys, names))

    def is_empty(self) -> bool:
        """Whether every session passes."""
        return self == SessionFilter()


def _conditions(sql: str, names: Names) -> Iterator[Condition]:
    if names.any_of is not None:
        yield _condition(sql, names.any_of)
    if names.none_of:
        excluded, values = _condition(sql, names.none_of)
        yield f"coalesce({excluded}, 0) = 0", values


def _condition(sql: str, values: tuple[Any, ...]) -> Condition:
    listed = msgspec.json.encode(values).decode()
    return sql.format(list=LIST), [listed] * sql.count("{list}")
