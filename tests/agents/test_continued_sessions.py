"""Sessions of real agents that go on in the same or in another agent, offline, with a scripted model."""

import json
import subprocess
from typing import Any

import pytest

from tests.agents.places import AGENTS, OVER_ACP, PATIENCE_S, Place, next_minute, programs

pytestmark = pytest.mark.agents
programs()

BEGUN, NEXT, LAST = "Count the bitterns", "Count the egrets", "Count the herons"
BRIEF = "Brief of an earlier session of"
IN_ANOTHER = [("claude-code", "codex"), ("codex", "gemini-cli"), ("gemini-cli", "opencode")]


def begin(place: Place, source: str) -> str:
    """Run a session in the agent's own program. Returns its id."""
    agent = AGENTS[source]
    agent.prepare(place)
    place.run([*agent.first, BEGUN, *agent.options])
    place.person.env |= place.env
    (session,) = place.sessions()
    assert session["source"] == source
    return str(session["id"])


def go_on(place: Place, session: str, prompt: str, runner: str, *more: str) -> dict[str, Any]:
    answer = place.person.json("continue", session, prompt, "--in", runner, "--yes", *more)
    assert "data" in answer, answer
    return dict(answer["data"])


def run_again(place: Place, session: str, prompt: str) -> None:
    place.person.run("run", prompt, "--resume", session, cwd=place.work)


def since(place: Place, requests: int) -> str:
    """What the model received after so many requests."""
    return json.dumps(place.model.requests[requests:], ensure_ascii=False)


def said(place: Place, session: str) -> list[str]:
    """The prompts of the person and the answers in a live session, without injected context."""
    messages = [message for message in place.history(session) if not message.get("injected")]
    return [message["content"].split("\n")[-1].removeprefix("Repeated: ") for message in messages if message["content"]]


@pytest.mark.parametrize(("source", "other"), IN_ANOTHER)
def test_a_session_goes_on_in_another_agent_with_a_brief(place: Place, source: str, other: str) -> None:
    session = begin(place, source)
    prepare, command = OVER_ACP[other]
    prepare(place)
    place.person.env |= place.env
    before = len(place.model.requests)
    answer = go_on(place, session, NEXT, "acp", "--command", command)
    assert (answer["way"], answer["agent"], answer["folder"]) == ("brief", other, str(place.work))
    assert answer["brief"]["tokens"] <= answer["brief"]["budget_tokens"]
    assert BRIEF in since(place, before) and BEGUN in since(place, before)
    if other == "gemini-cli":
        next_minute()
    run_again(place, answer["uuid"], LAST)
    assert said(place, answer["session"]) == [NEXT, NEXT, LAST, LAST]
    (brief,) = [message for message in place.history(answer["session"]) if message.get("injected")]
    assert brief["content"] == answer["brief"]["text"]
    place.person.run("sync")
    assert_linked(place, session, answer["session"])


@pytest.mark.parametrize("source", OVER_ACP)
def test_a_session_goes_on_in_its_own_agent_without_a_brief(place: Place, source: str) -> None:
    session = begin(place, source)
    prepare, command = OVER_ACP[source]
    prepare(place)
    place.program(command.split()[0])
    place.person.env |= place.env
    if source == "gemini-cli":
        next_minute()
    before = len(place.model.requests)
    answer = go_on(place, session, NEXT, "acp", "--command", command)
    assert answer["way"] == "native" and answer["brief"] is None
    assert BRIEF not in since(place, before) and BEGUN in since(place, before)
    run_again(place, answer["uuid"], LAST)
    assert BRIEF not in since(place, before)
    assert said(place, answer["session"]) == [NEXT, NEXT, LAST, LAST]
    place.person.run("sync")
    assert_linked(place, session, answer["session"])
    for word, found in ((BEGUN.split()[-1], session), (NEXT.split()[-1], answer["session"])):
        hits = place.person.json("search", word)["data"]["results"]
        assert {row["session"]["id"] for row in hits} == {found}


def assert_linked(place: Place, session: str, live: str) -> None:
    """Both sessions are listed once, and the live one is linked with the one that it continues."""
    assert {row["id"] for row in place.sessions()} == {session, live}
    assert place.person.json("open", live)["data"]["traversal"]["parent_session_id"] == session


def test_an_agent_on_path_needs_no_configuration(place: Place) -> None:
    session = begin(place, "claude-code")
    OVER_ACP["codex"][0](place)
    place.person.env |= place.env
    place.program("codex-acp")
    answer = go_on(place, session, NEXT, "codex")
    assert (answer["runner"], answer["agent"], answer["way"]) == ("acp", "codex", "brief")
    assert answer["text"].endswith(NEXT)


NON_INTERACTIVE = {
    "claude-code": lambda words: [*words, "-p", NEXT],
    "codex": lambda words: ["codex", "exec", "--skip-git-repo-check", *words[1:], NEXT],
    "gemini-cli": lambda words: [*words, "-m", "gemini-2.5-flash", "-p", NEXT],
    "opencode": lambda words: ["opencode", "run", *words[1:], NEXT],
}
"""The resume command of an agent, run with a prompt and without a terminal."""


@pytest.mark.parametrize("source", NON_INTERACTIVE)
def test_the_resume_command_opens_the_session(place: Place, source: str) -> None:
    session = begin(place, source)
    found = place.person.json("resume", session)["data"]
    assert found["program"] and found["folder"] == str(place.work)
    if source == "gemini-cli":
        next_minute()
    before = len(place.model.requests)
    words = NON_INTERACTIVE[source](found["words"])
    done = subprocess.run(
        words, env=place.person.env, cwd=found["folder"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert BEGUN in since(place, before)
    assert [row["id"] for row in place.sessions()] == [session]
