"""get_or_create_journey: one journey per person, even for concurrent requests; and journeys without a person."""

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.store.journeys import JourneyRow
from recollect.store.journeys import Journeys as Stored
from recollect.store.memory import Memory
from tests.conftest import Person
from tests.contract.journeys_client import (
    NOBODY,
    USER,
    Body,
    Journeys,
    connect_journeys,
    run_operation,
    sync_voyage,
    tool_answer,
    tool_call,
)

pytestmark = pytest.mark.process

AT_ONCE = 20
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journeys]:
    with connect_journeys(sync_voyage(Person(tmp_path_factory.mktemp("journeys")))) as client:
        yield client


def test_a_new_person_gets_a_new_journey(journeys: Journeys) -> None:
    """J1, J7."""
    body = journeys.body("get_or_create_journey", user_id=USER)
    assert list(body) == ["journey_id", "user_id", "created_at", "session_count", "is_new"]
    assert (body["user_id"], body["session_count"], body["is_new"]) == (USER, 0, True)
    assert str(uuid.UUID(body["journey_id"])) == body["journey_id"]
    assert RFC_3339.fullmatch(body["created_at"])
    assert abs(datetime.now(UTC) - datetime.fromisoformat(body["created_at"])) < timedelta(minutes=1)


@pytest.mark.parametrize("spelled", [str.lower, str.upper])
def test_a_known_person_gets_the_same_journey(journeys: Journeys, spelled: Any) -> None:
    """J2. A UUID is the same in any case; created_at never changes."""
    first = journeys.body("get_or_create_journey", user_id=USER)
    again = journeys.body("get_or_create_journey", user_id=spelled(USER))
    assert again == {**first, "is_new": False}


@pytest.mark.parametrize("nobody", [{}, {"user_id": None}])
def test_a_request_without_a_person_gets_a_new_journey_every_time(journeys: Journeys, nobody: Body) -> None:
    """J3."""
    bodies = [journeys.body("get_or_create_journey", **nobody) for _ in range(3)]
    assert [(body["user_id"], body["is_new"], body["session_count"]) for body in bodies] == [(None, True, 0)] * 3
    assert len({body["journey_id"] for body in bodies}) == 3


def test_the_session_count_follows_links(journeys: Journeys) -> None:
    """J4: a session that is linked twice counts once; a session that moved counts in its new journey."""
    somebody, other = str(uuid.uuid4()), str(uuid.uuid4())
    journey, second = journeys.create_journey(somebody), journeys.create_journey(other)
    one, two, *_ = journeys.session_ids().values()

    def counts() -> list[int]:
        return [journeys.body("get_or_create_journey", user_id=user)["session_count"] for user in (somebody, other)]

    journeys.link(journey, one)
    journeys.link(journey, one)
    assert counts() == [1, 0]
    journeys.link(journey, two)
    assert counts() == [2, 0]
    journeys.link(second, two)
    assert counts() == [1, 1]


BAD_IDS = [
    "",
    "x",
    USER[:-1],
    f"{USER}0",
    USER.replace("-", ""),
    f"{{{USER}}}",
    f"urn:uuid:{USER}",
    f" {USER}",
    7,
    True,
    [USER],
    {},
]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_a_user_id_that_is_not_a_uuid_is_refused(journeys: Journeys, bad: Any) -> None:
    """J6."""
    assert journeys.refusal("get_or_create_journey", {"user_id": bad}) == (400, "user_id must be a UUID")


# ---- many at once


def test_exactly_one_of_twenty_concurrent_processes_creates_the_journey(person: Person) -> None:
    """J5: in an empty state folder."""
    with ExitStack() as stack:
        clients = [stack.enter_context(person.mcp()) for _ in range(AT_ONCE)]
        for client in clients:
            client.request("ping")
        for client in clients:
            client.say(tool_call("get_or_create_journey", user_id=USER))
        bodies = [tool_answer(client) for client in clients]
    assert sorted(body["is_new"] for body in bodies) == [False] * (AT_ONCE - 1) + [True]
    assert len({(body["journey_id"], body["created_at"]) for body in bodies}) == 1


def test_exactly_one_of_many_concurrent_calls_to_a_server_creates_the_journey(person: Person) -> None:
    """J5: threads behave like processes."""
    with person.mcp() as client:
        for number in range(AT_ONCE):
            client.say(tool_call("get_or_create_journey", number, user_id=USER))
        bodies = [tool_answer(client) for _ in range(AT_ONCE)]
    assert sum(body["is_new"] for body in bodies) == 1
    assert len({body["journey_id"] for body in bodies}) == 1


