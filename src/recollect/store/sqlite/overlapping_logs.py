"""Pairs of logs with the same records: two logs of one session, or one that begins with a copy of another."""

from recollect.store.sqlite.database import SqliteDatabase


class OverlappingLogs(SqliteDatabase):
    """The part of the writer that stores which logs overlap and must be read together."""

    def load_overlaps(self) -> None:
        """Load all pairs into memory."""
        self._overlaps: dict[str, set[str]] = {}
        for path, other in self.db.execute("SELECT path, other FROM log_overlap"):
            self._overlaps.setdefault(path, set()).add(other)

    def put_overlap(self, path: str, other: str) -> None:
        """Note that two logs overlap."""
        if path == other or other in self._overlaps.get(path, ()):
            return
        for first, second in ((path, other), (other, path)):
            self._overlaps.setdefault(first, set()).add(second)
            self.db.execute("INSERT OR IGNORE INTO log_overlap VALUES (?, ?)", (first, second))

    def overlap_group(self, path: str) -> frozenset[str]:
        """A log and all logs that overlap with it, directly or through others."""
        group, pending = {path}, [path]
        while pending:
            new = self._overlaps.get(pending.pop(), set()) - group
            group |= new
            pending += new
        return frozenset(group)

    def path_of_session(self, session: bytes) -> str | None:
        row = self.db.execute("SELECT path FROM session WHERE id = ?", (session,)).fetchone()
        return row[0] if row else None

    def move_sessions(self, path: str, to: str) -> None:
        """Assign all sessions of a log to another log."""
        self.db.execute("UPDATE session SET path = ? WHERE path = ?", (to, path))

    def sessions_at(self, path: str) -> list[bytes]:
        return [session for (session,) in self.db.execute("SELECT id FROM session WHERE path = ?", (path,))]
