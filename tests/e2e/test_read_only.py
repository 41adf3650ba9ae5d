"""A read-only state folder: every command that only reads works, and so does an MCP server."""

import json
import shutil
import sqlite3
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recollect.store import archive_path
from recollect.store.sqlite.database import migrate, schema_steps
from tests.conftest import Person
from tests.e2e.processes import until, watching
from tests.e2e.read_only import WAYS, mount_read_only
from tests.logs import Claude, append, write

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
Closed = tuple[Person, dict[str, str]]


def fill(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [
        claude.prompt("where does the hoopoe nest"), claude.calls("Bash", "c1", command="find nest"),
        claude.result("c1", "twigs"), claude.says("In the wall. We decided to use twigs instead of mud because they last."),
    ])  # fmt: skip
    person.run("sync")


def ids(person: Person) -> dict[str, str]:
    """The ids for the commands below."""
    session = person.json("list")["data"]["sessions"][0]["id"]
    journey = person.json("journey", "create")["journey_id"]
    person.run("journey", "link", journey, session)
    document = person.json("journey", "add", journey, "--title", "Nests", "--content", "twigs")["document_id"]
    live = person.json("run", "which bird", "--runner", "recall")["session_id"]
    observation = person.json("observations")["data"]["observations"][0]["id"]
    person.run("sync")
    return {"session": session, "journey": journey, "document": document, "live": live, "observation": observation}


COMMANDS = (
    "search hoopoe", "open {session}", "list", "status", "doctor", "sources", "ask where does the hoopoe nest",
    "observations", "observations hoopoe", "observations {observation}", "trace search hoopoe", "trace event {session} 0",
    "trace session {session} --level full", "trace analyze {session}", "journey history {journey}",
    "journey history {journey} hoopoe", "journey timeline {journey}", "journey documents {journey}",
    "journey documents {journey} {document}", "session list", "session list --imported", "session show {live}",
    "session history {live}", "realm list", "realm show main", "realm current", "config get",
)  # fmt: skip
WRITING = (
    "sync", "sync {log}", "rebuild", "doctor --repair", "run hello --runner recall", "session archive {live}",
    "journey create", "journey link {journey} {session}", "journey delete {journey}", "config set {{}}", "realm create other",
    "realm delete main --yes", "watch",
)  # fmt: skip
TOOLS: dict[str, dict[str, Any]] = {
    "search_sessions": {"query": "hoopoe"},
    "open": {"id": "{session}"},
    "list_sessions": {"start_datetime": "2020-01-01T00:00Z", "end_datetime": "2040-01-01T00:00Z"},
    "search": {"query": "twigs"},
    "get_observations": {"ids": ["{observation}"]},
    "read": {"path": "{log}"},
    "search_event_previews": {"query": "hoopoe"},
    "get_session_details": {"session_id": "{native}"},
    "analyze_session": {"session_id": "{native}"},
    "query_journey_history": {"journey_id": "{journey}"},
    "meerkat_list": {},
    "meerkat_read": {"session_id": "{live}"},
    "meerkat_history": {"session_id": "{live}"},
}