def test_a_caller_that_loses_the_race_to_create_a_journey_gets_the_winners(person: Person) -> None:
    """J5: the moment between the lookup and the write."""
    run_operation(person, "get_or_create_journey", user_id=NOBODY)
    with closing(Memory(person.realm, writable=True)) as one, closing(Memory(person.realm, writable=True)) as two:
        assert (Stored(one).journey_of_user(b"u" * 16), Stored(two).journey_of_user(b"u" * 16)) == (None, None)
        first, late = JourneyRow(b"1" * 16, b"u" * 16, 1), JourneyRow(b"2" * 16, b"u" * 16, 2)
        assert Stored(one).create_journey(first) == first
        assert Stored(two).create_journey(late) == first


OPENING = """
import sys
from pathlib import Path
from recollect.errors import StoreFault
from recollect.store.memory import Memory
for line in sys.stdin:
    try:
        Memory(Path(line.strip()), writable=True).close()
        print("opened", flush=True)
    except StoreFault as fault:
        print(fault, flush=True)
"""


def test_many_processes_may_create_the_same_store_at_once(tmp_path: Path) -> None:
    """J5: all but the first wait; SQLite alone would sometimes refuse one of them."""
    pipe, command = subprocess.PIPE, [sys.executable, "-c", OPENING]
    with ExitStack() as stack:
        processes = [stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)) for _ in range(12)]
        replies = set()
        for number in range(60):
            for process in processes:
                assert process.stdin
                process.stdin.write(f"{tmp_path / str(number)}\n")
                process.stdin.flush()
            replies |= {process.stdout.readline() for process in processes if process.stdout}
    assert replies == {"opened\n"}


# ---- realms


def test_a_journey_lives_in_its_realm(person: Person) -> None:
    """J20: the same person has another journey in another realm, and no realm has the journey of the other."""
    with connect_journeys(person) as main, connect_journeys(person, "--realm", "aside") as aside:
        journey, other = main.create_journey(USER), aside.create_journey(USER)
        assert journey != other
        assert aside.refusal("query_journey_history", {"journey_id": journey}) == (404, f"Journey {journey} not found")
        assert main.create_journey(USER) == journey
    assert person.json("journey", "timeline", other, "--realm", "aside")["entries"] == []
    assert person.json("journey", "timeline", other) == {"code": 404, "message": f"Journey {other} not found"}


# ---- deleting


def test_a_deleted_journey_takes_its_documents_and_leaves_its_sessions(person: Person) -> None:
    """J27."""
    with connect_journeys(sync_voyage(person)) as journeys:
        journey, other = journeys.create_journey(USER), journeys.create_journey()
        sessions = list(journeys.session_ids().values())
        for session in sessions:
            journeys.link(journey, session)
        document, other_document = journeys.add(journey), journeys.add(other)
        assert run_operation(person, "delete_journey", journey_id=journey) == {
            "journey_id": journey, "session_count": 4, "document_count": 1,
        }  # fmt: skip
        with closing(Memory(person.realm)) as memory:
            assert memory.db.execute("SELECT count(*) FROM summary_text").fetchone() == (0,)
        gone = (404, f"Journey {journey} not found")
        assert journeys.refusal("query_journey_history", {"journey_id": journey}) == gone
        assert journeys.refusal("add_document_to_journey", {"journey_id": journey, "document_type": "note"}) == gone
        for operation in ("get_document", "delete_document"):
            assert run_operation(person, operation, journey_id=journey, document_id=document)["code"] == 404
            assert run_operation(person, operation, journey_id=other, document_id=document)["message"].startswith("Document")
        for operation in ("delete_journey", "list_documents", "journey_timeline"):
            assert run_operation(person, operation, journey_id=journey)["message"] == gone[1]
        assert [row["document_id"] for row in run_operation(person, "list_documents", journey_id=other)["documents"]] == [
            other_document
        ]
        assert len(journeys.sessions()) == 4, "sessions stay where they are"
        assert journeys.create_journey(USER) != journey
        journeys.link(other, sessions[0])
        assert [row["session_id"] for row in journeys.session_rows(other, query="anchor sail deck winch")] == sessions[:1]


def test_deleting_a_missing_journey_changes_nothing(person: Person) -> None:
    journey = run_operation(person, "get_or_create_journey", user_id=USER)["journey_id"]
    assert run_operation(person, "delete_journey", journey_id=NOBODY) == {
        "code": 404,
        "message": f"Journey {NOBODY} not found",
    }
    assert run_operation(person, "get_or_create_journey", user_id=USER)["journey_id"] == journey
