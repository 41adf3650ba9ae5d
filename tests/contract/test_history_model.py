"""How logs become sessions, turns and events: completion, turns, titles, modes, sub-agents and copies."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.history_archive import (
    AGENTS,
    COMMANDS,
    ERRAND,
    INJECTED,
    LIGHTHOUSE,
    MIGRATION,
    OWN,
    PAINT,
    RESUMED,
    serve_archive,
)
from tests.contract.history_client import TYPES, History

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


# ---- how a turn ends

ANSWERED = {
    "claude end_turn": "Made.", "claude stop_sequence": "Made.", "claude max_tokens": "Made.", "claude refusal": "Made.",
    "claude bookkeeping": "Made.", "codex answered": "Made.", "just a chat": "Hello.",
}  # fmt: skip
STOPPED = {
    "claude interrupted": "[Request interrupted by user]",
    "claude interrupted in a tool": "[Request interrupted by user for tool use]",
    "claude crashed": "API Error: 529 overloaded",
    "codex interrupted": "turn aborted: interrupted",
    "codex cancelled": "turn aborted: replaced",
    "codex crashed": "error: stream disconnected",
    "codex silent": "turn complete",
}
UNDER_WAY = ["claude streaming", "claude calling", "claude went on", "claude asked", "codex running"]


def latest(history: History, title: str) -> Any:
    return history.open(history.open(history.ids_by_title[title])["turns"][-1]["id"])


@pytest.mark.parametrize(("title", "answer"), ANSWERED.items())
def test_a_turn_that_ended_with_an_answer_is_completed_by_that_answer(history: History, title: str, answer: str) -> None:
    """Rules 34, 35 and 46: the answer is the end, and not the bookkeeping after it."""
    data = latest(history, title)
    assert data["turn"]["completed"] is True
    [terminal] = [event for event in data["events"] if event["terminal"]]
    assert (terminal["type"], terminal["summary"]) == ("assistant_response", answer)
    assert data["turn"]["terminal_event_id"] == terminal["id"]
    assert data["summary"]["final_response"] == {"event_id": terminal["id"], "text": answer, "truncated": False}


@pytest.mark.parametrize(("title", "marker"), STOPPED.items())
def test_a_turn_that_was_stopped_is_completed_and_has_no_final_response(history: History, title: str, marker: str) -> None:
    """Rules 34 and 35: interrupts, cancellations and crashes are terminal events themselves."""
    data = latest(history, title)
    assert data["turn"]["completed"] is True
    [terminal] = [event for event in data["events"] if event["terminal"]]
    assert (terminal["type"], terminal["summary"]) == ("runtime", marker)
    assert data["turn"]["terminal_event_id"] == terminal["id"]
    assert data["summary"]["final_response"] is None


@pytest.mark.parametrize("title", UNDER_WAY)
def test_a_latest_turn_without_evidence_of_its_end_is_not_completed(history: History, title: str) -> None:
    """Rule 35."""
    data = latest(history, title)
    assert (data["turn"]["completed"], data["turn"]["terminal_event_id"]) == (False, None)
    assert data["summary"]["final_response"] is None
    assert not any(event["terminal"] for event in data["events"])


def test_a_turn_before_another_ends_with_its_last_answer(history: History) -> None:
    """Rule 35: even if a tool ran after that answer."""
    data = history.turn("settled with words", 1)
    [terminal] = [event for event in data["events"] if event["terminal"]]
    assert data["turn"]["completed"] is True
    assert data["events"][-1]["id"] != terminal["id"] == data["turn"]["terminal_event_id"]
    assert data["summary"]["final_response"]["text"] == terminal["summary"] == "Half an answer."


def test_a_turn_before_another_without_an_answer_ends_with_its_last_event(history: History) -> None:
    """Rule 35."""
    data = history.turn("settled with words", 2)
    assert data["turn"]["completed"] is True
    assert [event["terminal"] for event in data["events"]] == [False, False, True]
    assert data["summary"]["final_response"] is None


def test_search_list_and_open_agree_on_what_is_completed(history: History) -> None:
    """Rule 33: a session is completed when its latest turn is."""
    states = set()
    for listed in history.sessions():
        session = history.open(listed["id"])
        completed = session["session"]["completed"]
        states.add(completed)
        assert completed is listed["session"]["completed"] is session["turns"][-1]["completed"]
        for turn in session["turns"]:
            assert turn["completed"] is (turn["terminal_event_id"] is not None)
        assert all(turn["completed"] for turn in session["turns"][:-1])
    assert states == {True, False}


@pytest.mark.parametrize("title", [*ANSWERED, *STOPPED, *UNDER_WAY])
def test_a_hit_agrees_on_what_is_completed(history: History, title: str) -> None:
    """Rule 33."""
    opened = history.open(history.ids_by_title[title])
    [hit] = history.hits(f'"{title}"', event_types=["user_input"], within_id=opened["session"]["id"])
    assert hit["session"]["completed"] is opened["session"]["completed"]
    assert hit["turn"]["completed"] is opened["turns"][-1]["completed"]
    assert hit["event"]["terminal"] is False


def test_exactly_one_event_of_a_completed_turn_is_terminal(history: History) -> None:
    """Rule 46."""
    for listed in history.sessions():
        for turn in history.open(listed["id"])["turns"]:
            terminals = [event["id"] for event in history.open(turn["id"])["events"] if event["terminal"]]
            assert terminals == ([turn["terminal_event_id"]] if turn["completed"] else [])


# ---- how a turn begins


def test_only_a_prompt_of_the_person_begins_a_turn(history: History) -> None:
    """Rule 36."""
    turns = history.open(history.ids_by_title[PAINT])["turns"]
    assert [turn["user_input"]["text"] for turn in turns] == [f"{PAINT}\n\nUse the blue paint", "Now the route"]


def test_a_prompt_of_several_blocks_is_one_event(history: History) -> None:
    """Rule 36."""
    spoken = [event for event in history.events(PAINT) if event["event"]["type"] == "user_input"]
    assert [event["content"]["text"] for event in spoken] == [f"{PAINT}\n\nUse the blue paint"]


INJECTED_KINDS = [("caveatword", "system"), ("budgetword", "system"), ("skillword", "system"), ("doorword", "system"),
                  ("compactword", "compaction"), ("echoword", "system"), ("hookword", "system")]  # fmt: skip


@pytest.mark.parametrize(("word", "type_"), INJECTED_KINDS)
def test_injected_text_is_an_event_inside_a_turn(history: History, word: str, type_: str) -> None:
    """Rule 36: environment blocks, reminders, skill text, hook output and command echoes are system events."""
    [hit] = history.hits(word, event_types=TYPES, within_id=history.ids_by_title[PAINT])
    assert hit["event"]["type"] == type_


def test_no_prompt_contains_injected_text(history: History) -> None:
    """Rule 36."""
    for word in ("doorword", "budgetword", "skillword", '"Run the tests"', "zsh"):
        assert history.hits(word, event_types=["system"])
        assert history.hits(word, event_types=["user_input"]) == []


def test_a_command_begins_a_turn_only_where_the_agent_answers_it(history: History) -> None:
    """Rule 36: an answered command is a prompt; the echo of a local command is not."""
    first, second = history.open(history.ids_by_title[COMMANDS])["turns"]
    assert first["user_input"]["text"] == COMMANDS
    assert "/review" in second["user_input"]["text"]
    assert second["final_response"]["text"] == "Reviewed."


@pytest.mark.parametrize(("title", "before"), [(PAINT, 2), ("Write the dredging notes", 2)])
def test_events_before_the_first_prompt_belong_to_turn_one(history: History, title: str, before: int) -> None:
    """Rule 37."""
    data = history.turn(title)
    assert data["turn"]["ordinal"] == 1
    assert [event["type"] for event in data["events"]].index("user_input") == before
    assert data["summary"]["user_input"]["event_id"] == data["events"][before]["id"]
    assert data["turn"]["started_at"] == data["events"][0]["timestamp"]


def test_a_turn_without_a_prompt_has_no_user_input(history: History) -> None:
    """Source, turn summary: user_input may be null."""
    [hit] = history.hits("nobody spoke", event_types=["system"])
    [turn] = history.open(hit["session"]["id"])["turns"]
    assert (turn["user_input"], turn["completed"]) == (None, False)


def test_an_unclassified_event_is_unknown_and_can_be_opened_but_not_searched(history: History) -> None:
    """Rule 4 and the source's event types."""
    stranger = history.events("Meet a stranger")[1]
    assert stranger["event"]["type"] == "unknown"
    assert "strangeword" in stranger["content"]["text"]
    assert history.hits("strangeword", event_types=TYPES) == []


# ---- sub-agents, forks, copies


@pytest.mark.parametrize(
    ("parent", "child"),
    [*((ERRAND, child) for child in AGENTS), ("Have someone check the lock gates", "Check both lock gates"),
     ("Write the dredging notes", "Review the notes about dredging")],
)  # fmt: skip
def test_a_sub_agent_or_fork_is_a_session_of_its_own_with_a_parent(history: History, parent: str, child: str) -> None:
    """Rules 25 and 38, also while the sub-agent is still running."""
    traversal = history.open(history.ids_by_title[child])["traversal"]
    assert traversal["parent_session_id"] == history.ids_by_title[parent]
    assert history.ids_by_title[child] in history.open(history.ids_by_title[parent])["traversal"]["child_session_ids"]


def test_children_are_named_in_order(history: History) -> None:
    """Rule 25."""
    children = history.open(history.ids_by_title[ERRAND])["traversal"]["child_session_ids"]
    assert children[:2] == [history.ids_by_title[child] for child in AGENTS[:2]]


def test_a_root_has_no_parent(history: History) -> None:
    """Rule 25."""
    traversal = history.open(history.ids_by_title[MIGRATION])["traversal"]
    assert (traversal["parent_session_id"], traversal["child_session_ids"]) == (None, [])


def test_a_sub_agent_never_inflates_its_parent(history: History) -> None:
    """Rule 38."""
    session = history.open(history.ids_by_title[ERRAND])["session"]
    assert (session["turn_count"], session["event_count"]) == (2, 8)
    assert history.open(history.ids_by_title[AGENTS[0]])["session"]["event_count"] == 4


