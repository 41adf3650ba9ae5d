"""library/sessions: filters, order, pages, facets, and every field of a session (L1 to L4, L12)."""

import socket
from pathlib import Path
from typing import Any

import pytest

from recollect.operations.library.views import outcome_of
from tests.conftest import Person
from tests.contract.library_archive import (
    ANCHOR,
    BEACON,
    CUTTER,
    DINGHY,
    ESTUARY,
    FATHOM,
    NAMES,
    SHARED_WORD,
    Library,
    fill,
    name_of,
)
from tests.logs import Claude, append, write

ALL = set(NAMES)
CLAUDE = {ANCHOR, BEACON, CUTTER}

# (filters as parameters, the same filters in a query, the sessions that they find)
FILTERS: list[tuple[dict[str, Any], str, set[str]]] = [
    ({"agent": ["codex"]}, "agent:codex", {DINGHY, ESTUARY, FATHOM}),
    ({"agent": ["Claude-Code"]}, "agent:CLAUDE-CODE", CLAUDE),
    ({"agent": ["codex", "claude-code"]}, "agent:codex agent:claude-code", ALL),
    ({"agent": ["-codex"]}, "-agent:codex", CLAUDE),
    ({"project": ["app"]}, "project:app", {ANCHOR, BEACON, DINGHY}),
    ({"project": ["-app", "-reef"]}, "-project:app -project:reef", {CUTTER, ESTUARY}),
    ({"project": ["/work/yard"]}, "project:/work/yard", {CUTTER, ESTUARY}),
    ({"branch": ["signals"]}, "branch:signals", {BEACON, ESTUARY}),
    ({"model": ["claude-opus-4-6"]}, "model:claude-opus-4-6", {BEACON}),
    ({"model": ["opus*"]}, "model:opus*", {BEACON}),
    ({"model": ["-gpt-5"]}, "-model:gpt-5", CLAUDE),
    ({"tool": ["Bash"]}, "tool:Bash", {ANCHOR}),
    ({"tool": ["bash", "write"]}, "tool:bash tool:write", {ANCHOR, CUTTER}),
    ({"file": ["*.go"]}, "file:*.go", {DINGHY}),
    ({"file": ["deck.py"]}, "file:deck.py", {ANCHOR}),
    ({"file": ["src/*"]}, "file:src/*", {ANCHOR, DINGHY}),
    ({"type": ["reasoning"]}, "type:reasoning", {CUTTER}),
    ({"mode": ["chat"]}, "mode:chat", {BEACON, FATHOM}),
    ({"state": ["ended"]}, "state:ended", ALL),
    ({"state": ["working", "waiting"]}, "state:working state:waiting", set()),
    ({"failed": True}, "failed:true", {ANCHOR, ESTUARY}),
    ({"failed": False}, "failed:false", ALL - {ANCHOR, ESTUARY}),
    ({"since": ["2026-02-02"]}, "since:2026-02-02", {DINGHY, ESTUARY, FATHOM}),
    ({"until": ["2026-02-02T00:00:00Z"]}, "until:2026-02-02T00:00:00Z", CLAUDE),
    (
        {"since": ["2026-02-01T00:30:00Z"], "until": ["2026-02-03T00:00:00Z"]},
        "since:2026-02-01T00:30:00Z until:2026-02-03T00:00:00Z",
        {BEACON, CUTTER, DINGHY},
    ),
    ({"machine": [socket.gethostname()]}, f"machine:{socket.gethostname()}", ALL),
    ({"agent": ["codex"], "project": ["app"]}, "agent:codex project:app", {DINGHY}),
    ({"agent": ["-codex"], "project": ["app"], "branch": ["main"]}, "-agent:codex project:app branch:main", {ANCHOR}),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    person = Person(tmp_path_factory.mktemp("library"))
    fill(person)
    return Library(person)


@pytest.fixture
def own(tmp_path: Path) -> tuple[Person, Library]:
    """An archive that the test may change."""
    person = Person(tmp_path)
    fill(person)
    return person, Library(person)


# ---- filters


@pytest.mark.parametrize(("parameters", "query", "found"), FILTERS, ids=[query for _, query, _ in FILTERS])
def test_a_filter_means_the_same_as_parameter_and_in_the_query(
    library: Library, parameters: dict[str, Any], query: str, found: set[str]
) -> None:
    """L2."""
    assert library.names(**parameters) == found
    assert library.names(query=query) == found
    assert library.names(query=f"{query} {SHARED_WORD}") == found, "words besides filters"


def test_words_find_the_sessions_that_contain_all_of_them(library: Library) -> None:
    assert library.names(query=SHARED_WORD) == ALL
    assert library.names(query=f"{SHARED_WORD} dinghy") == {DINGHY}
    assert library.names(query='"wind is from the west"') == {CUTTER}
    assert library.names(query="submarine") == set()


def test_what_only_looks_like_a_filter_is_text(library: Library) -> None:
    """L3."""
    answer = library.ask("sessions", query="std::vector https://example.org error: foo colour:blue type:unknownword")
    assert answer["data"]["sessions"] == []
    answer = library.ask("sessions", query=f"project:zzzzqqqq {SHARED_WORD}")
    assert answer["data"]["sessions"] == [], "the words project and zzzzqqqq occur nowhere"
    assert answer["warnings"] == ["project:zzzzqqqq is searched as text: there is no such project."]
    answer = library.ask("sessions", query=f"-project:zzzzqqqq {SHARED_WORD}", limit=200)
    assert len(answer["data"]["sessions"]) == len(NAMES)
    assert answer["warnings"] == ["-project:zzzzqqqq leaves out nothing: there is no such project."]
    assert library.names(query='"agent:codex"') == set(), "a quoted filter is text"


@pytest.mark.parametrize(
    ("filters", "near"),
    [
        ({"agent": ["claude"]}, "claude-code"),
        ({"agent": ["codx"]}, "codex"),
        ({"project": ["ap"]}, "app"),
        ({"branch": ["signal"]}, "signals"),
        ({"model": ["claude-opus-4"]}, "claude-opus-4-6"),
        ({"tool": ["Bsh"]}, "Bash"),
        ({"state": ["endd"]}, "ended"),
        ({"type": ["toolcall"]}, "tool_call"),
        ({"mode": ["chatt"]}, "chat"),
        ({"file": ["dekc.py"]}, "deck.py"),
        ({"query": "agent:claud lamp"}, "claude-code"),
    ],
)
def test_a_value_that_fits_nothing_is_refused_with_near_names(library: Library, filters: dict[str, Any], near: str) -> None:
    error = library.refusal("sessions", **filters)
    assert error["code"] == "invalid_filter"
    assert near in error["details"]["did_you_mean"]
    assert near in error["message"]


def test_an_agent_that_has_no_session_yet_finds_nothing(library: Library) -> None:
    """It is a known name, so it is no mistake."""
    assert library.names(agent=["goose"]) == set()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"since": ["2026-02-30"]}, "invalid_filter"),
        ({"until": ["the other day or so"]}, "invalid_filter"),
        ({"limit": 0}, "invalid_request"),
        ({"limit": 201}, "invalid_request"),
        ({"sort": "size"}, "invalid_request"),
        ({"facets": ["colour"]}, "invalid_request"),
        ({"cursor": "abc"}, "invalid_cursor"),
        ({"nonsense": 1}, "invalid_request"),
        ({"agent": [""]}, "invalid_request"),
        ({"failed": "maybe"}, "invalid_request"),
    ],
)
def test_bad_arguments_are_refused(library: Library, arguments: dict[str, Any], code: str) -> None:
    assert library.refusal("sessions", **arguments)["code"] == code


