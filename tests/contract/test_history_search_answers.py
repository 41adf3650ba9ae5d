"""The answers of search_sessions: order, exactness, snippets, words of every kind, and left-out events."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.history_archive import (
    CUT_SNIPPET,
    IDENTIFIERS,
    LANGUAGES,
    MIGRATION,
    MIGRATION_ANSWER,
    MIGRATION_PROMPT,
    OWN,
    WHOLE_SNIPPET,
    serve_archive,
)
from tests.contract.history_client import TYPES, History

pytestmark = pytest.mark.process

HIT = {"rank", "score", "id", "event", "turn", "session", "snippet", "open"}
SNIPPET = 320
MARGIN = 40  # characters: a match with this much text on both sides is not at an edge


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


def text_of_hit(history: History, hit: Any) -> str:
    """The complete text of a hit."""
    return str(history.open(hit["id"])["content"]["text"])


# ---- a hit


def test_a_hit_has_the_shape_of_the_contract_and_agrees_with_what_it_opens(history: History) -> None:
    """Rules 15 and 33; the hits of the source's first example."""
    found = history.hits("ClickHouse schema migration failure")
    assert {text_of_hit(history, hit) for hit in found[:2]} == {MIGRATION_PROMPT, MIGRATION_ANSWER}
    for rank, hit in enumerate(found, 1):
        assert set(hit) == HIT
        assert hit["rank"] == rank
        event, turn, session = (history.open(hit["open"][f"{noun}_id"]) for noun in ("event", "turn", "session"))
        assert hit["id"] == hit["event"]["id"] == hit["open"]["event_id"] == event["event"]["id"]
        assert hit["event"] == {key: event["event"][key] for key in ("id", "type", "timestamp", "ordinal", "terminal")}
        assert hit["turn"] == {key: turn["turn"][key] for key in ("id", "ordinal", "completed", "event_count")}
        heading = ("id", "title", "source", "started_at", "updated_at", "completed")
        assert hit["session"] == {key: session["session"][key] for key in heading}
        assert turn["events"][hit["event"]["ordinal"] - 1]["id"] == hit["id"]
        assert session["turns"][hit["turn"]["ordinal"] - 1]["id"] == hit["turn"]["id"]


def test_ordinals_count_from_one_inside_the_turn_and_inside_the_session(history: History) -> None:
    """Rule 15."""
    [hit] = history.hits("summarize the validation", within_id=history.ids_by_title[MIGRATION], event_types=["user_input"])
    assert (hit["rank"], hit["turn"]["ordinal"], hit["event"]["ordinal"]) == (1, 2, 1)


# ---- order


def sort_key(hit: Any) -> tuple[float, str, str]:
    """A key that sorts descending by time: timestamps have one length, so their characters can be inverted."""
    turned = "".join(chr(0x7F - ord(letter)) for letter in hit["event"]["timestamp"])
    return -hit["score"], turned, hit["id"]


@pytest.mark.parametrize("query", ["zephyr calibrated", "voyage", "cargo test", "make", "depth", "the", "数据库"])
def test_hits_come_by_score_then_newest_then_id(history: History, query: str) -> None:
    """Rule 13."""
    hits = history.hits(query, n_hits=50, event_types=TYPES)
    assert hits == sorted(hits, key=sort_key)
    assert all(0.0 <= hit["score"] <= 1.0 for hit in hits)
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))


def test_equal_scores_are_ordered_by_time_and_then_by_id(history: History) -> None:
    """Rule 13: six identical answers, two at each of three moments."""
    hits = history.hits("zephyr calibrated", event_types=["assistant_response"])
    assert len(hits) == 6
    assert len({hit["score"] for hit in hits}) == 1
    moments = [hit["event"]["timestamp"] for hit in hits]
    assert moments == sorted(moments, reverse=True)
    assert len(set(moments)) == 3
    for first, second in zip(hits[::2], hits[1::2], strict=True):
        assert first["event"]["timestamp"] == second["event"]["timestamp"]
        assert first["id"] < second["id"]


@pytest.mark.parametrize("query", ["zephyr calibrated", "voyage logged", "cargo test"])
def test_a_smaller_limit_gives_the_first_hits_of_a_larger_one(history: History, query: str) -> None:
    """Rules 13 and 14: the order does not depend on the limit."""
    many = [hit["id"] for hit in history.hits(query, n_hits=50)]
    for n_hits in range(1, 9):
        assert [hit["id"] for hit in history.hits(query, n_hits=n_hits)] == many[:n_hits]


