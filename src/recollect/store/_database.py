"""The SQLite file under an archive: opening it, bringing its schema up to date, naming what is wrong with it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from recollect.errors import StoreFault

BUSY_MS = 10_000  # a reader never waits; a second writer waits this long for the first one's commit
PAGE = 16_384  # bytes: events are about half a kilobyte, and larger pages waste less of them (6 % of the file)
CHECKPOINT_PAGES = 4_096  # of the write-ahead log, 64 MB: each checkpoint waits for the disk
CACHE_KB = 32_768  # pages kept in memory by a writer: the hot part of the id index


class OutOfDate(StoreFault):
    """There is no archive yet, or it waits for its schema to be brought up to date."""


def schema_steps(schema: str = "schema") -> list[tuple[int, str]]:
    """The numbered scripts that make a database of this version, in order."""
    folder = files("recollect.store") / schema
    scripts = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name.split("_")[0]), (folder / name).read_text("utf-8")) for name in scripts]


def connect(path: Path, *, writable: bool, schema: str = "schema") -> sqlite3.Connection:
    """A connection to a database that is up to date; a writable one makes it so first."""
    try:
        if writable:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _private(path)
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={'rwc' if writable else 'rw'}",
            uri=True,
            isolation_level=None,
            timeout=BUSY_MS / 1000,
            check_same_thread=False,
        )
        if writable:
            db.execute(f"PRAGMA page_size = {PAGE}")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        db.execute("PRAGMA temp_store = MEMORY")
        if writable:
            migrate(db, schema_steps(schema))
        _check_version(db, path, schema_steps(schema)[-1][0])
        if not writable:
            db.execute("PRAGMA query_only = ON")
    except sqlite3.Error as reason:
        raise fault(reason, path) from reason
    return db


def _private(path: Path) -> None:
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def migrate(db: sqlite3.Connection, steps: list[tuple[int, str]]) -> None:
    """Run the steps that this archive has not seen. Each is atomic: it is wholly there or not at all."""
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
            if version < number:  # else another process took this step while we waited for its turn
                raise


def _check_version(db: sqlite3.Connection, path: Path, newest: int) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > newest:
        raise StoreFault(f"The archive {path} was written by a newer Recollect (schema {version}, this one knows {newest}).")
    if version < newest:
        raise OutOfDate(
            f"The archive {path} is of an older schema ({version}); run `recollect sync` to bring it up to date."
        )


@contextmanager
def transaction(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All or nothing, also when the process is killed inside."""
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("COMMIT")
    except sqlite3.Error as reason:
        _roll_back(db)
        raise fault(reason, path) from reason
    except BaseException:
        _roll_back(db)
        raise


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


def fault(reason: sqlite3.Error, path: Path) -> StoreFault:
    """What a person can do about an error of SQLite's."""
    text = str(reason)
    if "full" in text:
        return StoreFault(f"The disk is full: {path} could not grow. What was stored before is intact.")
    if "malformed" in text or "not a database" in text:
        return StoreFault(f"The archive {path} is damaged ({text}). `recollect doctor --repair` rebuilds it from the logs.")
    if "unable to open" in text:
        return OutOfDate(f"The archive {path} cannot be opened: {text}.")
    return StoreFault(f"The archive {path} refused: {text}.")