# ---- fields


def test_every_field_of_a_session(library: Library) -> None:
    """L1, on a session whose log is known line by line."""
    session = library.session(ANCHOR)
    assert session["uuid"].replace("-", "") == session["id"].removeprefix("session:")
    expected = {
        "native_id": "aaaaaaaa-0001-4000-8000-000000000001",
        "agent": "claude-code",
        "project": "app",
        "folder": "/work/app",
        "branch": "main",
        "models": ["claude-sonnet-4-5"],
        "mode": "tool_calling",
        "started_at": "2026-02-01T00:00:01.000Z",
        "updated_at": "2026-02-01T00:00:08.000Z",
        "estimated_time": False,
        "duration_s": 7.0,
        "active_s": 7.0,
        "turns": 1,
        "events": 8,
        "tool_calls": 3,
        "errors": 1,
        "tokens": {"input": 40, "output": 20, "cache_read": 400, "cache_write": 0, "reasoning": 0, "total": 460},
        "state": "ended",
        "parent": None,
        "children": [],
        "files_changed": 1,
        "labels": [],
        "note": None,
        "outcome": "The deck has a rail now. Done.",
        "machine": socket.gethostname(),
    }
    assert {name: session[name] for name in expected} == expected
    assert session["path"].endswith("aaaaaaaa-0001-4000-8000-000000000001.jsonl")


def test_a_session_in_full(library: Library) -> None:
    answer = library.data("session", id=library.session(ANCHOR)["id"])
    (turn,) = answer["turns"]
    assert turn["prompt"] == f"Lift the {ANCHOR} for the {SHARED_WORD}"
    assert (turn["number"], turn["events"], turn["context_tokens"]) == (1, 8, 110)
    files = [(file["operation"], file["path"], file["lines_added"], file["lines_removed"]) for file in answer["files"]]
    assert files == [("read", "src/deck.py", None, None), ("changed", "src/deck.py", 2, 1)]


# ---- ids


def test_every_form_of_an_id_finds_the_session(library: Library) -> None:
    """L12."""
    session = library.session(DINGHY)
    native = session["native_id"]
    for form in (session["id"], session["uuid"], native, native[:20], session["id"][:14], session["uuid"][:9].upper()):
        assert library.data("session", id=form)["session"]["id"] == session["id"], form
    assert name_of(library.data("session", id="last")["session"]) == FATHOM


def test_unknown_and_ambiguous_ids_are_told_apart(library: Library) -> None:
    assert library.refusal("session", id="ffffffff-ffff-4fff-8fff-ffffffffffff")["code"] == "not_found"
    assert library.refusal("session", id="aaa")["code"] == "invalid_id"
    error = library.refusal("session", id="aaaaaaaa-000")
    assert error["code"] == "ambiguous_id"
    matches = {library.session(ANCHOR)["id"], library.session(BEACON)["id"]}
    assert set(error["details"]["matches"]) == matches


# ---- order and pages


@pytest.mark.parametrize("sort", ["updated", "started", "duration", "tokens", "events", "cost"])
def test_pages_visit_each_session_once_in_order(library: Library, sort: str) -> None:
    """L4."""
    for order in (sort, f"-{sort}"):
        seen, cursor = [], None
        while True:
            answer = library.ask("sessions", sort=order, limit=2, **({"cursor": cursor} if cursor else {}))
            seen += [session["id"] for session in answer["data"]["sessions"]]
            assert answer["page"]["total"] == len(NAMES)
            cursor = answer["page"]["next"]
            if cursor is None:
                break
        whole = [session["id"] for session in library.data("sessions", sort=order)["sessions"]]
        assert seen == whole and len(set(seen)) == len(NAMES)


def test_pages_visit_each_session_once_while_sessions_go_on_and_new_ones_come(own: tuple[Person, Library]) -> None:
    """L4: a session that goes on moves to the first place; whoever pages on must still find it."""
    person, library = own
    seen: list[str] = []
    answer = library.ask("sessions", limit=2)
    seen += map(name_of, answer["data"]["sessions"])
    assert seen == [FATHOM, ESTUARY]
    later = Claude("aaaaaaaa-0001-4000-8000-000000000001", "/work/app")
    today = {"timestamp": "2026-02-05T10:00:00.000Z"}
    append(person.claude_log(later.session), later.prompt("One more rail", **today), later.says("Added.", **today))
    between = Claude("cccccccc-0003-4000-8000-000000000003", "/work/yard")
    append(
        person.claude_log(between.session, "-work-yard"), between.says("Once more.", timestamp="2026-02-03T12:00:00.000Z")
    )
    new = Claude("eeeeeeee-0009-4000-8000-000000000009", "/work/app")
    write(person.claude_log(new.session), [new.prompt(f"a new {ANCHOR}", **today), new.says("Yes.", **today)])
    person.sync()
    while answer["page"]["next"]:
        answer = library.ask("sessions", limit=2, cursor=answer["page"]["next"])
        seen += map(name_of, answer["data"]["sessions"])
    assert seen == [FATHOM, ESTUARY, DINGHY, CUTTER, BEACON, ANCHOR]


def test_a_cursor_is_refused_with_other_filters(library: Library) -> None:
    cursor = library.ask("sessions", limit=1)["page"]["next"]
    assert library.refusal("sessions", limit=1, cursor=cursor, agent=["codex"])["code"] == "invalid_cursor"


# ---- facets


def test_facets_count_sessions(library: Library) -> None:
    names = ["agent", "project", "branch", "model", "mode", "state", "tool", "type", "label"]
    facets = library.data("sessions", facets=names)["facets"]
    counts = {name: {value["value"]: value["count"] for value in facets[name]} for name in names}
    assert counts["agent"] == {"claude-code": 3, "codex": 3}
    assert counts["project"] == {"app": 3, "yard": 2, "reef": 1}
    assert counts["branch"] == {"main": 4, "signals": 2}
    assert counts["model"] == {"claude-sonnet-4-5": 2, "claude-opus-4-6": 1, "gpt-5": 3}
    assert counts["mode"] == {"tool_calling": 4, "chat": 2}
    assert counts["state"] == {"ended": 6}
    assert counts["tool"]["Bash"] == 1
    assert counts["type"]["user_input"] == 6
    assert counts["label"] == {}


def test_a_facet_does_not_count_its_own_filter(library: Library) -> None:
    facets = library.data("sessions", facets=["agent", "project"], agent=["codex"])["facets"]
    assert {value["value"] for value in facets["agent"]} == {"claude-code", "codex"}, "the other agents can be chosen, too"
    assert {value["value"]: value["count"] for value in facets["project"]} == {"app": 1, "yard": 1, "reef": 1}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("The deck has a rail now.\n\nMore.", "The deck has a rail now."),
        ("**Done.**\n\nThe deck has a rail.", "Done. The deck has a rail."),
        ("# Summary of the changes:\n\n- The deck has a rail\n- Other", "Summary of the changes: The deck has a rail"),
        ("| a | b |\n|---|---|\nBoth columns are the same.", "Both columns are the same."),
        ("Yes", "Yes"),
        ("\n", None),
    ],
)
def test_an_outcome_says_something(answer: str, outcome: str | None) -> None:
    assert outcome_of(answer) == outcome
