"""The working folders of sessions."""

from pathlib import Path

from recollect.folders import MAX_PATH
from recollect.store.sqlite.database import SqliteDatabase


class WorkingFolders(SqliteDatabase):
    """The part of readers and writers that lists the folders that may hold logs of projects."""

    def folders(self) -> list[Path]:
        """Every working folder of a session. Paths that cannot be a folder are left out."""
        rows = self._rows("SELECT DISTINCT cwd FROM session WHERE cwd LIKE '/%' AND length(cwd) <= ?", (MAX_PATH,))
        return [Path(cwd) for (cwd,) in rows]
