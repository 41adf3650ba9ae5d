"""Over MCP only configured runners run: no client can name a program in any way."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.live_surfaces import Mcp, McpHttp, Refused, Surface, Tools

GOOD = {"good": {"command": ["cat"]}}


class ClosedMcp(Mcp):
    allowed: dict[str, str] = {}


class ClosedMcpHttp(McpHttp):
    allowed: dict[str, str] = {}


CLOSED = {"stdio": ClosedMcp, "http": ClosedMcpHttp}


@contextmanager
def configured(person: Person, surface: str) -> Iterator[Surface]:
    """An MCP client; the owner has configured one runner."""
    person.run("config", "set", json.dumps({"runners": GOOD, "deadline_ms": 5000}))
    client = CLOSED[surface](person, "main")
    yield client
    client.close()


@pytest.fixture(params=CLOSED)
def mcp(request: pytest.FixtureRequest, person: Person) -> Iterator[Surface]:
    with configured(person, request.param) as client:
        yield client


@pytest.fixture(scope="module", params=CLOSED)
def unchanged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """The same client, for tests whose requests are refused and so change nothing."""
    with configured(Person(tmp_path_factory.mktemp("closed")), request.param) as client:
        yield client


def is_told_how(refused: Refused) -> bool:
    """Whether an error is one sentence that says what the owner can do."""
    is_sentence = "\n" not in refused.message and ". " not in refused.message
    return refused.code == "INVALID_PARAMS" and is_sentence and "RECOLLECT_COMMANDS_OVER_MCP=1" in refused.message


def leaving(left: Path) -> list[str]:
    return ["touch", str(left)]


@pytest.mark.parametrize("runner", [None, "command", "acp", "good", "recall", "nobody"])
@pytest.mark.parametrize("turn", ["immediate", "deferred"])
def test_a_session_with_a_command_is_refused(unchanged: Surface, tmp_path: Path, runner: str | None, turn: str) -> None:
    left = tmp_path / "left"
    named = {"runner": runner} if runner else {}
    refused = unchanged.refusal("meerkat_create_session", prompt="x", initial_turn=turn, command=leaving(left), **named)
    assert is_told_how(refused)
    assert unchanged.ask("meerkat_list")["sessions"] == []
    assert not left.exists()


@pytest.mark.parametrize("runner", ["command", "acp"])
def test_a_built_in_runner_that_needs_a_command_is_refused(mcp: Surface, runner: str) -> None:
    assert is_told_how(mcp.refusal("meerkat_create_session", prompt="x", runner=runner))
    session = mcp.ask("meerkat_create_session", initial_turn="deferred")["session_id"]
    assert is_told_how(mcp.refusal("meerkat_start_turn", session_id=session, prompt="x", runner=runner))


def test_a_turn_with_a_command_is_refused_in_any_session(mcp: Surface, person: Person, tmp_path: Path) -> None:
    left = tmp_path / "left"
    own = mcp.ask("meerkat_create_session", initial_turn="deferred", runner="good")["session_id"]
    owners = person.json("run", "hello", "--command", "cat")["session_id"]
    for session in (own, owners):
        for named in ({}, {"runner": "command"}, {"runner": "acp"}, {"runner": "good"}):
            arguments = {"session_id": session, "prompt": "x", "command": leaving(left), **named}
            assert is_told_how(mcp.refusal("meerkat_start_turn", **arguments))
    assert not left.exists()
    assert mcp.ask("meerkat_start_turn", session_id=owners, prompt="as before")["text"] == "as before"


def test_configured_runners_can_be_named(mcp: Surface) -> None:
    done = mcp.ask("meerkat_create_session", prompt="hello", runner="good")
    assert done["text"] == "hello"
    assert mcp.ask("meerkat_start_turn", session_id=done["session_id"], prompt="again")["text"] == "again"
    mcp.ask("meerkat_config", action="patch", patch={"runner": "good"})
    assert mcp.ask("meerkat_create_session", prompt="by default")["text"] == "by default"


def test_a_session_of_the_owner_continues_with_its_program(mcp: Surface, person: Person) -> None:
    session = person.json("run", "hello", "--runner", "command", "--command", "tr a-z A-Z")["session_id"]
    assert mcp.ask("meerkat_start_turn", session_id=session, prompt="louder")["text"] == "LOUDER"
    assert mcp.ask("meerkat_start_turn", session_id=session, prompt="again", runner="command")["text"] == "AGAIN"


EVIL = {"command": ["touch", "left"]}
WRITES = [
    {"action": "set", "config": {}},
    {"action": "set", "config": {"deadline_ms": 1000}},
    {"action": "set", "config": {"runners": {}}},
    {"action": "set", "config": {"runners": {"evil": EVIL}}},
    {"action": "set", "config": {"runners": {**GOOD, "evil": EVIL}}},
    {"action": "set", "config": {"runners": {"good": EVIL}}},
    {"action": "patch", "patch": {"runners": None}},
    {"action": "patch", "patch": {"runners": {"good": None}}},
    {"action": "patch", "patch": {"runners": {"good": EVIL}}},
    {"action": "patch", "patch": {"runners": {"good": {"command": ["cat", "-n"]}}}},
    {"action": "patch", "patch": {"runners": {"good": {"folder": "/"}}}},
    {"action": "patch", "patch": {"runners": {"good": {"runner": "acp", "permissions": "allow"}}}},
    {"action": "patch", "patch": {"runners": {"evil": EVIL}}},
    {"action": "patch", "patch": {"runners": {"evil": {"runner": "recall"}}}},
    {"action": "patch", "patch": {"runners": {"evil": EVIL}, "runner": "evil"}},
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: json.dumps(write))
def test_runners_cannot_be_written(unchanged: Surface, write: dict[str, Any]) -> None:
    before = unchanged.ask("meerkat_config", action="get")
    assert is_told_how(unchanged.refusal("meerkat_config", **write))
    assert unchanged.ask("meerkat_config", action="get") == before


def test_all_other_keys_of_a_config_can_be_written(mcp: Surface) -> None:
    assert mcp.ask("meerkat_config", action="patch", patch={"deadline_ms": None})["config"] == {"runners": GOOD}
    config = {"runners": GOOD, "turn_timeout_ms": 60_000}
    assert mcp.ask("meerkat_config", action="set", config=config)["config"] == config


def test_a_runner_without_a_command_cannot_be_the_default(mcp: Surface, tmp_path: Path) -> None:
    """As the default runner, `command` still has no command."""
    mcp.ask("meerkat_config", action="patch", patch={"runner": "command"})
    assert is_told_how(mcp.refusal("meerkat_create_session", prompt="x"))


@pytest.mark.parametrize("kind", [ClosedMcp, ClosedMcpHttp])
def test_the_owner_can_allow_it_in_the_settings(person: Person, kind: type[Surface]) -> None:
    person.state.mkdir(parents=True)
    (person.state / "settings.toml").write_text("commands_over_mcp = true\n")
    mcp = kind(person, "main")
    try:
        assert mcp.ask("meerkat_create_session", prompt="hello", command=["cat"])["text"] == "hello"
        mcp.ask("meerkat_config", action="patch", patch={"runners": GOOD})
        assert mcp.ask("meerkat_create_session", prompt="hello", runner="good")["text"] == "hello"
    finally:
        mcp.close()


@pytest.mark.parametrize("value", ["0", "off", "false", "no", ""])
def test_the_variable_overrides_the_file(person: Person, value: str) -> None:
    person.state.mkdir(parents=True)
    (person.state / "settings.toml").write_text("commands_over_mcp = true\n" if value else "")
    person.env["RECOLLECT_COMMANDS_OVER_MCP"] = value
    mcp = ClosedMcp(person, "main")
    try:
        assert is_told_how(mcp.refusal("meerkat_create_session", prompt="x", command=["cat"]))
    finally:
        mcp.close()


def test_an_invalid_value_of_the_variable_is_refused(person: Person) -> None:
    person.env["RECOLLECT_COMMANDS_OVER_MCP"] = "perhaps"
    done = person.run("status", check=False)
    assert done.returncode == 2
    assert "RECOLLECT_COMMANDS_OVER_MCP" in done.stderr


def test_other_surfaces_name_programs_as_before(person: Person) -> None:
    tools = Tools(person, "main")
    try:
        assert tools.ask("meerkat_create_session", prompt="hello", command=["cat"])["text"] == "hello"
    finally:
        tools.close()


def test_tools_that_run_turns_say_so_in_hints_and_description(mcp: Surface) -> None:
    listed = {tool["name"]: tool for tool in listing(mcp)}
    for name in ("meerkat_create_session", "meerkat_start_turn"):
        tool = listed[name]
        hints = {key: tool["annotations"][key] for key in ("readOnlyHint", "destructiveHint", "openWorldHint")}
        assert hints == {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
        assert "program on this machine" in tool["description"]
        assert "change files" in tool["description"]


def listing(mcp: Surface) -> list[dict[str, Any]]:
    if isinstance(mcp, Mcp):
        return list(mcp._raw.request("tools/list")["result"]["tools"])
    assert isinstance(mcp, McpHttp)
    status, answer = mcp.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert status == 200
    return list(answer["result"]["tools"])
