"""add_document_to_journey, and a document afterwards: listed, read, in the timeline, deleted everywhere."""

import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.settings import Settings
from recollect.store.journeys import DateRange
from recollect.store.journeys import Journeys as Stored
from recollect.store.memory import Memory
from tests.conftest import Person
from tests.contract.journeys_client import (
    NOBODY,
    TYPES,
    VOYAGE,
    Body,
    Journeys,
    connect_journeys,
    connect_voyage,
    run_operation,
    tool_answer,
    tool_call,
)

pytestmark = pytest.mark.process

MB = 1 << 20
DOCUMENT = ["document_id", "document_type", "title", "created_at"]
LISTING = "document_type must be one of: woop_plan, file_upload, artifact, note"


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("person"))


@pytest.fixture(scope="module")
def journeys(person: Person) -> Iterator[Journeys]:
    with connect_journeys(person) as client:
        yield client


@pytest.fixture
def journey(journeys: Journeys) -> str:
    return journeys.create_journey()


def read_document(person: Person, journey: str, document: str) -> Body:
    return run_operation(person, "get_document", journey_id=journey, document_id=document)


# ---- adding


@pytest.mark.parametrize("document_type", TYPES)
def test_a_document_needs_only_a_type(person: Person, journeys: Journeys, journey: str, document_type: str) -> None:
    """J21."""
    body = journeys.body("add_document_to_journey", journey_id=journey, document_type=document_type)
    assert body == {
        "document_id": str(uuid.UUID(body["document_id"])),
        "journey_id": journey,
        "document_type": document_type,
        "created_at": body["created_at"],
    }
    assert datetime.fromisoformat(body["created_at"]).tzinfo is not None
    assert read_document(person, journey, body["document_id"]) == {**body, "title": "", "content": None, "metadata": None}


@pytest.mark.parametrize("bad", ["", "Note", "notes", " note", "woop", None, 7, ["note"], {"note": 1}])
def test_another_type_is_refused_with_the_four_that_there_are(journeys: Journeys, journey: str, bad: Any) -> None:
    """J22."""
    arguments = {"journey_id": journey, "document_type": bad}
    assert journeys.refusal("add_document_to_journey", arguments) == (400, LISTING)
    assert journeys.refusal("add_document_to_journey", {"journey_id": journey}) == (400, LISTING)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"journey_id": NOBODY}, (404, f"Journey {NOBODY} not found")),
        ({"journey_id": "x"}, (400, "journey_id must be a UUID")),
        ({"journey_id": NOBODY, "document_type": "x"}, (400, LISTING)),
        ({"journey_id": NOBODY, "title": 7}, (400, "title must be a string")),
        ({"journey_id": NOBODY, "content": ["x"]}, (400, "content must be a string")),
        ({"journey_id": NOBODY, "metadata": "x"}, (400, "metadata must be an object")),
        ({"journey_id": NOBODY, "metadata": []}, (400, "metadata must be an object")),
    ],
)
def test_a_bad_document_is_refused_before_an_unknown_journey(journeys: Journeys, arguments: Any, refusal: Any) -> None:
    """J16."""
    assert journeys.refusal("add_document_to_journey", {"document_type": "note", **arguments}) == refusal


def test_a_document_is_stored_unchanged(person: Person, journeys: Journeys, journey: str) -> None:
    text = "  Ship on Friday \n\n\tsaid 船长 ⚓ \u0000 e\u0301 "
    document = journeys.add(journey, title=text, content=text * 1_000, metadata={text: text})
    stored = read_document(person, journey, document)
    assert (stored["title"], stored["content"], stored["metadata"]) == (text, text * 1_000, {text: text})


def test_content_is_never_opened_as_a_file(person: Person, journeys: Journeys, journey: str) -> None:
    secret = person.home / "secret.txt"
    secret.write_text("the combination is 4711")
    for content in (str(secret), "/nowhere/at/all", "file:///etc/passwd"):
        document = journeys.add(journey, "file_upload", content=content)
        assert read_document(person, journey, document)["content"] == content


def test_secrets_in_documents_are_redacted(person: Person, journeys: Journeys, journey: str) -> None:
    key = "sk-ant-api03-abcdefghijklmnop0123"
    document = journeys.add(journey, title=f"t {key}", content=f"c {key}", metadata={"nested": [{"api_key": key}]})
    assert json.dumps(read_document(person, journey, document)).count("[REDACTED:anthropic-key]") == 3
    assert key not in json.dumps(read_document(person, journey, document))


# ---- metadata


