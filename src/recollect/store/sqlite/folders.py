"""The folders that agents worked in."""

from pathlib import Path

from recollect.folders import LONGEST_PATH
from recollect.store.sqlite.database import Database


class WorkingFolders(Database):
    """The part of readers and writers that tells where to look for logs that lie in projects."""

    def folders(self) -> list[Path]:
        """Every folder that an agent has worked in. A log may also name what cannot be a folder."""
        rows = self._rows("SELECT DISTINCT cwd FROM session WHERE cwd LIKE '/%' AND length(cwd) <= ?", (LONGEST_PATH,))
        return [Path(cwd) for (cwd,) in rows]
