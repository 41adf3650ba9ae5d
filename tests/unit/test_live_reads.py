"""A search runs few SQL statements, and only reads the database of live sessions."""

import json
import shutil
import sqlite3
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from recollect.live import LiveRealm
from recollect.live.runners import AnswerText, Assignment, Output
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest
from recollect.operations import OPERATIONS, RequestContext
from recollect.store.live import live_path
from recollect.store.lock import DISTILLING
from recollect.store.sqlite.database import schema_steps
from tests.conftest import Person
from tests.e2e.read_only import WAYS

WRITES = ("PRAGMA journal_mode", "BEGIN IMMEDIATE", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "PRAGMA user_version =")
STATE = "SELECT (SELECT value FROM meta"  # how the query for the archive's state begins


class Trace:
    """Every SQL statement of this process, with the database it ran in."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[tuple[str, str]] = []
        connect = sqlite3.connect

        def connect_and_trace(path: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
            db: sqlite3.Connection = connect(path, *arguments, **options)
            name = Path(str(path).partition("?")[0]).stem
            db.set_trace_callback(lambda sql: self.statements.append((name, " ".join(sql.split()))))
            return db

        monkeypatch.setattr(sqlite3, "connect", connect_and_trace)

    def statements_in(self, name: str) -> list[str]:
        return [sql for database, sql in self.statements if database == name]


def echo(assignment: Assignment) -> Generator[Output, None, None]:
    yield AnswerText(f"echo of {assignment.prompt}")


def run_turn(realm: LiveRealm, prompt: str) -> None:
    """One finished turn in a new session, committed and published."""
    row = realm.live.create(NewSession(labels={}, runner="command", command=None, folder="/", generation=0))
    request = TurnRequest(
        prompt=prompt, runner=echo, runner_name="command", command=None, stored_command=None, options={}, generation=0
    )
    realm.live.run(row.id, request)
    realm.publisher.catch_up(10)


def hit_count(realm: LiveRealm, query: str) -> int:
    envelope = json.loads(OPERATIONS["search_sessions"].run(realm, {"query": query}, RequestContext.now()).text)
    assert envelope["warnings"] == []
    return int(envelope["data"]["result_count"])


@pytest.fixture
def person_with_turn(person: Person) -> Person:
    """A realm in which one turn was run by a process that has ended."""
    realm = LiveRealm(person.settings())
    run_turn(realm, "tapirs")
    realm.close()
    return person


def version(folder: Path) -> int:
    with sqlite3.connect(live_path(folder)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_a_search_only_reads_the_database_of_live_sessions(
    person_with_turn: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Trace(monkeypatch)
    realm = LiveRealm(person_with_turn.settings())
    assert hit_count(realm, "tapirs") == 2
    statements = trace.statements_in("live")
    assert "PRAGMA query_only = ON" in statements
    assert [sql for sql in statements if sql.upper().startswith(WRITES)] == []
    assert "live" not in realm.__dict__, "the code that runs sessions is not opened"


def test_a_search_asks_for_the_state_of_the_archive_once(person_with_turn: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace(monkeypatch)
    realm = LiveRealm(person_with_turn.settings())
    hit_count(realm, "tapirs")
    trace.statements.clear()
    assert hit_count(realm, "tapirs") == 2
    archive = trace.statements_in("archive")
    assert sum(sql.startswith(STATE) for sql in archive) == 1
    assert [sql for sql in archive if "sqlite_sequence" in sql and not sql.startswith(STATE)] == []
    assert [sql for sql in archive if "'indexed'" in sql and not sql.startswith(STATE)] == []
    assert trace.statements_in("live") == ["SELECT value FROM meta WHERE name = 'changes'"]
    assert len(trace.statements) == 7, "one for live sessions, one for the state, four for the hits, one for the memory"


@pytest.mark.process
def test_a_memory_search_asks_for_the_state_of_the_archive_once(
    person_with_turn: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Trace(monkeypatch)
    realm = LiveRealm(person_with_turn.settings())
    OPERATIONS["search"].run(realm, {"query": "tapirs"}, RequestContext.now())
    realm.background_jobs.wait(DISTILLING)
    trace.statements.clear()
    OPERATIONS["search"].run(realm, {"query": "tapirs"}, RequestContext.now())
    assert sum(sql.startswith(STATE) for sql in trace.statements_in("archive")) == 1


def test_every_thread_has_its_own_connection(person_with_turn: Person) -> None:
    realm, counts = LiveRealm(person_with_turn.settings()), []
    threads = [threading.Thread(target=lambda: counts.append(realm.live_changes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [realm.live_changes()] * 8
    assert counts[0] > 0


def test_a_reader_sees_what_another_process_commits(person_with_turn: Person) -> None:
    reader, writer = LiveRealm(person_with_turn.settings()), LiveRealm(person_with_turn.settings())
    assert hit_count(reader, "okapis") == 0
    run_turn(writer, "okapis")
    assert hit_count(reader, "okapis") == 2
    writer.close()


def test_a_reader_does_not_create_live_sessions_that_were_deleted(person_with_turn: Person) -> None:
    realm = LiveRealm(person_with_turn.settings())
    assert realm.live_changes() > 0
    shutil.rmtree(live_path(realm.folder).parent)
    assert realm.live_changes() == 0
    assert hit_count(realm, "tapirs") == 2, "what was published stays"
    assert not live_path(realm.folder).exists()


def test_a_reader_sees_live_sessions_that_were_deleted_and_created_again(person_with_turn: Person) -> None:
    reader, writer = LiveRealm(person_with_turn.settings()), LiveRealm(person_with_turn.settings())
    before = reader.live_changes()
    shutil.rmtree(live_path(reader.folder).parent)
    run_turn(writer, "okapis")
    assert reader.live_changes() > before
    assert hit_count(reader, "okapis") == 2
    writer.close()


@pytest.mark.process
@pytest.mark.parametrize("way", WAYS)
def test_live_sessions_in_a_read_only_folder_are_searched(person_with_turn: Person, way: str) -> None:
    folder = live_path(LiveRealm(person_with_turn.settings()).folder).parent
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    WAYS[way](person_with_turn)
    answer = person_with_turn.json("search", "tapirs", "--json")
    assert answer["data"]["result_count"] == 2
    assert answer["warnings"] == []
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_database_of_an_older_version_is_migrated_once(person_with_turn: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    realm = LiveRealm(person_with_turn.settings())
    (first, script), *_, (newest, _) = schema_steps("live_schema")
    for path in live_path(realm.folder).parent.glob("live.db*"):
        path.unlink()
    with sqlite3.connect(live_path(realm.folder)) as db:
        db.executescript(f"PRAGMA journal_mode = WAL; {script}; PRAGMA user_version = {first};")
    assert hit_count(realm, "tapirs") == 2
    assert version(realm.folder) == newest > first
    trace = Trace(monkeypatch)
    assert hit_count(LiveRealm(person_with_turn.settings()), "tapirs") == 2
    assert [sql for sql in trace.statements_in("live") if sql.upper().startswith(WRITES)] == []


def test_a_damaged_database_of_live_sessions_does_not_stop_a_search(person_with_turn: Person) -> None:
    realm = LiveRealm(person_with_turn.settings())
    assert hit_count(realm, "tapirs") == 2
    for path in live_path(realm.folder).parent.glob("live.db*"):
        path.unlink()
    live_path(realm.folder).write_bytes(b"not a database " * 1_000)
    assert hit_count(realm, "tapirs") == 2
    assert live_path(realm.folder).read_bytes().startswith(b"not a database")
