"""Step 3, STORE: the archive of a realm, in SQLite. All SQL about our own data is here.

One `Writer` can be open at a time, and any number of `Reader`s.
"""

from recollect.store.sqlite.cursors import Cursor
from recollect.store.sqlite.database import NewerSchema, OutOfDate, file_identity, is_database
from recollect.store.sqlite.event_cells import EventCells
from recollect.store.sqlite.reader import Reader
from recollect.store.sqlite.rows import ArchiveState, EventRow, SessionRow, TurnRow
from recollect.store.sqlite.writer import Writer

__all__ = [
    "ArchiveState",
    "Cursor",
    "EventCells",
    "EventRow",
    "NewerSchema",
    "OutOfDate",
    "Reader",
    "SessionRow",
    "TurnRow",
    "Writer",
    "archive_path",
    "file_identity",
    "is_database",
]

from pathlib import Path


def archive_path(realm: Path) -> Path:
    return realm / "archive.db"
