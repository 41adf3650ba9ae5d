"""Which logs hold the same records: two of one session, or one that begins with a copy of another."""

from recollect.store.sqlite.database import SqliteDatabase


class OverlappingLogs(SqliteDatabase):
    """The part of the writer that knows which logs overlap and must be read together."""

    def load_overlaps(self) -> None:
        self._shared: dict[str, set[str]] = {}
        for path, other in self.db.execute("SELECT path, other FROM log_overlap"):
            self._shared.setdefault(path, set()).add(other)

    def put_overlap(self, path: str, other: str) -> None:
        """Note that two logs overlap."""
        if path == other or other in self._shared.get(path, ()):
            return
        for one, two in ((path, other), (other, path)):
            self._shared.setdefault(one, set()).add(two)
            self.db.execute("INSERT OR IGNORE INTO log_overlap VALUES (?, ?)", (one, two))

    def overlap_group(self, path: str) -> frozenset[str]:
        """A log and all logs that overlap with it, directly or through others."""
        group, ahead = {path}, [path]
        while ahead:
            new = self._shared.get(ahead.pop(), set()) - group
            group |= new
            ahead += new
        return frozenset(group)

    def path_of_session(self, session: bytes) -> str | None:
        row = self.db.execute("SELECT path FROM session WHERE id = ?", (session,)).fetchone()
        return row[0] if row else None

    def move_sessions(self, path: str, to: str) -> None:
        """Note that another log has all sessions of this one."""
        self.db.execute("UPDATE session SET path = ? WHERE path = ?", (to, path))

    def sessions_at(self, path: str) -> list[bytes]:
        return [session for (session,) in self.db.execute("SELECT id FROM session WHERE path = ?", (path,))]