def test_a_megabyte_of_metadata_comes_back_unchanged(person: Person, journeys: Journeys, journey: str) -> None:
    """J23: with its keys in their order."""
    metadata = {f"key {number}": {"z": number, "a": [None, True, 1.5, "é⚓" * 40]} for number in range(6_000)}
    assert len(json.dumps(metadata)) > MB
    document = journeys.add(journey, metadata=metadata)
    assert list(read_document(person, journey, document)["metadata"].items()) == list(metadata.items())


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@pytest.fixture(scope="module")
def plain_realm(tmp_path_factory: pytest.TempPathFactory) -> tuple[LiveRealm, str]:
    """A realm without redaction, so that nothing may change; and a journey in it."""
    realm = LiveRealm(Settings(home=tmp_path_factory.mktemp("plain"), redact=False))
    return realm, run(realm, "get_or_create_journey")["journey_id"]


def run(realm: LiveRealm, operation: str, /, **arguments: Any) -> Body:
    reply = OPERATIONS[operation].run(realm, arguments, RequestContext.now())
    assert not reply.is_error, reply.text
    body: Body = json.loads(reply.text)
    return body


@given(metadata=st.dictionaries(st.text(), JSON))
@effort(max_examples=60, deadline=None)
def test_any_metadata_comes_back_unchanged(plain_realm: tuple[LiveRealm, str], metadata: Body) -> None:
    """J23."""
    realm, journey = plain_realm
    document = run(realm, "add_document_to_journey", journey_id=journey, document_type="note", metadata=metadata)
    stored = run(realm, "get_document", journey_id=journey, document_id=document["document_id"])["metadata"]
    assert repr(stored) == repr(metadata)


def test_metadata_that_is_nested_too_deep_is_refused(person: Person, journey: str) -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"in": deep}
    answer = run_operation(person, "add_document_to_journey", journey_id=journey, document_type="note", metadata=deep)
    assert answer == {"code": 400, "message": "metadata is nested too deeply"}


# ---- lists


def test_documents_are_in_the_history_only_on_request(journeys: Journeys, journey: str) -> None:
    """J17: all documents, the newest first, each with its four keys."""
    added = [journeys.add(journey, title=title) for title in ("first", "", "third")]
    added.append(journeys.add(journey, "artifact"))
    for more in ({}, {"include_documents": False}, {"include_documents": None}):
        assert "documents" not in journeys.query(journey, **more)
    for narrower in ({}, {"query": "nothing of it"}, {"limit": 1}):
        listed = journeys.query(journey, include_documents=True, **narrower)["documents"]
        assert [row["document_id"] for row in listed] == added[::-1]
        assert [list(row) for row in listed] == [DOCUMENT] * 4
        assert [row["title"] for row in listed] == ["", "third", "", "first"]


def test_a_range_of_dates_applies_to_documents_too(journeys: Journeys, journey: str) -> None:
    body = journeys.body("add_document_to_journey", journey_id=journey, document_type="note")
    at = body["created_at"]
    ranges = {"from_date": at}, {"to_date": at}, {"to_date": "2020-01-01T00:00:00Z"}, {"from_date": "9999-01-01T00:00:00Z"}
    counts = [len(journeys.query(journey, include_documents=True, **dates)["documents"]) for dates in ranges]
    assert counts == [1, 1, 0, 0]


def test_a_document_is_listed_and_read_in_its_own_journey_only(person: Person, journeys: Journeys, journey: str) -> None:
    other, document = journeys.create_journey(), journeys.add(journey, title="Chart")
    assert [row["title"] for row in run_operation(person, "list_documents", journey_id=journey)["documents"]] == ["Chart"]
    assert run_operation(person, "list_documents", journey_id=other) == {"documents": []}
    for operation in ("get_document", "delete_document"):
        answer = run_operation(person, operation, journey_id=other, document_id=document)
        assert answer == {"code": 404, "message": f"Document {document} not found"}
    assert read_document(person, journey, document)["title"] == "Chart"


@pytest.mark.parametrize("operation", ["get_document", "delete_document"])
def test_the_error_names_a_missing_document(person: Person, journey: str, operation: str) -> None:
    absent = {"code": 404, "message": f"Document {NOBODY} not found"}
    assert run_operation(person, operation, journey_id=journey, document_id=NOBODY) == absent
    for field in ("journey_id", "document_id"):
        answer = run_operation(person, operation, **{"journey_id": journey, "document_id": NOBODY, field: "x"})
        assert answer == {"code": 400, "message": f"{field} must be a UUID"}


