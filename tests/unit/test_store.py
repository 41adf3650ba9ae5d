"""The archive: its schema's history, its lock, its errors."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.errors import StoreBusy, StoreFault
from recollect.store import ArchiveState, Reader, Writer
from recollect.store.lock import exclusive, is_held
from recollect.store.sqlite.database import INTACT, _columns, connect, migrate, schema_steps, tables_checksum

RELEASED = {1: "001_archive.sql"}  # frozen: a step that users have run is never edited


def test_steps_are_numbered_without_a_gap() -> None:
    assert [number for number, _ in schema_steps()] == list(range(1, len(schema_steps()) + 1))


@pytest.mark.parametrize("version", RELEASED)
def test_an_archive_of_any_released_version_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    path = tmp_path / "archive.db"
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, [step for step in schema_steps() if step[0] <= version])
    db.execute("INSERT INTO meta VALUES ('indexed', '7')")
    db.close()
    writer = Writer(path)
    assert writer.watermark() == 7
    assert writer.db.execute("PRAGMA user_version").fetchone() == (schema_steps()[-1][0],)
    writer.close()


@pytest.mark.parametrize("schema", ["schema", "memory_schema", "live_schema"])
def test_the_checksum_of_intact_tables_is_that_of_the_newest_schema(schema: str) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, schema_steps(schema))
    newest = schema_steps(schema)[-1][0]
    assert INTACT[schema, newest] == tables_checksum(_columns(db))
    db.execute("ALTER TABLE meta RENAME TO renamed")
    assert INTACT[schema, newest] != tables_checksum(_columns(db))
    db.close()


def test_a_failing_migration_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    db = connect(path, writable=True)
    before = db.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall()
    broken = (99, "CREATE TABLE half_done (key INTEGER); INSERT INTO no_such_table VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="no_such_table"):
        migrate(db, [broken])
    assert db.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall() == before
    assert db.execute("PRAGMA user_version").fetchone() == (schema_steps()[-1][0],)
    db.close()


def test_a_newer_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    db = connect(path, writable=True)
    db.execute("PRAGMA user_version = 1000")
    db.close()
    with pytest.raises(StoreFault, match="newer Recollect"):
        Reader(path)


def test_a_file_that_is_not_an_archive_is_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    path.write_bytes(b"this is not a database" * 1000)
    with pytest.raises(StoreFault, match="doctor --repair"):
        Reader(path)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    Writer(path).close()
    reader = Reader(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.db.execute("DELETE FROM meta")
    reader.close()


def test_a_second_writer_is_refused_with_the_process_id_of_the_first(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        assert is_held(tmp_path)
        with pytest.raises(StoreBusy, match=str(os.getpid())), exclusive(tmp_path):
            pass
    assert not is_held(tmp_path)


@pytest.mark.process
def test_a_lock_is_released_when_its_process_dies(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from recollect.store.lock import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    assert is_held(tmp_path)
    holder.kill()
    holder.wait()
    with exclusive(tmp_path):
        pass
    holder.stdin.close()
    holder.stdout.close()


def test_one_query_reads_the_watermarks_of_the_archive_and_its_index(tmp_path: Path) -> None:
    with Writer(tmp_path / "archive.db") as writer, Reader(tmp_path / "archive.db") as reader:
        assert reader.archive_state() == ArchiveState(writer.identity(), 0, 0, 0)
        with writer.transaction():
            writer.db.execute("INSERT INTO sqlite_sequence VALUES ('event', 7)")
            writer.put_meta("published", "12")
        writer.put_watermark(5, [])
        assert reader.archive_state() == ArchiveState(writer.identity(), 7, 5, 12)
        assert reader.archive_state().unindexed() == 2
