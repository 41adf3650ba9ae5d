"""A person at a terminal gets an answer even after the deadline. Programs get the contract's deadline error."""

import json

import pytest

from tests.conftest import Person
from tests.logs import Claude, write

COMMANDS = (
    "search hoopoe", "open {session}", "list", "ask hoopoe", "trace search hoopoe", "trace event {session} 0",
    "trace session {session}", "trace analyze {session}", "journey history {journey}", "journey timeline {journey}",
    "journey documents {journey}", "session list", "session show {live}", "session history {live}",
)  # fmt: skip


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, dict[str, str]]:
    """A person whose deadlines are all past, and the ids that the commands need."""
    person = Person(tmp_path_factory.mktemp("late"))
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("where does the hoopoe nest"), claude.says("In the wall.")])
    person.run("sync")
    session = person.json("list")["data"]["sessions"][0]["id"]
    journey = person.json("journey", "create")["journey_id"]
    person.run("journey", "link", journey, session)
    live = person.json("run", "which bird", "--runner", "recall")["session_id"]
    person.run("config", "set", '{"deadline_ms": 0}')
    return person, {"session": session, "journey": journey, "live": live}


@pytest.mark.parametrize("command", COMMANDS)
def test_people_get_a_late_answer_and_programs_a_deadline_error(late: tuple[Person, dict[str, str]], command: str) -> None:
    person, known = late
    arguments = command.format(**known).split(" ")
    shown = person.run(*arguments)
    assert shown.stdout.strip()
    assert "deadline" not in shown.stdout + shown.stderr
    refused = person.run(*arguments, "--json", check=False)
    assert refused.returncode in {1, 14}
    assert "deadline" in json.dumps(json.loads(refused.stdout))


def test_a_client_gets_a_deadline_error(late: tuple[Person, dict[str, str]]) -> None:
    person, _ = late
    with person.mcp() as client:
        assert client.call("search_sessions", query="hoopoe")["error"]["code"] == "deadline_exceeded"


def test_a_turn_gives_people_a_late_answer_and_programs_a_deadline_error(late: tuple[Person, dict[str, str]]) -> None:
    person, _ = late
    command = ("run", "where does the hoopoe nest", "--runner", "recall")
    assert "hoopoe" in person.run(*command).stdout
    assert json.loads(person.run(*command, "--json", check=False).stdout)["code"] == "REQUEST_CANCELLED"
