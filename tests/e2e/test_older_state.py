"""A state folder of an earlier version can be opened and migrated, and gives the same answers.

`tests/states/2026-11.tar.xz` was written in November 2026 (archive schema 7, memory 3, live 2). The JSON file beside it has
the answers of that version. The logs of these sessions no longer exist.
"""

import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.store.sqlite.database import schema_steps
from tests.conftest import Person

STATES = Path(__file__).parents[1] / "states"
DATABASES = {"archive.db": "schema", "memory.db": "memory_schema", "live/live.db": "live_schema"}
VOLATILE = {"performance", "warnings", "end_datetime"}  # durations, events that are still processed, the day of the call
ANSWERS = json.loads((STATES / "2026-11.json").read_text())


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    person = Person(tmp_path_factory.mktemp("older"))
    person.state.mkdir()
    with tarfile.open(STATES / "2026-11.tar.xz") as archive:
        archive.extractall(person.state, filter="data")
    for name, schema in DATABASES.items():
        assert version(person.realm / name) < schema_steps(schema)[-1][0], "the folder is not of an older version"
    yield person


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def steady(value: Any) -> Any:
    """An answer without the parts that differ between calls."""
    if isinstance(value, dict):
        return {name: steady(inner) for name, inner in value.items() if name not in VOLATILE}
    return [steady(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: " ".join(answer["command"][:2]))
def test_an_older_state_folder_gives_the_same_answers(person: Person, answer: dict[str, Any]) -> None:
    assert steady(answer_now(person, answer)) == steady(answer["answer"])


def answer_now(person: Person, answer: dict[str, Any]) -> Any:
    """The present answer to a command. `observations` printed a bare list, of rows with fewer fields and times as numbers."""
    now = person.json(*answer["command"])
    if answer["command"][0] != "observations":
        return now
    rows = now["data"]["observations"]
    assert len(rows) == len(answer["answer"])
    for row in rows:
        row["at"] = round(datetime.fromisoformat(row["at"]).timestamp() * 1000)
    return [{name: row[name] for name in before} for row, before in zip(rows, answer["answer"], strict=True)]


def test_a_sync_migrates_every_database(person: Person) -> None:
    person.run("sync")
    person.run("distil")
    for name, schema in DATABASES.items():
        assert version(person.realm / name) == schema_steps(schema)[-1][0]
    for answer in ANSWERS:
        if "--realm" not in answer["command"]:
            assert steady(answer_now(person, answer)) == steady(answer["answer"])


def test_a_live_session_of_an_older_version_continues(person: Person) -> None:
    for realm in ("main", "lines"):
        person.run("run", "third words", "--resume", "last", "--realm", realm)
        messages = person.json("session", "history", "last", "--realm", realm)["messages"]
        assert len(messages) == 6
        assert messages[4]["content"] == "third words"
