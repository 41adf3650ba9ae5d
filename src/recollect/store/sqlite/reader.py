"""Queries of an archive. Readers never wait for the writer, and see only what it committed."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from recollect.model import KINDS
from recollect.store.sqlite.database import MAX_PARAMETERS
from recollect.store.sqlite.inventory import Inventory
from recollect.store.sqlite.rows import (
    EVENT,
    EVENT_FROM,
    SESSION,
    TURN,
    ArchiveState,
    EventPlace,
    EventRow,
    SessionRow,
    TurnRow,
    event_of,
    full_text,
    session_of,
    turn_of,
)

LINE_SUFFIXES = (".jsonl", ".md", ".txt", ".zst", ".log")  # logs with real lines; others are numbered per session
ANCHOR = "#"  # between the path of a log with several sessions and a native id
END_OF_TIME = 1 << 62  # milliseconds: later than every event
LISTED = "event_count > 0 AND duplicate_of IS NULL"  # sessions with events, without duplicates of live sessions


class Reader(Inventory):
    """Queries of one thread. `interrupt_when` can stop a query that takes too long."""

    def __init__(self, path: Path, *, is_absent: bool = False) -> None:
        super().__init__(path, is_absent=is_absent)

    # ---- sessions

    def session(self, session: bytes) -> SessionRow | None:
        row = self._one(f"SELECT {SESSION} FROM session WHERE id = ? AND event_count > 0", (session,))
        return session_of(row) if row else None

    def sessions(self, keys: Iterable[int]) -> dict[int, SessionRow]:
        rows = self._in(f"SELECT {SESSION} FROM session WHERE key IN", keys)
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

    def titles(self, keys: Iterable[int]) -> dict[int, str]:
        """The title and the project of each session, as one text."""
        rows = self._in("SELECT key, title || ' ' || coalesce(project, '') FROM session WHERE key IN", keys)
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
        lines = [line for (line,) in self._in("SELECT max(line) FROM event WHERE session IN", sessions) if line]
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

    # ---- turns

    def turns(self, session: int) -> list[TurnRow]:
        return [
            turn_of(row) for row in self._rows(f"SELECT {TURN} FROM turn WHERE session = ? ORDER BY ordinal", (session,))
        ]

    def turn(self, session: int, ordinal: int) -> TurnRow | None:
        row = self._one(f"SELECT {TURN} FROM turn WHERE session = ? AND ordinal = ?", (session, ordinal))
        return turn_of(row) if row else None

    def turns_of(self, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], TurnRow]:
        """Turns by (session, ordinal)."""
        requested = list(dict.fromkeys(places))
        rows = self._rows(
            f"""
            WITH requested (in_session, place) AS (VALUES {",".join(["(?, ?)"] * len(requested)) or "(0, 0)"})
            SELECT {TURN} FROM requested CROSS JOIN turn ON turn.session = in_session AND turn.ordinal = place""",
            [number for place in requested for number in place],
        )
        return {(row[0], row[1]): turn_of(row) for row in rows}

    # ---- events

    def event(self, event: bytes) -> EventRow | None:
        row = self._one(f"SELECT {EVENT} FROM {EVENT_FROM} WHERE event.id = ?", (event,))
        return event_of(row) if row else None

    def events_of_turn(self, session: int, turn: int) -> list[EventRow]:
        rows = self._rows(
            f"SELECT {EVENT} FROM {EVENT_FROM} WHERE event.session = ? AND event.turn = ? ORDER BY event.seq",
            (session, turn),
        )
        return [event_of(row) for row in rows]

    def outline(self, session: int) -> list[EventRow]:
        """All events of a session, in order, without their content."""
        outline = EVENT.replace("event.body", "''")
        rows = self._rows(
            f"SELECT {outline} FROM {EVENT_FROM} WHERE event.session = ? ORDER BY event.turn, event.seq", (session,)
        )
        return [event_of(row) for row in rows]

    def event_places(self, session: int) -> list[EventPlace]:
        """The positions of a session's events, in order. This is cheaper than `outline`, for counting and paging."""
        rows = self._rows(
            """
            SELECT event.key, event.id, event.turn, event.seq, event.kind, turn.terminal IS event.seq
              FROM event JOIN turn ON turn.session = event.session AND turn.ordinal = event.turn
             WHERE event.session = ?
             ORDER BY event.turn, event.seq""",
            (session,),
        )
        return [EventPlace(*row) for row in rows]

    def event_at(self, session: int, seq: int) -> EventRow | None:
        """The event at a position of its session. It is in the first turn that ends there or later."""
        row = self._one("SELECT ordinal FROM turn WHERE session = ? AND last >= ? ORDER BY ordinal LIMIT 1", (session, seq))
        return self.events_at(session, [(row[0], seq)]).get(seq) if row else None

    def events_of_session(self, session: int, above: int) -> list[EventRow]:
        """The events of a session with a higher key, in the session's order."""
        rows = self._rows(
            f"""
            SELECT {EVENT} FROM {EVENT_FROM}
             WHERE event.session = ? AND event.key > ?
             ORDER BY event.turn, event.seq""",
            (session, above),
        )
        return [event_of(row) for row in rows]

    def events_at(self, session: int, places: Iterable[tuple[int, int]]) -> dict[int, EventRow]:
        """Events of a session at these (turn, seq), by seq."""
        rows: list[Any] = []
        requested = list(places)
        for start in range(0, len(requested), MAX_PARAMETERS // 2):
            part = requested[start : start + MAX_PARAMETERS // 2]
            values = [number for place in part for number in place]
            rows += self._rows(
                f"""
                WITH requested (in_turn, place) AS (VALUES {",".join(["(?, ?)"] * len(part))})
                SELECT {EVENT}
                  FROM requested CROSS JOIN {EVENT_FROM}
                 WHERE event.session = ? AND event.turn = in_turn AND event.seq = place""",
                (*values, session),
            )
        return {event.seq: event for event in map(event_of, rows)}

    def events(self, keys: Iterable[int]) -> dict[int, EventRow]:
        return {row[0]: event_of(row) for row in self._in(f"SELECT {EVENT} FROM {EVENT_FROM} WHERE event.key IN", keys)}

    def full_texts(self, keys: Iterable[int]) -> Iterator[tuple[int, str]]:
        """(key, full text) of events, by key."""
        rows = self._in(
            "SELECT event.key, event.kind, word.text, event.body FROM event LEFT JOIN word ON word.key = event.tool "
            "WHERE event.key IN",
            sorted(keys),
        )
        return ((key, full_text(KINDS[kind], tool, body)) for key, kind, tool, body in rows)

    def adjacent_events(self, event: EventRow) -> tuple[bytes | None, bytes | None]:
        """The ids of the events before and after one, in the same turn."""
        place = (event.session, event.turn, event.seq)
        where = "session = ? AND turn = ? AND seq"
        before = self._one(f"SELECT id FROM event WHERE {where} < ? ORDER BY seq DESC LIMIT 1", place)
        after = self._one(f"SELECT id FROM event WHERE {where} > ? ORDER BY seq LIMIT 1", place)
        return before and before[0], after and after[0]

    def events_to_index(
        self, key: int, kinds: int, chunk: int = 2_000
    ) -> Iterator[list[tuple[EventRow, str, str | None, int]]]:
        """Events above a key, of kinds below `kinds`, in chunks by key.

        Each item is (event, source, project, start of its session).
        """
        while True:
            rows = self._rows(
                f"""
                SELECT {EVENT}, session.source, session.project, session.started_at
                  FROM {EVENT_FROM} JOIN session ON session.key = event.session
                 WHERE event.key > ? AND event.kind < ?
                 ORDER BY event.key LIMIT ?""",
                (key, kinds, chunk),
            )
            if not rows:
                return
            yield [(event_of(row[:-3]), *row[-3:]) for row in rows]
            key = rows[-1][0]

    def events_above(self, key: int, kinds: tuple[int, ...], chunk: int) -> Iterator[list[EventRow]]:
        """Events of these kinds above a key, in chunks by key."""
        while rows := self._rows(
            f"""
            SELECT {EVENT} FROM {EVENT_FROM}
             WHERE event.key > ? AND event.kind IN ({",".join("?" * len(kinds))})
             ORDER BY event.key LIMIT ?""",
            (key, *kinds, chunk),
        ):
            yield [event_of(row) for row in rows]
            key = rows[-1][0]

    def event_keys(self, session: int) -> list[int]:
        """The keys of a session's events."""
        return [key for (key,) in self._rows("SELECT key FROM event WHERE session = ?", (session,))]

    def sessions_above(self, key: int) -> list[int]:
        """The keys of the sessions that have events above a key."""
        # NOT INDEXED: for DISTINCT, SQLite would scan the index of all events
        rows = self._rows("SELECT DISTINCT session FROM event NOT INDEXED WHERE key > ?", (key,))
        return [session for (session,) in rows]

    def last_keys(self, session: int) -> dict[int, int]:
        """The highest event key of every turn of a session."""
        return dict(self._rows("SELECT turn, max(key) FROM event WHERE session = ? GROUP BY turn", (session,)))

    # ---- the archive itself

    def archive_state(self) -> ArchiveState:
        """The identity of the archive, and its progress and that of its index, by one query."""
        row = self._one(
            """
            SELECT (SELECT value FROM meta WHERE name = 'identity'),
                   (SELECT seq FROM sqlite_sequence WHERE name = 'event'),
                   (SELECT value FROM meta WHERE name = 'indexed'),
                   (SELECT value FROM meta WHERE name = 'published')"""
        )
        identity, *numbers = row
        return ArchiveState(identity or "", *(int(number or 0) for number in numbers))

    def fingerprint(self) -> str:
        """A text that changes whenever events are added or removed."""
        count, events, updated = self._one("SELECT count(*), sum(event_count), max(updated_at) FROM session")
        return f"{self.meta('identity')} {self.last_key()} {count} {events} {updated}"

    def last_key(self) -> int:
        row = self._one("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        return row[0] if row else 0

    def _in(self, sql: str, keys: Iterable[int]) -> list[Any]:
        rows: list[Any] = []
        keys = list(keys)
        for start in range(0, len(keys), MAX_PARAMETERS):
            part = keys[start : start + MAX_PARAMETERS]
            rows += self._rows(f"{sql} ({','.join('?' * len(part))})", part)
        return rows
