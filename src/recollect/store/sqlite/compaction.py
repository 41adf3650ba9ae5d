"""Removes what deleted rows leave in the files of a database: free pages, free space in pages, the write-ahead log."""

import sqlite3
import time

from recollect.errors import StoreFault
from recollect.store.sqlite.database import SqliteDatabase, store_fault

READERS_S = 60.0  # seconds to wait for readers of the write-ahead log: most requests take less than a second
PAUSE_S = 0.05


def compact(database: SqliteDatabase) -> None:
    """Write the file of a database again without anything that was deleted, and empty its write-ahead log.

    `secure_delete` alone is not enough: SQLite also leaves copies of rows that it once moved to other pages.
    """
    db = database.db
    try:
        db.execute("PRAGMA temp_store = FILE")  # the copy may be larger than the memory
        db.execute("VACUUM")
        db.execute("PRAGMA temp_store = MEMORY")
        _empty_log(database)
    except sqlite3.Error as reason:
        raise store_fault(reason, database.path) from reason


def _empty_log(database: SqliteDatabase) -> None:
    until = time.monotonic() + READERS_S
    while database.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > until:
            raise StoreFault(f"A process reads {database.path} for a long time, so deleted text stays in its log.")
        time.sleep(PAUSE_S)
