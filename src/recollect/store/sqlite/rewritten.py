"""Sessions whose log was rewritten, cut or emptied: what the archive has of them, and what it lets go."""

from collections.abc import Sequence

from recollect.store.sqlite.event_cells import EventCells
from recollect.store.sqlite.savepoint import Undoable

ASK = 500  # ids per question, below SQLite's limit of parameters
CELLS = ", ".join(EventCells._fields)


class RewrittenSessions(Undoable):
    """The part of the writer that compares a session with what its log tells now."""

    def cells(self, session: bytes, ids: Sequence[bytes]) -> dict[bytes, EventCells]:
        """Those of these events that a session has, as they lie in the archive."""
        found: dict[bytes, EventCells] = {}
        for start in range(0, len(ids), ASK):
            part = ids[start : start + ASK]
            rows = self.db.execute(
                f"""
                SELECT {CELLS}
                  FROM event
                 WHERE id IN ({",".join("?" * len(part))})
                   AND session = (SELECT key FROM session WHERE id = ?)""",
                (*part, session),
            )
            found.update({row[0]: EventCells._make(row) for row in rows})
        return found

    def cut_session(self, session: bytes, seq: int) -> None:
        """Remove the events of a session from `seq` on: its log tells something else from there."""
        row = self.db.execute("SELECT key FROM session WHERE id = ?", (session,)).fetchone()
        if row is None:
            return
        (key,) = row
        self.db.execute("INSERT OR IGNORE INTO gone SELECT key FROM event WHERE session = ? AND seq >= ?", (key, seq))
        self.db.execute("DELETE FROM event WHERE session = ? AND seq >= ?", (key, seq))
        self.db.execute(
            """
            DELETE FROM turn
             WHERE session = :key AND ordinal > (SELECT coalesce(max(turn), 0) FROM event WHERE session = :key)""",
            {"key": key},
        )
        self.db.execute("UPDATE session SET event_count = min(event_count, ?) WHERE key = ?", (seq, key))
        self.reset_title(session)

    def reset_title(self, session: bytes) -> None:
        """Let the next title of a session count, whatever its rank."""
        self.db.execute("UPDATE session SET title = '', title_rank = 0 WHERE id = ?", (session,))

    def event_at(self, session: bytes, seq: int) -> EventCells | None:
        """The event at this place of a session; None where there is none."""
        row = self.db.execute(
            f"SELECT {CELLS} FROM event WHERE session = (SELECT key FROM session WHERE id = ?) AND seq = ?", (session, seq)
        ).fetchone()
        return EventCells._make(row) if row else None

    # ---- what no log holds any more

    def earlier(self, session: bytes) -> bytes | None:
        """The fold of the part of a session that its log no longer holds."""
        row = self.db.execute("SELECT state FROM earlier WHERE session = ?", (session,)).fetchone()
        return row[0] if row else None

    def put_earlier(self, session: bytes, state: bytes) -> None:
        self.db.execute("INSERT OR REPLACE INTO earlier VALUES (?, ?)", (session, state))

    def problems_between(self, path: str, after: int, before: int) -> list[str]:
        """What is wrong with the lines of a log between these two."""
        question = "SELECT reason FROM problem WHERE path = ? AND line > ? AND line < ?"
        return [reason for (reason,) in self.db.execute(question, (path, after, before))]
