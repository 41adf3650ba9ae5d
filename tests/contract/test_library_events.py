"""library/events and library/search: events in full, in windows and by words."""

from pathlib import Path
from typing import Any

import pytest

from recollect.distil import distil as distil_now
from tests.conftest import Person
from tests.contract.library_archive import (
    ANCHOR,
    CUTTER,
    DINGHY,
    ESTUARY,
    NAMES,
    SHARED_WORD,
    Library,
    distil,
    fill,
    name_of,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    person = Person(tmp_path_factory.mktemp("library"))
    fill(person)
    return Library(person)


def events_of(library: Library, name: str, **arguments: Any) -> list[Any]:
    events: list[Any] = library.data("events", id=library.session(name)["id"], **arguments)["events"]
    return events


# ---- events


def test_an_event_has_everything_that_the_log_tells(library: Library) -> None:
    """L1."""
    prompt, read, content, edit, _, bash, failure, answer = events_of(library, ANCHOR)
    assert [event["sequence"] for event in (prompt, read, content, edit)] == [0, 1, 2, 3]
    assert (prompt["type"], prompt["text"]) == ("user_input", f"Lift the {ANCHOR} for the {SHARED_WORD}")
    assert (read["tool"], read["arguments"]) == ("Read", {"file_path": "/work/app/src/deck.py"})
    assert (content["answers"], content["duration_ms"]) == (1, 1_000)
    assert edit["diff"].splitlines()[2:] == ["@@", "-deck = 1", "+deck = 2", "+rail = 3"]
    assert bash["arguments"] == {"command": "pytest -q"}
    assert (bash["failed"], bash["duration_ms"], edit["failed"]) == (True, 1_000, False)
    assert (failure["type"], failure["failed"]) == ("tool_response", True)
    assert answer["usage"] == {"input": 10, "output": 5, "cache_read": 100, "cache_write": 0, "reasoning": 0, "total": 115}
    assert answer["at"] == "2026-02-01T00:00:08.000Z" and answer["turn"] == 1
    assert [event["exit_code"] for event in events_of(library, ESTUARY, type=["tool_response"])] == [1]
    assert [event["exit_code"] for event in events_of(library, ESTUARY, type=["tool_call"])] == [1]
    (patch,) = events_of(library, DINGHY, type=["tool_call"])
    assert "+new tide" in patch["diff"].splitlines()


@pytest.mark.parametrize("limit", [1, 3, 7, 200])
def test_windows_join_without_gaps(library: Library, limit: int) -> None:
    whole = [event["id"] for event in events_of(library, CUTTER)]
    session = library.session(CUTTER)
    assert len(whole) == session["events"] == 7
    seen, cursor = [], None
    while True:
        answer = library.ask("events", id=session["id"], limit=limit, **({"cursor": cursor} if cursor else {}))
        seen += [event["id"] for event in answer["data"]["events"]]
        assert answer["page"]["total"] == 7
        cursor = answer["page"]["next"]
        if cursor is None:
            break
    assert seen == whole
    for first in range(9):
        assert [event["id"] for event in events_of(library, CUTTER, **{"from": first})] == whole[first:]


def test_types_are_kept_or_left_out(library: Library) -> None:
    kinds = [event["type"] for event in events_of(library, CUTTER, type=["-tool_call", "-tool_response"])]
    assert kinds == ["user_input", "reasoning", "assistant_response", "user_input", "assistant_response"]
    assert [event["type"] for event in events_of(library, CUTTER, kinds=["reasoning"])] == ["reasoning"]
    assert library.refusal("events", id="last", type=["toolcall"])["code"] == "invalid_filter"


@pytest.mark.parametrize(
    "arguments", [{"from": -1}, {"limit": 0}, {"limit": 201}, {"from": "x"}, {"cursor": "x"}, {"id": ""}]
)
def test_a_bad_window_is_refused(library: Library, arguments: dict[str, Any]) -> None:
    code = library.refusal("events", **{"id": "last", **arguments})["code"]
    assert code == ("invalid_cursor" if "cursor" in arguments else "invalid_request")


# ---- search


def hits(library: Library, query: str, **arguments: Any) -> dict[str, list[Any]]:
    found = library.data("search", query=query, **{"mode": ["text"], **arguments})["hits"]
    return {name_of(hit["session"]): hit["matches"] for hit in found}


def test_hits_are_grouped_by_session_with_the_places_that_match(library: Library) -> None:
    found = hits(library, SHARED_WORD)
    assert set(found) == set(NAMES)
    for matches in found.values():
        match = matches[0]
        (start, end), *_ = match["offsets"]
        assert match["text"][start:end] == SHARED_WORD
        event = library.data("events", id=match["turn"].removeprefix("turn:").partition("-")[0])["events"][match["sequence"]]
        assert event["id"] == match["event"]


def test_every_type_of_event_is_searched(library: Library) -> None:
    assert hits(library, "wind west")[CUTTER][0]["type"] == "reasoning"
    assert hits(library, "pytest")[ANCHOR][0]["type"] == "tool_call"
    assert hits(library, "rail failed", type=["tool_response"])[ANCHOR][0]["type"] == "tool_response"


def test_filters_limit_a_search(library: Library) -> None:
    """L2: the same filters as for sessions."""
    assert set(hits(library, f"agent:codex {SHARED_WORD}")) == {DINGHY, ESTUARY, "fathom"}
    assert set(hits(library, SHARED_WORD, project=["app"], agent=["-codex"])) == {ANCHOR, "beacon"}
    assert set(hits(library, SHARED_WORD, file=["*.go"])) == {DINGHY}
    assert set(hits(library, "pytest", tool=["Bash"])) == {ANCHOR}
    assert hits(library, "deck", tool=["Bash"]) == {}, "the word is in calls of other tools"
    assert set(hits(library, SHARED_WORD, since=["2026-02-03"], until=["2026-02-04T00:00:00Z"])) == {ESTUARY}
    assert set(hits(library, f'"{SHARED_WORD}"', failed=True)) == {ANCHOR, ESTUARY}


def test_pages_of_a_search_visit_each_session_once(library: Library) -> None:
    seen, cursor = [], None
    while True:
        arguments: dict[str, Any] = {"cursor": cursor} if cursor else {}
        answer = library.ask("search", query=SHARED_WORD, mode=["text"], limit=2, **arguments)
        seen += [name_of(hit["session"]) for hit in answer["data"]["hits"]]
        cursor = answer["page"]["next"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(NAMES)


def test_why_explains_a_score(library: Library) -> None:
    match = hits(library, SHARED_WORD, why=True)[ANCHOR][0]
    assert match["why"]["words"] > 0
    assert hits(library, SHARED_WORD)[ANCHOR][0]["why"] is None


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_query_is_refused(library: Library, query: str) -> None:
    assert library.refusal("search", query=query)["code"] == "invalid_request"


# ---- activity and answers


def test_activity_cuts_sessions_at_the_range(library: Library) -> None:
    answer = library.data("activity", since=["2026-02-01T00:00:04Z"], until=["2026-02-01T00:59:00Z"])
    (interval,) = answer["intervals"]
    assert (interval["start"], interval["end"]) == ("2026-02-01T00:00:04.000Z", "2026-02-01T00:00:08.000Z")
    assert (interval["agent"], interval["project"], interval["turns"], interval["state"]) == (
        "claude-code",
        "app",
        1,
        "ended",
    )
    assert library.data("activity")["intervals"] == [], "the last week is empty"
    everything = library.data("activity", since=["2026-01-01"])["intervals"]
    assert [name for interval in everything for name in NAMES if name in interval["title"]] == list(NAMES)


def test_an_answer_names_its_sources_and_keeps_to_the_filters(library: Library) -> None:
    assert distil_now(
        library.realm.folder, library.realm.settings, {}, lambda: False
    )  # else the first answer starts a process
    found = library.data("ask", question="Where does the wind come from?")
    assert "The wind is from the west" not in found["answer"], "reasoning is no source of answers"
    found = library.data("ask", query=f"agent:codex {SHARED_WORD} depth")
    assert found["sources"] and "There is no depth" in found["answer"]
    assert library.data("ask", query=f"agent:claude-code {SHARED_WORD} depth")["answer"].count("There is no depth") == 0
    assert library.refusal("ask", question="why?", query="how?")["code"] == "invalid_request"
    assert library.refusal("ask")["code"] == "invalid_request"


def test_health_says_what_is_indexed_and_what_could_not_be_read(tmp_path: Path) -> None:
    person = Person(tmp_path)
    fill(person)
    distil(person)
    health = Library(person).data("health")
    assert health["status"]["sessions"] == 6
    assert {row["source"]: row["sessions"] for row in health["sources"] if row["sessions"]} == {"claude-code": 3, "codex": 3}
    assert (health["doctor"]["archive"], health["doctor"]["index"]) == ("sound", "sound")
