"""A defect of one log affects only that log, and `recollect doctor` reports it. All other logs are read."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.conftest import Person
from tests.golden import FIXTURES, lay_out
from tests.logs import Claude, write
from tests.long_values import long_values

DEEP = 1_000_000  # arrays within arrays
GOOD = Claude("22222222-2222-4222-8222-222222222222")
SHORT_OF_MEMORY = """
import resource, runpy, sys
import recollect.surfaces.cli
sys.argv = ["recollect", *sys.argv[1:]]
limit = int(sys.argv.pop(1)) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
runpy.run_module("recollect", run_name="__main__")
"""


@pytest.fixture
def good(person: Person) -> Path:
    """A sound log that is read after all others, because it is the newest."""
    return write(person.claude_log(GOOD.session), [GOOD.prompt("a sound log")])


def texts(person: Person) -> set[str]:
    """The texts that a search finds."""
    return {hit["snippet"]["text"] for hit in person.json("search", "sound log")["data"]["results"]}


def problem_of(person: Person, path: Path) -> dict[str, Any]:
    """The only problem that `doctor` reports for a log."""
    (problem,) = [one for one in person.json("doctor")["problems"] if one["path"] == str(path)]
    assert problem["reason"] in person.run("doctor", check=False).stdout.replace("\n", "")
    return dict(problem)


def deep(opens: str = "[", closes: str = "]") -> str:
    return opens * DEEP + closes * DEEP


def test_a_line_nested_a_million_deep_affects_only_that_line(person: Person, good: Path) -> None:
    claude = Claude()
    log = person.claude_log(claude.session)
    lines = [json.dumps(claude.prompt("before")), deep(), deep('{"message":', "}")[:-DEEP] + "1" + "}" * DEEP]
    log.write_text("\n".join([*lines, json.dumps(claude.prompt("after"))]) + "\n")
    report = person.json("sync")
    assert (report["events"], report["problems"], report["unreadable"]) == (3, 2, [])
    assert texts(person) == {"a sound log"}
    assert problem_of(person, log)["count"] == 2


def test_arguments_near_the_nesting_limit_affect_no_other_log(person: Person, good: Path) -> None:
    """Decoding them succeeds, but storing them does not, because our own calls count towards the recursion limit."""
    for number, depth in enumerate(range(930, 1_000, 2)):
        said = Claude(f"{number:08x}-1111-4111-8111-111111111111")
        call = json.dumps(said.calls("Tool", "call", value="core"))
        nested = "[" * depth + "1" + "]" * depth
        log = person.claude_log(said.session)
        log.write_text(json.dumps(said.prompt("before")) + "\n" + call.replace('"core"', nested) + "\n")
    report = person.json("sync")
    assert report["unreadable"] == []
    assert report["files_read"] == report["files"]
    assert texts(person) == {"a sound log"}
    assert "is nested too deeply" in {one["reason"] for one in person.json("doctor")["problems"]}


def test_a_document_nested_a_million_deep_affects_only_that_document(person: Person, good: Path) -> None:
    lay_out(FIXTURES / "amp/threads", person.home)
    (log, *_) = [path for path in person.home.rglob("*.json") if path.stem.startswith("T-")]
    log.write_text(deep())
    person.run("sync")
    assert texts(person) == {"a sound log"}
    assert "deep" in problem_of(person, log)["reason"]


@pytest.mark.parametrize("damage", ["every other page", "its second half", "its header"])
def test_a_damaged_database_affects_only_that_database(person: Person, good: Path, damage: str) -> None:
    database = person.home / ".local/share/goose/sessions/sessions.db"
    database.parent.mkdir(parents=True)
    with sqlite3.connect(database) as db:
        db.execute("CREATE TABLE sessions (id TEXT, description TEXT, updated_at TEXT)")
        db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, content_json TEXT)")
        db.executemany("INSERT INTO sessions VALUES (?, 'x', '2026-01-01')", [(f"s{n}" + "x" * 500,) for n in range(99)])
    db.close()
    content = bytearray(database.read_bytes())
    match damage:
        case "every other page":
            for start in range(4_096, len(content), 8_192):
                content[start : start + 4_096] = b"\xff" * 4_096
        case "its second half":
            content = content[: len(content) // 2]
        case "its header":
            content[16:90] = b"\xff" * 74
    database.write_bytes(content)
    assert person.json("sync")["problems"] == 1
    assert texts(person) == {"a sound log"}
    assert problem_of(person, database)["source"] == "goose"


def test_a_damaged_compressed_log_affects_only_that_log(person: Person, good: Path) -> None:
    plain = json.dumps({"timestamp": "2026-01-02T00:00:00.000Z", "type": "session_meta", "payload": {"id": "x"}}).encode()
    log = person.codex_log("33333333-3333-4333-8333-333333333333").with_suffix(".jsonl.zst")
    log.write_bytes(zstandard.compress(plain * 1_000)[:-20] + b"\xff" * 20)
    done = person.run("sync")
    assert str(log) in done.stderr
    assert texts(person) == {"a sound log"}


@pytest.mark.parametrize("megabytes", [800, 1_200])  # a small sync takes 600 of address space
def test_a_log_too_large_for_memory_affects_only_that_log(person: Person, good: Path, megabytes: int) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems do not enforce a memory limit of a process")
    claude = Claude()
    log = write(
        person.claude_log(claude.session), [claude.prompt("before"), claude.says("x" * (150 << 20)), claude.prompt("after")]
    )
    command = [sys.executable, "-c", SHORT_OF_MEMORY, str(megabytes), "sync", "--no-distil", "--json"]
    done = subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == 1
    assert texts(person) == {"a sound log"}
    assert "needs more memory" in problem_of(person, log)["reason"]
    person.run("rebuild", "--logs")
    assert person.json("doctor")["problems"] == []


@pytest.mark.parametrize(
    ("case", "ending"),
    [("amp/threads", "run<>.result<>.output"), ("opencode/database", "<text>.text")],
    ids=["document", "database"],
)
def test_a_document_or_database_too_large_for_memory_affects_only_that_log(
    person: Person, good: Path, tmp_path: Path, case: str, ending: str
) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems do not enforce a memory limit of a process")
    values = [value for value in long_values(FIXTURES / case, tmp_path / "fixture") if value.how == "longer"]
    next(value for value in values if value.shape.endswith(ending)).lay_out(person.home, 150 << 20)
    command = [sys.executable, "-c", SHORT_OF_MEMORY, "1000", "sync", "--no-distil", "--json"]
    done = subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == 1
    assert "a sound log" in texts(person)
    assert any("needs more memory" in problem["reason"] for problem in person.json("doctor")["problems"])
