"""Logs that tell the same: which they are, and how to read them all again."""

from recollect.store.sqlite.database import Database


class SharedLogs(Database):
    """The part of the writer that knows which logs have to be read together."""

    def remember_shared(self) -> None:
        self._shared: dict[str, set[str]] = {}
        for path, other in self.db.execute("SELECT path, other FROM shared"):
            self._shared.setdefault(path, set()).add(other)

    def put_shared(self, path: str, other: str) -> None:
        """Note that two logs tell the same."""
        if path == other or other in self._shared.get(path, ()):
            return
        for one, two in ((path, other), (other, path)):
            self._shared.setdefault(one, set()).add(two)
            self.db.execute("INSERT OR IGNORE INTO shared VALUES (?, ?)", (one, two))

    def group_of(self, path: str) -> frozenset[str]:
        """A log and all that tell the same, directly or by way of others."""
        group, ahead = {path}, [path]
        while ahead:
            new = self._shared.get(ahead.pop(), set()) - group
            group |= new
            ahead += new
        return frozenset(group)

    def path_of(self, session: bytes) -> str | None:
        row = self.db.execute("SELECT path FROM session WHERE id = ?", (session,)).fetchone()
        return row[0] if row else None

    def move_sessions(self, path: str, to: str) -> None:
        """Note that another log tells all that this one told, of every session in it."""
        self.db.execute("UPDATE session SET path = ? WHERE path = ?", (to, path))

    def sessions_at(self, path: str) -> list[bytes]:
        return [session for (session,) in self.db.execute("SELECT id FROM session WHERE path = ?", (path,))]
