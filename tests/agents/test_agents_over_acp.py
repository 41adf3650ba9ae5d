"""Real agents that run turns of our live sessions over the Agent Client Protocol, offline, with a scripted model."""

import time

import pytest

from tests.agents.places import OVER_ACP, Place, by_role, calls_in, next_minute, programs, results_in

pytestmark = pytest.mark.agents
programs()


@pytest.mark.parametrize("source", OVER_ACP)
def test_a_session_appears_once_and_is_linked_to_the_agents_own_log(place: Place, source: str) -> None:
    prepare, command = OVER_ACP[source]
    prepare(place)
    place.run_over_acp("Count the bitterns", command)
    if source == "gemini-cli":
        next_minute()
    place.run_over_acp("Count the egrets", command, "--resume", "last")
    (session,) = place.sessions()
    assert (session["source"], session["turn_count"]) == ("recollect", 2)
    for word in ("bitterns", "egrets"):
        hits = place.person.json("search", word)["data"]["results"]
        assert {row["session"]["id"] for row in hits} == {session["id"]}
    texts_shown = [message["content"].split("\n")[-1] for message in place.history(session["id"])]
    assert texts_shown == [
        "Count the bitterns",
        "Repeated: Count the bitterns",
        "Count the egrets",
        "Repeated: Count the egrets",
    ]
    assert "bitterns" not in "".join(message["content"] for message in place.history(session["id"])[2:])
    (log,) = place.person.json("open", session["id"])["data"]["traversal"]["child_session_ids"]
    assert place.person.json("open", log)["data"]["session"]["source"] == source


def test_an_agent_that_cannot_load_its_session_gets_the_earlier_messages(place: Place) -> None:
    prepare, command = OVER_ACP["gemini-cli"]
    prepare(place)
    begun = time.time()
    place.run_over_acp("Count the bitterns", command)
    place.run_over_acp("Count the egrets", command, "--resume", "last")
    if time.time() // 60 > begun // 60:
        pytest.skip("a new minute began, so the agent found its session")
    assert "Earlier in this conversation" in place.shown()
    (session,) = place.sessions()
    assert [message["content"] for message in by_role(place.history(session["id"]), "user")] == [
        "Count the bitterns",
        "Count the egrets",
    ]


COMMANDS = {
    "codex": 'USE exec_command {"cmd": "echo heron; seq 3"}',
    "opencode": 'USE bash {"command": "echo heron; seq 3", "description": "say heron"}',
}


@pytest.mark.parametrize("source", COMMANDS)
def test_the_output_of_a_command_is_stored_as_text(place: Place, source: str) -> None:
    prepare, command = OVER_ACP[source]
    prepare(place)
    place.run_over_acp(COMMANDS[source], command)
    (session,) = place.sessions()
    messages = place.history(session["id"])
    (call,) = calls_in(messages)
    assert call["input"]["command"] == "echo heron; seq 3"
    (result,) = results_in(messages)
    assert result["content"].split() == ["heron", "1", "2", "3"]
    shown = place.person.run("session", "history", "last").stdout
    assert "-> " in shown and "echo heron; seq 3" in shown and "<- " in shown


REFUSED = {"claude-code": "Write", "gemini-cli": "write_file"}


@pytest.mark.parametrize("source", REFUSED)
def test_a_rejected_call_precedes_the_text_that_reports_it(place: Place, source: str) -> None:
    prepare, command = OVER_ACP[source]
    prepare(place)
    file = place.work / "heron.txt"
    place.run_over_acp(f'USE {REFUSED[source]} {{"file_path": "{file}", "content": "heron"}}', command)
    assert not file.exists()
    (session,) = place.sessions()
    messages = place.history(session["id"])
    roles = [message["role"] for message in messages]
    assert roles[:3] == ["user", "assistant", "tool_results"]
    assert calls_in(messages[1:2]) and not messages[1]["content"].strip()
    (result,) = results_in(messages)
    assert result["is_error"]
