"""Reads agents' SQLite databases while the agents write them. It blocks no writer and writes no byte.

How a database is opened depends on its other users. If a write-ahead log is in use, there is a `-shm` file next to the
`-wal`: it is mapped read-only, and such readers never block a writer. A `-wal` without `-shm` comes from a crash or a
copied file: it is read in a private copy, since reading it in place would write a file.
Any other database is opened as immutable, which takes no lock. If the file changes meanwhile, the result is dropped.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from recollect.sources.formats.container import Unreadable, describe_error
from recollect.sources.formats.memory_limit import largest_text

MAGIC = b"SQLite format 3\0"
CHANGE_COUNTER = slice(24, 28)  # bytes of the first page
WAL_HEADER = 32  # bytes: a write-ahead log of this size is empty
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def sibling(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


class OpenDatabase(NamedTuple):
    """An open database. Results are valid only if `check` does not raise `Unreadable` afterwards."""

    db: sqlite3.Connection
    check: Callable[[], None]


@contextmanager
def open_database(path: Path) -> Iterator[OpenDatabase]:
    """Open a database for reading. Raises `Unreadable` if it is locked, damaged, or was written meanwhile."""
    wal = _size(sibling(path, "-wal"))
    try:
        if wal is not None and _size(sibling(path, "-shm")) is not None:
            with _connect(path, "mode=ro&readonly_shm=1") as db:
                yield OpenDatabase(db, lambda: None)
        elif wal is not None and wal > WAL_HEADER:
            with _private_copy(path) as copy, _connect(copy, "mode=rw") as db:
                yield OpenDatabase(db, lambda: None)
        else:
            with _unchanged(path) as check, _connect(path, "immutable=1") as db:
                yield OpenDatabase(db, check)
    except sqlite3.Error as reason:
        raise unreadable(reason) from reason


@contextmanager
def _connect(path: Path, options: str) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, timeout=0, isolation_level=None)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA trusted_schema = OFF")
        if (largest := largest_text()) is not None:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, largest)
        yield db
    finally:
        db.close()


@contextmanager
def _unchanged(path: Path) -> Iterator[Callable[[], None]]:
    """A check that raises `Unreadable` if the file was written meanwhile; it also runs at the end."""
    before = _file_state(path)

    def check() -> None:
        if _file_state(path) != before:
            raise Unreadable("was being written to", permanent=False)

    try:
        yield check
    except sqlite3.Error:
        check()
        raise
    check()


def _file_state(path: Path) -> tuple[bytes, int, int]:
    if _size(sibling(path, "-journal")):
        raise Unreadable("is in the middle of a transaction", permanent=False)
    with path.open("rb") as stream:
        header = stream.read(100)
    stat = path.stat()
    return header[CHANGE_COUNTER], stat.st_size, stat.st_mtime_ns


@contextmanager
def _private_copy(path: Path) -> Iterator[Path]:
    """A copy of the database with its write-ahead log, without the log's index, which may be out of date."""
    with tempfile.TemporaryDirectory() as folder:
        with _unchanged(path), _unchanged(sibling(path, "-wal")):
            for name in (path, sibling(path, "-wal")):
                shutil.copyfile(name, Path(folder, name.name))
        yield Path(folder, path.name)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def query(sql: str) -> Callable[[sqlite3.Connection], Iterable[tuple[Any, ...]]]:
    """A function that runs this query on a database."""
    return lambda db: db.execute(sql)


def select(
    db: sqlite3.Connection, table: str, columns: Sequence[str], clauses: str = "", values: Sequence[Any] = ()
) -> list[dict[str, Any]]:
    """Rows of a table as dicts. `clauses` follow FROM. A column that the table does not have is None."""
    known = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    if not known:
        raise Unreadable(f"has no table {table!r}: its schema is not known")
    selected = ", ".join(f'"{name}"' if name in known else f'NULL AS "{name}"' for name in columns)
    if "ORDER BY" in clauses and _has_row_ids(db, table):
        rows: Iterable[tuple[Any, ...]] = _rows_one_by_one(db, table, selected, clauses, values)
    else:
        rows = db.execute(f'SELECT {selected} FROM "{table}" {clauses}', values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _has_row_ids(db: sqlite3.Connection, table: str) -> bool:
    try:
        db.execute(f'SELECT rowid FROM "{table}" LIMIT 0')
    except sqlite3.OperationalError:
        return False
    return True


def _rows_one_by_one(
    db: sqlite3.Connection, table: str, selected: str, clauses: str, values: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    """The rows in order, read one by one: sorting complete rows would hold each in memory three times, even a large one."""
    for row_id in db.execute(f'SELECT rowid FROM "{table}" {clauses}', values).fetchall():
        row = db.execute(f'SELECT {selected} FROM "{table}" WHERE rowid = ?', row_id).fetchone()
        if row is None:
            raise Unreadable(f"is damaged: {table!r} lacks rows that its index lists")
        yield row


def select_one(db: sqlite3.Connection, table: str, columns: Sequence[str], row_id: str) -> dict[str, Any]:
    """The row with this id. In a damaged file an index may list rows that the table does not have."""
    for row in select(db, table, columns, "WHERE id = ?", (row_id,)):
        return row
    raise Unreadable(f"is damaged: {table!r} lacks rows that its index lists")


def unreadable(reason: sqlite3.Error) -> Unreadable:
    """The error to report when a database cannot be read."""
    code = (getattr(reason, "sqlite_errorcode", None) or 0) & 0xFF
    if code in BUSY:
        return Unreadable("is locked by the agent that writes it", permanent=False)
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return Unreadable("is damaged: not a valid SQLite database")
    if code in {sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM}:
        return Unreadable(describe_error(MemoryError()))
    if code == sqlite3.SQLITE_ERROR:
        return Unreadable(f"has a schema that is not known: {reason}")
    return Unreadable(f"cannot be read: {reason}")
