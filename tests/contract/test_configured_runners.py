"""Runners in a realm's config: a bad one is refused on writing, and a missing one is named in the error."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Person
from tests.http_server import HttpServer

pytestmark = pytest.mark.process

KINDS = "recall, command, acp"
CAT = {"command": ["cat"]}


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("configured"))


@pytest.fixture(scope="module")
def server(person: Person) -> Iterator[HttpServer]:
    with HttpServer(person) as server:
        yield server


REFUSED = {
    "a default that is not there": (
        {"runner": "nosuch"},
        f"there is no runner 'nosuch': it must be one of {KINDS}, or a name from the realm's config",
    ),
    "no command": (
        {"runners": {"x": {"runner": "acp"}}},
        "the config's runner 'x' needs a command: an array of a program and its arguments",
    ),
    "an empty command": (
        {"runners": {"x": {"command": []}}},
        "the config's runner 'x' must have a command that is an array of strings: a program and its arguments",
    ),
    "a kind that there is not": (
        {"runners": {"x": {**CAT, "runner": "bogus"}}},
        f"the config's runner 'x' must have a runner that is one of {KINDS}",
    ),
    "a policy that there is not": (
        {"runners": {"x": {**CAT, "runner": "acp", "permissions": "deny"}}},
        "the config's runner 'x' must have permissions that are one of reject, allow",
    ),
    "a key that there is not": (
        {"runners": {"x": {**CAT, "foldr": "/"}}},
        "the config's runner 'x' has an unknown option 'foldr': command has runner, command, folder",
    ),
    "a key of another kind": (
        {"runners": {"x": {**CAT, "runner": "recall"}}},
        "the config's runner 'x' has an unknown option 'command': recall has runner, folder",
    ),
    "a folder that is none": (
        {"runners": {"x": {**CAT, "folder": 1}}},
        "the config's runner 'x' must have a folder that is a path",
    ),
    "a built-in name": ({"runners": {"acp": CAT}}, "runners must have names that are not empty and not built in: not 'acp'"),
    "no name": ({"runners": {"": CAT}}, "runners must have names that are not empty and not built in: not ''"),
}


@pytest.mark.parametrize(("config", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_config_with_an_unusable_runner_is_refused(server: HttpServer, config: dict[str, Any], sentence: str) -> None:
    before = server.ask("GET", "/config")
    for method, body in (("PUT", {"config": config}), ("PATCH", {"patch": config})):
        status, answer = server.ask(method, "/config", body)
        assert (status, answer["code"], answer["message"]) == (400, "INVALID_PARAMS", sentence)
    assert server.ask("GET", "/config") == before


def test_a_patch_is_checked_by_its_result(server: HttpServer) -> None:
    assert server.ask("PUT", "/config", {"config": {"runners": {"x": {**CAT, "folder": "/"}}, "runner": "x"}})[0] == 200
    for patch in ({"runners": {"x": {"command": None}}}, {"runners": None}, {"runners": {"x": {"runner": "recall"}}}):
        assert server.ask("PATCH", "/config", {"patch": patch})[0] == 400
    assert server.ask("PATCH", "/config", {"patch": {"runners": None, "runner": None}})[0] == 200


def test_the_error_names_a_removed_runner(server: HttpServer) -> None:
    server.ask("PUT", "/config", {"config": {"runners": {"parrot": CAT}}})
    session = server.ask("POST", "/sessions", {"prompt": "polly", "runner": "parrot"})[1]["session_id"]
    server.ask("PUT", "/config", {"config": {}})
    status, answer = server.ask("POST", f"/sessions/{session}/messages", {"prompt": "polly"})
    assert (status, answer["code"]) == (400, "INVALID_PARAMS")
    assert answer["message"].startswith("there is no runner 'parrot': ")


def test_runners_in_an_existing_file_are_read(person: Person, server: HttpServer) -> None:
    odd = {"runners": {"x": {**CAT, "foldr": 1}, "y": {"runner": "bogus"}}, "runner": "z"}
    (person.realm / "config.json").write_text(json.dumps(odd))
    assert server.ask("GET", "/config")[1]["config"] == odd
    assert server.ask("POST", "/sessions", {"prompt": "polly", "runner": "x"})[1]["text"] == "polly"
    refused = server.ask("POST", "/sessions", {"prompt": "polly", "runner": "y"})[1]
    assert refused["message"] == f"the config's runner 'y' must have a runner that is one of {KINDS}"
    assert server.ask("PATCH", "/config", {"patch": {"runners": None, "runner": None}})[1]["config"] == {}
