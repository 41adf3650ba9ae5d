"""Opens SQLite files, migrates their schema, and turns SQLite's errors into messages."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Self
from zlib import crc32

from recollect.disk import folder_fault, is_disk_full
from recollect.errors import DeadlineExceeded, ReadOnlyFolder, RecollectError, StoreFault
from recollect.processes import device_and_inode
from recollect.store.sqlite.lockless import FileState, attach_without_lock, needs_no_lock, open_without_lock, state_of

BUSY_MS = 10_000  # milliseconds: a reader never waits; a second writer waits this long for the commit of the first
RETRY_S = 0.01
PAGE = 16_384  # bytes: events have about half a kilobyte, and larger pages waste less space (6 % of the file)
CHECKPOINT_PAGES = 4_096  # pages of the write-ahead log (64 MB): each checkpoint waits for the disk
CACHE_KB = 32_768  # of pages in memory: a writer needs the hot part of the id index
MAX_PARAMETERS = 500  # values per query: below SQLite's limit of parameters
DEADLINE_STEPS = 2_000  # virtual machine steps between two checks of the deadline: much less than a millisecond
REPAIR_HINTS = {
    "archive": "`recollect doctor --repair` rebuilds it from the logs.",
    "memory": "Restore it from a backup, or move it away to start with a new one.",
    "live": "Restore it from a backup, or move it away to start with a new one.",
}
HEADER = b"SQLite format 3\0"  # the first bytes of every database that is not empty


class OutOfDate(StoreFault):
    """The database does not exist yet, or has an older schema."""


class UnknownSchema(StoreFault):
    """The tables do not match the schema version: a very early version, or a damaged database."""


# Checksums of the tables of intact databases, by schema and version. Every process that opens a database saves up to 8 ms
# of CPU, which computing the expected tables takes. A database with another checksum is compared table by table.
INTACT = {("schema", 10): 850513856, ("memory_schema", 5): 717774508, ("live_schema", 4): 3136000177}


class NewerSchema(StoreFault):
    """A newer version wrote the database. It must not be changed."""


@cache
def schema_steps(schema: str = "schema") -> list[tuple[int, str]]:
    """The numbered migration steps, in order."""
    folder = files("recollect.store") / schema
    scripts = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name.split("_")[0]), (folder / name).read_text("utf-8")) for name in scripts]


class OpenedDatabase(NamedTuple):
    """A connection to a database. `without_lock` is the state of its files if it has no lock, to notice later writes."""

    db: sqlite3.Connection
    without_lock: FileState | None = None


def connect(path: Path, *, writable: bool, schema: str = "schema", cache_kb: int = CACHE_KB) -> sqlite3.Connection:
    """A connection to a database with the newest schema. A writable one migrates it first."""
    return _open_checked(path, writable=writable, schema=schema, cache_kb=cache_kb).db


def _open_checked(path: Path, *, writable: bool, schema: str, cache_kb: int) -> OpenedDatabase:
    try:
        opened = _create_or_open(path) if writable else _open(path)
        db = opened.db
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{cache_kb}")
        db.execute("PRAGMA temp_store = MEMORY")
        _check_tables(db, path, schema)
        if writable:
            migrate(db, schema_steps(schema))
        _check_version(db, path, schema_steps(schema)[-1][0])
        if not writable:
            db.execute("PRAGMA query_only = ON")
    except sqlite3.Error as reason:
        raise store_fault(reason, path) from reason
    except OSError as reason:
        raise folder_fault(path.stem, path, reason) from reason
    return opened


def connect_empty(schema: str) -> OpenedDatabase:
    """An empty read-only database, for a read-only folder that has none."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(db, schema_steps(schema))
    db.execute("PRAGMA query_only = ON")
    return OpenedDatabase(db)


def _create_or_open(path: Path) -> OpenedDatabase:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _create_private(path)
    if not os.access(path, os.W_OK):
        raise ReadOnlyFolder(path.parent)
    db = _connect(path, "rwc")
    db.execute(f"PRAGMA page_size = {PAGE}")
    _use_write_ahead_log(db)
    db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return OpenedDatabase(db)


def _open(path: Path) -> OpenedDatabase:
    before = state_of(path)
    db = _connect(path, "rw")
    try:
        db.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as reason:
        db.close()
        if not needs_no_lock(reason, path):
            raise
        return OpenedDatabase(open_without_lock(path), before)
    return OpenedDatabase(db)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=BUSY_MS / 1000,
        check_same_thread=False,
    )


