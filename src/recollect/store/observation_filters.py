"""The filters of observations, as a value and as SQL."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from recollect.store.sqlite.database import placeholders

Condition = tuple[str, Sequence[Any]]
"""An SQL condition, and its values."""


class FilteredObservation(Protocol):
    """What filters look at."""

    @property
    def session(self) -> bytes: ...
    @property
    def type(self) -> str: ...
    @property
    def at(self) -> int: ...
    @property
    def concepts(self) -> Sequence[str]: ...
    @property
    def files_read(self) -> Sequence[str]: ...
    @property
    def files_modified(self) -> Sequence[str]: ...


class ObservationFilters(Struct, frozen=True, kw_only=True):
    """Which observations to return. All filters apply. One value of a list must match; an empty list means any."""

    since: int | None = None
    until: int | None = None
    projects: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    excluded_types: tuple[str, ...] = ()
    excluded_concepts: tuple[str, ...] = ()
    excluded_files: tuple[str, ...] = ()
    excluded_sessions: tuple[bytes, ...] = ()
    sessions: tuple[bytes, ...] | None = None  # only of these; None means of any
    after: tuple[int, int] | None = None  # only those that come later in a list, newest first: (time, key)

    def is_empty(self) -> bool:
        return self == EVERY_OBSERVATION


EVERY_OBSERVATION = ObservationFilters()


def observation_condition(filters: ObservationFilters) -> tuple[str, list[Any]]:
    """The SQL condition for these filters, and its values."""
    conditions = list(_conditions(filters))
    return " AND ".join(["1", *(test for test, _ in conditions)]), [value for _, values in conditions for value in values]


def _conditions(filters: ObservationFilters) -> Iterator[Condition]:
    if filters.since is not None:
        yield "at >= ?", [filters.since]
    if filters.until is not None:
        yield "at < ?", [filters.until]
    if filters.after is not None:
        yield "(at, key) < (?, ?)", filters.after
    if filters.excluded_sessions:
        yield f"session NOT IN ({placeholders(filters.excluded_sessions)})", filters.excluded_sessions
    if filters.sessions is not None:
        sessions = msgspec.json.encode([session.hex().upper() for session in filters.sessions]).decode()
        yield "hex(session) IN (SELECT value FROM json_each(?))", [sessions]  # SQLite has unhex only since 3.41
    if filters.projects:
        yield f"project COLLATE NOCASE IN ({placeholders(filters.projects)})", filters.projects
    yield from _condition_and_negation(_with_types, filters.types, filters.excluded_types)
    yield from _condition_and_negation(_with_concepts, filters.concepts, filters.excluded_concepts)
    yield from _condition_and_negation(_with_files, filters.files, filters.excluded_files)


def _condition_and_negation(
    condition: Callable[[Sequence[str]], Condition], wanted: Sequence[str], excluded: Sequence[str]
) -> Iterator[Condition]:
    if wanted:
        yield condition(wanted)
    if excluded:
        test, values = condition(excluded)
        yield f"NOT ({test})", values


def _with_types(types: Sequence[str]) -> Condition:
    return f"type COLLATE NOCASE IN ({placeholders(types)})", types


def _with_concepts(concepts: Sequence[str]) -> Condition:
    test = f"key IN (SELECT observation FROM tag WHERE kind = 'concept' AND name IN ({placeholders(concepts)}))"
    return test, [concept.casefold() for concept in concepts]


def _with_files(files: Sequence[str]) -> Condition:
    conditions = [_with_file(file) for file in files]
    fits = " OR ".join(test for test, _ in conditions)
    values = [value for _, values in conditions for value in values]
    return f"key IN (SELECT observation FROM tag WHERE kind = 'file' AND ({fits}))", values


def _with_file(path: str) -> Condition:
    """A file by its name, the end of its path, or a pattern with `*`."""
    name, normalised = normalise_path(path)
    tail = normalised.removeprefix("./").lstrip("/")
    escaped = tail.replace("%", "\\%").replace("_", "\\_").replace("*", "%")
    test, values = "(value LIKE ? ESCAPE '\\' OR value LIKE ? ESCAPE '\\')", [escaped, f"%/{escaped}"]
    return (test, values) if "*" in tail else (f"(name = ? AND {test})", [name, *values])


def fits(row: FilteredObservation, filters: ObservationFilters) -> bool:
    """What the SQL condition says, about an observation that no table has: a retired one."""
    files = [normalise_path(path)[1] for path in (*row.files_read, *row.files_modified)]
    return (
        (filters.since is None or row.at >= filters.since)
        and (filters.until is None or row.at < filters.until)
        and (filters.sessions is None or row.session in filters.sessions)
        and _fits([row.type], filters.types, filters.excluded_types)
        and _fits(row.concepts, filters.concepts, filters.excluded_concepts)
        and (not filters.files or _has_file(files, filters.files))
        and not _has_file(files, filters.excluded_files)
    )


def _fits(values: Iterable[str], wanted: Iterable[str], excluded: Iterable[str]) -> bool:
    has, any_of, none_of = ({name.casefold() for name in names} for names in (values, wanted, excluded))
    return (not any_of or bool(has & any_of)) and not has & none_of


def _has_file(files: Iterable[str], wanted: Iterable[str]) -> bool:
    patterns = [re.compile(f"(?:.*/)?{_pattern(path)}", re.DOTALL) for path in wanted]
    return any(pattern.fullmatch(file) for file in files for pattern in patterns)


def _pattern(path: str) -> str:
    """A path, or a pattern with `*`, as a regular expression for the end of a path."""
    return ".*".join(map(re.escape, normalise_path(path)[1].removeprefix("./").lstrip("/").split("*")))


def normalise_path(path: str) -> tuple[str, str]:
    """The last part of a path, and the complete path. Both are normalised for comparison: forward slashes, case-folded."""
    normalised = path.replace("\\", "/").rstrip("/").casefold()
    return normalised.rpartition("/")[2], normalised