def test_the_same_request_gives_the_same_answer(history: History) -> None:
    """Rule 13: ranked and stable."""
    first, second = (history.data("search_sessions", query="the voyage", n_hits=50) for _ in range(2))
    assert first == second


# ---- exactness


@pytest.mark.parametrize(("n_hits", "truncated"), [(1, True), (5, True), (6, False), (7, False), (50, False)])
def test_truncated_is_true_exactly_when_there_are_more(history: History, n_hits: int, truncated: bool) -> None:
    """Rule 14: there are six."""
    data = history.data("search_sessions", query="zephyr", n_hits=n_hits)
    assert data["truncated"] is truncated
    assert data["result_count"] == len(data["results"]) == min(n_hits, 6)


@pytest.mark.parametrize(("day", "turn_count"), [("voyage of 100 turns", 100), ("voyage of 101 turns", 101)])
def test_the_maximum_limit_still_says_that_there_are_more(history: History, day: str, turn_count: int) -> None:
    """Rule 14."""
    scope = history.ids_by_title[f"{day}, day 1"]
    data = history.data("search_sessions", query="voyage", within_id=scope, n_hits=50)
    assert (data["result_count"], data["limit"], data["truncated"]) == (50, 50, True)
    assert history.open(scope)["session"]["turn_count"] == turn_count


# ---- scope


def test_a_search_in_a_session_never_leaves_it(history: History) -> None:
    """Rule 17."""
    scope = history.ids_by_title["first bench, round 0"]
    assert {hit["session"]["id"] for hit in history.hits("zephyr")} > {scope}
    assert [hit["session"]["id"] for hit in history.hits("zephyr", within_id=scope)] == [scope] * 3


@pytest.mark.parametrize("ordinal", [1, 2, 10, 100, 101])
def test_a_search_in_a_turn_never_leaves_it(history: History, ordinal: int) -> None:
    """Rule 17."""
    scope = history.open(history.ids_by_title["voyage of 101 turns, day 1"])["turns"][ordinal - 1]["id"]
    found = history.hits("voyage logged", within_id=scope, event_types=TYPES)
    assert {hit["turn"]["id"] for hit in found} == {scope}
    assert len(found) == 2


@pytest.mark.parametrize("noun", ["session", "turn"])
def test_a_scope_without_a_match_is_an_empty_success(history: History, noun: str) -> None:
    """Rule 17."""
    [hit] = history.hits("fresnel")
    data = history.data("search_sessions", query="zephyr", within_id=hit["open"][f"{noun}_id"])
    assert data == {"result_count": 0, "limit": 10, "truncated": False, "results": []}


def test_a_search_in_a_session_does_not_search_its_sub_agents(history: History) -> None:
    """Rules 17 and 38."""
    parent = history.ids_by_title["Have someone check the lock gates"]
    assert history.hits("second gate never reports", event_types=["assistant_response"])
    assert not history.hits("never reports", within_id=parent)


# ---- snippets


LONG_TEXTS = {
    "a word": ("derrick", "derrick"),
    "two words": ("derrick collapsed", "derrick collapsed"),
    "a word whose stem is spelt otherwise": ("retry hoist", "retry the hoist"),
    "that word alone": ("retry", "retry"),
    "a word with an accent": ("café", "café"),
    "a word that others contain": ("art", " art "),
    "a phrase": ('"art endured"', "art endured"),
    "Chinese": ("闸门", "闸门"),
    "a part of an identifier": ("sluice", "openSluiceGate"),
    "a whole identifier": ("openSluiceGate", "openSluiceGate"),
    "the middle of megabytes": ("anchormiddle", "anchormiddle"),
    "the end of megabytes": ("anchorlast", "anchorlast"),
}


