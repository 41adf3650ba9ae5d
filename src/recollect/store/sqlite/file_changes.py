"""Stores the files that tool calls read, changed, created and deleted."""

from collections.abc import Iterable, Sequence

from recollect.observe.file_changes import FileChange
from recollect.store.sqlite.database import SqliteDatabase

FILES_PENDING = "files_pending"  # the meta row with the last event of an earlier version, which recorded no files
FILES_READ = "files_read"  # the meta row with the last of those events whose files are recorded


class FileChanges(SqliteDatabase):
    """The part of the writer that records files."""

    def put_file_changes(self, session: int, event: int, at: int, changes: Sequence[FileChange]) -> None:
        """Replace the files of a tool call."""
        self.db.execute("DELETE FROM file_change WHERE event = ?", (event,))
        self.db.executemany(
            "INSERT OR REPLACE INTO file_change VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (event, self._path_key(change.path), change.operation, session, at, change.added, change.removed)
                for change in changes
            ],
        )

    def knows_path(self, session: int, path: str, before: int) -> bool:
        """Whether an earlier tool call of a session read or changed a file."""
        row = self.db.execute(
            """
            SELECT 1 FROM file_change JOIN file_path ON file_path.key = file_change.path
             WHERE file_change.session = ? AND file_path.path = ? AND file_change.event < ? LIMIT 1""",
            (session, path, before),
        ).fetchone()
        return row is not None

    def _path_key(self, path: str) -> int:
        row = self.db.execute("SELECT key FROM file_path WHERE path = ?", (path,)).fetchone()
        row = row or self.db.execute("INSERT INTO file_path (path) VALUES (?) RETURNING key", (path,)).fetchone()
        return int(row[0])
