"""A session that an agent ran for us over ACP appears in the history once, although the agent also writes a log of it."""

import sys
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.processes import until
from tests.logs import Claude, append

AGENT = Path(__file__).parents[1] / "logging_agent.py"
FIRST = ["", "early"]  # which is read first: our session, or the agent's log


class Runs:
    """Runs turns over ACP by the command line, and searches the history for them."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.folder = person.home / "work"
        self.folder.mkdir()

    def turn(self, prompt: str, manner: str = "", *more: str) -> str:
        """Run a turn and sync. Returns the id of its session."""
        self.start(prompt, manner, *more)
        self.person.run("sync")
        (session,) = self.person.json("session", "list")["sessions"]
        return str(session["session_id"])

    def start(self, prompt: str, manner: str = "", *more: str, check: bool = True) -> None:
        command = f"{sys.executable} {AGENT} {manner}"
        self.person.run("run", prompt, "--runner", "acp", "--command", command, *more, cwd=self.folder, check=check)

    def log(self) -> Path:
        (path,) = (self.person.home / ".claude" / "projects" / "-work-app").glob("*.jsonl")
        return path

    def listed(self) -> list[str]:
        return sorted(row["session"]["source"] for row in self.person.json("list")["data"]["sessions"])

    def titles(self) -> list[str]:
        return sorted(row["session"]["title"] for row in self.person.json("list")["data"]["sessions"])

    def shown(self, word: str) -> dict[str, set[str]]:
        """The sessions that each kind of search finds for a word."""
        hits = self.person.json("search", word)["data"]["results"]
        traced = self.person.json("trace", "search", word)["data"]["matches"]
        observed = self.person.json("observations", word)["data"]["observations"]
        return {
            "search": {session_hex(row["session"]["id"]) for row in hits},
            "trace": {session_hex(row["session_id"]) for row in traced},
            "memory": {session_hex(row["session"]) for row in observed},
        }

    def is_shown(self, word: str, found: dict[str, set[str]]) -> bool:
        return self.shown(word) == found

    def opened(self, session: str) -> Any:
        return self.person.json("open", f"session:{session_hex(session)}")["data"]

    def everywhere(self, session: str, *words: str) -> None:
        """Wait until every kind of search finds each word in this session and in no other."""
        once = {way: {session_hex(session)} for way in ("search", "trace", "memory")}
        for word in words:
            until(partial(self.is_shown, word, once))


def session_hex(session: str) -> str:
    return session.removeprefix("session:").replace("-", "")


@pytest.fixture
def runs(person: Person) -> Runs:
    return Runs(person)


@pytest.mark.parametrize("manner", FIRST)
def test_a_session_over_acp_appears_in_the_history_once(runs: Runs, manner: str) -> None:
    session = runs.turn("kingfisher", manner)
    runs.everywhere(session, "kingfisher")
    assert runs.titles() == ["Count the otters.", "kingfisher"]  # and the sub-agent, which is only in the log
    imported = runs.person.json("session", "list", "--imported")["sessions"]
    assert sorted(row.get("title", row["runner"]) for row in imported) == ["Count the otters.", "acp"]


@pytest.mark.parametrize("manner", FIRST)
def test_a_second_turn_of_the_session_appears_in_the_history_once(runs: Runs, manner: str) -> None:
    runs.turn("kingfisher", manner)
    session = runs.turn("bittern", manner, "--resume", "last")
    runs.everywhere(session, "kingfisher", "bittern")
    assert runs.titles() == ["Count the otters.", "kingfisher"]
    assert len(runs.opened(session)["turns"]) == 2


def test_all_sessions_of_an_agent_that_starts_one_per_turn_are_linked(runs: Runs) -> None:
    runs.turn("kingfisher", "forgetful")
    session = runs.turn("bittern", "forgetful", "--resume", "last")
    runs.everywhere(session, "kingfisher", "bittern")


@pytest.mark.parametrize("manner", FIRST)
def test_our_session_leads_to_what_only_the_log_has(runs: Runs, manner: str) -> None:
    session = runs.turn("kingfisher", manner)
    (log,) = runs.opened(session)["traversal"]["child_session_ids"]
    opened = runs.opened(log)
    assert opened["session"]["source"] == "claude-code"
    assert session_hex(opened["traversal"]["parent_session_id"]) == session_hex(session)
    assert runs.person.json("session", "show", str(uuid.UUID(session_hex(log))))["usage"]["output_tokens"] == 2 * 77
    (sub_agent,) = opened["traversal"]["child_session_ids"]
    assert runs.opened(sub_agent)["session"]["title"] == "Count the otters."
    assert runs.shown("otters")["search"] == {session_hex(sub_agent)}


@pytest.mark.parametrize("arguments", [("rebuild",), ("rebuild", "--logs"), ("sync",)])
@pytest.mark.parametrize("manner", FIRST)
def test_a_rebuild_gives_the_same_history(runs: Runs, manner: str, arguments: tuple[str, ...]) -> None:
    session = runs.turn("kingfisher", manner)
    if arguments == ("sync",):
        for file in runs.person.realm.glob("*.db*"):
            file.unlink()
    runs.person.run(*arguments)
    runs.everywhere(session, "kingfisher")
    assert runs.titles() == ["Count the otters.", "kingfisher"]


def test_a_log_that_continues_in_the_agents_own_program_is_listed(runs: Runs) -> None:
    session = runs.turn("kingfisher")
    claude = Claude(runs.log().stem, str(runs.folder), start=3_600)  # another day
    append(runs.log(), claude.prompt("Where does the heron sleep?"), claude.says("In the reeds."))
    runs.person.run("sync")
    assert runs.shown("kingfisher")["search"] == {session_hex(session)}
    assert runs.listed() == ["claude-code", "claude-code", "recollect"]
    (found,) = runs.shown("reeds")["search"]
    assert runs.opened(found)["session"]["source"] == "claude-code"


def test_a_crashed_turn_is_found_in_the_log(runs: Runs) -> None:
    runs.start("crash", check=False)
    runs.person.run("sync")
    (found,) = {session_hex(row["session"]["id"]) for row in runs.person.json("search", "weir")["data"]["results"]}
    assert runs.opened(found)["session"]["source"] == "claude-code"


def test_a_jsonl_realm_links_logs_too(person: Person) -> None:
    person.run("realm", "create", "main", "--realm-backend", "jsonl")
    runs = Runs(person)
    session = runs.turn("kingfisher")
    for file in person.realm.glob("*.db*"):
        file.unlink()
    (person.realm / "live" / "live.db").unlink()
    person.run("sync")
    runs.everywhere(session, "kingfisher")
