"""Queries of the library: the files that tool calls read, changed, created and deleted."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.session_filter import EVERY, LIST, Condition, SessionFilter

FILE_FROM = """file_change
              JOIN file_path ON file_path.key = file_change.path
              JOIN session ON session.key = file_change.session
              JOIN event ON event.key = file_change.event"""
NEWEST_FIRST = "file_change.at DESC, file_change.event DESC, file_change.path DESC"


class FileRow(Struct, frozen=True):
    """A file that a tool call of a session read or changed."""

    path: str
    operation: str
    added: int | None
    removed: int | None
    session: bytes
    project: str | None
    event: bytes
    at: int
    event_key: int
    path_key: int
    seq: int

    @staticmethod
    def columns() -> str:
        """The columns of `FILE_FROM` that the fields come from, in their order."""
        return (
            "file_path.path, file_change.operation, file_change.added, file_change.removed, session.id, session.project,"
            " event.id, file_change.at, file_change.event, file_change.path, event.seq"
        )

    def position(self) -> list[int]:
        """Where it stands in the list of all."""
        return [self.at, self.event_key, self.path_key]


class FileFilter(Struct, frozen=True, kw_only=True):
    """Which accesses to files to list. The files and times of the session filter are those of the accesses."""

    sessions: SessionFilter
    operations: tuple[str, ...] | None = None
    files: tuple[tuple[str, tuple[int, ...] | None], ...] | None = None
    """Paths, each in some sessions or in all: the accesses to one of them."""

    def condition(self) -> Condition:
        """The condition on `file_change` in SQL, with its values."""
        filters = self.sessions
        selected, values = replace(filters, paths=EVERY, since=None, until=None).condition()
        parts = [f"file_change.session IN (SELECT session.key FROM session WHERE {selected})"]
        for sql, listed in (
            (f"file_change.path IN ({LIST})", filters.paths.any_of),
            (f"file_change.path NOT IN ({LIST})", filters.paths.none_of or None),
            (f"file_change.operation IN ({LIST})", self.operations),
        ):
            if listed is not None:
                parts.append(sql)
                values.append(msgspec.json.encode(listed).decode())
        for sql, at in (("file_change.at >= ?", filters.since), ("file_change.at < ?", filters.until)):
            if at is not None:
                parts.append(sql)
                values.append(at)
        if self.files is not None:
            parts.append(f"({' OR '.join(_one_file(*file, values) for file in self.files)})")
        return " AND ".join(parts), values


def _one_file(path: str, sessions: tuple[int, ...] | None, values: list[Any]) -> str:
    values.append(path)
    sql = "file_change.path = (SELECT key FROM file_path WHERE file_path.path = ?)"
    if sessions is None:
        return sql
    values.append(msgspec.json.encode(sessions).decode())
    return f"({sql} AND file_change.session IN ({LIST}))"


class LibraryFiles(SqliteDatabase):
    """The part of the reader that finds files."""

    def file_rows(self, filters: FileFilter, after: Sequence[int] | None, limit: int) -> list[FileRow]:
        """Accesses to files, newest first, after a position (time, event, file)."""
        where, values = filters.condition()
        if after is not None:
            where += " AND (file_change.at, file_change.event, file_change.path) < (?, ?, ?)"
            values += after
        rows = self._rows(
            f"SELECT {FileRow.columns()} FROM {FILE_FROM} WHERE {where} ORDER BY {NEWEST_FIRST} LIMIT ?", [*values, limit]
        )
        return [FileRow(*row) for row in rows]

    def count_file_rows(self, filters: FileFilter) -> int:
        where, values = filters.condition()
        return int(self._one(f"SELECT count(*) FROM file_change WHERE {where}", values)[0])

    def files_of(self, filters: FileFilter) -> list[tuple[str, str | None]]:
        """(path, project) of the different files, in alphabetical order."""
        where, values = filters.condition()
        return self._rows(
            f"""
            SELECT DISTINCT file_path.path, session.project
              FROM file_change
              JOIN file_path ON file_path.key = file_change.path
              JOIN session ON session.key = file_change.session
             WHERE {where} ORDER BY 1, 2""",
            values,
        )

    def session_files(self, session: int, limit: int, after: Sequence[Any] | None = None) -> list[FileRow]:
        """The files of a session, in the order of its events, after a position (sequence number, path, operation)."""
        rows = self._rows(
            f"""
            SELECT {FileRow.columns()} FROM {FILE_FROM}
             WHERE file_change.session = ? AND (event.seq, file_path.path, file_change.operation) > (?, ?, ?)
             ORDER BY event.seq, file_path.path, file_change.operation LIMIT ?""",
            (session, *(after or (-1, "", "")), limit),
        )
        return [FileRow(*row) for row in rows]

    def count_session_files(self, session: int) -> int:
        return int(self._one("SELECT count(*) FROM file_change WHERE session = ?", (session,))[0])

    # ---- paths

    def matching_paths(self, pattern: str) -> list[int]:
        """The keys of the files whose path, or the end of it after a slash, fits a glob pattern. Case counts."""
        rows = self._rows("SELECT key FROM file_path WHERE path GLOB ? OR path GLOB ?", (pattern, f"*/{pattern}"))
        return [key for (key,) in rows]

    def paths_ending_with(self, end: str) -> list[str]:
        """The path itself if there is such a file, else all paths that end with it after a slash. Case does not count."""
        exact = self._rows("SELECT path FROM file_path WHERE path = ?", (end,))
        rows = exact or self._rows(
            "SELECT path FROM file_path WHERE path LIKE ? ESCAPE '\\' OR path LIKE ? ESCAPE '\\'",
            (escaped := _like(end), f"%/{escaped}"),
        )
        return [path for (path,) in rows]

    def file_names(self) -> list[str]:
        """The names of all files, without their folders."""
        rows = self._rows("SELECT DISTINCT replace(path, rtrim(path, replace(path, '/', '')), '') FROM file_path")
        return [name for (name,) in rows]

    def session_keys_in(self, folders: Iterable[str]) -> list[tuple[str, int]]:
        """(folder, key) of the sessions in these working folders."""
        listed = msgspec.json.encode(list(folders)).decode()
        return self._rows(f"SELECT cwd, key FROM session WHERE cwd IN ({LIST})", (listed,))


def _like(text: str) -> str:
    """A text as a pattern of LIKE that only fits it."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
