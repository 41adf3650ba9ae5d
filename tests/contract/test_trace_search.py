"""search_event_previews: exactly the events that contain a string, in order, page by page (A1 to A16).

Every test runs twice: with a scan of all events, and with an index of most of them.
"""

import string
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.trace_archive import (
    EVERYWHERE,
    EVERYWHERE_TYPES,
    GULLS,
    IDENTIFIERS,
    LEDGER_OUTPUT,
    LEDGER_THOUGHTS,
    NESTED,
    QUOTED,
    SIGN_TEXTS,
    WORST,
    gulls,
    serve_archive,
    serve_indexed_archive,
)
from tests.contract.trace_client import EVENT_TYPES, HINT, KB, Answer, Trace, compact, connect_trace, place, size, texts_in
from tests.logs import Claude, write

pytestmark = pytest.mark.process

SEARCH = "search_event_previews"
PREVIEW, PAGE = 300, 15 * KB  # characters of a preview, bytes of ten matches


@pytest.fixture(scope="module", params=[serve_archive, serve_indexed_archive], ids=["scanned", "indexed"])
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with request.param(tmp_path_factory.mktemp("trace")) as client:
        yield client


# ---- matches


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    """Every event of the home, opened one by one. The same logs have the same ids in every home."""
    with serve_archive(tmp_path_factory.mktemp("everything")) as trace:
        return [event for title in trace.ids for event in trace.every_event(title)]


def contains(event: Answer, query: str) -> bool:
    """Whether a string is in an event's text, its tool's name, its arguments as JSON or any text in them."""
    payload = event["payload"]
    texts = [payload.get("output", payload.get("text", ""))]
    if event["event_type"] == "tool_call":
        texts = [payload["name"], compact(payload["arguments"]), *texts_in(payload["arguments"])]
    return any(query.casefold() in text.casefold() for text in texts)


