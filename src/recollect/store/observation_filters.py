"""The filters of observations, as a value and as SQL."""

from typing import Any

import msgspec
from msgspec import Struct


class ObservationFilters(Struct, frozen=True, kw_only=True):
    """Which observations to return. All filters apply. One value of a list must match; an empty list means any."""

    since: int | None = None
    until: int | None = None
    projects: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    excluded_sessions: tuple[bytes, ...] = ()
    sessions: tuple[bytes, ...] | None = None  # only of these; None means of any
    after: tuple[int, int] | None = None  # only those that come later in a list, newest first: (time, key)

    def is_empty(self) -> bool:
        return self == ObservationFilters()


def observation_condition(filters: ObservationFilters) -> tuple[str, list[Any]]:
    """The SQL condition for these filters, and its values."""
    parts, values = ["1"], list[Any]()
    for test, value in (("at >= ?", filters.since), ("at < ?", filters.until)):
        if value is not None:
            parts.append(test)
            values.append(value)
    for column, allowed in (("project", filters.projects), ("type", filters.types)):
        if allowed:
            parts.append(f"{column} COLLATE NOCASE IN ({','.join('?' * len(allowed))})")
            values += allowed
    if filters.excluded_sessions:
        parts.append(f"session NOT IN ({','.join('?' * len(filters.excluded_sessions))})")
        values += filters.excluded_sessions
    if filters.sessions is not None:
        parts.append("hex(session) IN (SELECT value FROM json_each(?))")  # SQLite has unhex only since 3.41
        values.append(msgspec.json.encode([session.hex().upper() for session in filters.sessions]).decode())
    if filters.after is not None:
        parts.append("(at, key) < (?, ?)")
        values += filters.after
    if filters.concepts:
        marks = ",".join("?" * len(filters.concepts))
        parts.append(f"key IN (SELECT observation FROM tag WHERE kind = 'concept' AND name IN ({marks}))")
        values += [concept.casefold() for concept in filters.concepts]
    if filters.files:
        tests = " OR ".join(["(name = ? AND (value = ? OR value LIKE ? ESCAPE '\\'))"] * len(filters.files))
        parts.append(f"key IN (SELECT observation FROM tag WHERE kind = 'file' AND ({tests}))")
        for path in filters.files:
            name, normalised = normalise_path(path)
            tail = normalised.removeprefix("./").lstrip("/")
            escaped = tail.replace("%", "\\%").replace("_", "\\_")
            values += [name, tail, f"%/{escaped}"]
    return " AND ".join(parts), values


def normalise_path(path: str) -> tuple[str, str]:
    """The last part of a path, and the complete path. Both are normalised for comparison: forward slashes, case-folded."""
    normalised = path.replace("\\", "/").rstrip("/").casefold()
    return normalised.rpartition("/")[2], normalised
