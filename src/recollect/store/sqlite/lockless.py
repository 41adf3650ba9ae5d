"""Opens databases in a read-only folder: an agent's sandbox, a snapshot, a read-only mount.

The processes that have a database open share a `-shm` file. If the file exists, SQLite maps it read-only and sees every
commit. If not, SQLite cannot create it. Then the present content of the database and its write-ahead log is read without
a lock. A later write makes the connection outdated. A changed `FileState` shows that.
"""

import sqlite3
from pathlib import Path

from recollect.disk import is_disk_full

WAL_HEADER = 32  # bytes: a write-ahead log of this size is empty
CANNOT_SHARE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}  # SQLite's errors if it cannot create the `-shm` file


Stamp = tuple[int, int, int]
"""Size, date and inode of a file."""
FileState = tuple[Stamp | None, Stamp | None, bool]
"""The stamps of a database and of its write-ahead log, if they exist, and whether a process has it open."""


def state_of(path: Path) -> FileState:
    """The state of a database file, to notice later writes."""
    return _state(path), _state(_beside(path, "-wal")), _state(_beside(path, "-shm")) is not None


def needs_no_lock(reason: sqlite3.Error, path: Path) -> bool:
    """Whether SQLite failed only because it cannot create a file beside the database."""
    code = reason.sqlite_errorcode & 0xFF
    return (code in CANNOT_SHARE and path.exists()) or (code == sqlite3.SQLITE_IOERR and is_disk_full(path.parent))


def open_without_lock(path: Path) -> sqlite3.Connection:
    """A connection that takes no lock and writes nothing. It sees the state of the moment when it was opened."""
    db = sqlite3.connect(_uri(path), uri=True, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA main.locking_mode = EXCLUSIVE")  # SQLite indexes the write-ahead log in memory, not in a `-shm`
    return db


def attach_without_lock(db: sqlite3.Connection, path: Path, name: str) -> None:
    """Attach a database without a lock. SQLite sets the locking mode for all databases of the connection."""
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    try:
        db.execute(f"ATTACH ? AS {name}", (_uri(path),))
    finally:
        db.execute("PRAGMA locking_mode = NORMAL")


def _uri(path: Path) -> str:
    wal = _state(_beside(path, "-wal"))
    options = "mode=ro&vfs=unix-none" if wal is not None and wal[0] > WAL_HEADER else "immutable=1"
    return f"{path.absolute().as_uri()}?{options}"


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _state(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino
