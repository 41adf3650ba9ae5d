"""Real agents, offline, with a scripted model: they use our tools, and we read their logs.

`make agents` installs the programs and runs this. RECOLLECT_AGENTS is the folder where npm put them.
"""

import json
from typing import Any

import pytest

from tests.agents.places import AGENTS, ASKED, KNOWN, PROMPT, Place, by_role, calls_in, programs, results_in

pytestmark = pytest.mark.agents
programs()


def hits(result: str) -> list[Any]:
    """The hits of a search as the agent passed them to its model, with any text around them."""
    encoded_answer = result[result.index('{"schema_version"') :]
    found: list[Any] = json.JSONDecoder().raw_decode(encoded_answer)[0]["data"]["results"]
    return found


def searched(messages: list[Any]) -> list[str]:
    """The answers of our search, one per call."""
    ours = {call["id"] for call in calls_in(messages) if call["name"].endswith("search_sessions")}
    return [result["content"] for result in results_in(messages) if result["tool_use_id"] in ours]


@pytest.mark.parametrize("source", AGENTS)
def test_an_agent_uses_our_tools_and_its_session_is_read(place: Place, source: str) -> None:
    agent = AGENTS[source]
    agent.prepare(place)
    assert KNOWN in place.run([*agent.first, PROMPT, *agent.options])
    (session,) = place.sessions()
    assert (session["source"], session["turn_count"]) == (source, 1)
    assert "USE search_sessions" in session["title"]
    messages = place.history(session["id"])
    (prompt,) = [message["content"] for message in by_role(messages, "user") if not message.get("injected")]
    assert prompt.strip('"').replace("\\", "") == PROMPT  # OpenCode quotes it
    (call,) = [call for call in calls_in(messages) if call["name"].endswith("search_sessions")]
    assert call["input"]["query"] == "kingfisher"
    (result,) = searched(messages)
    assert KNOWN in result
    assert messages[-1]["role"] == "assistant" and messages[-1]["content"].startswith("Done: ")


FOUND_BY = {"claude-code": "tool_reference", "codex": "tool_search_output"}


@pytest.mark.parametrize("source", FOUND_BY)
def test_agents_with_a_tool_search_find_our_tools(place: Place, source: str) -> None:
    agent = AGENTS[source]
    agent.prepare(place)
    assert KNOWN in place.run([*agent.first, PROMPT, *agent.options])
    assert FOUND_BY[source] in place.shown()


@pytest.mark.parametrize("source", AGENTS)
def test_a_session_does_not_find_itself_and_our_answers_are_not_found_later(place: Place, source: str) -> None:
    agent = AGENTS[source]
    agent.prepare(place)
    place.run([*agent.first, "Say that the kingfisher is blue", *agent.options])
    place.person.run("sync")
    place.run([*agent.again, PROMPT, *agent.options])
    (session,) = place.sessions()
    assert session["turn_count"] == 2
    (result,) = searched(place.history(session["id"]))
    assert {hit["session"]["title"] for hit in hits(result)} == {ASKED}
    later = place.person.json("search", "kingfisher", "-t", "tool_response", "-t", "tool_call")["data"]["results"]
    assert {hit["session"]["title"] for hit in later} == {ASKED}


def test_the_context_of_a_hook_does_not_swallow_the_prompt(place: Place) -> None:
    agent = AGENTS["gemini-cli"]
    agent.prepare(place)
    place.run([*agent.first, "Count the bitterns"])
    assert "<hook_context>" in place.shown() and "obs-" in place.shown(), "the model received the observations"
    (session,) = place.sessions()
    assert session["title"] == "Count the bitterns"
    (hit,) = place.person.json("search", "bitterns", "-t", "user_input")["data"]["results"]
    assert hit["snippet"]["text"] == "Count the bitterns"
    injected = [message["content"] for message in by_role(place.history(session["id"]), "user") if message.get("injected")]
    assert any("obs-" in text for text in injected)
