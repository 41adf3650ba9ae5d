"""`library/resume`: the agents' own commands for sessions of every source that the fixtures have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.continuation.agents import AGENTS
from tests.conftest import Person
from tests.contract.library_archive import ANCHOR, Library, fill
from tests.logs import Claude, write

FIXTURES = Path(__file__).parents[1] / "fixtures"
COMMANDS = {
    "aider": "aider --restore-chat-history",
    "amp": "amp threads continue T-",
    "claude-code": "claude -r ",
    "cline": "cline --id ",
    "codex": "codex resume ",
    "copilot-cli": "copilot --resume=",
    "cursor": "cursor-agent --resume=",
    "droid": "droid --resume ",
    "gemini-cli": "gemini --resume ",
    "goose": "goose session --resume --session-id ",
    "gptme": "gptme --name ",
    "grok": "grok --resume ",
    "hermes": "hermes --resume ",
    "kimi": "kimi --session ",
    "kiro": "kiro-cli chat --resume-id ",
    "omp": "omp --resume ",
    "opencode": "opencode -s ",
    "openhands": "openhands --resume ",
    "pi": "pi --session ",
    "prime": "prime-agent --resume ",
    "qwen-code": "qwen --resume ",
    "recollect": "recollect run - --resume ",
    "traex": "traex resume ",
    "vibe": "vibe --resume ",
}
NO_COMMAND = ("atif", "chatgpt-export", "claude-cowork", "kilo-code", "mini-swe-agent", "openclaw", "otel", "posit-assistant",
              "qwenpaw", "roo-code", "specstory", "swe-agent", "visualstudio-copilot", "vscode-copilot")  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, dict[str, list[Any]]]]:
    """The library of all fixtures, and the resume commands of all sessions by source."""
    person = Person(tmp_path_factory.mktemp("resume"))
    person.sync(FIXTURES)
    library = Library(person)
    found: dict[str, list[Any]] = {}
    cursor: str | None = ""
    while cursor is not None:
        page = library.ask("sessions", limit=200, **({"cursor": cursor} if cursor else {}))
        for session in page["data"]["sessions"]:
            found.setdefault(session["agent"], []).append(library.data("resume", id=session["id"]))
        cursor = page["page"]["next"]
    yield library, found


@pytest.mark.parametrize("source", COMMANDS)
def test_an_agent_has_its_own_command(everything: tuple[Library, dict[str, list[Any]]], source: str) -> None:
    commands = [" ".join(found["words"]) for found in everything[1][source] if found["words"]]
    assert commands and all(command.startswith(COMMANDS[source]) for command in commands)
    assert not any("/" in command.partition(COMMANDS[source])[2] for command in commands), "an id of a sub-agent"


@pytest.mark.parametrize("source", NO_COMMAND)
def test_an_agent_without_a_command_says_so(everything: tuple[Library, dict[str, list[Any]]], source: str) -> None:
    for found in everything[1][source]:
        assert found["command"] is None and found["words"] == []
        assert "recollect continue" in found["reason"]


def test_every_row_of_the_table_is_tested() -> None:
    elsewhere = {"antigravity", "crush", "iflow", "omnigent"}  # their fixtures are databases, or of the editor
    assert {name for name, program in AGENTS.items() if program.resume} - elsewhere <= COMMANDS.keys()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    person = Person(tmp_path)
    fill(person)
    return Library(person)


def test_a_command_changes_into_the_folder_and_says_if_it_is_missing(library: Library) -> None:
    found = library.data("resume", id=library.session(ANCHOR)["id"])
    assert found["command"] == "cd /work/app && claude -r aaaaaaaa-0001-4000-8000-000000000001"
    assert not found["folder_exists"] and "/work/app is not on this machine" in found["notes"][0]
    details = library.data("session", id=library.session(ANCHOR)["id"])
    assert details["resume"] == found["command"]


def test_a_sub_agent_resumes_the_session_that_started_it(tmp_path: Path) -> None:
    person = Person(tmp_path)
    folder = person.home / "it's here"
    folder.mkdir()
    parent, child = Claude(cwd=str(folder)), Claude(cwd=str(folder), start=9)
    log = person.claude_log(parent.session)
    write(log, [parent.prompt("Ask somebody to count"), parent.says("Counted.")])
    lines = [child.prompt("Count the eggs", agentId="a7"), child.says("Four.", agentId="a7")]
    write(log.parent / parent.session / "subagents" / "agent-a7.jsonl", [{**line, "isSidechain": True} for line in lines])
    person.sync()
    library = Library(person)
    (agent,) = (one for one in library.data("sessions")["sessions"] if one["parent"])
    found = library.data("resume", id=agent["id"])
    assert found["session"] == agent["parent"] and found["folder_exists"]
    assert found["command"].endswith(f"&& claude -r {parent.session}") and found["command"].startswith("cd '")
    assert "sub-agent" in found["notes"][0]


def test_an_unknown_session_is_an_error(library: Library) -> None:
    assert library.refusal("resume", id="0123456789")["code"] == "not_found"
