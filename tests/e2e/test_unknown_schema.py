"""A database with an unknown schema: reported in a sentence, and repaired if nothing is lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.archives import archived, found, texts, undisturbed
from tests.logs import Claude, write

FIRST_VERSION = """
DROP TABLE event_title; DROP TABLE session_metadata; DROP TABLE private_session; DROP TABLE session_prefix;
DELETE FROM meta WHERE name = 'identity';
PRAGMA user_version = 1;
"""  # what its schema lacked; tables and columns in both schemas are equal
COMMANDS = [("search", "heron"), ("list",), ("sync",), ("status",), ("rebuild",), ("distil",)]


@pytest.fixture
def log(person: Person) -> Path:
    claude = Claude()
    gone = Claude("22222222-2222-4222-8222-222222222222", start=50)
    write(person.claude_log(gone.session), [gone.prompt("a log that is gone"), gone.says("the ruff")])
    log = write(
        person.claude_log(claude.session), [claude.prompt("where does the heron nest"), claude.says("by the estuary")]
    )
    person.run("sync")
    person.claude_log(gone.session).unlink()
    return log


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


def change(path: Path, script: str) -> None:
    with opened(path) as db:
        db.executescript(script)


def refusal(person: Person, *command: str) -> str:
    done = person.run(*command, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_an_archive_of_the_first_version_is_reported_with_advice(
    person: Person, log: Path, command: tuple[str, ...]
) -> None:
    change(person.realm / "archive.db", FIRST_VERSION)
    message = refusal(person, *command)
    assert "damaged or unknown schema" in message
    assert "`recollect doctor`" in message
    assert "no such table" not in message


@pytest.mark.parametrize(
    "script",
    [FIRST_VERSION, "DROP TABLE turn", "ALTER TABLE event DROP COLUMN line", "PRAGMA user_version = 0"],
    ids=["first version", "a table is missing", "a column is missing", "no version"],
)
def test_doctor_reports_an_unknown_schema_and_rebuilds_it_from_the_logs(person: Person, log: Path, script: str) -> None:
    memory = memories(person)
    change(person.realm / "archive.db", script)
    assert "damaged or unknown schema" in person.json("doctor")["archive"]
    person.run("doctor", "--repair")
    assert "where does the heron nest" in texts(person)
    assert len(found(person, "heron")) == 1
    assert memories(person) == memory
    assert len(list(person.realm.glob("archive.damaged-*.db"))) == 1


def test_repairing_the_first_version_rescues_sessions_whose_logs_are_gone(person: Person, log: Path) -> None:
    change(person.realm / "archive.db", FIRST_VERSION)
    person.run("doctor", "--repair")
    assert texts(person) == ["where does the heron nest", "by the estuary", "a log that is gone", "the ruff"]
    assert len(found(person, "ruff")) == 1
    assert set(undisturbed(person)[:-1]) <= set(archived(person))


@pytest.mark.parametrize("command", [*COMMANDS, ("doctor",), ("doctor", "--repair")], ids="-".join)
def test_an_archive_of_a_newer_version_says_to_upgrade_and_is_unchanged(
    person: Person, log: Path, command: tuple[str, ...]
) -> None:
    archive = person.realm / "archive.db"
    change(archive, "PRAGMA user_version = 1000; PRAGMA wal_checkpoint(TRUNCATE)")
    before = archive.read_bytes()
    assert "Upgrade Recollect" in refusal(person, *command)
    assert archive.read_bytes() == before
    assert not list(person.realm.glob("archive.damaged-*"))


def test_a_memory_of_an_unknown_schema_is_reported_and_unchanged(person: Person, log: Path) -> None:
    memory = person.realm / "memory.db"
    change(memory, "DROP TABLE observed_turn; PRAGMA wal_checkpoint(TRUNCATE)")
    before = memory.read_bytes()
    assert "damaged or unknown schema" in refusal(person, "observations")
    assert "damaged or unknown schema" in str(person.json("doctor"))
    person.run("doctor", "--repair", check=False)
    assert memory.read_bytes() == before


def memories(person: Person) -> list[tuple[object, ...]]:
    with opened(person.realm / "memory.db") as db:
        return db.execute("SELECT id, title FROM observation ORDER BY id").fetchall()
