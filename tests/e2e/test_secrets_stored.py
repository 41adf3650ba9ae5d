"""A secret that any surface receives is in no file of the state folder: raw, in a row, or compressed."""

import json
import sqlite3
import string
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.conftest import Person
from tests.live_processes import REALM
from tests.logs import Claude, write
from tests.rpc_server import RawRpc

ALPHABET = string.ascii_letters + string.digits
USER = "7d0e5f7c-3b52-4a6e-9f0a-0d6c3a1b2c4d"


def token(place: str) -> str:
    """An invented token, a different one for every place."""
    seed = sum(map(ord, place))
    return "ghp_" + "".join(ALPHABET[(number * number * 7 + number * seed + 11) % 62] for number in range(36))


def stored(state: Path) -> Iterator[tuple[str, bytes]]:
    """The content of every file of a state folder, and every decompressed value of its databases."""
    for path in sorted(state.rglob("*")):
        if not path.is_file():
            continue
        yield str(path), path.read_bytes()
        if path.suffix == ".db":
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
                yield from ((f"{path}: {table}", value) for table, value in _values(database))


def _values(database: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in database.execute(f'SELECT * FROM "{table}"'):
            for value in row:
                if isinstance(value, str):
                    yield table, value.encode()
                elif isinstance(value, bytes):
                    yield table, zstandard.decompress(value) if value.startswith(b"\x28\xb5\x2f\xfd") else value


def leaks(person: Person, *places: str) -> set[tuple[str, str]]:
    """The secrets of these places that are stored, and where. Twelve characters of one are enough."""
    fragments = {place: token(place)[4:16].encode() for place in places}
    return {
        (place, where) for where, content in stored(person.state) for place, needle in fragments.items() if needle in content
    }


def marks(person: Person) -> int:
    return sum(content.count(b"[REDACTED:github-token]") for _, content in stored(person.state))


def program(folder: Path, name: str, *lines: str) -> str:
    """The command line of a program. Its output is in a file that Recollect does not store."""
    path = folder / name
    path.write_text("\n".join(lines), "utf-8")
    return f"sh {path}"


@pytest.mark.parametrize("backend", ["sqlite", "jsonl"])
def test_a_live_turn_stores_no_secret(person: Person, tmp_path: Path, backend: str) -> None:
    """Also a secret that the program writes in pieces, and one in the standard error of a failure."""
    answer = token("an answer")
    pieces = [f"printf '%s' '{answer[start : start + 7]}'; sleep 0.01" for start in range(0, len(answer), 7)]
    speaks = program(tmp_path, "speaks", "printf 'the token is '", *pieces, "echo .")
    fails = program(tmp_path, "fails", f"echo 'cannot log in with {token('an error')}' >&2", "exit 3")
    realm = ("--realm", REALM, "--realm-backend", backend)
    label = ("--label", f"login={token('a label')}", "--label", f"{token('a name')}=x")
    person.run("run", f"log in with {token('a prompt')}", "--runner", "command", "--command", speaks, *label, *realm)
    person.run("run", "log in", "--resume", "last", "--runner", "command", "--command", fails, *realm, check=False)
    person.run("sync", *realm)
    assert leaks(person, "an answer", "an error", "a label", "a name", "a prompt") == set()
    assert marks(person) >= 4
    for command in (("session", "list"), ("session", "history", "last"), ("search", "token"), ("doctor",), ("status",)):
        shown = person.run(*command, *realm, check=False)
        assert "ghp_" not in shown.stdout + shown.stderr, command


def test_a_command_with_a_secret_runs_and_is_stored_without_it(person: Person, tmp_path: Path) -> None:
    echoes = program(tmp_path, "echoes", 'echo "${#1} characters"')
    realm = ("--realm", REALM)
    first = person.run("run", "log in", "--runner", "command", "--command", f"{echoes} {token('a command')}", *realm)
    assert "40 characters" in first.stdout
    assert leaks(person, "a command") == set()
    again = person.run("run", "once more", "--resume", "last", *realm, check=False)
    assert again.returncode != 0
    assert "Pass command again" in again.stderr


def test_labels_and_prompts_over_rpc_are_stored_without_secrets(person: Person) -> None:
    with RawRpc(person, "--realm", REALM, "--realm-backend", "jsonl") as server:
        labels = {"team": token("a label"), token("a name"): "x"}
        assert server.result("session/create", prompt=f"who has {token('a prompt')}", labels=labels)["session_id"]
        assert token("a label") not in json.dumps(server.result("session/list"))
    assert leaks(person, "a prompt", "a label", "a name") == set()


@pytest.fixture
def recalled(person: Person) -> Person:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("log in"), claude.says("done, it works")])
    person.sync()
    return person


