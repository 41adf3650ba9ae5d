"""The requests that search_sessions accepts, how it normalises them, and those that it refuses."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.history_archive import MIGRATION, serve_archive
from tests.contract.history_client import TYPES, History

pytestmark = pytest.mark.process

DEFAULTS: dict[str, Any] = {
    "within_id": None,
    "event_types": ["user_input", "assistant_response", "tool_response"],
    "n_hits": 10,
}
NOWHERE = "session:ses_01J9Q3N7W6F9A8K2M4V5R6T7Y8"
UNKNOWN_TURN = "turn:turn_01J9Q3P4V8BN7XM9G2K6Q1W3E4"
UNKNOWN_EVENT = "event:evt_01J9Q3Q2C4TD9K7F8M1N5R6P2A"
LONGEST = 4_096


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


@pytest.fixture(scope="module")
def places(history: History) -> dict[str, str]:
    """Existing ids, by the names that the tables below use."""
    turn = history.turn(MIGRATION)
    return {"SESSION": history.ids_by_title[MIGRATION], "TURN": turn["turn"]["id"], "EVENT": turn["events"][0]["id"]}


def replace_names(arguments: dict[str, Any], places: dict[str, str]) -> dict[str, Any]:
    return {name: places.get(value, value) if isinstance(value, str) else value for name, value in arguments.items()}


# ---- the successful rows of the matrix


ACCEPTED = {
    "query only": {},
    "query + n_hits": {"n_hits": 2},
    "query + event_types": {"event_types": ["tool_call"]},
    "query + within_id=session": {"within_id": "SESSION"},
    "query + within_id=turn": {"within_id": "TURN"},
    "query + within_id=session + event_types": {"within_id": "SESSION", "event_types": ["tool_call"]},
    "query + within_id=turn + event_types": {"within_id": "TURN", "event_types": ["tool_response"], "n_hits": 3},
    "everything null": {"within_id": None, "event_types": None, "n_hits": None},
    "every type": {"event_types": TYPES},
    "fewest hits": {"n_hits": 1},
    "most hits": {"n_hits": 50},
}


@pytest.mark.parametrize("arguments", ACCEPTED.values(), ids=ACCEPTED)
def test_each_combination_searches_exactly_what_it_names(
    history: History, places: dict[str, str], arguments: dict[str, Any]
) -> None:
    """Rules 1, 2 and 17; the search_sessions matrix."""
    arguments = replace_names(arguments, places)
    envelope = history.call("search_sessions", query="cargo test", **arguments)
    request = {"query": "cargo test", **DEFAULTS, **{name: value for name, value in arguments.items() if value is not None}}
    assert envelope["request"] == request
    data = envelope["data"]
    assert data["limit"] == request["n_hits"]
    assert 0 < data["result_count"] == len(data["results"]) <= data["limit"]
    assert {hit["event"]["type"] for hit in data["results"]} <= set(request["event_types"])
    if request["within_id"]:
        assert {request["within_id"]} <= {data["results"][0][noun]["id"] for noun in ("session", "turn")}
        assert len({hit["session"]["id"] for hit in data["results"]}) == 1


@pytest.mark.parametrize("type_", TYPES)
def test_naming_one_event_type_finds_events_of_that_type_only(history: History, type_: str) -> None:
    """Rule 17: filters are exact; every type of the vocabulary can be requested."""
    words = {
        "user_input": "monitor", "assistant_response": "monitor", "reasoning": "heliograph", "tool_call": "monitor",
        "tool_response": "monitor", "compaction": "compactword", "system": "skillword", "runtime": "interrupted",
    }  # fmt: skip
    found = history.hits(words[type_], event_types=[type_])
    assert {hit["event"]["type"] for hit in found} == {type_}


@pytest.mark.parametrize("word", ["heliograph", "quartermaster.py", "compactword", "skillword", "interrupted by user"])
def test_reasoning_tool_calls_compactions_system_and_runtime_are_not_searched_by_default(
    history: History, word: str
) -> None:
    """Source, event type filter: the default covers user_input, assistant_response and tool_response."""
    by_default = {hit["event"]["type"] for hit in history.hits(word, n_hits=50)}
    everywhere = {hit["event"]["type"] for hit in history.hits(word, n_hits=50, event_types=TYPES)}
    assert by_default <= set(DEFAULTS["event_types"])
    assert everywhere - set(DEFAULTS["event_types"])


# ---- the canonical request


def test_the_query_is_trimmed_and_otherwise_unchanged(history: History) -> None:
    """Rule 2."""
    envelope = history.call("search_sessions", query="\n\t  Cargo   TEST  \u3000")
    assert envelope["request"] == {"query": "Cargo   TEST", **DEFAULTS}


def test_event_types_are_echoed_once_each_in_the_order_of_the_vocabulary(history: History) -> None:
    """Rule 2."""
    envelope = history.call("search_sessions", query="x", event_types=[*reversed(TYPES), *TYPES])
    assert envelope["request"]["event_types"] == TYPES
    envelope = history.call("search_sessions", query="x", event_types=["runtime", "user_input", "runtime"])
    assert envelope["request"]["event_types"] == ["user_input", "runtime"]


@pytest.mark.parametrize(
    "query",
    ["q" * LONGEST, f"  {'q' * LONGEST}\n", "語" * LONGEST, "🛟" * LONGEST, "a " * (LONGEST // 2 - 1) + "aa"],
    ids=["letters", "after trimming", "three bytes each", "four bytes each", "many words"],
)
def test_a_query_may_have_4096_characters_after_trimming(history: History, query: str) -> None:
    """Rule 5: characters are code points, not bytes."""
    envelope = history.call("search_sessions", query=query)
    assert "error" not in envelope
    assert envelope["request"]["query"] == query.strip()


@pytest.mark.parametrize("query", ["q" * (LONGEST + 1), "🛟" * (LONGEST + 1)], ids=["letters", "four bytes each"])
def test_a_query_of_4097_characters_is_refused(history: History, query: str) -> None:
    """Rule 5."""
    error = history.error("search_sessions", query=query)
    assert (error["code"], error["details"]) == ("invalid_request", {"field": "query"})


# ---- the refused rows of the matrix

NOT_A_QUERY = ("invalid_request", "query must be a non-empty string", {"field": "query"})
NOT_AN_EVENT = ("invalid_request", "within_id accepts session and turn IDs, not event IDs", None)
NOT_AN_ID = ("invalid_id", "id is not a valid Moraine MCP ID", {"field": "within_id"})
BAD_TYPES = ("invalid_request", None, {"field": "event_types"})
BAD_HITS = ("invalid_request", None, {"field": "n_hits"})


def unsupported(word: str) -> tuple[str, str, dict[str, Any]]:
    return "unsupported_event_type", f"unsupported event type: {word}", {"field": "event_types", "supported": TYPES}


REFUSED: list[tuple[dict[str, Any], tuple[str, str | None, dict[str, Any] | None]]] = [
    # rule 5: query
    ({"query": "   "}, NOT_A_QUERY),
    ({"query": ""}, NOT_A_QUERY),
    ({"query": "\t\n\u3000"}, NOT_A_QUERY),
    ({"query": None}, NOT_A_QUERY),
    ({"query": 7}, NOT_A_QUERY),
    ({"query": ["cargo"]}, NOT_A_QUERY),
    ({}, NOT_A_QUERY),
    # rule 7: an event is not a scope
    ({"query": "x", "within_id": "EVENT"}, NOT_AN_EVENT),
    ({"query": "x", "within_id": UNKNOWN_EVENT}, NOT_AN_EVENT),
    # rules 8, 9 and 45: scopes that are malformed or unknown
    ({"query": "x", "within_id": "not-a-valid-id"}, NOT_AN_ID),
    ({"query": "x", "within_id": ""}, NOT_AN_ID),
    ({"query": "x", "within_id": "session:"}, NOT_AN_ID),
    ({"query": "x", "within_id": f" {NOWHERE}"}, NOT_AN_ID),
    ({"query": "x", "within_id": f"{NOWHERE}\n"}, NOT_AN_ID),
    ({"query": "x", "within_id": "event:!"}, NOT_AN_ID),
    ({"query": "x", "within_id": NOWHERE}, ("not_found", "session not found", {"id": NOWHERE})),
    ({"query": "x", "within_id": UNKNOWN_TURN}, ("not_found", "turn not found", {"id": UNKNOWN_TURN})),
    # rules 1 and 4: event types
    ({"query": "x", "event_types": []}, BAD_TYPES),
    ({"query": "x", "event_types": "user_input"}, BAD_TYPES),
    ({"query": "x", "event_types": {"user_input": True}}, BAD_TYPES),
    ({"query": "x", "event_types": ["user_input", 5]}, BAD_TYPES),
    ({"query": "x", "event_types": [None]}, BAD_TYPES),
    ({"query": "migration", "event_types": ["user_input", "debug_trace"]}, unsupported("debug_trace")),
    ({"query": "x", "event_types": ["unknown"]}, unsupported("unknown")),
    ({"query": "x", "event_types": ["User_Input"]}, unsupported("User_Input")),
    ({"query": "x", "event_types": [" user_input"]}, unsupported(" user_input")),
    ({"query": "x", "event_types": [""]}, unsupported("")),
    # rule 6: n_hits
    *(({"query": "x", "n_hits": bad}, BAD_HITS) for bad in (0, -1, 51, 10**30, 10.5, True, False, "5", [5])),
    # rule 10: names
    ({"query": "x", "limit": 5}, ("invalid_request", None, {"field": "limit"})),
    ({"query": "x", "Query": "x"}, ("invalid_request", None, {"field": "Query"})),
    ({"query": "x", "event_type": None}, ("invalid_request", None, {"field": "event_type"})),
]


@pytest.mark.parametrize(("arguments", "expected"), REFUSED, ids=[str(arguments)[:60] for arguments, _ in REFUSED])
def test_a_bad_request_is_refused_with_a_reason_and_echoed_unchanged(
    history: History, places: dict[str, str], arguments: dict[str, Any], expected: tuple[str, Any, Any]
) -> None:
    """Rules 1, 3, 4, 5, 6, 7, 8, 9 and 10; the search_sessions matrix."""
    arguments = replace_names(arguments, places)
    envelope = history.call("search_sessions", **arguments)
    code, message, details = expected
    error = envelope["error"]
    assert error["code"] == code
    assert error["message"] and error["message"] == (message or error["message"])
    assert details in (None, error["details"])
    assert envelope["request"] == arguments
    assert "data" not in envelope
    assert envelope["warnings"] == []


def test_a_call_without_arguments_is_a_request_without_a_query(history: History) -> None:
    """Rule 5, for a client that leaves `arguments` out."""
    envelope = history.result("search_sessions").structured_content
    assert envelope["error"]["message"] == "query must be a non-empty string"
    assert envelope["request"] == {}
