"""Queries of the library about the events and files of one session, and about the sessions that changed."""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from zstandard import frame_content_size

from recollect.model import KIND_CODE, KINDS, Kind, Usage
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.sqlite.event_cells import FAILED
from recollect.store.sqlite.library_queries import CHANGING
from recollect.store.sqlite.rows import EVENT, EVENT_FROM, SESSION, EventRow, SessionRow, event_of, session_of
from recollect.store.sqlite.session_queries import LISTED

FRAME_HEADER = 18  # bytes at the start of a compressed body that tell its length: no header of a frame is longer
RESPONSE = KIND_CODE[Kind.TOOL_RESPONSE]
FIRST_TURN = "coalesce((SELECT min(ordinal) FROM turn WHERE session = ? AND last >= ?), 0)"


class CallEnd(Struct, frozen=True):
    """When and how a tool call ended, by its first response."""

    at: int
    exit_code: int | None
    failed: bool


class ChangedSession(Struct, frozen=True):
    """A session with events above a key, and the number of its newest event."""

    id: bytes
    sequence: int
    updated_at: int
    title: str


class LibraryEvents(SqliteDatabase):
    """The part of the reader that answers the library about single sessions."""

    def event_window(self, session: int, first: int, limit: int, kinds: tuple[int, ...] | None) -> list[EventRow]:
        """Events of a session from a sequence number on."""
        condition = "" if kinds is None else "AND event.kind IN (SELECT value FROM json_each(?))"
        values = [] if kinds is None else [msgspec.json.encode(kinds).decode()]
        rows = self._rows(
            f"""
            SELECT {EVENT} FROM {EVENT_FROM}
             WHERE event.session = ? AND event.turn >= {FIRST_TURN} AND event.seq >= ? {condition}
             ORDER BY event.turn, event.seq LIMIT ?""",
            (session, session, first, first, *values, limit),
        )
        return [event_of(row) for row in rows]

    def count_events(self, session: int, kinds: tuple[int, ...] | None) -> int:
        """The number of events of a session."""
        condition = "" if kinds is None else "AND kind IN (SELECT value FROM json_each(?))"
        values = () if kinds is None else (msgspec.json.encode(kinds).decode(),)
        counted = self._one(f"SELECT sum(events) FROM session_count WHERE session = ? {condition}", (session, *values))
        return int(counted[0] or 0)

    def event_sizes(self, session: int) -> list[tuple[str, int]]:
        """The kind and the length in bytes of each event of a session, in order. No content is decompressed."""
        rows = self._rows(
            f"""
            SELECT kind, CASE typeof(body) WHEN 'blob' THEN substr(body, 1, {FRAME_HEADER})
                         ELSE length(CAST(body AS BLOB)) END
              FROM event WHERE session = ? ORDER BY turn, seq""",
            (session,),
        )
        return [(KINDS[kind], size if isinstance(size, int) else frame_content_size(size)) for kind, size in rows]

    def newest_event(self, session: int) -> EventRow | None:
        rows = self._rows(
            f"SELECT {EVENT} FROM {EVENT_FROM} WHERE event.session = ? ORDER BY event.turn DESC, event.seq DESC LIMIT 1",
            (session,),
        )
        return event_of(rows[0]) if rows else None

    def events_between_ids(self, first: bytes, last: bytes, limit: int) -> list[bytes]:
        """The first ids of events between two ids."""
        rows = self._rows("SELECT id FROM event WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", (first, last, limit))
        return [event for (event,) in rows]

    def times_of(self, session: int, sequences: Iterable[int]) -> dict[int, int]:
        """The times of events of a session, by their sequence numbers."""
        wanted = sorted(sequences)
        if not wanted:
            return {}
        rows = self._rows(
            f"""
            SELECT seq, at FROM event
             WHERE session = ? AND turn BETWEEN {FIRST_TURN} AND {FIRST_TURN}
               AND seq IN (SELECT value FROM json_each(?))""",
            (session, session, wanted[0], session, wanted[-1], msgspec.json.encode(wanted).decode()),
        )
        return dict(rows)

    def responses_to(self, session: int, calls: Iterable[EventRow]) -> dict[int, CallEnd]:
        """The ends of tool calls, by their sequence numbers. A response is in the turn of its call, or in the next one."""
        places = [(call.turn, call.seq) for call in calls]
        if not places:
            return {}
        sequences = msgspec.json.encode([seq for _, seq in places]).decode()
        rows = self._rows(
            """
            SELECT answers, at, exit_code, flags FROM event
             WHERE session = ? AND turn BETWEEN ? AND ? AND kind = ? AND answers IN (SELECT value FROM json_each(?))
             ORDER BY turn DESC, seq DESC""",
            (session, min(places)[0], max(places)[0] + 1, RESPONSE, sequences),
        )
        return {seq: CallEnd(at, exit_code, bool(flags & FAILED or exit_code)) for seq, at, exit_code, flags in rows}

    def context_tokens(self, session: int) -> dict[int, int]:
        """The tokens that the last model call of each turn read, by the turn's ordinal."""
        rows = self._rows(
            "SELECT turn, usage FROM event WHERE session = ? AND usage IS NOT NULL ORDER BY turn, seq", (session,)
        )
        contexts = {}
        for turn, stored in rows:
            usage = msgspec.json.decode(stored, type=Usage)
            if read := usage.input + usage.cache_read + usage.cache_write:
                contexts[turn] = read
        return contexts

    def sessions_with_files_of(self, session: int, limit: int) -> list[tuple[bytes, int]]:
        """(id, number of files) of the other sessions that changed files which this one changed, most files first."""
        return self._rows(
            f"""
            WITH own (path) AS (SELECT DISTINCT path FROM file_change WHERE session = :own AND operation IN {CHANGING})
            SELECT session.id, count(DISTINCT other.path) AS files
              FROM own
              CROSS JOIN file_change AS other ON other.path = own.path AND other.session <> :own
              JOIN session ON session.key = other.session
             WHERE other.operation IN {CHANGING} AND session.{LISTED.replace(" AND ", " AND session.")}
               AND session.project IS (SELECT project FROM session WHERE key = :own)
             GROUP BY session.id ORDER BY files DESC, session.updated_at DESC LIMIT :limit""",
            {"own": session, "limit": limit},
        )

    def progress(self) -> tuple[str, int, int]:
        """The identity of the archive, its last event key, and its number of sessions."""
        row = self._one(
            f"""
            SELECT (SELECT value FROM meta WHERE name = 'identity'), (SELECT seq FROM sqlite_sequence WHERE name = 'event'),
                   (SELECT count(*) FROM session WHERE {LISTED})"""
        )
        return row[0] or "", int(row[1] or 0), int(row[2])

    def changed_sessions(self, above: int) -> list[ChangedSession]:
        """The sessions that have events above a key, oldest change first."""
        rows = self._rows(
            f"""
            SELECT session.id, max(event.seq), session.updated_at, session.title
              FROM event NOT INDEXED JOIN session ON session.key = event.session
             WHERE event.key > ? AND {LISTED}
             GROUP BY session.key ORDER BY max(event.key)""",
            (above,),
        )
        return [ChangedSession(*row) for row in rows]

    def sessions_by_ids(self, ids: Iterable[bytes]) -> dict[bytes, SessionRow]:
        """Sessions, by id."""
        rows: list[Any] = self._rows_in(f"SELECT {SESSION} FROM session WHERE event_count > 0 AND id IN", ids)
        return {session.id: session for session in map(session_of, rows)}
