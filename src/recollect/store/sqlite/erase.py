"""Erases sessions for good: every row about them, and the rows of names that only they used."""

from collections.abc import Iterable, Sequence
from itertools import chain

from recollect.store.sqlite.cursors import Cursors
from recollect.store.sqlite.overlapping_logs import OverlappingLogs
from recollect.store.sqlite.tallies import Tallies

OF_SESSION_KEY = ("turn", "session_count", "session_usage", "file_change")
OF_SESSION_ID = ("session_prefix", "session_metadata", "acp_session", "private_session")
NAMES = {  # names that several sessions may use: how to find those of a session, and a session that uses one
    "word": (
        "SELECT tool, model FROM session_count WHERE session IN",
        "SELECT 1 FROM session_count WHERE tool = word.key OR model = word.key",
    ),
    "file_path": (
        "SELECT DISTINCT path FROM file_change WHERE session IN",
        "SELECT 1 FROM file_change WHERE file_change.path = file_path.key",
    ),
}


class ErasedSessions(Tallies, Cursors, OverlappingLogs):
    """The part of the writer that erases sessions."""

    def erase_sessions(self, sessions: Sequence[bytes]) -> None:
        """Erase sessions, so that no log brings them back. Call it inside a transaction, and `load_caches` after it."""
        keys = [key for (key,) in self._rows_in("SELECT key FROM session WHERE id IN", sessions)]
        self.put_tombstones([*sessions, *(event for key in keys for event in self._events_of(key))])
        logs = set(self._paths_of(sessions))
        names = {table: set(chain(*self._rows_in(select, keys))) for table, (select, _) in NAMES.items()}
        for key in keys:
            self._erase_events(key)
            for table in OF_SESSION_KEY:
                self.db.execute(f"DELETE FROM {table} WHERE session = ?", (key,))
        for session in sessions:
            for table in OF_SESSION_ID:
                self.db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
            self.db.execute("DELETE FROM link WHERE child = ? OR parent = ?", (session, session))
            self.db.execute("DELETE FROM session WHERE id = ?", (session,))
        for table, (_, used) in NAMES.items():
            unused = f"DELETE FROM {table} WHERE key = ? AND NOT EXISTS ({used})"
            self.db.executemany(unused, [(name,) for name in names[table]])
        for log in logs:
            self.hide_log_without_content(log)

    def _events_of(self, key: int) -> Iterable[bytes]:
        return (event for (event,) in self._rows("SELECT id FROM event WHERE session = ?", (key,)))

    def _paths_of(self, sessions: Sequence[bytes]) -> Iterable[str]:
        """The logs that these sessions were read from, and those with metadata of them."""
        columns = {"session": "id", "cursor": "session", "session_metadata": "session"}
        for table, column in columns.items():
            yield from (path for (path,) in self._rows_in(f"SELECT path FROM {table} WHERE {column} IN", sessions))

    def _erase_events(self, key: int) -> None:
        """Erase the events of a session, the titles that refer to them, and the problems among them."""
        self.db.execute("DELETE FROM event_title WHERE event IN (SELECT id FROM event WHERE session = ?)", (key,))
        self.db.execute(
            """
            DELETE FROM problem
             WHERE path = (SELECT path FROM session WHERE key = :key)
               AND line BETWEEN (SELECT min(line) FROM event WHERE session = :key)
                            AND (SELECT max(line) FROM event WHERE session = :key)""",
            {"key": key},
        )
        self.delete_events("session = ?", (key,))

    # ---- logs

    def hide_log_without_content(self, path: str) -> None:
        """Forget the path of a log of which nothing is left, and those of its copies. Call it inside a transaction."""
        if self.has_content_of(path):
            return
        copies = [other for (other,) in self._rows("SELECT other FROM log_overlap WHERE path = ?", (path,))]
        for table in ("problem", "session"):
            self.db.execute(f"DELETE FROM {table} WHERE path = ?", (path,))
        self.db.execute("DELETE FROM log_overlap WHERE path = ? OR other = ?", (path, path))
        self.hide_cursor(path)
        for copy in copies:
            if self._is_unread_copy(copy):
                self.hide_log_without_content(copy)

    def has_content_of(self, path: str) -> bool:
        """Whether the archive has events of a log, or what it says about sessions of other logs."""
        session = "SELECT 1 FROM session WHERE path = :path AND event_count > 0"
        metadata = "SELECT 1 FROM session_metadata WHERE path = :path"
        return self._one(f"{session} UNION ALL {metadata} LIMIT 1", {"path": path}) is not None

    def _is_unread_copy(self, path: str) -> bool:
        """Whether a log was not read, because it is a copy of another one."""
        unread = "SELECT 1 FROM cursor WHERE path = ? AND session IS NULL AND state IS NULL"
        return self._one(unread, (path,)) is not None

    # ---- the folds in the cursors of other logs

    def cursor_states(self, source: str) -> list[tuple[str, bytes]]:
        """(path, state) of all cursors of a source that have a state."""
        return self._rows("SELECT path, state FROM cursor WHERE source = ? AND state IS NOT NULL", (source,))

    def cursor_paths(self, source: str) -> list[str]:
        """The paths of all logs of a source that were read."""
        return [path for (path,) in self._rows("SELECT path FROM cursor WHERE source = ?", (source,))]

    def put_cursor_state(self, path: str, state: bytes) -> None:
        self.db.execute("UPDATE cursor SET state = ? WHERE path = ?", (state, path))

    def native_ids(self, sessions: Iterable[bytes]) -> list[tuple[str, str]]:
        """(source, native id) of these sessions."""
        return self._rows_in("SELECT source, native_id FROM session WHERE id IN", sessions)
