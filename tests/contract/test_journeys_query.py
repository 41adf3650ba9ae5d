"""query_journey_history: the sessions of one journey, found by words and dates, in a stable order."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from tests.conftest import Person
from tests.contract.history_client import text_of
from tests.contract.journeys_client import (
    DECK,
    NOBODY,
    ROPE,
    SAIL,
    USER,
    VOYAGE,
    WINCH,
    Journeys,
    as_reference,
    as_uuid,
    connect_journeys,
    connect_voyage,
    sync_voyage,
    write_session,
)

pytestmark = pytest.mark.process

NEWEST_FIRST = [DECK, ROPE, SAIL, WINCH]


class Voyage:
    """A journey with the voyage; finds its sessions and gives their titles."""

    def __init__(self, person: Person, journeys: Journeys, journey: str, ids: dict[str, str]) -> None:
        self.person, self.journeys, self.journey, self.ids = person, journeys, journey, ids
        self.titles = {session: title for title, session in ids.items()}

    def titles_found(self, **more: Any) -> list[str]:
        return [self.titles[row["session_id"]] for row in self.journeys.session_rows(self.journey, **more)]

    def refusal(self, **more: Any) -> tuple[int, str]:
        return self.journeys.refusal("query_journey_history", {"journey_id": self.journey, **more})


@pytest.fixture(scope="module")
def voyage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Voyage]:
    person = Person(tmp_path_factory.mktemp("voyage"))
    with connect_voyage(person) as (journeys, journey, ids):
        yield Voyage(person, journeys, journey, ids)


def test_without_a_query_the_newest_session_comes_first(voyage: Voyage) -> None:
    """J10. Every row has all its keys."""
    body = voyage.journeys.query(voyage.journey)
    assert list(body) == ["journey_id", "sessions", "total_results"]
    assert (body["journey_id"], body["total_results"]) == (voyage.journey, 4)
    assert voyage.titles_found() == NEWEST_FIRST
    assert [row["created_at"] for row in body["sessions"]] == sorted((at for at, _, _ in VOYAGE), reverse=True)
    for row in body["sessions"]:
        assert list(row) == ["session_id", "created_at", "summary", "has_diagnosis", "relevance_score"]
        assert (row["relevance_score"], row["has_diagnosis"]) == (0.0, False)
        assert row["summary"]


@pytest.mark.parametrize("blank", ["", "   ", None])
def test_a_blank_query_is_ignored(voyage: Voyage, blank: str | None) -> None:
    assert voyage.journeys.query(voyage.journey, query=blank) == voyage.journeys.query(voyage.journey)


# ---- words


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("mainsail", [SAIL]),
        ("MAINSAIL", [SAIL]),
        ("decks", [DECK]),
        ("caulking", [DECK]),
        ("spliced", [ROPE]),
        ("waxed", [SAIL]),
        ("mainsail deck", {SAIL, DECK}),
        ('"anchor rope"', [ROPE]),
        ('"rope anchor"', []),
        ("what about the mainsail?", [SAIL]),
        ("hovercraft", []),
        ("???", []),
        ("the", {*NEWEST_FIRST}),
    ],
)
def test_words_find_exactly_the_sessions_with_them_in_their_summary(voyage: Voyage, query: str, titles: Any) -> None:
    """J8: stemmed, in any case, any of several words; quoted words must occur as a phrase."""
    found = voyage.titles_found(query=query)
    assert (set(found) if isinstance(titles, set) else found) == titles
    assert voyage.journeys.query(voyage.journey, query=query)["total_results"] == len(titles)


def test_the_best_match_comes_first_and_the_newest_of_equal_matches(voyage: Voyage) -> None:
    """J9, J19: a score above 0 and up to 1; more matches score more, equal summaries score the same."""
    rows = voyage.journeys.session_rows(voyage.journey, query="anchor")
    assert [voyage.titles[row["session_id"]] for row in rows] == [ROPE, WINCH]
    scores = [row["relevance_score"] for row in rows]
    assert 0 < scores[1] < scores[0] <= 1
    both = voyage.journeys.session_rows(voyage.journey, query="winch freely")[0]
    one = voyage.journeys.session_rows(voyage.journey, query="winch")[0]
    assert both["relevance_score"] > one["relevance_score"]


def test_equal_summaries_score_the_same_and_are_in_order_of_their_dates(person: Person) -> None:
    """J9, J19: also across journeys; a word that every summary has still counts."""
    for number in range(1, 7):
        write_session(person, number, f"2026-01-{number:02d}T00:00:00Z", "Polish the brass bell", "It shines.")
    person.sync()
    with connect_journeys(person) as journeys:
        first, second = journeys.create_journey(), journeys.create_journey()
        sessions = [listed["id"] for listed in journeys.sessions(sort="asc")]
        for place, session in enumerate(sessions):
            journeys.link((first, second)[place % 2], as_uuid(session))
        rows = journeys.session_rows(first, query="brass"), journeys.session_rows(second, query="brass")
    (score,) = {row["relevance_score"] for half in rows for row in half}
    assert 0 < score <= 1
    for half in rows:
        dates = [row["created_at"] for row in half]
        assert dates == sorted(dates, reverse=True)
        assert len(dates) == 3


@pytest.fixture(scope="module")
def realm(voyage: Voyage) -> LiveRealm:
    """The same store, opened in this process."""
    return LiveRealm(voyage.person.settings())


@given(query=st.text(max_size=60) | st.text("\" '*():^-+ORANDT{}", max_size=30))
@effort(max_examples=150, deadline=None)
def test_any_query_is_answered(voyage: Voyage, realm: LiveRealm, query: str) -> None:
    """The engine uses only the words of a query, never its operators."""
    arguments = {"journey_id": voyage.journey, "query": query}
    reply = OPERATIONS["query_journey_history"].run(realm, arguments, RequestContext.now())
    assert not reply.is_error, reply.text
    body = json.loads(reply.text)
    assert len(body["sessions"]) == body["total_results"]


# ---- dates

FIRST, LAST = VOYAGE[2][0], VOYAGE[3][0]  # one millisecond apart


@pytest.mark.parametrize(
    ("dates", "titles"),
    [
        ({"from_date": FIRST, "to_date": LAST}, [DECK, ROPE]),
        ({"from_date": "2026-01-10T09:00:00Z", "to_date": FIRST}, [ROPE, SAIL, WINCH]),
        ({"from_date": "2026-01-19T23:59:59.999001Z", "to_date": LAST}, [DECK]),
        ({"from_date": FIRST, "to_date": "2026-01-19T23:59:59.999999Z"}, [ROPE]),
        ({"from_date": "2026-01-20T01:00:00+01:00"}, [DECK]),
        ({"from_date": LAST}, [DECK]),
        ({"from_date": "2026-01-15T09:00:00Z"}, [DECK, ROPE, SAIL]),
        ({"to_date": "2026-01-10T09:00:00Z"}, [WINCH]),
        ({"to_date": "2026-01-10T08:59:59.999999Z"}, []),
        ({"from_date": "1969-07-20T20:17:40Z", "to_date": "9999-12-31T23:59:59.999999Z"}, NEWEST_FIRST),
        ({"from_date": "0001-01-01T00:00:00Z"}, NEWEST_FIRST),
        ({"from_date": None, "to_date": None}, NEWEST_FIRST),
        ({"from_date": FIRST, "query": "anchor deck"}, {DECK, ROPE}),
    ],
)
def test_a_range_includes_both_its_ends_to_the_microsecond(voyage: Voyage, dates: dict[str, Any], titles: Any) -> None:
    """J11, J13: either end may be missing."""
    found = voyage.titles_found(**dates)
    assert (set(found) if isinstance(titles, set) else found) == titles
    assert voyage.journeys.query(voyage.journey, **dates)["total_results"] == len(titles)


@pytest.mark.parametrize(
    ("from_date", "to_date"), [(LAST, FIRST), (FIRST, FIRST), ("2026-01-20T01:00:00+01:00", "2026-01-20T00:00:00Z")]
)
def test_a_range_that_does_not_go_forward_is_refused(voyage: Voyage, from_date: str, to_date: str) -> None:
    """J12."""
    assert voyage.refusal(from_date=from_date, to_date=to_date) == (400, "from_date must be before to_date")


@pytest.mark.parametrize("field", ["from_date", "to_date"])
@pytest.mark.parametrize(
    "bad", ["", "yesterday", "2026-01-20", "2026-01-20T00:00:00", "2026-13-01T00:00:00Z", 1768867200, True, []]
)
def test_the_error_for_an_invalid_date_names_its_argument(voyage: Voyage, field: str, bad: Any) -> None:
    code, message = voyage.refusal(**{field: bad})
    assert (code, message.split()[0]) == (400, field)


# ---- limits


def test_ten_are_shown_by_default_and_all_are_counted(person: Person) -> None:
    """J14, J15."""
    for number in range(1, 13):
        write_session(person, number, f"2026-01-01T00:00:{number:02d}Z", f"Count lantern {number}", "Counted.")
    person.sync()
    with connect_journeys(person) as journeys:
        journey = journeys.create_journey()
        for session in journeys.session_ids().values():
            journeys.link(journey, session)
        for more in ({}, {"query": "lantern"}):
            for limit, shown in ((None, 10), (1, 1), (11, 11), (100, 12)):
                body = journeys.query(journey, limit=limit, **more)
                assert (len(body["sessions"]), body["total_results"]) == (shown, 12)
            whole = journeys.session_rows(journey, limit=100, **more)
            assert journeys.session_rows(journey, limit=5, **more) == whole[:5], "a limit never changes the order"


@pytest.mark.parametrize("limit", [0, 101, -1, 2.5, "5", True, [], 10**30])
def test_a_limit_out_of_range_is_refused(voyage: Voyage, limit: Any) -> None:
    """J14."""
    assert voyage.refusal(limit=limit) == (400, "limit must be an integer from 1 to 100")


# ---- refusals


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"journey_id": NOBODY}, (404, f"Journey {NOBODY} not found")),
        ({"journey_id": NOBODY.replace("4", "A")}, (404, f"Journey {NOBODY.replace('4', 'A')} not found")),
        ({"journey_id": "x"}, (400, "journey_id must be a UUID")),
        ({}, (400, "journey_id must be a UUID")),
        ({"journey_id": None}, (400, "journey_id must be a UUID")),
        ({"journey_id": NOBODY, "limit": 0}, (400, "limit must be an integer from 1 to 100")),
        ({"journey_id": NOBODY, "query": 7}, (400, "query must be a string")),
        ({"journey_id": NOBODY, "query": "x" * 4_097}, (400, "query must be at most 4,096 characters")),
        ({"journey_id": NOBODY, "include_documents": "yes"}, (400, "include_documents must be true or false")),
        ({"journey_id": NOBODY, "include_documents": 1}, (400, "include_documents must be true or false")),
    ],
)
def test_a_bad_request_is_refused_before_an_unknown_journey(voyage: Voyage, arguments: Any, refusal: Any) -> None:
    """J16."""
    assert voyage.journeys.refusal("query_journey_history", arguments) == refusal


def test_the_id_of_a_session_is_not_the_id_of_a_journey(voyage: Voyage) -> None:
    session = voyage.ids[DECK]
    assert voyage.journeys.refusal("query_journey_history", {"journey_id": session}) == (404, f"Journey {session} not found")


# ---- other journeys, other families


def test_the_sessions_of_another_journey_never_appear(voyage: Voyage) -> None:
    """J20."""
    other = voyage.journeys.create_journey()
    voyage.journeys.add(voyage.journey, title="Not theirs")
    for more in ({}, {"query": "anchor"}, {"from_date": FIRST, "include_documents": True}):
        body = voyage.journeys.query(other, **more)
        assert (body["sessions"], body["total_results"], body.get("documents", [])) == ([], 0, [])


def test_a_session_of_a_journey_opens_in_the_history(voyage: Voyage) -> None:
    """J29: its id is the session's own, in this family's form."""
    for row in voyage.journeys.session_rows(voyage.journey):
        session = voyage.journeys.open(as_reference(row["session_id"]))["session"]
        assert session["title"] == voyage.titles[row["session_id"]]
        assert session["started_at"] == row["created_at"]
    details = voyage.journeys.result("get_session_details", {"session_id": voyage.ids[DECK]})
    assert not details.is_error
    assert DECK in text_of(details)


def test_a_session_stays_when_its_log_is_deleted(person: Person) -> None:
    """J30."""
    sync_voyage(person)
    with connect_journeys(person) as journeys:
        journey = journeys.create_journey(USER)
        for session in journeys.session_ids().values():
            journeys.link(journey, session)
        before = journeys.query(journey)
        for log in person.home.rglob("*.jsonl"):
            log.unlink()
        person.run("sync")
        assert journeys.query(journey) == before
        assert len(journeys.session_rows(journey, query="anchor")) == 2
