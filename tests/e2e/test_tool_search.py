"""Agents hide MCP tools behind a ranked search: a search for earlier work must rank our tools first."""

import math
import re
from collections import defaultdict
from typing import Any

import pytest

from tests.conftest import Person

K, B = 1.2, 0.75  # BM25's usual constants
WANTED = ("search_sessions", "search")
PHRASES = (
    "previous sessions",
    "search previous sessions",
    "past sessions",
    "past conversations",
    "search past conversations",
    "chat history",
    "search chat history",
    "search old transcripts",
    "what did we do yesterday",
    "what did we work on last week",
    "what was decided about this",
    "remember what we discussed",
    "recall previous discussion",
    "how did we solve this before",
    "have we seen this error before",
    "look up prior work",
    "find previous chat about a bug",
    "find earlier chat",
    "earlier sessions",
    "old chats",
    "chat logs",
    "transcripts",
    "history",
    "search history",
    "session history",
    "conversation history",
    "agent history",
    "search sessions",
    "search memory",
    "recall memory",
    "long term memory",
    "previous answers",
    "past decisions",
    "read previous session",
    "find old session",
    "find past discussion",
    "knowledge from earlier sessions",
    "pick up from last time",
    "what did the user say yesterday",
    "did we already fix this bug",
    "remember earlier",
    "resume previous work",
)
OTHERS = {
    "interrupt a running turn": "meerkat_interrupt",
    "create a live session": "meerkat_create_session",
    "run an agent": "meerkat_create_session",
    "run a turn with a prompt": "meerkat_start_turn",
    "messages of a live session": "meerkat_history",
    "list live sessions": "meerkat_list",
    "archive a session": "meerkat_archive",
    "set config": "meerkat_config",
    "add document to journey": "add_document_to_journey",
    "attach note to journey": "add_document_to_journey",
    "link session to journey": "link_session_to_journey",
    "sessions in a time range": "list_sessions",
    "save a memory": "record_observation",
    "read transcript file": "read",
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What `recollect mcp` lists, with the tools of all families."""
    with Person(tmp_path_factory.mktemp("person")).mcp() as server:
        listed: list[dict[str, Any]] = server.request("tools/list")["result"]["tools"]
    return listed


def words(text: str) -> list[str]:
    """Lower-case words; names in snake_case and camelCase are split into their parts."""
    return re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


def ranked(tools: list[dict[str, Any]], query: str) -> list[str]:
    """The names of the tools that share a word with the query, by BM25 over names and descriptions."""
    texts = {tool["name"]: words(f"{tool['name']} {tool['description']}") for tool in tools}
    average = sum(map(len, texts.values())) / len(texts)
    scores: dict[str, float] = defaultdict(float)
    for word in set(words(query)):
        having = sum(word in text for text in texts.values())
        worth = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for name, text in texts.items():
            if count := text.count(word):
                scores[name] += worth * count * (K + 1) / (count + K * (1 - B + B * len(text) / average))
    return sorted(scores, key=lambda name: -scores[name])


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_search_for_earlier_work_ranks_our_tools_first(tools: list[dict[str, Any]], phrase: str) -> None:
    order = ranked(tools, phrase)
    assert {*WANTED} <= {*order}
    others = [place for place, name in enumerate(order) if name.startswith("meerkat_") or "journey" in name]
    assert max(order.index(name) for name in WANTED) < min(others, default=len(order)), order


@pytest.mark.parametrize("phrase", OTHERS)
def test_the_other_tools_are_found_by_their_own_words(tools: list[dict[str, Any]], phrase: str) -> None:
    assert ranked(tools, phrase)[0] == OTHERS[phrase]


def test_a_journey_is_found_by_its_own_words(tools: list[dict[str, Any]]) -> None:
    for phrase in ("user journey", "timeline of a user's journey", "search journey sessions"):
        assert "journey" in ranked(tools, phrase)[0]
