"""Queries about sessions whose log was rewritten, cut or emptied."""

from collections.abc import Sequence

from recollect.store.sqlite.database import MAX_PARAMETERS
from recollect.store.sqlite.event_cells import CELLS, EventCells
from recollect.store.sqlite.savepoint import Savepoints


class RewrittenSessions(Savepoints):
    """The part of the writer that compares stored sessions with their logs."""

    def stored_events(self, session: bytes, ids: Sequence[bytes]) -> dict[bytes, EventCells]:
        """The stored events of a session that have one of these ids, by id."""
        events: dict[bytes, EventCells] = {}
        for start in range(0, len(ids), MAX_PARAMETERS):
            part = ids[start : start + MAX_PARAMETERS]
            rows = self.db.execute(
                f"""
                SELECT {CELLS}
                  FROM event
                 WHERE id IN ({",".join("?" * len(part))})
                   AND session = (SELECT key FROM session WHERE id = ?)""",
                (*part, session),
            )
            events.update({row[0]: EventCells._make(row) for row in rows})
        return events

    def truncate_session(self, session: bytes, seq: int) -> None:
        """Remove the events of a session from `seq` on, because its log differs from there."""
        row = self.db.execute("SELECT key FROM session WHERE id = ?", (session,)).fetchone()
        if row is None:
            return
        (key,) = row
        self.delete_events("session = ? AND seq >= ?", (key, seq))
        self.db.execute(
            """
            DELETE FROM turn
             WHERE session = :key AND ordinal > (SELECT coalesce(max(turn), 0) FROM event WHERE session = :key)""",
            {"key": key},
        )
        self.db.execute("UPDATE session SET event_count = min(event_count, ?) WHERE key = ?", (seq, key))
        self.reset_title(session)

    def reset_title(self, session: bytes) -> None:
        """Clear a session's title, so that a title of any rank replaces it."""
        self.db.execute("UPDATE session SET title = '', title_rank = 0 WHERE id = ?", (session,))

    def event_at(self, session: bytes, seq: int) -> EventCells | None:
        """The event at this position of a session, or None."""
        row = self.db.execute(
            f"SELECT {CELLS} FROM event WHERE session = (SELECT key FROM session WHERE id = ?) AND seq = ?", (session, seq)
        ).fetchone()
        return EventCells._make(row) if row else None

    # ---- events that no log has any more

    def session_prefix(self, session: bytes) -> bytes | None:
        """The fold of the events at the start of a session that its log no longer holds."""
        row = self.db.execute("SELECT state FROM session_prefix WHERE session = ?", (session,)).fetchone()
        return row[0] if row else None

    def put_session_prefix(self, session: bytes, state: bytes) -> None:
        self.db.execute("INSERT OR REPLACE INTO session_prefix VALUES (?, ?)", (session, state))

    def problems_between(self, path: str, after: int, before: int) -> list[str]:
        """The reasons of the problems between two lines of a log."""
        rows = self.db.execute("SELECT reason FROM problem WHERE path = ? AND line > ? AND line < ?", (path, after, before))
        return [reason for (reason,) in rows]
