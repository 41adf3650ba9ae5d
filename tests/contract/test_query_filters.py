"""Filters inside the query of `search_sessions`: they filter, and an ordinary query finds what it always found (L2, L3)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.filters import KEYS
from recollect.index.filters import Filters
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.library.event_filters import read_filters
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
    fill,
)

FOUND = {  # filters in a query for a word that every prompt has, and the sessions that they leave
    "agent:codex": {DINGHY, ESTUARY, FATHOM},
    "-agent:codex": {ANCHOR, BEACON, CUTTER},
    "project:app -branch:main": {BEACON},
    "model:opus*": {BEACON},
    "file:*.go": {DINGHY},
    "failed:true": {ANCHOR, ESTUARY},
    "since:2026-02-02 until:2026-02-04": {DINGHY, ESTUARY},
    "project:yard agent:codex": {ESTUARY},
    "state:working": set(),
}
ASKED = Filters(kinds=(1, 2), session=None)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> LiveRealm:
    person = Person(tmp_path_factory.mktemp("queries"))
    fill(person)
    return LiveRealm(person.settings())


def envelope(realm: LiveRealm, query: str, **more: Any) -> Any:
    arguments = {"query": query, "n_hits": 50, **more}
    return json.loads(OPERATIONS["search_sessions"].run(realm, arguments, RequestContext.now()).text)


def hits(realm: LiveRealm, query: str, **more: Any) -> list[Any]:
    results: list[Any] = envelope(realm, query, **more)["data"]["results"]
    return results


def names(results: list[Any]) -> set[str]:
    return {name for name in NAMES for hit in results if name in hit["session"]["title"]}


@pytest.mark.parametrize("filters", FOUND)
def test_a_filter_in_a_query_limits_the_sessions(realm: LiveRealm, filters: str) -> None:
    assert names(hits(realm, f"{filters} {SHARED_WORD}")) == FOUND[filters]
    assert names(hits(realm, f"{SHARED_WORD} {filters}")) == FOUND[filters]


def test_the_request_is_repeated_with_its_filters(realm: LiveRealm) -> None:
    query = f"agent:codex  {SHARED_WORD}"
    assert envelope(realm, query)["request"]["query"] == query


def test_a_filter_by_type_or_tool_finds_only_such_events(realm: LiveRealm) -> None:
    assert {hit["event"]["type"] for hit in hits(realm, "wind type:reasoning")} == {"reasoning"}
    assert hits(realm, "wind type:reasoning", event_types=["user_input"]) == []
    (hit,) = hits(realm, "failed rail tool:Bash")
    assert (hit["event"]["type"], names([hit])) == ("tool_response", {ANCHOR})
    assert hits(realm, "failed rail tool:Edit") == []


def test_a_filter_and_a_scope_must_both_fit(realm: LiveRealm) -> None:
    session = hits(realm, DINGHY)[0]["session"]["id"]
    assert names(hits(realm, f"{SHARED_WORD} agent:codex", within_id=session)) == {DINGHY}
    assert hits(realm, f"{SHARED_WORD} agent:claude-code", within_id=session) == []


def test_a_value_with_near_names_is_an_invalid_request(realm: LiveRealm) -> None:
    error = envelope(realm, "agent:claude tide")["error"]
    assert (error["code"], error["details"]["did_you_mean"][0]) == ("invalid_request", "claude-code")
    assert 'quote it: "agent:claude"' in error["message"]
    assert "error" not in envelope(realm, '"agent:claude" tide')


def test_an_id_in_a_query_that_is_ambiguous_is_an_invalid_request(realm: LiveRealm) -> None:
    error = envelope(realm, f"in:aaaaaaaa {SHARED_WORD}")["error"]
    assert (error["code"], len(error["details"]["matches"])) == ("invalid_request", 2)


def test_a_query_of_filters_alone_tells_what_it_lacks(realm: LiveRealm) -> None:
    answer = envelope(realm, "agent:codex")
    assert answer["data"]["result_count"] == 0
    assert any("no words to find" in warning for warning in answer["warnings"])


# ---- ordinary queries

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
keys = st.sampled_from(["std", "error", "https", "foo", "Agents", "agent_", "types", "x"]) | st.from_regex(
    r"[a-z]{2,6}", fullmatch=True
)
ordinary_words = (
    words.filter(lambda text: ":" not in text)
    | st.tuples(keys.filter(lambda key: key.lower() not in KEYS), words).map(":".join)
    | st.sampled_from(KEYS).map("{}:".format)  # a known key without a value
    | st.sampled_from(
        ["file://a/b", "std::vector", "project::x", "failed", "-failed", "type:loading", "mode:dark", "state:open"]
    )
)
queries = st.lists(ordinary_words, min_size=1, max_size=5).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(query=queries)
def test_a_query_without_filters_is_searched_to_the_letter(realm: LiveRealm, query: str) -> None:
    with realm.open_archive() as reader:
        asked = read_filters(realm, reader, query, ASKED, lambda: None)
    assert (asked.text, asked.filters, asked.tools, asked.notes) == (query, ASKED, None, ())


@pytest.mark.parametrize(
    "query", ["agent:zzqqzzqq the  tide", "tide  branch:zzqqzzqq", "in:zzqqzzqq tide", "since:forever tide"]
)
def test_a_word_that_only_looks_like_a_filter_is_text(realm: LiveRealm, query: str) -> None:
    """Nothing is called so, and nothing has a similar name."""
    with realm.open_archive() as reader:
        asked = read_filters(realm, reader, query, ASKED, lambda: None)
    assert (asked.text, asked.filters) == (query, ASKED)
