"""Queries of an archive's sessions: by id, by time, by log and by their place among other sessions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from recollect.store.sqlite.database import MAX_PARAMETERS, SqliteDatabase, placeholders
from recollect.store.sqlite.rows import SESSION, SessionRow, session_of

LINE_SUFFIXES = (".jsonl", ".md", ".txt", ".zst", ".log")  # logs with real lines; others are numbered per session
ANCHOR = "#"  # between the path of a log with several sessions and a native id
END_OF_TIME = 1 << 62  # milliseconds: later than every event
LISTED = "event_count > 0 AND duplicate_of IS NULL"  # sessions with events, without duplicates of live sessions


class SessionQueries(SqliteDatabase):
    """The part of the reader that finds sessions."""

    def session(self, session: bytes) -> SessionRow | None:
        row = self._one(f"SELECT {SESSION} FROM session WHERE id = ? AND event_count > 0", (session,))
        return session_of(row) if row else None

    def sessions(self, keys: Iterable[int]) -> dict[int, SessionRow]:
        rows = self._rows_in(f"SELECT {SESSION} FROM session WHERE key IN", keys)
        return {row[0]: session_of(row) for row in rows}

    def sessions_between_ids(self, first: bytes, last: bytes, limit: int) -> tuple[list[bytes], int]:
        """The first ids of sessions between two ids, and the number of all."""
        where = "FROM session WHERE id BETWEEN ? AND ? AND event_count > 0"
        rows = self._rows(f"SELECT id {where} ORDER BY id LIMIT ?", (first, last, limit))
        count = len(rows) if len(rows) < limit else self._one(f"SELECT count(*) {where}", (first, last))[0]
        return [session for (session,) in rows], count

    def has_source(self, source: str) -> bool:
        return self._one("SELECT 1 FROM session WHERE source = ? LIMIT 1", (source,)) is not None

    def sessions_newest_first(self, source: str | None, started: int | None) -> Iterator[SessionRow]:
        """Sessions that began at `started` or before, newest first; sessions of the same time by key."""
        last, tied = (END_OF_TIME if started is None else started), -1
        while rows := self._rows(
            f"""
            SELECT {SESSION} FROM session
             WHERE (started_at < :last OR (started_at = :last AND key > :tied)) AND {LISTED}
               AND source = coalesce(:source, source)
             ORDER BY started_at DESC, key LIMIT {MAX_PARAMETERS}""",
            {"last": last, "tied": tied, "source": source},
        ):
            page = [session_of(row) for row in rows]
            yield from page
            last, tied = page[-1].started_at, page[-1].key

    def last_updated(self, other_than: str, limit: int) -> list[SessionRow]:
        """The sessions that were updated last, of all sources except one."""
        rows = self._rows(
            f"""
            SELECT {SESSION} FROM session
             WHERE source != ? AND {LISTED}
             ORDER BY updated_at DESC, id DESC
             LIMIT ?""",
            (other_than, limit),
        )
        return [session_of(row) for row in rows]

    def session_keys_of(self, ids: Iterable[bytes]) -> dict[bytes, int]:
        """The keys of sessions, by id."""
        return dict(self._rows_in("SELECT id, key FROM session WHERE event_count > 0 AND id IN", ids))

    def titles(self, keys: Iterable[int]) -> dict[int, str]:
        """The title and the project of each session, as one text."""
        rows = self._rows_in("SELECT key, title || ' ' || coalesce(project, '') FROM session WHERE key IN", keys)
        return dict(rows)

    def session_keys(self, source: str | None, project: str | None) -> list[int]:
        """The keys of all sessions of a source and a project."""
        rows = self._rows(
            "SELECT key FROM session WHERE source = coalesce(?, source) AND (? IS NULL OR project = ?)",
            (source, project, project),
        )
        return [key for (key,) in rows]

    def address(self, session: SessionRow) -> str:
        """The address of a session's transcript: its log, and its native id if the log has several sessions."""
        (count,) = self._one("SELECT count(*) FROM session WHERE path = ? AND event_count > 0", (session.path,))
        if session.path.endswith(LINE_SUFFIXES) or count < 2:
            return session.path
        return f"{session.path}{ANCHOR}{session.native_id}"

    def sessions_at(self, address: str) -> list[SessionRow]:
        """The sessions at an address, in the order of their first events in the log."""
        anchors = [index for index, letter in enumerate(address) if letter == ANCHOR]
        readings = [(address, None), *((address[:index], address[index + 1 :]) for index in anchors)]
        return next((rows for path, native_id in readings if (rows := self._sessions_at(path, native_id))), [])

    def _sessions_at(self, path: str, native_id: str | None) -> list[SessionRow]:
        rows = self._rows(
            f"""
            SELECT {SESSION} FROM session
             WHERE path = ? AND native_id = coalesce(?, native_id) AND event_count > 0
             ORDER BY (SELECT min(line) FROM event WHERE event.session = session.key), started_at, id""",
            (path, native_id),
        )
        return [session_of(row) for row in rows]

    def last_line(self, path: str, sessions: Iterable[int]) -> int:
        """The last line of a log that was read, or the line of its last event if that is higher."""
        (last_read,) = self._one("SELECT max(line) FROM cursor WHERE path = ?", (path,))
        lines = [line for (line,) in self._rows_in("SELECT max(line) FROM event WHERE session IN", sessions) if line]
        last: int = max([last_read or 0, *lines])
        return last

    def sessions_between(self, since: int | None, until: int | None, projects: tuple[str, ...]) -> list[int]:
        """The keys of the sessions of these projects that began in a period. No projects means all."""
        where, values = [LISTED], list[Any]()
        for test, value in (("started_at >= ?", since), ("started_at < ?", until)):
            if value is not None:
                where.append(test)
                values.append(value)
        if projects:
            where.append(f"project COLLATE NOCASE IN ({','.join('?' * len(projects))})")
            values += projects
        return [key for (key,) in self._rows(f"SELECT key FROM session WHERE {' AND '.join(where)}", values)]

    def all_sessions(self) -> list[SessionRow]:
        """All sessions, also empty ones, the last updated first."""
        return [session_of(row) for row in self._rows(f"SELECT {SESSION} FROM session ORDER BY updated_at DESC, id")]

    def duplicates(self) -> set[int]:
        """The keys of sessions that duplicate a live session."""
        return {key for (key,) in self._rows("SELECT key FROM session WHERE duplicate_of IS NOT NULL")}

    def adjacent_sessions(self, session: SessionRow) -> tuple[bytes | None, bytes | None]:
        """The ids of the sessions that began before and after this one."""
        place = (session.started_at, session.id)
        before = self._one(
            f"""
            SELECT id FROM session
             WHERE (started_at, id) < (?, ?) AND {LISTED}
             ORDER BY started_at DESC, id DESC LIMIT 1""",
            place,
        )
        after = self._one(
            f"""
            SELECT id FROM session
             WHERE (started_at, id) > (?, ?) AND {LISTED}
             ORDER BY started_at, id LIMIT 1""",
            place,
        )
        return before and before[0], after and after[0]

    def parent(self, session: bytes) -> bytes | None:
        row = self._one("SELECT duplicate_of FROM session WHERE id = ? AND duplicate_of IS NOT NULL", (session,))
        row = row or self._one(
            "SELECT parent FROM link JOIN session ON session.id = parent WHERE child = ? AND event_count > 0",
            (session,),
        )
        return row[0] if row else None

    def continued_session(self, session: bytes) -> bytes | None:
        """The id of the session that this one continues, or was forked from."""
        row = self._one(
            "SELECT parent FROM link JOIN session ON session.id = parent WHERE child = ? AND is_fork AND event_count > 0",
            (session,),
        )
        return row[0] if row else None

    def forks(self, sessions: Sequence[bytes]) -> set[bytes]:
        """Those of these sessions that continue another one, or were forked from it."""
        rows = self._rows(f"SELECT child FROM link WHERE is_fork AND child IN ({placeholders(sessions)})", tuple(sessions))
        return {child for (child,) in rows}

    def is_spawned(self, session: bytes) -> bool:
        """Whether a tool call of another session started this one."""
        return self._one("SELECT 1 FROM link WHERE child = ? AND call IS NOT NULL", (session,)) is not None

    def children(self, session: bytes) -> list[bytes]:
        """The ids of its sub-agents. A live session also has the duplicates in its agents' own logs."""
        rows = self._rows(
            """
            SELECT id
              FROM session
             WHERE event_count > 0
               AND (duplicate_of = :session
                    OR (duplicate_of IS NULL AND id IN (SELECT child FROM link WHERE parent = :session)))
             ORDER BY started_at, id""",
            {"session": session},
        )
        return [row[0] for row in rows]

    def sessions_overlapping(
        self, start: int, end: int, mode: str | None, *, newest_first: bool, after: tuple[int, bytes] | None, limit: int
    ) -> list[SessionRow]:
        """Sessions that overlap a period, in the order of their last update, after a position."""
        order, comparison = ("DESC", "<") if newest_first else ("ASC", ">")
        where = ["updated_at >= :start", "started_at < :end", LISTED]
        if mode is not None:
            where.append("mode = :mode")
        if after is not None:
            where.append(f"(updated_at, id) {comparison} (:at, :id)")
        at, last = after or (0, b"")
        rows = self._rows(
            f"""
            SELECT {SESSION} FROM session INDEXED BY session_by_update
             WHERE {" AND ".join(where)}
             ORDER BY updated_at {order}, id {order}
             LIMIT :limit""",
            {"start": start, "end": end, "mode": mode, "at": at, "id": last, "limit": limit},
        )
        return [session_of(row) for row in rows]

    def count_overlapping(self, start: int, end: int, limit: int) -> int:
        """The number of sessions that overlap a period. Counting stops at `limit`."""
        (count,) = self._one(
            f"""
            SELECT count(*) FROM (SELECT 1 FROM session
                                   WHERE updated_at >= ? AND started_at < ? AND {LISTED}
                                   LIMIT ?)""",
            (start, end, limit),
        )
        return int(count)