QUERIES = {
    "a word, in any case": ["marlinspike", "MARLINSPIKE", "MarLinSpike"],
    "parts of words": ["serName", "SERNAME", "_FAIL", "h_f", "rlinsp", "getUserName()", ".10.", "TCHUSERN"],
    "what JSON escapes": [
        QUOTED, 'say "belay', '\\"that\\""\n\tgrep', 'b$" C:\\temp\\new', "\\temp", "\\\\", '\\\\\\"', "\\n\\t",
        'first line\nsecond "line"', "first line\\nsecond", NESTED["edits"][0]["old"], 'a "key"\n', '"new":["tab', "42,1.5,null,true",
    ],
    "one character": ["e", "Z", "0", "败", "鐘", "🎉", "ß", "ı", "é", "\u0301", *string.punctuation],
    "two characters": ["ss", "er", "失败", "🎉🎊", "🇳🇱", "?.", "()", '{"', "\\\\", "^&", "a_", "{}"],
    "folded": ["straße", "STRASSE", "groß", "GROSS", "İ", "i̇stanbul", "ISPARTA", "ΟΔΟΣ", "οδος", "ﬁne", "office", "OﬃCE"],
    "other scripts": ["数据库迁移失败，请", "データ", "마이그레이션", "ترحيل", "👩‍👩‍👧‍👦", "\u200d", "cafe\u0301", "caf\u00e9"],
    "control characters": ["\x07", "\x1b[31m", "\x00", "nul\x00 unit", "\x7f", "\x9b"],
    "blanks at the edges": ["  blanks", "edges  ", " the ", "   at   the   ", "\tgrep", "says:\n"],
    "expressions": ["a.c", "a_b", "100%", "%x%", "\\d+", "[x]", "(y|z)", "{1,2}", "^start", "end$"],
    "queries of engines": [
        "SELECT * FROM", "'; -- DROP TABLE", "LIKE '%", 'title:"exact phrase"', "AND (body^2", "-not) +must", "fuzzy~1",
        "[a TO b]", "\\*", "NOT", '"', "+", "--",
    ],
    "only signs": [*SIGN_TEXTS[4:5], "!:;,-_/\\|()[]{}<>", "$%^&+=~`", "'\""],
    "long texts": [
        "anchorfirst", "anchormiddle", "anchorlast", "nothing to report\nanchormiddle\nall", LEDGER_OUTPUT[1_900:2_120],
        LEDGER_OUTPUT[30:3_000], LEDGER_OUTPUT[-200:], LEDGER_THOUGHTS[0], "y" * 501,
    ],
    "what programs say": ["tokens: input 600", "turn complete", "<system-reminder>", "interrupted by user", "isSidechain", "null"],
    "what nothing holds": [
        "no such words anywhere", "marlinspikes", "x" * 4_096, "y" * 502, "\x02", "猫", "…", "m?r", "e|f", ".*", "text:*", "*:*",
        "IN [", "' OR '1'='1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("queries", QUERIES.values(), ids=QUERIES)
def test_a_search_finds_exactly_the_events_that_contain_the_string(
    trace: Trace, everything: list[Answer], queries: list[str]
) -> None:
    for query in queries:
        expected = {place(event) for event in everything if contains(event, query)}
        matches = trace.places(query)
        assert len(matches) == len(set(matches))
        assert set(matches) == expected, query


def test_the_example_queries_find_their_events(everything: list[Answer]) -> None:
    queries_with_events = {
        kind: [query for query in queries if any(contains(event, query) for event in everything)]
        for kind, queries in QUERIES.items()
    }
    assert queries_with_events == {**QUERIES, "what nothing holds": []}


def test_a_string_is_found_in_any_event_and_field(trace: Trace) -> None:
    """A1."""
    matches = trace.matches("marlinspike")
    assert [match["event_type"] for match in matches] == EVERYWHERE_TYPES
    assert [match["event_index"] for match in matches] == [*range(len(EVERYWHERE_TYPES))]
    assert {match["session_id"] for match in matches} == {trace.ids[EVERYWHERE]}


def test_a_match_has_the_fields_of_the_contract(trace: Trace) -> None:
    for match in trace.matches("e", limit=50):
        assert list(match) == ["session_id", "event_index", "timestamp", "event_type", "preview"]
        assert match["event_type"] in EVENT_TYPES
        datetime.fromisoformat(match["timestamp"])


def test_every_match_opens(trace: Trace) -> None:
    """A16."""
    for query in ("e", "marlinspike", "gull", "🎉"):
        for match in trace.matches(query, limit=50):
            event = trace.data("get_event_details", session_id=match["session_id"], event_index=match["event_index"])
            assert {name: event[name] for name in match if name != "preview"} == {
                name: match[name] for name in match if name != "preview"
            }
            assert contains(event, query)


def test_nothing_found_is_a_success(trace: Trace) -> None:
    """A14."""
    answer = trace.answer(SEARCH, query="no such words anywhere")
    assert answer["data"] == {"matches": []}
    assert answer["pagination"] == {"total_in_page": 0, "next_cursor": None, "has_more": False}
    assert "warnings" not in answer


def test_the_hint_names_an_existing_tool(trace: Trace) -> None:
    """A15."""
    tools = {tool.name for tool in trace.portal.call(trace.client.list_tools).tools}
    hint = trace.answer(SEARCH, query="gull")["hint"]
    assert hint == HINT
    assert hint.removeprefix("Use ").partition("(")[0] in tools


# ---- order and pages


def test_the_newest_session_comes_first_and_its_events_are_in_order(trace: Trace) -> None:
    places = trace.places("e")
    sessions = [session for session, _ in groupby(places, key=lambda one: one[0])]
    assert len(sessions) == len(set(sessions)), "the matches of a session are adjacent"
    assert all(index < later for (one, index), (other, later) in pairwise(places) if one == other)
    begun = [trace.data("get_session_details", session_id=session)["start_time"] for session in sessions]
    assert begun == sorted(begun, reverse=True)


@pytest.mark.parametrize("limit", [1, 2, 7, 22, 23, 24])
def test_pages_show_every_match_once(trace: Trace, limit: int) -> None:
    """A4, A5."""
    pages = trace.pages("gull", limit=limit)
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert 0 < len(pages[-1]) <= limit
    assert [place(match) for page in pages for match in page] == trace.places("gull")
    assert sum(map(len, pages)) == GULLS


def test_the_first_page_has_ten_matches(trace: Trace) -> None:
    """A2."""
    answer = trace.answer(SEARCH, query="gull")
    assert answer["pagination"]["total_in_page"] == len(answer["data"]["matches"]) == 10
    assert answer == trace.answer(SEARCH, query="gull", limit=None)


def test_the_next_page_may_have_another_size_and_another_spelling_of_its_filters(trace: Trace) -> None:
    session = trace.ids["Feed the GULL of pier 1"]
    filters = {"query": "gull", "provider": "claude-code", "event_type": "message", "session_id": session}
    first = trace.answer(SEARCH, **filters, limit=1)
    respelled = {**filters, "event_type": "Message", "session_id": session[:7].upper()}
    rest = trace.answer(SEARCH, **respelled, limit=50, cursor=first["pagination"]["next_cursor"])
    both = [*first["data"]["matches"], *rest["data"]["matches"]]
    assert both == trace.matches(**filters, limit=50)


def test_a_session_that_arrives_between_pages_moves_no_match(person: Person) -> None:
    """A4: neither a newer nor an older session makes another match appear twice or not at all."""

    def write_gulls(number: int) -> None:
        log = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 1_000)
        write(person.claude_log(log.session), gulls(number, 3)(log))
        person.sync()

    for number in range(10, 15):
        write_gulls(number)
    with connect_trace(person) as trace:
        before = trace.places("gull")
        matches, cursor, newer, older = [], dict[str, Any](), iter(range(20, 40)), iter(range(9, 0, -1))
        while True:
            answer = trace.answer(SEARCH, query="gull", limit=2, **cursor)
            matches += [place(match) for match in answer["data"]["matches"]]
            if not answer["pagination"]["has_more"]:
                break
            cursor = {"cursor": answer["pagination"]["next_cursor"]}
            write_gulls(next(newer))
            if len(matches) == 8:
                write_gulls(next(older))
    assert matches[: len(before)] == before
    assert len(matches) == len(set(matches)) == len(before) + 3, "with the matches of the older session at the end"


# ---- filters


@pytest.mark.parametrize("event_type", EVENT_TYPES)
def test_an_event_type_may_have_either_spelling(trace: Trace, everything: list[Answer], event_type: str) -> None:
    """A9, A10."""
    query = "o"
    expected = {place(event) for event in everything if event["event_type"] == event_type and contains(event, query)}
    assert expected
    camel = "".join(part.capitalize() for part in event_type.split("_"))
    for spelling in (event_type, camel):
        assert set(trace.places(query, event_type=spelling)) == expected


def test_a_provider_is_a_filter(trace: Trace) -> None:
    """A8: also a provider without sessions here."""
    of = {name: trace.places("gull", provider=name) for name in ("claude-code", "codex", "aider")}
    assert (len(of["claude-code"]), len(of["codex"]), len(of["aider"])) == (GULLS - 2, 2, 0)
    assert sorted(of["claude-code"] + of["codex"]) == sorted(trace.places("gull"))


def test_a_session_may_be_given_by_its_id_or_a_prefix(trace: Trace) -> None:
    """A11."""
    session = trace.ids[IDENTIFIERS]
    expected = [match for match in trace.places("e") if match[0] == session]
    assert expected
    for name in (session, session[:8], session.upper()):
        assert trace.places("e", session_id=name) == expected


def test_filters_are_combined(trace: Trace) -> None:
    session = trace.ids[EVERYWHERE]
    filters = {"session_id": session, "provider": "claude-code", "event_type": "tool_call"}
    assert trace.places("marlinspike", **filters) == [(session, 2), (session, 7)]
    assert trace.places("marlinspike", **{**filters, "provider": "codex"}) == []


# ---- previews


def test_a_preview_is_short_and_shows_the_match(trace: Trace) -> None:
    """A12: in any script, at any place of a text of any length."""
    queries = [query for queries in QUERIES.values() for query in queries if len(query) <= 200]
    for query in [*queries, *WORST, *(word + sign * 180 for word, sign in WORST.items() if len(sign) == 1)]:
        for match in trace.matches(query):
            assert isinstance(match["preview"], str)
            assert len(match["preview"]) <= PREVIEW
            assert query.casefold() in match["preview"].casefold(), query


def test_a_match_at_the_end_of_a_text_with_many_bytes_is_shown(person: Person) -> None:
    """A12: also if the text is short enough in characters, but not in bytes."""
    log = Claude()
    before, after = "\x01", "\x02"
    texts = [before * count + "knell" + after * count for count in (100, 140, 147, 148, 250, 1_000)]
    write(person.claude_log(log.session), [log.prompt("Ring"), *(log.says(text) for text in texts)])
    person.sync()
    with connect_trace(person) as trace:
        for lead, rest in ((0, 0), (0, 100), (100, 0), (97, 98)):
            query = before * lead + "knell" + after * rest
            answer = trace.answer(SEARCH, query=query)
            assert len(answer["data"]["matches"]) == len(texts)
            assert all(query in match["preview"] for match in answer["data"]["matches"])


def test_a_match_after_letters_that_grow_in_case_folding_is_shown(person: Person) -> None:
    """A12."""
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("Take a sight"), log.says("ß" * 900 + "Sextant" + "ﬃ" * 900)])
    person.sync()
    with connect_trace(person) as trace:
        previews = {query: trace.matches(query)[0]["preview"] for query in ("sextant", "ssSEXTANTff", "ffiffi")}
    assert all(query.casefold() in preview.casefold() for query, preview in previews.items())
    assert previews["sextant"].startswith("…ßßß") and previews["sextant"].endswith("ﬃﬃ…")


@pytest.mark.parametrize("word", WORST)
def test_a_page_of_ten_is_small_in_any_script(trace: Trace, word: str) -> None:
    """A13."""
    answer = trace.answer(SEARCH, query=word)
    assert len(answer["data"]["matches"]) == 10
    assert answer["pagination"]["has_more"]
    assert size(answer) <= PAGE