def test_what_agents_record_is_stored_without_secrets(recalled: Person) -> None:
    with recalled.mcp() as client:
        (hit,) = client.call("search_sessions", query="works")["data"]["results"][:1]
        recorded: dict[str, Any] = {
            "type": "decision",
            "title": f"use {token('a title')}",
            "subtitle": token("a subtitle"),
            "narrative": f"because {token('a narrative')}",
            "facts": [token("a fact")],
            "concepts": [token("a concept")],
            "files_read": [f"/etc/{token('a file')}"],
            "evidence_ids": [hit["event_id"] if "event_id" in hit else hit["id"]],
        }
        recorded = client.request("tools/call", {"name": "record_observation", "arguments": recorded})
        assert "Recorded" in json.dumps(recorded)
    assert leaks(recalled, *("a " + name for name in "title subtitle narrative fact concept file".split())) == set()
    assert marks(recalled) >= 6


def test_journeys_are_stored_without_secrets(recalled: Person) -> None:
    with recalled.mcp() as client:
        listed = client.call("list_sessions", start_datetime="1970-01-01T00:00:00Z", end_datetime="2100-01-01T00:00:00Z")
        session = listed["data"]["sessions"][0]["id"]
        journey = client.call("get_or_create_journey", user_id=USER)["journey_id"]
        client.call(
            "add_document_to_journey",
            journey_id=journey,
            document_type="note",
            title=token("a title"),
            content=f"log in with {token('a content')}",
            metadata={"deep": [{token("a key"): token("a value")}]},
        )
        client.request(
            "tools/call",
            {
                "name": "link_session_to_journey",
                "arguments": {
                    "journey_id": journey,
                    "session_id": session.removeprefix("session:"),
                    "summary": token("a summary"),
                    "diagnosis": token("a diagnosis"),
                },
            },
        )
    assert leaks(recalled, *("a " + name for name in "title content key value summary diagnosis".split())) == set()


PLACES: dict[str, Any] = {
    "a tool": lambda claude, secret: claude.calls(f"mcp__{secret}__search", "c1", query="x"),
    "a branch": lambda claude, secret: claude.prompt("x") | {"gitBranch": f"fix/{secret}"},
    "a model": lambda claude, secret: _with_model(claude.says("x"), secret),
    "a folder": lambda claude, secret: claude.prompt("x") | {"cwd": f"/work/{secret}"},
}


def _with_model(record: dict[str, Any], secret: str) -> dict[str, Any]:
    return record | {"message": record["message"] | {"model": secret}}


@pytest.mark.parametrize("place", PLACES)
def test_names_in_a_log_are_stored_without_secrets(person: Person, place: str) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [PLACES[place](claude, token(place)) for _ in range(2)])
    person.sync()
    assert leaks(person, place) == set()
    assert marks(person) >= 1


def test_a_hook_stores_only_the_path_of_the_transcript(person: Person) -> None:
    document = {
        "session_id": token("a session"),
        "transcript_path": "/tmp/log.jsonl",
        "cwd": "/",
        "tool_name": token("a tool"),
    }
    person.run("hook", "post-tool-use", input=json.dumps(document))
    assert "/tmp/log.jsonl" in (person.realm / "hooks.queue").read_text("utf-8")
    assert leaks(person, "a session", "a tool") == set()
