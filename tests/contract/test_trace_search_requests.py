"""The queries, limits, filters and cursors that search_event_previews accepts and refuses (A2, A3, A6, A7)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.trace_archive import EVERYWHERE, serve_archive
from tests.contract.trace_client import EVENT_TYPES, Trace

pytestmark = pytest.mark.process

SEARCH = "search_event_previews"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


# ---- queries, limits and filters


@pytest.mark.parametrize("query", ["", " ", " \n\t ", "\u3000", None, 5, ["gull"], {}, True, "x" * 4_097])
def test_a_query_must_be_a_string_that_is_not_blank(trace: Trace, query: Any) -> None:
    error = trace.error(SEARCH, query=query)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "query")
    assert error["details"]["reason"] == error["message"]


def test_a_query_must_be_given(trace: Trace) -> None:
    assert trace.error(SEARCH)["details"]["parameter"] == "query"


@pytest.mark.parametrize("limit", [0, -1, -(10**30), "5", "", 2.5, 5.0, True, False, [5], {}])
def test_a_limit_must_be_a_whole_number_from_one(trace: Trace, limit: Any) -> None:
    """A3."""
    error = trace.error(SEARCH, query="gull", limit=limit)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "limit")


@pytest.mark.parametrize("limit", [51, 1_000, 10**30])
def test_a_limit_that_is_too_large_is_clamped_with_a_warning(trace: Trace, limit: int) -> None:
    """A2."""
    answer = trace.answer(SEARCH, query="e", limit=limit)
    assert len(answer["data"]["matches"]) == 50
    (warning,) = answer["warnings"]
    assert str(limit) in warning and "50" in warning
    assert "warnings" not in trace.answer(SEARCH, query="e", limit=50)


@pytest.mark.parametrize("provider", ["claude", "", " ", "nobody", "*", 5, ["codex"], True])
def test_an_unknown_provider_is_refused(trace: Trace, provider: Any) -> None:
    error = trace.error(SEARCH, query="gull", provider=provider)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "provider")
    assert "claude-code" in error["message"] and "codex" in error["message"]


@pytest.mark.parametrize(
    "event_type", ["toolcall", "TOOL_CALL", "Tool_Call", "tool_response", "", " user", 3, ["user"], True]
)
def test_an_unknown_type_is_refused_with_a_list_of_all_types(trace: Trace, event_type: Any) -> None:
    error = trace.error(SEARCH, query="gull", event_type=event_type)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "event_type")
    assert error["details"]["allowed"] == EVENT_TYPES
    assert all(name in error["message"] for name in EVENT_TYPES)


def test_an_invalid_session_is_refused(trace: Trace) -> None:
    for session, code in (("*", "invalid_session_id"), ("", "invalid_session_id"), ("zz", "session_not_found")):
        assert trace.error(SEARCH, query="gull", session_id=session)["code"] == code
    firsts = [session[0] for session in trace.ids.values()]
    shared = next(letter for letter in firsts if firsts.count(letter) > 1)
    assert trace.error(SEARCH, query="gull", session_id=shared)["code"] == "ambiguous_session_prefix"


# ---- cursors


@pytest.mark.parametrize("cursor", ["", "x", "=", "é", "A" * 200, "{}", "null", "\x00", 5, 0, True, [], ["x"], {"after": 1}])
def test_a_made_up_cursor_is_refused(trace: Trace, cursor: Any) -> None:
    """A6."""
    assert trace.error(SEARCH, query="gull", cursor=cursor)["code"] == "invalid_cursor"


def test_a_mangled_cursor_is_refused(trace: Trace) -> None:
    """A6."""
    cursor = trace.answer(SEARCH, query="gull", limit=2)["pagination"]["next_cursor"]
    mangled = [
        cursor[:-1],
        cursor[1:],
        cursor + "A",
        cursor + "=",
        cursor[::-1],
        cursor.swapcase(),
        f" {cursor}",
        cursor[:12],
    ]
    flipped = [cursor[:at] + ("B" if cursor[at] == "A" else "A") + cursor[at + 1 :] for at in range(len(cursor))]
    for other in [*mangled, *flipped]:
        assert trace.error(SEARCH, query="gull", limit=2, cursor=other)["code"] == "invalid_cursor"


def test_a_cursor_of_another_query_is_refused(trace: Trace) -> None:
    """A7: with other filters, for another tool, or for another family."""
    session = trace.ids["Feed the GULL of pier 1"]
    filters = {"query": "gull", "provider": "claude-code", "event_type": "message", "session_id": session}
    cursor = trace.answer(SEARCH, **filters, limit=1)["pagination"]["next_cursor"]
    assert trace.answer(SEARCH, **filters, limit=1, cursor=cursor)["data"]["matches"]
    for other in ({"query": "gul"}, {"provider": "codex"}, {"event_type": "user"}, {"session_id": trace.ids[EVERYWHERE]}):
        assert trace.error(SEARCH, **{**filters, **other}, cursor=cursor)["code"] == "invalid_cursor"
        (name,) = other
        fewer = {key: value for key, value in filters.items() if key != name}
        if name != "query":
            assert trace.error(SEARCH, **fewer, cursor=cursor)["code"] == "invalid_cursor"
    foreign = [
        trace.answer("search_events", query="gull", limit=1)["pagination"]["next_cursor"],
        trace.call("list_sessions", start_datetime="2025-01-01T00:00:00Z", end_datetime="2027-01-01T00:00:00Z", limit=1)["data"]["next_cursor"],
    ]  # fmt: skip
    for cursor in foreign:
        assert trace.error(SEARCH, query="gull", limit=1, cursor=cursor)["code"] == "invalid_cursor"
