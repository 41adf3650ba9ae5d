"""Events of a log without times get the date of its file, and all their times are marked as estimated."""

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.hook_calls import start
from tests.logs import Claude, append, write
from tests.old_schemas import ARCHIVE_6, MEMORY_2

DAY = 1_700_000_000  # seconds: 2023-11-14, long enough ago to be shown as a date
EARLIER = DAY - 86_400
TEXTS = "We decided to keep the tern log in one file because two files drift apart."
BEFORE_MEMORY = f"""
{MEMORY_2}
UPDATE looked SET mark = mark - 1;
UPDATE observed SET mark = mark - 1;
"""  # the marks were different then


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "meadow"
    path.mkdir(parents=True)
    return path


def kimi(person: Person, folder: Path) -> Path:
    """A session of Kimi, whose log has no times."""
    write(person.home / ".kimi" / "kimi.json", [{"work_dirs": [{"path": str(folder), "last_session_id": None}]}])
    name = hashlib.md5(str(folder).encode()).hexdigest()
    log = person.home / ".kimi" / "sessions" / name / "0b6f2c1e-4d3a-4e5b-9c7d-8a1b2c3d4e5f.jsonl"
    function = {"name": "ReadFile", "arguments": json.dumps({"path": "terns.md"})}
    lines: list[dict[str, Any]] = [
        {"role": "user", "content": "Where do we write the terns down?"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "r1", "function": function}]},
        {"role": "tool", "content": "terns: 12", "tool_call_id": "r1"},
        {"role": "assistant", "content": TEXTS},
    ]
    return write(log, lines)


@pytest.fixture
def undated(person: Person, folder: Path) -> Path:
    """That log and one with times, synced and distilled."""
    log = kimi(person, folder)
    os.utime(log, (DAY, DAY))
    claude = Claude(cwd=str(folder))
    write(person.claude_log(claude.session), [claude.prompt("Where do the gulls nest?"), claude.says("On the roof.")])
    person.run("sync")
    person.run("distil")
    return log


def sessions(person: Person) -> dict[str, Any]:
    listed = person.json("list", "--since", "2020-01-01")["data"]["sessions"]
    return {row["session"]["source"]: row["session"] for row in listed}


def test_people_see_the_mark_with_every_shown_time(person: Person, folder: Path, undated: Path) -> None:
    session = sessions(person)["kimi"]["id"]
    (hit,) = person.json("search", "tern", "--type", "assistant_response")["data"]["results"]
    for command in (
        ("list", "--since", "2020-01-01"),
        ("search", "tern"),
        ("open", session),
        ("open", hit["turn"]["id"]),
        ("open", hit["id"]),
        ("trace", "session", session),
        ("trace", "search", "terns down"),
        ("ask", "where do we write the terns down"),
        ("observations",),
        ("status",),
        ("sources",),
    ):
        assert "~2023-11-14" in person.run(*command).stdout, command
    assert "4 without a timestamp (file date used, shown as ~)" in person.run("doctor").stdout
    assert "~2023-11-14" in start(person, folder)
    for command in (("list", "--since", "2020-01-01"), ("search", "gulls"), ("ask", "where do the gulls nest")):
        assert "~2026-02-01" not in person.run(*command).stdout, command


def test_json_marks_estimated_times(person: Person, undated: Path) -> None:
    listed = sessions(person)
    assert listed["kimi"]["estimated_time"] is True
    assert "estimated_time" not in listed["claude-code"]
    (hit,) = person.json("search", "tern", "--type", "assistant_response")["data"]["results"]
    assert (hit["event"]["estimated_time"], hit["session"]["estimated_time"]) == (True, True)
    opened = person.json("open", listed["kimi"]["id"])["data"]
    assert all(turn["estimated_time"] for turn in opened["turns"])
    turn = person.json("open", hit["turn"]["id"])["data"]
    assert turn["turn"]["estimated_time"] and all(event["estimated_time"] for event in turn["events"])
    assert person.json("open", hit["id"])["data"]["event"]["estimated_time"] is True
    assert all(row.get("estimated_time", False) for row in person.json("observations", "terns")["data"]["observations"])
    status = person.json("status")
    assert status["sources"]["kimi"]["estimated_time"] is True
    assert "estimated_time" not in status["sources"]["claude-code"] and "estimated_time" not in status


