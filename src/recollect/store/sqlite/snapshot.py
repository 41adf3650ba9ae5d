"""Copies databases while other processes write them: all copies show the state of one moment."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Self

from recollect.store.sqlite.database import fetch, store_fault

STEP_PAGES = 1_024  # pages that are copied between two reports of progress: 16 MB
WAIT_S = 10.0  # seconds to wait for the commit of another process

OnPages = Callable[[int, int], None]  # how many bytes are copied, and how many there are


class DatabaseSnapshot:
    """The state of a database at the moment when this was created. Later commits do not change it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            uri = f"{path.absolute().as_uri()}?mode=rw"
            self._db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=WAIT_S, check_same_thread=False)
            self._db.execute("BEGIN")
            self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the snapshot begins with the first read
        except sqlite3.Error as reason:
            raise store_fault(reason, path) from reason

    def size(self) -> int:
        """The number of bytes of a copy."""
        pages, size = (fetch(self._db, self.path, f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size"))
        return int(pages * size)

    def count_rows(self, rows: str) -> int:
        """The number of rows: those of a table, or `table WHERE condition`."""
        return int(fetch(self._db, self.path, f"SELECT count(*) FROM {rows}")[0][0])

    def copy(self, target: Path, on_pages: OnPages, emptied: tuple[str, ...] = ()) -> None:
        """Write a copy to a new file that only the owner can read. The rows of the `emptied` tables are left out."""
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        size = self.size()
        copy = sqlite3.connect(target, isolation_level=None)
        try:
            self._db.backup(
                copy,
                pages=STEP_PAGES,
                progress=lambda _, remaining, total: on_pages(size * (total - remaining) // max(1, total), size),
            )
            copy.execute("PRAGMA journal_mode = DELETE")  # so that the copy is one file
            for table in emptied:
                copy.execute(f"DELETE FROM {table}")
        except sqlite3.Error as reason:
            raise store_fault(reason, target) from reason
        finally:
            copy.close()

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