def test_a_deleted_document_is_removed_everywhere(person: Person, journeys: Journeys, journey: str) -> None:
    """J26: the answer is the deleted document."""
    document, other_document = journeys.add(journey, title="Chart", metadata={"a": 1}), journeys.add(journey)
    before = read_document(person, journey, document)
    assert run_operation(person, "delete_document", journey_id=journey, document_id=document) == before
    assert read_document(person, journey, document)["code"] == 404
    assert run_operation(person, "delete_document", journey_id=journey, document_id=document)["code"] == 404
    remaining = (
        run_operation(person, "list_documents", journey_id=journey)["documents"],
        journeys.query(journey, include_documents=True)["documents"],
    )
    assert [[row["document_id"] for row in rows] for rows in remaining] == [[other_document], [other_document]]
    assert [entry["entry_id"] for entry in run_operation(person, "journey_timeline", journey_id=journey)["entries"]] == [
        other_document
    ]


# ---- the timeline


def test_sessions_and_documents_are_in_one_timeline_oldest_first(tmp_path: Path) -> None:
    """J24, J25: a limit gives the first entries; an entry has the fields of its type."""
    person = Person(tmp_path)
    with connect_voyage(person) as (journeys, journey, ids):
        document = journeys.add(journey, "woop_plan", title="Next")
        body = run_operation(person, "journey_timeline", journey_id=journey)
        assert list(body) == ["journey_id", "entries"]
        entries = body["entries"]
        assert [entry["entry_id"] for entry in entries] == [*(ids[asked] for _, asked, _ in VOYAGE), document]
        assert [entry["created_at"] for entry in entries] == sorted(entry["created_at"] for entry in entries)
        assert [list(entry) for entry in entries[:4]] == [
            ["entry_type", "entry_id", "created_at", "summary", "has_diagnosis"]
        ] * 4
        assert entries[4] == {
            "entry_type": "document",
            "entry_id": document,
            "created_at": entries[4]["created_at"],
            "document_type": "woop_plan",
            "title": "Next",
        }
        history = {row["session_id"]: row["summary"] for row in journeys.session_rows(journey)}
        assert {entry["entry_id"]: entry["summary"] for entry in entries[:4]} == history
        for limit in (1, 3, 5, 1_000):
            assert run_operation(person, "journey_timeline", journey_id=journey, limit=limit)["entries"] == entries[:limit]
        for refused in (0, 1_001, "5", True):
            answer = run_operation(person, "journey_timeline", journey_id=journey, limit=refused)
            assert answer == {"code": 400, "message": "limit must be an integer from 1 to 1000"}


def test_fifty_entries_are_shown_by_default(person: Person, journeys: Journeys, journey: str) -> None:
    """J25."""
    added = [journeys.add(journey) for _ in range(53)]
    entries = run_operation(person, "journey_timeline", journey_id=journey)["entries"]
    assert [entry["entry_id"] for entry in entries] == added[:50]
    assert len(run_operation(person, "journey_timeline", journey_id=journey, limit=60)["entries"]) == 53


# ---- concurrent processes


def test_nothing_is_lost_when_many_processes_add_at_once(person: Person, journeys: Journeys, journey: str) -> None:
    each = 25
    with ExitStack() as stack:
        clients = [stack.enter_context(person.mcp()) for _ in range(4)]
        for number in range(each):
            for client in clients:
                client.say(tool_call("add_document_to_journey", number, journey_id=journey, document_type="note"))
        added = {tool_answer(client)["document_id"] for client in clients for _ in range(each)}
    listed = journeys.query(journey, include_documents=True)["documents"]
    assert {row["document_id"] for row in listed} == added
    assert len(listed) == 4 * each


def test_no_document_outlives_a_journey_that_is_deleted_at_the_same_time(person: Person, journeys: Journeys) -> None:
    """An add either succeeds before the deletion or finds no journey after it."""
    journey = journeys.create_journey()
    with person.mcp() as client:
        for number in range(60):
            client.say(tool_call("add_document_to_journey", number, journey_id=journey, document_type="note"))
        removed = run_operation(person, "delete_journey", journey_id=journey)
        results = [client.hear()["result"] for _ in range(60)]
    refused = [json.loads(result["content"][0]["text"]) for result in results if result["isError"]]
    assert all(error == {"code": 404, "message": f"Journey {journey} not found"} for error in refused)
    assert removed["document_count"] == 60 - len(refused)
    with closing(Memory(person.realm)) as memory:
        assert Stored(memory).documents(uuid.UUID(journey).bytes, DateRange()) == []