@pytest.mark.parametrize(("query", "excerpt"), LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_a_snippet_of_a_long_text_shows_the_match_with_the_text_around_it(
    history: History, query: str, excerpt: str
) -> None:
    """Rule 16."""
    hit = history.hits(query)[0]
    text = hit["snippet"]["text"]
    assert excerpt in text
    assert len(text) <= SNIPPET
    assert hit["snippet"]["truncated"] is True
    before, after = text.split(excerpt, 1)
    assert len(before) >= MARGIN
    assert len(after) >= MARGIN or text_of_hit(history, hit).endswith(excerpt)


def test_the_beginning_of_a_long_text_needs_nothing_before_it(history: History) -> None:
    """Rule 16."""
    [hit] = history.hits("anchorfirst")
    assert hit["snippet"]["text"].startswith("anchorfirst all quiet")
    assert len(hit["snippet"]["text"]) <= SNIPPET
    assert hit["snippet"]["truncated"] is True


def test_a_short_text_is_its_own_snippet(history: History) -> None:
    """Rule 16."""
    [hit] = history.hits("fresnel")
    assert hit["snippet"] == {"text": "First the fresnel lens.", "truncated": False}


def test_a_text_is_cut_only_beyond_320_characters(history: History) -> None:
    """Rule 16."""
    [whole], [cut] = history.hits("ballast"), history.hits("keelson")
    assert whole["snippet"] == {"text": WHOLE_SNIPPET, "truncated": False}
    assert cut["snippet"]["text"] != CUT_SNIPPET
    assert len(cut["snippet"]["text"]) <= SNIPPET
    assert cut["snippet"]["truncated"] is True


def test_white_space_in_a_snippet_is_folded(history: History) -> None:
    """Rule 16."""
    folded = "cargo test --workspace --locked failed in moraine-clickhouse-client failures: migrations_apply_in_order"
    hit = history.hits("migrations_apply_in_order", event_types=["tool_response"])[0]
    assert hit["snippet"]["text"] == folded


@pytest.mark.parametrize("query", ["the", "voyage", "water", "cargo", "chart", "数据库", "make"])
def test_no_snippet_is_ever_longer_than_320_characters(history: History, query: str) -> None:
    """Rule 16."""
    for hit in history.hits(query, n_hits=50, event_types=TYPES):
        snippet = hit["snippet"]["text"]
        assert 0 < len(snippet) <= SNIPPET
        assert re.search(r"\s\s|[\n\t]", snippet) is None


# ---- words


@pytest.mark.parametrize("word", ["getUserName", "getusername", "auth_token", "src/auth.ts", "ERR_AUTH_FAILED", "v2.10.3"])
def test_an_identifier_is_found_whole(history: History, word: str) -> None:
    """Rule 43."""
    assert text_of_hit(history, history.hits(word)[0]) == IDENTIFIERS


@pytest.mark.parametrize("word", ["user name", "UserName", "token", "auth.ts", "AUTH_FAILED", "err failed", "2.10"])
def test_an_identifier_is_found_by_its_parts(history: History, word: str) -> None:
    """Rule 43."""
    assert IDENTIFIERS in {text_of_hit(history, hit) for hit in history.hits(word, n_hits=50)}


@pytest.mark.parametrize("query", ["Edit", "quartermaster", "src/quartermaster.py", "fetchLedger", "ledger"])
def test_a_tool_call_is_found_by_its_tool_and_its_arguments(history: History, query: str) -> None:
    """Rule 43."""
    hit = history.hits(query, event_types=["tool_call"])[0]
    assert text_of_hit(history, hit) == 'Edit(file_path="src/quartermaster.py", old_string="fetchLedger")'


def test_a_tool_response_is_found_by_its_output(history: History) -> None:
    """Rule 43."""
    [hit] = history.hits("halyard")
    assert hit["event"]["type"] == "tool_response"


SPOKEN = [
    ("迁移失败", "zh"), ("迁移", "zh"), ("库", "zh"), ("修复login", "zh"), ("login", "zh"),
    ("データベース", "ja"), ("移行", "ja"), ("失敗", "ja"),
    ("데이터베이스", "ko"), ("실패", "ko"),
    ("миграция", "ru"), ("БАЗЫ ДАННЫХ", "ru"), ("größe", "de"), ("Datenbankverbindung", "de"),
    ("ترحيل", "ar"), ("माइग्रेशन", "hi"), ("ล้มเหลว", "th"), ("μετάβαση", "el"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "language"), SPOKEN)
def test_every_language_is_found_by_its_own_words(history: History, query: str, language: str) -> None:
    """Rule 43."""
    assert text_of_hit(history, history.hits(query)[0]) == LANGUAGES[language]


PUMP = "The log says connection refused by the bilge pump."
PHRASES = [
    ("connection refused", 2), ('"connection refused"', 1), ('"refused connection"', 0), ('"bilge pump"', 1),
    ('"bilge pump" connection', 1), ('"bilge anvil" connection', 0), ('"connection refused" "bilge pump"', 1),
    ('"connection refused" "pump bilge"', 0), ('"CONNECTION REFUSED"', 1),
]  # fmt: skip


@pytest.mark.parametrize(("query", "hit_count"), PHRASES)
def test_a_quoted_part_of_a_query_must_occur_exactly(history: History, query: str, hit_count: int) -> None:
    """Rule 43."""
    hits = history.hits(query, within_id=history.ids_by_title["Rename the accessor"])
    assert len(hits) == hit_count
    if hit_count == 1:
        assert text_of_hit(history, hits[0]) == PUMP


ODD = [
    "???", "-- ... !!!", '""', '"', '" "', '"unclosed', "\\", "* OR *", "AND", "NOT zephyr", "kind:1", "text:zephyr^9",
    "(((", "[a TO z]", "^~*:[]{}", "the", "the of and", "I", "🛟", "\x00", "a\x00b", "\u202e", "%_", "'; DROP TABLE event; --",
]  # fmt: skip


@pytest.mark.parametrize("query", ODD)
def test_every_character_of_a_query_is_literal(history: History, query: str) -> None:
    """Rule 43: punctuation and stop words are a success, possibly empty."""
    data = history.data("search_sessions", query=query)
    assert data["result_count"] == len(data["results"]) <= 10


@pytest.mark.parametrize("query", ["NOT zephyr", "+zephyr -calibrated", "(zephyr)^", "zephyr AND calibrated"])
def test_operators_of_query_languages_are_only_words(history: History, query: str) -> None:
    """Rule 43."""
    assert {hit["snippet"]["text"] for hit in history.hits(query)} == {"Zephyr calibrated."}


# ---- nothing but matches


def test_a_query_without_a_match_gives_no_hits(history: History) -> None:
    """Rule 44; the source's example of no hits."""
    query = "nonexistent exact phrase for this index"
    envelope = history.call("search_sessions", query=query, n_hits=5)
    types = ["user_input", "assistant_response", "tool_response"]
    assert envelope["request"] == {"query": query, "within_id": None, "event_types": types, "n_hits": 5}
    assert envelope["data"] == {"result_count": 0, "limit": 5, "truncated": False, "results": []}
    assert envelope["warnings"] == []


@pytest.mark.parametrize("query", ["heliograph coracle vermilion", "hawser qqzzv", "zephyr_unheard_of"])
def test_every_hit_shares_a_word_with_the_query(history: History, query: str) -> None:
    """Rule 44: no padding."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+", query)]
    found = history.hits(query, n_hits=50, event_types=TYPES)
    assert found
    for hit in found:
        assert any(word in text_of_hit(history, hit).lower() for word in words)


# ---- Recollect's own traffic


def test_searches_do_not_find_earlier_searches(history: History) -> None:
    """Rule 42: calls of Recollect's tools and their results, over MCP or in a shell."""
    assert history.hits("barnacle") == []
    assert history.hits("barnacle", event_types=TYPES) == []
    assert (
        history.data("search_sessions", query="barnacle", event_types=["tool_call", "tool_response"])["truncated"] is False
    )


@pytest.mark.parametrize("noun", ["session", "turn"])
@pytest.mark.parametrize(("type_", "count"), [("tool_call", 3), ("tool_response", 3)])
def test_recollects_own_traffic_is_found_with_a_scope_and_a_type(
    history: History, noun: str, type_: str, count: int
) -> None:
    """Rule 42."""
    session = history.ids_by_title[OWN]
    scope = session if noun == "session" else history.open(session)["turns"][0]["id"]
    found = history.hits("barnacle", within_id=scope, event_types=[type_])
    assert [hit["event"]["type"] for hit in found] == [type_] * count


def test_recollects_own_traffic_is_stored_and_can_be_opened(history: History) -> None:
    """Rule 42."""
    texts = [event["content"]["text"] for event in history.events(OWN)]
    assert 'mcp__recollect__search_sessions(query="kelp barnacle")' in texts
    assert "barnacle in full" in texts


def test_other_events_of_a_session_that_uses_recollect_are_found(history: History) -> None:
    """Rule 42: only the traffic is left out, not the session."""
    assert {hit["event"]["type"] for hit in history.hits("kelp", event_types=TYPES)} == {
        "user_input", "tool_call", "tool_response",
    }  # fmt: skip
