"""Finds turns in agents' own logs that a live session also has, because the agent ran them for it.

The rule: docs/decisions/2026-11-18-acp-sessions-and-their-logs.md.
"""

from collections.abc import Iterable, Sequence

from recollect.model import AGENT_START_S, KIND_CODE, LIVE_SOURCE, Kind, Stop
from recollect.store.sqlite.event_cells import CELLS, DUPLICATE, OWN, EventCells
from recollect.store.sqlite.savepoint import Savepoints

CLOCK_MS = 1_000  # some agents write whole seconds
READY_MS = round(AGENT_START_S * 1_000)
SPOKEN = f"({KIND_CODE[Kind.USER_INPUT]}, {KIND_CODE[Kind.ASSISTANT_RESPONSE]})"


class DuplicateTurns(Savepoints):
    """The part of the writer that connects agents' logs with live sessions."""

    def put_acp_sessions(self, session: bytes, native_ids: Sequence[str]) -> None:
        """Store the ids that agents have for a live session."""
        rows = [(native_id, session) for native_id in native_ids]
        self.db.executemany("INSERT OR REPLACE INTO acp_session VALUES (?, ?)", rows)

    def live_turn_starts(self, native_id: str) -> list[int]:
        """The start times of the turns that an agent ran for a live session under this native id, without crashed turns."""
        rows = self.db.execute(
            """
            SELECT turn.started_at
              FROM acp_session
              JOIN session ON session.id = acp_session.session
              JOIN turn ON turn.session = session.key
             WHERE acp_session.native_id = ? AND turn.stop <> ?""",
            (native_id, Stop.CRASH),
        )
        return [started for (started,) in rows]

    def mark_duplicate_turns(self, native_ids: Iterable[str]) -> bool:
        """Mark turns of logs that a live session also has. Returns whether any was marked. Their events get new keys."""
        is_changed = False
        for native_id in native_ids:
            for key, session in self._logs_of(native_id):
                duplicates = self._unmarked_duplicates(key, self.live_turn_starts(native_id))
                for ordinal in duplicates:
                    self._mark_turn(key, ordinal)
                self.update_duplicate_of(session)
                is_changed = is_changed or bool(duplicates)
        return is_changed

    def _logs_of(self, native_id: str) -> list[tuple[int, bytes]]:
        select = "SELECT key, id FROM session WHERE native_id = ? AND source <> ?"
        return self.db.execute(select, (native_id, LIVE_SOURCE)).fetchall()

    def _unmarked_duplicates(self, key: int, starts: Sequence[int]) -> list[int]:
        rows = self.db.execute(
            """
            SELECT DISTINCT turn.ordinal, turn.started_at
              FROM turn JOIN event ON event.session = turn.session AND event.turn = turn.ordinal
             WHERE turn.session = ? AND event.flags & ? = 0""",
            (key, OWN),
        )
        return [ordinal for ordinal, started in rows if is_duplicate(started, starts)]

    def _mark_turn(self, key: int, ordinal: int) -> None:
        """Mark the events of a turn. They get new keys, so that the indexes notice the change."""
        where = "session = ? AND turn = ?"
        rows = self.db.execute(f"SELECT {CELLS} FROM event WHERE {where} ORDER BY seq", (key, ordinal)).fetchall()
        self.delete_events(where, (key, ordinal))
        cells = (EventCells._make(row) for row in rows)
        self.insert_events([row._replace(flags=row.flags | OWN | DUPLICATE) for row in cells])

    def update_duplicate_of(self, session: bytes) -> None:
        """Set `duplicate_of` of a session if a live session has all its prompts and answers."""
        self.db.execute(
            f"""
            UPDATE session
               SET duplicate_of = (
                    SELECT acp_session.session
                      FROM acp_session
                     WHERE acp_session.native_id = session.native_id
                       AND EXISTS (SELECT 1 FROM event WHERE event.session = session.key AND event.kind IN {SPOKEN})
                       AND NOT EXISTS (SELECT 1 FROM event
                                        WHERE event.session = session.key AND event.kind IN {SPOKEN}
                                          AND event.flags & :own = 0))
             WHERE id = :session AND source <> :live""",
            {"session": session, "own": OWN, "live": LIVE_SOURCE},
        )


def is_duplicate(started_at: int, live_starts: Iterable[int]) -> bool:
    """Whether a turn of a log began at the start of one of these live turns."""
    return any(start - CLOCK_MS <= started_at <= start + READY_MS for start in live_starts)
