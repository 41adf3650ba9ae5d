"""search_events, the deprecated tool: it still works with its old argument names and names its replacement (A35 to A38)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.trace_archive import DEPTHS, ESCAPES, EVERYWHERE, GULLS, LEDGER, LEDGER_OUTPUT, QUOTED, serve_archive
from tests.contract.trace_client import EVENT_TYPES, HINT, Trace, place

pytestmark = pytest.mark.process

EVENTS = "search_events"
HEAD = ["session_id", "event_index", "timestamp", "event_type"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


def about(answer: Any, name: str) -> list[str]:
    """The warnings that name an argument."""
    return [warning for warning in answer["warnings"] if warning.startswith(name)]


# ---- the same search


def test_the_deprecated_tool_finds_what_the_new_tool_finds(trace: Trace) -> None:
    """A35: with every filter."""
    filters = [{}, {"provider": "codex"}, {"event_type": "ToolCall"}, {"session_id": trace.ids[EVERYWHERE][:8]}]
    for more in filters:
        for query in ("gull", "marlinspike", "e"):
            old = [place(match) for page in trace.pages(query, EVENTS, limit=20, **more) for match in page]
            assert old == trace.places(query, **more)


def test_every_answer_names_the_replacements(trace: Trace) -> None:
    """A35."""
    answer = trace.answer(EVENTS, query="gull")
    assert answer["hint"] == HINT
    (warning,) = answer["warnings"]
    assert warning.startswith("search_events is deprecated")
    assert "search_event_previews" in warning and "get_event_details" in warning


def test_the_description_says_when_the_tool_will_be_removed(trace: Trace) -> None:
    description = trace.tools()[EVENTS].description or ""
    assert description.startswith("Deprecated")
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", description)
    assert "search_event_previews" in description


def test_a_page_has_five_matches_and_at_most_twenty(trace: Trace) -> None:
    """A36."""
    assert len(trace.answer(EVENTS, query="gull")["data"]["matches"]) == 5
    assert len(trace.answer(EVENTS, query="gull", limit=20)["data"]["matches"]) == 20
    clamped = trace.answer(EVENTS, query="gull", limit=21)
    assert len(clamped["data"]["matches"]) == 20
    (warning,) = about(clamped, "limit")
    assert "21" in warning and "20" in warning


@pytest.mark.parametrize("limit", [1, 7])
def test_pages_show_every_match_once(trace: Trace, limit: int) -> None:
    found = [place(match) for page in trace.pages("gull", EVENTS, limit=limit) for match in page]
    assert found == trace.places("gull")
    assert len(found) == GULLS


def test_the_cursor_of_the_deprecated_tool_does_not_fit_the_new_one(trace: Trace) -> None:
    """A38: it depends neither on the detail level nor on the name of the query argument."""
    new = trace.answer("search_event_previews", query="gull", limit=5)["pagination"]["next_cursor"]
    old = trace.answer(EVENTS, query="gull")["pagination"]["next_cursor"]
    assert trace.error(EVENTS, query="gull", cursor=new)["code"] == "invalid_cursor"
    assert trace.error("search_event_previews", query="gull", cursor=old)["code"] == "invalid_cursor"
    assert trace.error(EVENTS, query="gulls", cursor=old)["code"] == "invalid_cursor"
    for more in ({"query": "gull", "detail_level": "full"}, {"pattern": "gull"}):
        matches = trace.answer(EVENTS, **more, cursor=old)["data"]["matches"]
        assert [place(match) for match in matches] == trace.places("gull")[5:10]


# ---- detail levels of a match


def test_a_preview_is_that_of_the_new_tool(trace: Trace) -> None:
    """A37."""
    new = trace.matches("marlinspike", limit=20)
    for more in ({}, {"detail_level": "preview"}, {"detail_level": None}):
        assert trace.answer(EVENTS, query="marlinspike", limit=20, **more)["data"]["matches"] == new


def test_full_is_the_payload_of_the_event(trace: Trace) -> None:
    """A37: also for an event of 50 KB."""
    for query in ("marlinspike", "anchormiddle", "Sound the depths", "belay", "tokens: input"):
        matches = trace.answer(EVENTS, query=query, limit=20, detail_level="full")["data"]["matches"]
        assert matches
        for match in matches:
            assert list(match) == [*HEAD, "payload"]
            assert match == trace.data("get_event_details", session_id=match["session_id"], event_index=match["event_index"])
    (match,) = trace.answer(EVENTS, query="anchormiddle", detail_level="full")["data"]["matches"]
    assert match["payload"]["output"] == LEDGER_OUTPUT


def test_compact_shows_the_tool_its_arguments_and_its_result(trace: Trace) -> None:
    """A37: more than a preview, less than everything."""
    matches = trace.answer(EVENTS, query="belay", detail_level="compact", session_id=trace.ids[ESCAPES])["data"]["matches"]
    call, result, message = (match["compact"] for match in matches)
    assert call == {"name": "Bash", "arguments": {"command": QUOTED}}
    assert result == {"output": QUOTED, "is_error": False, "call_index": 1}
    assert message == {"text": 'He said "belay".'}
    (long,) = trace.answer(EVENTS, query="anchormiddle", detail_level="compact")["data"]["matches"]
    assert "anchormiddle" in long["compact"]["output"] and len(long["compact"]["output"]) <= 300
    (call,) = trace.answer(EVENTS, query="ledger.txt ledger.txt", detail_level="compact")["data"]["matches"]
    assert call["session_id"] == trace.ids[LEDGER]
    assert len(call["compact"]["arguments"]["command"]) <= 300


def test_compact_works_for_every_type_of_event(trace: Trace) -> None:
    types = set()
    for title in (DEPTHS, EVERYWHERE):
        answer = trace.answer(EVENTS, query="e", detail_level="compact", session_id=trace.ids[title], limit=20)
        for match in answer["data"]["matches"]:
            assert list(match) == [*HEAD, "compact"]
            assert match["compact"]
            types.add(match["event_type"])
    assert types == set(EVENT_TYPES)


@pytest.mark.parametrize("level", ["", "Preview", "summary", "turns", "all", 5, True, ["full"]])
def test_an_unknown_level_is_refused(trace: Trace, level: Any) -> None:
    error = trace.error(EVENTS, query="gull", detail_level=level)
    assert error["code"] == "invalid_detail_level"
    assert all(name in error["message"] for name in ("preview", "compact", "full"))


# ---- old names


def test_pattern_is_the_old_name_of_query(trace: Trace) -> None:
    """A35."""
    answer = trace.answer(EVENTS, pattern="gull")
    assert answer["data"] == trace.answer(EVENTS, query="gull")["data"]
    (warning,) = about(answer, "pattern")
    assert "query" in warning


def test_both_names_at_once_are_refused(trace: Trace) -> None:
    """A36."""
    error = trace.error(EVENTS, pattern="gull", query="gull")
    assert error["code"] == "invalid_parameter"
    assert error["details"]["parameter"] in ("pattern", "query")


@pytest.mark.parametrize("pattern", ["", "  ", None, 5, ["gull"]])
def test_a_pattern_must_not_be_blank(trace: Trace, pattern: Any) -> None:
    assert trace.error(EVENTS, pattern=pattern)["code"] == "invalid_parameter"
    assert trace.error(EVENTS)["details"]["parameter"] == "query"


@pytest.mark.parametrize(("wanted", "level"), [(True, "full"), (False, "preview")])
def test_include_full_payload_is_the_old_name_of_a_level(trace: Trace, wanted: bool, level: str) -> None:
    """A37."""
    answer = trace.answer(EVENTS, query="marlinspike", include_full_payload=wanted)
    assert answer["data"] == trace.answer(EVENTS, query="marlinspike", detail_level=level)["data"]
    (warning,) = about(answer, "include_full_payload")
    assert "detail_level" in warning


@pytest.mark.parametrize("wanted", ["true", 1, 0, [], "full"])
def test_include_full_payload_must_be_a_boolean(trace: Trace, wanted: Any) -> None:
    error = trace.error(EVENTS, query="gull", include_full_payload=wanted)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "include_full_payload")


def test_the_old_and_the_new_level_at_once_are_refused(trace: Trace) -> None:
    error = trace.error(EVENTS, query="gull", include_full_payload=True, detail_level="full")
    assert error["code"] == "invalid_parameter"


def test_the_new_tool_refuses_the_old_names(trace: Trace) -> None:
    for name, value in (("pattern", "gull"), ("include_full_payload", True), ("detail_level", "full")):
        error = trace.error("search_event_previews", query="gull", **{name: value})
        assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", name)


@pytest.mark.parametrize("limit", [0, -1, "5", 2.5, True])
def test_a_limit_must_be_a_whole_number_from_one(trace: Trace, limit: Any) -> None:
    assert trace.error(EVENTS, query="gull", limit=limit)["details"]["parameter"] == "limit"