@pytest.fixture(scope="module", params=WAYS)
def read_only(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    """A state folder with content that has become read-only, and the ids in it."""
    person = Person(tmp_path_factory.mktemp("closed"))
    fill(person)
    known = ids(person)
    native = str(uuid.UUID(known["session"].removeprefix("session:")))
    known |= {"native": native, "log": str(person.claude_log(Claude().session))}
    WAYS[request.param](person)
    yield person, known
    subprocess.run(["chmod", "-R", "u+w", str(person.state)], check=True)


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and its date."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_every_reading_command_works(read_only: Closed) -> None:
    person, known = read_only
    before = snapshot(person.state)
    for command in COMMANDS:
        arguments = command.format(**known).split(" ")
        shown = person.run(*arguments, check=False)
        text = "generation 0 of realm main\n" if command == "config get" else ""
        assert (shown.returncode, shown.stderr) == (0, text), f"{command}: {shown.stderr}"
        assert shown.stdout.strip(), command
        answered = person.run(*arguments, "--json", check=False)
        assert (answered.returncode, answered.stderr) == (0, ""), f"{command} --json: {answered.stderr}"
        assert "error" not in json.loads(answered.stdout), command
    assert snapshot(person.state) == before


def test_every_writing_command_says_that_the_folder_is_read_only(read_only: Closed) -> None:
    person, known = read_only
    for command in WRITING:
        done = person.run(*command.format(**known).split(" "), check=False)
        assert done.returncode == 1, f"{command}: {done.stderr}"
        assert "Traceback" not in done.stderr
        assert f"The state folder {person.state}" in done.stderr, f"{command}: {done.stderr}"
        assert "is read-only. Make it writable, or set RECOLLECT_HOME" in done.stderr, f"{command}: {done.stderr}"


def test_a_server_answers_and_leaves_nothing_behind(read_only: Closed, tmp_path: Path) -> None:
    person, known = read_only
    before = snapshot(person.state)
    folder = tmp_path / "temporary"
    folder.mkdir()
    with person.mcp("--no-sync", TMPDIR=str(folder)) as client:
        client.request("initialize", HELLO)
        assert client.request("tools/list")["result"]["tools"]
        for tool, arguments in TOOLS.items():
            result = client.request("tools/call", {"name": tool, "arguments": filled(arguments, known)})["result"]
            assert not result["isError"], f"{tool}: {result['content'][0]['text']}"
        refused = client.request("tools/call", {"name": "meerkat_create_session", "arguments": {"prompt": "hello"}})[
            "result"
        ]
        assert refused["isError"] and "is read-only" in refused["content"][0]["text"]
        assert list(folder.iterdir()) == []
    assert snapshot(person.state) == before


def filled(arguments: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """The arguments of a tool with the ids of this person."""

    def fill_in(value: Any) -> Any:
        if isinstance(value, list):
            return [fill_in(one) for one in value]
        return value.format(**known) if isinstance(value, str) else value

    return {name: fill_in(value) for name, value in arguments.items()}


# ---- what the writers of the folder left there, or still do


@pytest.mark.parametrize("left", [("-wal",), ("-wal", "-shm")], ids=["wal", "wal-and-shm"])
def test_content_of_the_write_ahead_log_is_read(person: Person, left: tuple[str, ...]) -> None:
    """As in a copy of a folder that was being written, or after a crash."""
    fill(person)
    copy = Person(person.state.parent / "copy")
    shutil.copytree(person.state, copy.state)
    with closing(sqlite3.connect(archive_path(person.realm))) as db, db:
        db.execute("UPDATE session SET title = 'The wryneck'")
        db.commit()
        for suffix in ("", *left):
            shutil.copyfile(f"{archive_path(person.realm)}{suffix}", f"{archive_path(copy.realm)}{suffix}")
    mount_read_only(copy)
    assert "The wryneck" in copy.run("list").stdout
    assert copy.json("search", "hoopoe")["data"]["results"][0]["session"]["title"] == "The wryneck"


def test_a_server_reads_what_others_write_into_the_folder(person: Person) -> None:
    log = Claude()
    path = write(person.claude_log(log.session), [log.prompt("an old hoopoe")])
    person.run("sync")
    inside = Person(person.state.parent / "sandbox")
    inside.state = person.state
    inside.env["RECOLLECT_HOME"] = str(person.state)
    mount_read_only(inside)
    with inside.mcp("--no-sync") as client:
        assert client.call("search_sessions", query="hoopoe")["data"]["result_count"] == 1
        append(path, log.prompt("a young wryneck"))
        person.run("sync")
        assert client.call("search_sessions", query="wryneck")["data"]["result_count"] == 1
        with watching(person):
            append(path, log.prompt("a lost bustard"))
            until(lambda: client.call("search_sessions", query="bustard")["data"]["result_count"] == 1)
        assert client.call("search_sessions", query="bustard")["data"]["result_count"] == 1


def test_an_empty_state_folder_finds_nothing(person: Person) -> None:
    person.state.mkdir()
    mount_read_only(person)
    assert person.json("search", "hoopoe")["data"]["results"] == []
    assert person.run("list").stdout.startswith("No session")
    assert person.run("session", "list").returncode == 0


def test_a_realm_without_a_manifest_is_read(person: Person) -> None:
    """Early versions wrote no manifest."""
    fill(person)
    (person.realm / "realm_manifest.json").unlink()
    mount_read_only(person)
    assert "hoopoe" in person.run("list").stdout
    with person.mcp("--no-sync") as client:
        assert client.call("search_sessions", query="hoopoe")["data"]["result_count"] == 1


def test_a_session_start_hook_prints_observations(person: Person) -> None:
    fill(person)
    mount_read_only(person)
    event = json.dumps({"session_id": "other", "cwd": "/work/app", "hook_event_name": "SessionStart"})
    assert "Use twigs instead of mud" in person.run("hook", "session-start", input=event).stdout


def test_an_error_says_where_to_migrate_a_folder_of_an_older_version(person: Person) -> None:
    person.run("realm", "create", "main")
    steps = schema_steps()
    with sqlite3.connect(archive_path(person.realm)) as db:
        migrate(db, steps[:-1])
    mount_read_only(person)
    done = person.run("list", check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("Run `recollect sync` where the folder can be written.\n")