def attach(db: sqlite3.Connection, path: Path, name: str) -> None:
    """Attach another database to a connection, for reading, under a name."""
    try:
        try:
            db.execute(f"ATTACH ? AS {name}", (f"{path.absolute().as_uri()}?mode=rw",))
        except sqlite3.OperationalError as reason:
            if not needs_no_lock(reason, path):
                raise
            attach_without_lock(db, path, name)
    except sqlite3.Error as reason:
        raise store_fault(reason, path) from reason


def _create_private(path: Path) -> None:
    """Create a file that only its owner can read. An existing file is not opened: closing it drops SQLite's locks."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. If several processes open a new file at once, SQLite fails instead of waiting."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as reason:
            if "locked" not in str(reason) or time.monotonic() > until:
                raise
            time.sleep(RETRY_S)


def placeholders(values: Sequence[Any]) -> str:
    """A question mark for each value, for a list in SQL."""
    return ", ".join("?" * len(values))


def file_identity(path: Path) -> tuple[int, int] | None:
    """(device, inode) of a file, which change when it is replaced; None if it does not exist."""
    try:
        return device_and_inode(path.stat())
    except OSError:
        return None


def is_database(path: Path) -> bool:
    """Whether a file still has SQLite's header. An open connection may not notice a lost header for a long time."""
    file = file_identity(path)
    try:
        return file is not None and os.pread(_shared_descriptor(path, file), len(HEADER), 0) == HEADER
    except OSError:
        return False


@cache
def _shared_descriptor(path: Path, file: tuple[int, int]) -> int:
    """A descriptor that is never closed, because closing it drops SQLite's locks on the file."""
    return os.open(path, os.O_RDONLY)


def migrate(db: sqlite3.Connection, steps: list[tuple[int, str]]) -> None:
    """Run the missing migration steps. Each step is atomic."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    for number, script in steps:
        if number <= version:
            continue
        try:
            db.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;")
        except sqlite3.Error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version < number:  # else another process ran this step meanwhile
                raise


def _check_tables(db: sqlite3.Connection, path: Path, schema: str) -> None:
    """Raise `NewerSchema` or `UnknownSchema` if this version cannot use the database."""
    db.execute("BEGIN")  # one snapshot of version and tables: another process may be migrating
    (version,) = db.execute("PRAGMA user_version").fetchone()
    columns = _columns(db)
    db.execute("COMMIT")
    newest = schema_steps(schema)[-1][0]
    if version > newest:
        raise NewerSchema(
            f"The {path.stem} {path} was written by a newer Recollect (schema {version}, this one knows {newest})."
            " Upgrade Recollect to use it; nothing was changed."
        )
    if tables_checksum(columns) == INTACT.get((schema, version)):
        return
    expected = _expected_columns(schema, version)
    wrong = sorted(table for table in expected if columns.get(table) != expected[table])
    if not version:  # without a version, no table may exist yet
        wrong = sorted(columns.keys() & _expected_columns(schema, newest).keys())
    if wrong:
        raise UnknownSchema(
            f"The {path.stem} {path} has a damaged or unknown schema (schema {version}, table {wrong[0]!r}): see"
            f" `recollect doctor`. {REPAIR_HINTS.get(path.stem, '')}".rstrip()
        )


def _columns(db: sqlite3.Connection) -> dict[str, set[str]]:
    """The names of all columns, by table. SQLite's internal tables are left out: they differ between versions."""
    tables: dict[str, set[str]] = {}
    for table, column in db.execute("""
        SELECT list.name, info.name
          FROM pragma_table_list AS list, pragma_table_info(list.name) AS info
         WHERE list.schema = 'main' AND list.type IN ('table', 'virtual')
           AND list.name NOT LIKE 'sqlite%'"""):
        tables.setdefault(table, set()).add(column)
    return tables


def tables_checksum(columns: dict[str, set[str]]) -> int:
    """A checksum of the names of all tables and their columns."""
    return crc32(repr(sorted((table, sorted(names)) for table, names in columns.items())).encode())


