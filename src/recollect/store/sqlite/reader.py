"""Queries of an archive. Readers never wait for the writer, and see only what it committed."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from recollect.model import KINDS
from recollect.store.sqlite.database import MAX_PARAMETERS
from recollect.store.sqlite.forget_queries import ForgetQueries
from recollect.store.sqlite.inventory import Inventory
from recollect.store.sqlite.library_events import LibraryEvents
from recollect.store.sqlite.library_files import LibraryFiles
from recollect.store.sqlite.library_queries import LibraryQueries
from recollect.store.sqlite.rows import (
    EVENT,
    EVENT_FROM,
    TURN,
    ArchiveState,
    EventPlace,
    EventRow,
    TurnRow,
    event_of,
    full_text,
    turn_of,
)
from recollect.store.sqlite.session_queries import SessionQueries
from recollect.store.sqlite.usage_queries import UsageQueries

INDEXED = f"""
    SELECT {EVENT}, session.source, session.project, session.started_at
      FROM {EVENT_FROM} JOIN session ON session.key = event.session"""  # what the indexes need of an event


class Reader(SessionQueries, LibraryQueries, LibraryEvents, LibraryFiles, UsageQueries, ForgetQueries, Inventory):
    """Queries of one thread. `interrupt_when` can stop a query that takes too long."""

    def __init__(self, path: Path, *, is_absent: bool = False) -> None:
        super().__init__(path, is_absent=is_absent)

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
        return {row[0]: event_of(row) for row in self._rows_in(f"SELECT {EVENT} FROM {EVENT_FROM} WHERE event.key IN", keys)}

    def full_texts(self, keys: Iterable[int]) -> Iterator[tuple[int, str]]:
        """(key, full text) of events, by key."""
        rows = self._rows_in(
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
                f"{INDEXED} WHERE event.key > ? AND event.kind < ? ORDER BY event.key LIMIT ?", (key, kinds, chunk)
            )
            if not rows:
                return
            yield [(event_of(row[:-3]), *row[-3:]) for row in rows]
            key = rows[-1][0]

    def events_to_index_again(
        self, keys: Sequence[int], kinds: int, chunk: int = 2_000
    ) -> Iterator[list[tuple[EventRow, str, str | None, int]]]:
        """The events with these keys, of kinds below `kinds`, like `events_to_index`."""
        for start in range(0, len(keys), chunk):
            rows = self._rows_in(f"{INDEXED} WHERE event.kind < {kinds} AND event.key IN", keys[start : start + chunk])
            yield [(event_of(row[:-3]), *row[-3:]) for row in rows]

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