def test_a_sub_agents_turn_begins_with_the_prompt_of_its_parent(history: History) -> None:
    """Rule 36."""
    [turn] = history.open(history.ids_by_title[AGENTS[0]])["turns"]
    assert turn["user_input"]["text"] == AGENTS[0]


@pytest.mark.parametrize(("word", "title"), [("fresnel", LIGHTHOUSE), ("coracle", "Write the dredging notes")])
def test_copied_history_is_found_once_in_its_first_session(history: History, word: str, title: str) -> None:
    """Rule 39: a resumed file of Claude Code and a fork of Codex begin with a copy."""
    [hit] = history.hits(word, event_types=TYPES)
    assert hit["session"]["id"] == history.ids_by_title[title]


def test_events_that_a_resumed_file_adds_are_found(history: History) -> None:
    """Rule 39."""
    [hit] = history.hits("vermilion")
    assert history.open(hit["session"]["id"])["turns"][-1]["user_input"]["text"] == RESUMED


def test_the_same_text_twice_is_two_events(history: History) -> None:
    """Rule 39."""
    scope = history.ids_by_title["Count the buoys twice"]
    first, second = history.hits("continue", within_id=scope, event_types=["user_input"])
    assert first["id"] != second["id"]
    assert {first["turn"]["ordinal"], second["turn"]["ordinal"]} == {2, 3}
    assert {history.open(hit["id"])["content"]["text"] for hit in (first, second)} == {"continue"}


# ---- titles

TITLES = {
    "thread name of Codex": (MIGRATION, "ordinal column"),
    "generated title": ("Investigate monitor startup", "Where is the monitor configured"),
    "title by hand": ("Named by hand", "prompt of a named session"),
    "first line of the prompt": ("first line that counts", "second line"),
    "prompt after injected text": (PAINT, "blue paint"),
    "injected text of Codex": ("Write the dredging notes", "dredging"),
    "blank title": ("prompt under a blank title", "prompt under a blank title"),
    "prompt of the fork": ("Review the notes about dredging", "review the notes"),
}


@pytest.mark.parametrize(("title", "prompt"), TITLES.values(), ids=TITLES)
def test_a_title_comes_from_the_log_or_from_the_first_line_of_the_first_prompt(
    history: History, title: str, prompt: str
) -> None:
    """Rule 40: never empty, never injected text."""
    found = history.hits(prompt, event_types=["user_input"], n_hits=50)
    assert title in {hit["session"]["title"] for hit in found}


def test_a_long_first_line_is_cut_to_120_characters(history: History) -> None:
    """Rule 40."""
    [hit] = history.hits('"explain the mooring rules"', event_types=["user_input"])
    title = hit["session"]["title"]
    assert title.startswith("Explain the mooring rules the mooring")
    assert 60 < len(title) <= 120


def test_a_title_from_the_log_is_cut_to_120_characters_too(history: History) -> None:
    """Rules 31 and 40."""
    [hit] = history.hits("summarised", event_types=["user_input"])
    title = hit["session"]["title"]
    assert title.startswith("Summary of many words")
    assert len(title) <= 120


def test_a_session_without_a_prompt_is_titled_by_source_and_date(history: History) -> None:
    """Rule 40."""
    [hit] = history.hits("nobody spoke", event_types=["system"])
    assert hit["session"]["title"].lower().replace("-", " ") == "claude code, 2026 02 01"


def test_no_title_is_injected_text(history: History) -> None:
    """Rule 40."""
    for title in history.ids_by_title:
        assert title.strip()
        assert not any(words in title for words in (*INJECTED.values(), "AGENTS.md", "<", "Caveat", "This session is being"))


# ---- modes

MODES = {
    "Find the newest chart online": "web_search",
    "Is there a newer tide table?": "web_search",
    OWN: "mcp_internal",
    "Ask the archive": "mcp_internal",
    MIGRATION: "tool_calling",
    "claude calling": "tool_calling",
    "codex running": "tool_calling",
    "just a chat": "chat",
    "Write the dredging notes": "chat",
}


@pytest.mark.parametrize(("title", "mode"), MODES.items())
def test_a_mode_is_decided_by_the_tools_that_ran(history: History, title: str, mode: str) -> None:
    """Rule 41: web tools decide first, then Recollect's own tools, then any tool; without tools it is a chat."""
    [listed] = [one for one in history.sessions() if one["session"]["title"] == title]
    assert listed["session"]["mode"] == mode
