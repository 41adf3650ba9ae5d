"""Arguments and working folders whose bytes are not UTF-8."""

import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Person
from tests.live_processes import REALM
from tests.rpc_server import RawRpc

ODD = os.fsdecode(b"caf\xe9")  # as Python decodes a Latin-1 argument


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("odd"))


@pytest.fixture
def odd_folder(tmp_path: Path) -> Path:
    folder = tmp_path / ODD
    folder.mkdir()
    return folder


@pytest.fixture
def gone_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder that no longer exists."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()


def run_json(person: Person, *words: str, **more: Any) -> Any:
    """The output of a command, which must not be a traceback."""
    done = person.run(*words, "--realm", REALM, "--json", check=False, **more)
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def listed(person: Person) -> int:
    return len(run_json(person, "session", "list")["sessions"])


def test_invalid_utf8_is_replaced_in_a_prompt_and_in_labels(person: Person) -> None:
    ran = run_json(person, "run", ODD, "--command", "cat", "--label", f"{ODD}={ODD}")
    assert ran["text"] == "caf?"
    listed = run_json(person, "session", "list", "--label", f"{ODD}={ODD}")["sessions"]
    assert [(session["session_id"], session["labels"]) for session in listed] == [(ran["session_id"], {"caf?": "caf?"})]
    assert run_json(person, "run", ODD, "--resume", ran["session_id"])["text"] == "caf?"


def test_a_command_that_cannot_be_stored_is_refused_and_leaves_nothing(person: Person) -> None:
    before = listed(person)
    refused = run_json(person, "run", "go", "--command", f"echo {ODD}")
    assert (refused["code"], refused["details"]) == ("INVALID_PARAMS", {"field": "command"})
    assert "UTF-8" in refused["message"]
    assert listed(person) == before


def test_an_agent_works_in_a_folder_whose_name_is_not_utf8(person: Person, odd_folder: Path) -> None:
    ran = run_json(person, "run", "go", "--command", "touch first", cwd=odd_folder)
    run_json(person, "run", "go", "--resume", ran["session_id"], "--command", "touch second", cwd=odd_folder)
    assert {path.name for path in odd_folder.iterdir()} == {"first", "second"}
    refused = run_json(person, "run", "go", "--resume", ran["session_id"], cwd=odd_folder.parent)
    assert refused["code"] == "PROVIDER_ERROR"
    assert refused["message"] == f"The folder {odd_folder.parent}/caf\ufffd does not exist."


@pytest.mark.usefixtures("gone_folder")
def test_an_error_names_a_deleted_working_folder(person: Person) -> None:
    with RawRpc(person, "--realm", REALM) as rpc:
        error = rpc.error("session/create", prompt="go", command=["cat"])
    assert error["data"]["code"] == "PROVIDER_ERROR"
    assert "no longer there" in error["message"]


# ---- every other word that one may type

TYPED = (
    "search {odd} --within {odd}",
    "search x -t {odd}",
    "open {odd}",
    "ask {odd} --project {odd}",
    "list --mode {odd} --cursor {odd}",
    "observations {odd} --type {odd} --concept {odd} --file {odd}",
    "trace search {odd} --provider {odd}",
)


@pytest.mark.parametrize("command", TYPED)
def test_an_argument_that_is_not_utf8_does_not_crash(person: Person, command: str) -> None:
    run_json(person, *command.format(odd=ODD).split())


def test_invalid_utf8_is_replaced_in_a_config(person: Person) -> None:
    assert run_json(person, "config", "patch", f'{{"note": "{ODD}"}}')["config"] == {"note": "caf?"}


def test_invalid_utf8_is_replaced_in_a_piped_prompt(person: Person, tmp_path: Path) -> None:
    piped = tmp_path / "prompt"
    piped.write_bytes(b"caf\xe9")
    with piped.open() as prompt:
        assert run_json(person, "run", "-", "--command", "cat", stdin=prompt)["text"] == "caf\ufffd"


def test_invalid_utf8_is_replaced_in_a_journey(person: Person) -> None:
    journey = run_json(person, "journey", "create")["journey_id"]
    run_json(person, "journey", "add", journey, "--title", ODD, "--content", ODD)
    (document,) = run_json(person, "journey", "documents", journey)["documents"]
    assert document["title"] == "caf?"
    run_json(person, "journey", "history", journey, ODD)


def test_hits_with_invalid_utf8_are_shown_to_people(person: Person) -> None:
    assert "caf?" in person.run("trace", "search", ODD, "--realm", REALM).stdout


def test_an_instance_must_have_a_name_that_can_be_stored(person: Person) -> None:
    refused = run_json(person, "run", "x", "--instance", ODD)
    assert (refused["code"], refused["message"][:20]) == ("INVALID_PARAMS", "An instance is named")


def test_an_error_is_shown_without_control_sequences(person: Person) -> None:
    done = person.run("session", "show", f"else\x1b]0;owned\x07where:{UUID(int=7)}", "--realm", REALM, check=False)
    assert done.stderr == f"recollect: elsewhere:{UUID(int=7)} is not a session of this realm, {REALM}.\n"
