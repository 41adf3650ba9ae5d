"""Errors before a command runs, as JSON: in the form of its family, and only once."""

import json
import os
import socket
import subprocess
from typing import Any

import pytest

from tests.conftest import Person

pytestmark = pytest.mark.process

ODD = os.fsdecode(b"caf\xe9")  # as Python has an argument that is Latin-1
UNKNOWN = "01a1eb05-0000-7000-8000-000000000000"
REFUSED = {  # the command, and a part of its error text
    "run x --realm kept --realm-backend jsonl": "realm backend mismatch",
    "run x --realm -bad": "A realm is named",
    "run x --label bad": "KEY=VALUE",
    f"run x --resume {UNKNOWN} --label a=b": "Leave them out with --resume",
    "run x --command 'unclosed": "Cannot parse --command",
    "run": "Missing argument",
    "session list --limit x": "--limit",
    "session nosuch": "No such command",
    f"session {ODD}": "No such command",
    "realm create dot.ted": "A realm is named",
    "realm delete kept": "--yes",
    "config set {": "Invalid JSON",
    "config patch {} --expected-generation x": "--expected-generation",
    "config get --instance two/parts": "An instance is named",
    "serve --realm broken": "cannot be understood",
    "rpc": "--json",
}


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person with a realm, and with another realm whose manifest is torn."""
    person = Person(tmp_path_factory.mktemp("refused"))
    person.run("realm", "create", "kept")
    broken = person.state / "realms" / "broken"
    broken.mkdir()
    (broken / "realm_manifest.json").write_text('{"realm_id": "broken", ')
    return person


def failed(person: Person, command: list[str], **more: Any) -> tuple[int, Any]:
    done = person.run(*command, "--json", check=False, **more)
    assert done.stderr == "", done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("command", REFUSED)
def test_an_error_of_a_sessions_command_is_printed_without_an_envelope(person: Person, command: str) -> None:
    code, error = failed(person, command.split(), stdin=subprocess.DEVNULL)
    assert (code, error["code"], error.keys() - {"details"}) == (2, "INVALID_PARAMS", {"code", "message"}), error
    assert REFUSED[command] in error["message"]


def test_a_port_in_use_is_printed_without_an_envelope(person: Person) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, error = failed(person, ["serve", "--no-sync", "--port", str(port)])
    assert (code, error["code"]) == (1, "INTERNAL_ERROR")
    assert str(port) in error["message"]


def test_a_folder_that_cannot_be_written_is_printed_without_an_envelope(person: Person) -> None:
    (person.state / "realms" / "in-the-way").write_text("not a folder")
    for command in ("serve --no-sync", "run x"):
        code, error = failed(person, [*command.split(), "--realm", "in-the-way"])
        assert (code, error["code"]) == (1, "INTERNAL_ERROR")
        assert "in-the-way" in error["message"]


@pytest.mark.parametrize("command", ["search x --realm -bad", "status --nonsense", "sync --realm broken", "nosuch"])
def test_errors_of_other_commands_are_in_an_envelope(person: Person, command: str) -> None:
    code, answer = failed(person, command.split())
    assert (code, answer.keys()) == (2, {"error"})
    assert answer["error"].keys() == {"code", "message", "details"}


def test_a_realm_is_deleted_only_after_confirmation(person: Person) -> None:
    assert "kept" in {row["realm_id"] for row in person.json("realm", "list")["realms"]}
    person.run("realm", "create", "aside")
    assert person.run("realm", "delete", "aside", check=False, input="n\n").returncode == 130
    assert person.json("realm", "show", "aside")["realm_id"] == "aside"
    assert person.run("realm", "delete", "aside", input="y\n").returncode == 0


@pytest.mark.parametrize("command", [["run", ""], ["run", "x", "--runner", "nosuch"]], ids=["no prompt", "no runner"])
def test_a_refused_turn_in_a_new_realm_is_one_sentence(person: Person, command: list[str]) -> None:
    done = person.run(*command, "--realm", "fresh", check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("recollect: ")