def test_answers_over_mcp_mark_estimated_times(person: Person, folder: Path, undated: Path) -> None:
    with person.mcp() as server:

        def search(**more: str) -> str:
            arguments = {"query": "terns one file", **more}
            answer = server.request("tools/call", {"name": "search", "arguments": arguments})
            return str(answer["result"]["content"][0]["text"])

        assert "[meadow] - ~2023-11-14" in search()
        (row, *_) = json.loads(search(response_format="json"))["results"]
        assert (row["date"], row["estimated_time"]) == ("2023-11-14", True)


def test_a_journey_marks_estimated_times(person: Person, undated: Path) -> None:
    journey = person.json("journey", "create")["journey_id"]
    session = sessions(person)["kimi"]["id"]
    person.run("journey", "link", journey, session)
    (row,) = person.json("journey", "history", journey)["sessions"]
    assert row["estimated_time"] is True
    assert "~2023-11-14" in person.run("journey", "history", journey).stdout
    (entry,) = person.json("journey", "timeline", journey)["entries"]
    assert entry["estimated_time"] is True


def test_later_additions_are_estimated_too(person: Person, undated: Path) -> None:
    append(undated, {"role": "user", "content": "And the curlews?"}, {"role": "assistant", "content": "In the same file."})
    os.utime(undated, (DAY + 60, DAY + 60))
    person.run("sync")
    turns = person.json("open", sessions(person)["kimi"]["id"])["data"]["turns"]
    assert [turn["estimated_time"] for turn in turns] == [True, True]


def test_a_log_with_times_is_not_estimated_for_single_records_without(person: Person) -> None:
    claude = Claude()
    lines = [claude.prompt("Where do the gulls nest?"), claude.says("On the roof."), claude.says("On the chimney too.")]
    del lines[-1]["timestamp"]
    write(person.claude_log(claude.session), lines)
    person.run("sync")
    assert "estimated_time" not in json.dumps(person.json("list", "--since", "2020-01-01"))


def test_an_older_archive_gets_the_mark(person: Person, folder: Path) -> None:
    """The log grew while it was read, and no longer exists."""
    log = kimi(person, folder)
    os.utime(log, (EARLIER, EARLIER))
    person.run("sync")
    append(log, {"role": "user", "content": "And the curlews?"}, {"role": "assistant", "content": TEXTS})
    os.utime(log, (DAY, DAY))
    claude = Claude(cwd=str(folder))
    write(person.claude_log(claude.session), [claude.prompt("Where do the gulls nest?"), claude.says("On the roof.")])
    person.run("sync")
    person.run("distil")
    for name, script in (("archive.db", ARCHIVE_6), ("memory.db", BEFORE_MEMORY)):
        with closing(sqlite3.connect(person.realm / name, isolation_level=None)) as db:
            db.executescript(script)
    log.unlink()
    assert ", 2023-11-14)" in start(person, folder), "a hook reads a memory that is not migrated"
    person.run("sync")
    listed = sessions(person)
    assert listed["kimi"]["estimated_time"] is True
    assert "estimated_time" not in listed["claude-code"]
    turns = person.json("open", listed["kimi"]["id"])["data"]["turns"]
    assert [turn["estimated_time"] for turn in turns] == [True, True]
    person.run("distil")
    shown = {
        row.get("estimated_time", False)
        for row in person.json("observations")["data"]["observations"]
        if row["path"] == str(log)
    }
    assert shown == {True}