@cache
def _expected_columns(schema: str, version: int) -> dict[str, set[str]]:
    """The columns of an intact database of this version, by table."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(db, [step for step in schema_steps(schema) if step[0] <= version])
        return _columns(db)
    finally:
        db.close()


def _check_version(db: sqlite3.Connection, path: Path, newest: int) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version < newest:
        raise OutOfDate(f"The {path.stem} {path} has an older schema ({version}). Run `recollect sync` to update it.")


@contextmanager
def transaction(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """A transaction: all or nothing is committed, even if the process is killed."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except sqlite3.Error as reason:
        roll_back(db)
        raise store_fault(reason, path) from reason
    except BaseException:
        roll_back(db)
        raise


def roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


def fetch(db: sqlite3.Connection, path: Path, sql: str, values: Any = ()) -> list[Any]:
    """All rows of a query."""
    try:
        return db.execute(sql, values).fetchall()
    except sqlite3.DatabaseError as reason:
        raise store_fault(reason, path) from reason


class SqliteDatabase:
    """One connection for one thread."""

    def __init__(
        self,
        path: Path,
        *,
        writable: bool = False,
        schema: str = "schema",
        cache_kb: int = CACHE_KB,
        is_absent: bool = False,
    ) -> None:
        """`is_absent`: the file does not exist and cannot be created, so an empty database is opened."""
        self.path = path
        if is_absent:
            self.db, self._without_lock = connect_empty(schema)
        else:
            self.db, self._without_lock = _open_checked(path, writable=writable, schema=schema, cache_kb=cache_kb)

    def is_outdated(self) -> bool:
        """Whether a database that is read without a lock has changed, and must be reopened."""
        return self._without_lock is not None and self._without_lock != state_of(self.path)

    def check_unchanged(self) -> None:
        """Raise `StoreFault` if a database that is read without a lock has changed."""
        if self._without_lock is not None and self._without_lock[0] != state_of(self.path)[0]:
            raise StoreFault(f"The {self.path.stem} {self.path} was written while it was read. Try again.")

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def interrupt_when(self, is_late: Callable[[], bool] | None) -> None:
        """Stop queries as soon as `is_late()` is true. None means never."""
        self.db.set_progress_handler(is_late, DEADLINE_STEPS if is_late else 0)

    def _rows(self, sql: str, values: Any = ()) -> list[Any]:
        return fetch(self.db, self.path, sql, values)

    def _one(self, sql: str, values: Any = ()) -> Any:
        rows = self._rows(sql, values)
        return rows[0] if rows else None

    def _rows_in(self, sql: str, keys: Iterable[Any]) -> list[Any]:
        """The rows of a query that ends in IN, for any number of keys."""
        rows: list[Any] = []
        keys = list(keys)
        for start in range(0, len(keys), MAX_PARAMETERS):
            part = keys[start : start + MAX_PARAMETERS]
            rows += self._rows(f"{sql} ({','.join('?' * len(part))})", part)
        return rows

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self.db, self.path)

    def meta(self, name: str) -> str | None:
        row = self._one("SELECT value FROM meta WHERE name = ?", (name,))
        return row[0] if row else None

    def put_meta(self, name: str, value: str) -> None:
        self._rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def store_fault(reason: sqlite3.Error, path: Path) -> RecollectError:
    """Turn an error of SQLite into a message that says what a person can do."""
    text = str(reason)
    if "interrupted" in text:
        return DeadlineExceeded("the request took longer than its deadline")
    if "full" in text or ("I/O error" in text and is_disk_full(path.parent)):
        return StoreFault(f"The disk is full: {path} could not grow. What was stored before is intact.")
    if "malformed" in text or "not a database" in text:
        return StoreFault(f"The {path.stem} {path} is damaged ({text}). {REPAIR_HINTS.get(path.stem, '')}".rstrip())
    if "no such table" in text or "no such column" in text:
        return UnknownSchema(
            f"The {path.stem} {path} has a damaged schema ({text}). {REPAIR_HINTS.get(path.stem, '')}".rstrip()
        )
    if "readonly" in text or ("unable to open" in text and path.exists() and not os.access(path.parent, os.W_OK)):
        return ReadOnlyFolder(path.parent)
    if "unable to open" in text:
        return OutOfDate(f"The {path.stem} {path} cannot be opened: {text}.")
    return StoreFault(f"The {path.stem} {path} refused: {text}.")
