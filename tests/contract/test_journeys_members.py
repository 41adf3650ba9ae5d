"""The sessions of a journey: their summaries are up to date, and nothing of a removed session is shown."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from recollect.distil import distil
from recollect.live import LiveRealm
from recollect.operations.journeys.members import refresh_summaries
from recollect.operations.journeys.session_summary import compose_summary
from recollect.store import archive_path
from recollect.store.journeys import DateRange
from recollect.store.journeys import Journeys as Stored
from recollect.store.memory import Memory
from tests.conftest import Person
from tests.contract.journeys_client import (
    DECK,
    NOBODY,
    SAIL,
    USER,
    WINCH,
    Journeys,
    as_reference,
    connect_journeys,
    connect_voyage,
    sync_voyage,
    tool_answer,
    tool_call,
    write_session,
)
from tests.contract.memory_archive import tokens
from tests.contract.memory_client import on_day
from tests.logs import Claude, append, write

pytestmark = pytest.mark.process

AT = "2026-01-10T09:00:00Z"
LONGEST = 600


def grow(person: Person, number: int, *texts: str) -> None:
    """Add prompts and answers to a session, in turn."""
    log = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 100 + 50)
    lines = [log.says(text) if place % 2 else log.prompt(text) for place, text in enumerate(texts)]
    append(person.claude_log(log.session), *on_day("2026-03-01", lines))


def run_distil(person: Person) -> None:
    assert distil(person.realm, person.settings(), person.env, lambda: False)


@pytest.fixture
def journeys(person: Person) -> Iterator[Journeys]:
    with connect_journeys(sync_voyage(person)) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journeys]:
    """A server for tests that only link sessions, with one session for each of OBSERVED beside the voyage."""
    person = Person(tmp_path_factory.mktemp("shared"))
    for number in range(len(OBSERVED)):
        write_session(person, 10 + number, AT, f"Mend pump {number}", "Mended.")
    with connect_journeys(sync_voyage(person)) as client:
        yield client


# ---- linking


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"journey_id": NOBODY}, (404, f"Journey {NOBODY} not found")),
        ({"session_id": NOBODY}, (404, f"Session {NOBODY} not found")),
        ({"journey_id": NOBODY, "session_id": NOBODY}, (404, f"Journey {NOBODY} not found")),
        ({"journey_id": "x"}, (400, "journey_id must be a UUID")),
        ({"session_id": "session:00"}, (400, "session_id must be a UUID")),
        ({"session_id": None}, (400, "session_id must be a UUID")),
        ({"session_id": NOBODY, "summary": 7}, (400, "summary must be a string")),
        ({"session_id": NOBODY, "summary": "x" * 10_001}, (400, "summary must be at most 10,000 characters")),
        ({"session_id": NOBODY, "diagnosis": 7}, (400, "diagnosis must be a string or a boolean")),
        ({"session_id": NOBODY, "diagnosis": ["x"]}, (400, "diagnosis must be a string or a boolean")),
    ],
)
def test_the_error_of_a_link_says_what_is_wrong(shared: Journeys, arguments: Any, refusal: Any) -> None:
    known = {"journey_id": shared.create_journey(USER), "session_id": shared.session_ids()[DECK]}
    assert shared.refusal("link_session_to_journey", {**known, **arguments}) == refusal
    assert shared.session_rows(known["journey_id"]) == []


def test_a_session_is_in_one_journey_at_a_time(shared: Journeys) -> None:
    first, second, session = shared.create_journey(), shared.create_journey(), shared.session_ids()[DECK]
    for journey, other_journey in ((first, second), (second, first), (second, first)):
        shared.link(journey, session)
        assert [row["session_id"] for row in shared.session_rows(journey, query="deck")] == [session]
        assert shared.query(other_journey, query="deck")["total_results"] == 0


def test_a_session_that_many_processes_link_at_once_is_in_one_journey(person: Person, journeys: Journeys) -> None:
    goals, session = [journeys.create_journey() for _ in range(4)], journeys.session_ids()[DECK]
    with ExitStack() as stack:
        clients = [stack.enter_context(person.mcp()) for _ in goals]
        for number in range(10):
            for client, goal in zip(clients, goals, strict=True):
                client.say(tool_call("link_session_to_journey", number, journey_id=goal, session_id=session))
        for client in clients:
            for _ in range(10):
                tool_answer(client)
    assert sum(journeys.query(goal)["total_results"] for goal in goals) == 1
    assert sum(journeys.query(goal, query="deck")["total_results"] for goal in goals) == 1


# ---- summaries


def test_a_summary_has_title_request_change_and_end_in_one_line(person: Person) -> None:
    log = Claude(cwd="/work/api")
    write(person.claude_log(log.session), tokens(log))
    person.sync()
    run_distil(person)
    with connect_journeys(person) as journeys:
        journey, (session,) = journeys.create_journey(), journeys.session_ids().values()
        journeys.link(journey, session)
        (row,) = journeys.session_rows(journey)
    assert row["summary"] == (
        "Add JWT authentication to the API, and decide how long access tokens live. Changed: auth.ts, jwt.ts; Use JWT "
        "instead of server sessions; ERR_AUTH_FAILED was caused by clock skew between the hosts. Ended: Refresh tokens "
        "rotate: each is used once, and reuse of an old one ends the whole family of tokens."
    )


@pytest.mark.parametrize(
    ("title", "prompt", "files", "titles", "end", "line"),
    [
        ("Sew it", "sew it", [], [], "Sewn.", "sew it. Ended: Sewn."),
        ("Sails", "Sew it\nnow, please!", [], [], "Sewn.", "Sails. Asked: Sew it now, please! Ended: Sewn."),
        ("Sew the torn mai…", "Sew the torn mainsail", [], [], "Sewn", "Sew the torn mainsail. Ended: Sewn."),
        ("Test", "the latest sail", [], [], "Sewn", "Test. Asked: the latest sail. Ended: Sewn."),
        ("Wax", "sew " * 99 + "wax", [], ["Sew"], "x", f"Wax. Asked: {'sew ' * 38}sew… Ended: x."),
        ("Sew the sail today", "sew the sail", [], [], "cancelled", "Sew the sail today. Ended: cancelled."),
        ("Sails", "", [], [], "not finished", "Sails. Ended: not finished."),
        ("", "", [], [], "not finished", "Ended: not finished."),
        ("Sails", "", ["a.py"], ["Sails", "Use wax"], "x", "Sails. Changed: a.py; Use wax. Ended: x."),
        ("Sew", "", [], ["Sew with wax"], "x", "Sew. About: Sew with wax. Ended: x."),
        ("Sails", "", [], ["Use wax", "Use wax"], "x", "Sails. About: Use wax. Ended: x."),
    ],
)
def test_a_summary_repeats_nothing(
    title: str, prompt: str, files: list[str], titles: list[str], end: str, line: str
) -> None:
    assert compose_summary(title, prompt, files, titles, end) == line


def test_a_summary_has_all_its_parts_however_long_they_are() -> None:
    line = compose_summary("title " * 99, "asked " * 99, ["file.py"] * 99, ["learnt " * 99, "more " * 99], "ended " * 99)
    assert len(line) <= LONGEST
    assert [part in line for part in ("title", "Asked: asked", "Changed: file.py", "Ended: ended")] == [True] * 4
    assert "\n" not in line


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        (["Sew it"], "not finished"),
        (["Sew it", "```\ncode\n```"], "``` code ```"),
        (["Sew it", "## Done\n\n- **Sewn** with wax. And more."], "Sewn with wax."),
    ],
)
def test_a_session_of_any_kind_has_a_summary(person: Person, said: list[str], ended: str) -> None:
    write_session(person, 1, AT, *said)
    person.sync()
    with connect_journeys(person) as journeys:
        journey, (session,) = journeys.create_journey(), journeys.session_ids().values()
        journeys.link(journey, session)
        (row,) = journeys.session_rows(journey)
    assert row["summary"].startswith(f"Sew it. Ended: {ended}")


def test_a_session_that_was_interrupted_says_so(person: Person) -> None:
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("Sew it"), log.says("I begin."), log.interrupted()])
    person.sync()
    with connect_journeys(person) as journeys:
        journey, (session,) = journeys.create_journey(), journeys.session_ids().values()
        journeys.link(journey, session)
        assert journeys.session_rows(journey)[0]["summary"] == "Sew it. Ended: interrupted."


def test_a_supplied_summary_is_shown_and_found_instead(shared: Journeys) -> None:
    """It stays when the session is linked again without a summary, and is replaced by another supplied one."""
    journey, session = shared.create_journey(), shared.session_ids()[DECK]
    shared.link(journey, session)
    shared.link(journey, session, summary="  Tarred the hull\nfor winter  ", diagnosis="Worms")
    assert [row["summary"] for row in shared.session_rows(journey, query="tar")] == ["Tarred the hull\nfor winter"]
    assert shared.session_rows(journey, query="deck") == [], "the generated summary is not searched any more"
    other = shared.create_journey()
    for again in ({}, {"summary": None, "diagnosis": None}, {"summary": " ", "diagnosis": ""}):
        shared.link(other, session, **again)
        (row,) = shared.session_rows(other, query="hull")
        assert (row["summary"], row["has_diagnosis"]) == ("Tarred the hull\nfor winter", True)
    shared.link(other, session, summary="Painted the keel")
    assert [row["summary"] for row in shared.session_rows(other)] == ["Painted the keel"]
    assert shared.session_rows(other, query="hull") == []


def test_secrets_in_a_supplied_summary_are_redacted(person: Person, journeys: Journeys) -> None:
    key = "sk-ant-api03-abcdefghijklmnop0123"
    journey, session = journeys.create_journey(), journeys.session_ids()[DECK]
    journeys.link(journey, session, summary=f"Used {key}", diagnosis=f"It was {key}")
    assert journeys.session_rows(journey)[0]["summary"] == "Used [REDACTED:anthropic-key]"
    assert not any(key.encode() in path.read_bytes() for path in person.realm.glob("memory.db*"))


# ---- sessions that grow


def test_a_summary_follows_its_session(person: Person, journeys: Journeys) -> None:
    """The old summary is no longer found once the session has another end; a supplied summary stays."""
    journey, ids = journeys.create_journey(), journeys.session_ids()
    journeys.link(journey, ids[DECK])
    journeys.link(journey, ids[SAIL], summary="Mine")
    for number in (2, 4):
        grow(person, number, "And the hatches?", "The hatches are battened.")
    person.sync()
    assert {row["session_id"]: row["summary"] for row in journeys.session_rows(journey)} == {
        ids[DECK]: f"{DECK}. Ended: The hatches are battened.",
        ids[SAIL]: "Mine",
    }
    assert [row["session_id"] for row in journeys.session_rows(journey, query="hatches")] == [ids[DECK]]
    assert journeys.session_rows(journey, query="dry") == []


def test_a_later_title_is_in_the_summary(person: Person, journeys: Journeys) -> None:
    journey, session = journeys.create_journey(), journeys.session_ids()[DECK]
    journeys.link(journey, session)
    log = f"{4:08d}-0000-4000-8000-000000000000"
    append(person.claude_log(log), {"type": "custom-title", "customTitle": "Watertight", "sessionId": log})
    person.sync()
    assert journeys.session_rows(journey)[0]["summary"].startswith(f"Watertight. Asked: {DECK}.")


def test_a_later_observation_is_in_the_summary(person: Person) -> None:
    log = Claude(cwd="/work/api")
    write(person.claude_log(log.session), tokens(log))
    person.sync()
    with connect_journeys(person) as journeys:
        journey, (session,) = journeys.create_journey(), journeys.session_ids().values()
        journeys.link(journey, session)
        (before,) = journeys.session_rows(journey)
        run_distil(person)
        (after,) = journeys.session_rows(journey)
    assert ("clock skew" in before["summary"], before["has_diagnosis"]) == (False, False)
    assert ("clock skew" in after["summary"], after["has_diagnosis"]) == (True, True)


def test_summaries_are_not_rebuilt_while_nothing_changes(person: Person) -> None:
    with connect_voyage(person) as (journeys, journey, _):
        run_distil(person)
        journeys.query(journey)
        with closing(Memory(person.realm)) as memory:
            assert Stored(memory).outdated_members(uuid.UUID(journey).bytes, archive_path(person.realm)) == ([], [])


# ---- sessions that are removed and restored

WORD = "quicksilver"


def hide(person: Person, number: int) -> None:
    """A person writes the privacy marker in a session."""
    grow(person, number, "Do not index this chat")


@pytest.mark.parametrize("distilled", [True, False])
def test_a_session_that_became_private_is_neither_shown_nor_counted(person: Person, distilled: bool) -> None:
    """With the sync that reads the marker; for a server that was already running."""
    write_session(person, 5, AT, f"Where is the {WORD}?", f"The {WORD} is in the hold.")
    with connect_voyage(person) as (journeys, journey, ids):
        run_distil(person)
        owner = journeys.create_journey(USER)
        for session in ids.values():
            journeys.link(owner, session)
        assert journeys.query(owner, query=WORD)["total_results"] == 1
        hide(person, 5)
        person.sync()
        if distilled:
            run_distil(person)
        body = journeys.query(owner)
        assert (len(body["sessions"]), body["total_results"]) == (4, 4)
        assert journeys.query(owner, query=WORD)["total_results"] == 0
        assert journeys.body("get_or_create_journey", user_id=USER)["session_count"] == 4
        assert len(person.json("journey", "timeline", owner)["entries"]) == 4
        assert journeys.query(journey)["total_results"] == 0
        gone = ids[f"Where is the {WORD}?"]
        refusal = journeys.refusal("link_session_to_journey", {"journey_id": owner, "session_id": gone})
        assert refusal == (404, f"Session {gone} not found")


def test_a_session_that_became_private_is_hidden_even_past_the_deadline(person: Person) -> None:
    with connect_voyage(person) as (_, journey, ids):
        grow(person, 4, "And the hatches?", "The hatches are battened.")
        hide(person, 1)
        person.sync()
        realm, key = LiveRealm(person.settings()), uuid.UUID(journey).bytes
        refresh_summaries(realm, key, is_late=lambda: False, should_stop=lambda: True)
        with realm.open_memory() as memory:
            summaries = {
                str(uuid.UUID(bytes=member.session)): member.summary
                for member in Stored(memory).members_by_time(key, DateRange(), 10)
            }
        assert summaries.keys() == {*ids.values()} - {ids[WINCH]}
        assert summaries[ids[DECK]] == f"{DECK}. Ended: The deck is dry.", "there was no time to update this one"


def test_nothing_of_a_private_session_stays_in_the_memory(person: Person) -> None:
    """Neither the generated nor the supplied texts."""
    write_session(person, 5, AT, f"Where is the {WORD}?", "In the hold.")
    write_session(person, 6, AT, "Where is the lead?", "In the bilge.")
    with connect_voyage(person) as (journeys, journey, ids):
        journeys.link(journey, ids["Where is the lead?"], summary=f"{WORD} again", diagnosis=f"No {WORD}")
        for number in (5, 6):
            hide(person, number)
        person.sync()
        run_distil(person)
    with closing(Memory(person.realm)) as memory:
        kept = [*memory.db.execute("SELECT * FROM member"), *memory.db.execute("SELECT * FROM summary_text")]
    assert len(kept) == 6 + 4
    assert WORD not in str(kept)


def test_a_session_that_is_restored_is_in_its_journey_again(person: Person) -> None:
    with connect_voyage(person) as (journeys, journey, ids):
        hidden = person.claude_log("x").parent / ".no-recollect"
        hidden.touch()
        person.run("sync")
        assert journeys.query(journey)["total_results"] == 0
        hidden.unlink()
        person.run("rebuild", "--logs")
        assert {row["session_id"] for row in journeys.session_rows(journey)} == set(ids.values())
        assert len(journeys.session_rows(journey, query="anchor")) == 2


@pytest.mark.parametrize("how", ["rebuild", "rebuild --logs", "doctor --repair", "a new archive"])
def test_links_outlive_the_archive(person: Person, how: str) -> None:
    with connect_voyage(person) as (journeys, journey, ids):
        journeys.link(journey, ids[WINCH], summary="Winched", diagnosis=True)
        before = journeys.query(journey)
        if how == "a new archive":
            for path in person.realm.glob("archive.db*"):
                path.unlink()
            person.run("sync")
        else:
            if how.startswith("doctor"):
                damage(archive_path(person.realm))
            person.run(*how.split(), check=False)
        assert journeys.query(journey) == before


def damage(archive: Path) -> None:
    raw = bytearray(archive.read_bytes())
    raw[100:2_000] = bytes(1_900)
    archive.write_bytes(raw)
    for leftover in ("-wal", "-shm"):
        archive.with_name(archive.name + leftover).unlink(missing_ok=True)


# ---- diagnoses


CAUSE = "The pump fails because its valve is rusty."
OBSERVED: list[tuple[Any, bool]] = [
    ({"type": "diagnosis", "title": "Pump"}, True),
    ({"type": "bug-fix", "title": "Pump", "narrative": f"It took a while. {CAUSE}"}, True),
    ({"type": "bugfix", "title": "Pump", "facts": [CAUSE]}, True),
    ({"type": "bug-fix", "title": CAUSE}, True),
    ({"type": "bug-fix", "title": "Pump", "narrative": "Cause: rust"}, True),
    ({"type": "bug-fix", "title": "Pump", "narrative": "The pump works again."}, False),
    ({"type": "decision", "title": "Pump", "narrative": CAUSE}, False),
]


@pytest.mark.parametrize("number", range(len(OBSERVED)))
def test_a_diagnosis_is_an_observation(shared: Journeys, number: int) -> None:
    """J18: a diagnosis, or a bug-fix that names a cause; the argument of a link has priority."""
    observed, is_diagnosis = OBSERVED[number]
    journey, session = shared.create_journey(), shared.session_ids()[f"Mend pump {number}"]
    evidence = [shared.open(as_reference(session))["turns"][0]["id"]]
    answer = shared.result("record_observation", {**observed, "evidence_ids": evidence})
    assert not answer.is_error, answer.content
    shared.link(journey, session)
    assert shared.session_rows(journey)[0]["has_diagnosis"] is is_diagnosis
    for said, holds in ((True, True), (False, False), (None, False), ("Rust", True)):
        shared.link(journey, session, diagnosis=said)
        assert shared.session_rows(journey)[0]["has_diagnosis"] is holds


def test_a_diagnosis_may_be_supplied_if_none_was_observed(shared: Journeys) -> None:
    """J18."""
    journey, ids = shared.create_journey(), shared.session_ids()
    for title, diagnosis in ((DECK, "Worms"), (SAIL, True), (WINCH, False)):
        shared.link(journey, ids[title], diagnosis=diagnosis)
    assert [row["has_diagnosis"] for row in shared.session_rows(journey)] == [True, True, False]
