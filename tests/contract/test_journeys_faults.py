"""When the store of the journeys breaks, is deleted or is full, the answer is a 500 with the text of the contract."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.store import archive_path
from recollect.store.journaled import memory_path
from tests.conftest import Person, without_coverage
from tests.contract.journeys_client import (
    DECK,
    NOBODY,
    USER,
    VOYAGE,
    Body,
    Journeys,
    connect_voyage,
    run_operation,
    write_session,
)
from tests.e2e.processes import inside

pytestmark = pytest.mark.process

PREFIXES = {
    "get_or_create_journey": "Failed to access journey: ",
    "query_journey_history": "Failed to query history: ",
    "add_document_to_journey": "Failed to add document: ",
    "link_session_to_journey": "Failed to link session: ",
    "journey_timeline": "Failed to query history: ",
    "list_documents": "Failed to read documents: ",
    "get_document": "Failed to read documents: ",
    "delete_document": "Failed to delete: ",
    "delete_journey": "Failed to delete: ",
}
TOOLS = list(PREFIXES)[:4]
ARGUMENTS: dict[str, Body] = {
    "get_or_create_journey": {},
    "query_journey_history": {"journey_id": NOBODY},
    "add_document_to_journey": {"journey_id": NOBODY, "document_type": "note"},
    "link_session_to_journey": {"journey_id": NOBODY, "session_id": NOBODY},
    "journey_timeline": {"journey_id": NOBODY},
    "list_documents": {"journey_id": NOBODY},
    "get_document": {"journey_id": NOBODY, "document_id": NOBODY},
    "delete_document": {"journey_id": NOBODY, "document_id": NOBODY},
    "delete_journey": {"journey_id": NOBODY},
}


def refusals_of_all_tools(journeys: Journeys, journey: str, session: str) -> dict[str, tuple[int, str]]:
    """The refusals of all tools, each called several times: a server has several threads."""
    arguments = {
        **ARGUMENTS,
        "query_journey_history": {"journey_id": journey, "include_documents": True},
        "add_document_to_journey": {"journey_id": journey, "document_type": "note"},
        "link_session_to_journey": {"journey_id": journey, "session_id": session},
    }
    refusals = {}
    for tool in TOOLS:
        (refusals[tool],) = {journeys.refusal(tool, arguments[tool]) for _ in range(3)}
    return refusals


# ---- a store that breaks under a running server


def overwrite(memory: Path) -> None:
    memory.write_bytes(os.urandom(memory.stat().st_size))


def empty(memory: Path) -> None:
    os.truncate(memory, 0)


def delete(memory: Path) -> None:
    for path in memory.parent.glob("memory.db*"):
        path.unlink()


def delete_the_realm(memory: Path) -> None:
    shutil.rmtree(memory.parent)


def replace_by_noise(memory: Path) -> None:
    delete(memory)
    memory.write_bytes(os.urandom(50_000))


def replace_by_a_folder(memory: Path) -> None:
    delete(memory)
    memory.mkdir()


@pytest.mark.parametrize(
    "breaks",
    [overwrite, empty, delete, delete_the_realm, replace_by_noise, replace_by_a_folder],
    ids=lambda one: one.__name__,
)
def test_a_store_that_breaks_under_a_running_server_is_a_500_with_the_text_of_the_contract(
    person: Person, breaks: Callable[[Path], None]
) -> None:
    """J28: every time and for every tool, and the server continues."""
    with connect_voyage(person) as (journeys, journey, ids):
        memory = memory_path(person.realm)
        breaks(memory)
        for tool, (code, message) in refusals_of_all_tools(journeys, journey, ids[DECK]).items():
            assert (code, message.startswith(PREFIXES[tool])) == (500, True), message
            assert str(memory) in message
        assert journeys.refusal("query_journey_history", {"journey_id": "x"}) == (400, "journey_id must be a UUID")
        assert not memory.is_file() or breaks in (overwrite, empty, replace_by_noise), "no new store was created"


def test_a_restored_store_is_used_again(person: Person) -> None:
    """J28: the earlier rows are all there, and nothing was written to a deleted file."""
    aside = person.realm / "aside"
    with connect_voyage(person) as (journeys, journey, _):
        before = journeys.query(journey)
        aside.mkdir()
        for path in person.realm.glob("memory.db*"):
            path.rename(aside / path.name)
        assert journeys.refusal("add_document_to_journey", {"journey_id": journey, "document_type": "note"})[0] == 500
        for path in aside.iterdir():
            path.rename(person.realm / path.name)
        assert journeys.query(journey) == before
        assert journeys.query(journey, include_documents=True)["documents"] == []


def test_a_store_that_was_replaced_is_closed_and_the_new_one_is_used(person: Person) -> None:
    """J28: a later process has created a new store, and both processes see the same."""
    with connect_voyage(person) as (journeys, journey, _):
        delete(memory_path(person.realm))
        new = person.json("journey", "create", "--user", USER)["journey_id"]
        assert journeys.refusal("query_journey_history", {"journey_id": journey}) == (404, f"Journey {journey} not found")
        assert journeys.create_journey(USER) == new
        document = journeys.add(new)
        assert [row["document_id"] for row in person.json("journey", "documents", new)["documents"]] == [document]


def test_an_archive_that_is_damaged_is_a_500_too(person: Person) -> None:
    """J28: without the archive, the sessions are unknown."""
    with connect_voyage(person) as (journeys, journey, ids):
        for path in person.realm.glob("archive.db*"):
            path.unlink()
        archive_path(person.realm).write_bytes(os.urandom(50_000))
        for tool in ("query_journey_history", "link_session_to_journey"):
            arguments = {"journey_id": journey} | ({"session_id": ids[DECK]} if tool.startswith("link") else {})
            code, message = journeys.refusal(tool, arguments)
            assert (code, message.startswith(PREFIXES[tool])) == (500, True), message
            assert "is damaged" in message


# ---- full

FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))"  # no file may grow


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, str, str]]:
    """A person with a journey that a server has open; one session has grown since the last query."""
    person = Person(tmp_path_factory.mktemp("full"))
    person.env = without_coverage(person.env)  # no file may grow, including the coverage file
    with connect_voyage(person) as (journeys, journey, ids):
        other = journeys.create_journey()
        journeys.link(other, ids[DECK])
        journeys.add(journey)
        write_session(person, 4, VOYAGE[3][0], DECK, "The deck is dry.", "And the hatches?", "They are battened.")
        person.sync()
        yield person, journey, other


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("create", PREFIXES["get_or_create_journey"]),
        ("add JOURNEY", PREFIXES["add_document_to_journey"]),
        ("link JOURNEY SESSION", PREFIXES["link_session_to_journey"]),
        ("delete JOURNEY", PREFIXES["delete_journey"]),
        ("history OUTDATED", PREFIXES["query_journey_history"]),
        ("timeline OUTDATED", PREFIXES["journey_timeline"]),
    ],
)
def test_a_write_to_a_full_disk_is_a_500(full: tuple[Person, str, str], command: str, prefix: str) -> None:
    """J28."""
    completed = on_a_full_disk(full, command)
    assert (completed.returncode, completed.stdout) == (1, "")
    assert completed.stderr.startswith(f"recollect: {prefix}")
    assert "Traceback" not in completed.stderr


def test_reading_works_on_a_full_disk(full: tuple[Person, str, str]) -> None:
    for command, lines in (("history JOURNEY", 6), ("timeline JOURNEY", 8), ("documents JOURNEY", 2)):
        done = on_a_full_disk(full, command)
        assert (done.returncode, len(done.stdout.splitlines())) == (0, lines), done.stderr


def on_a_full_disk(full: tuple[Person, str, str], command: str) -> "subprocess.CompletedProcess[str]":
    person, journey, outdated = full
    session = run_operation(person, "query_journey_history", journey_id=journey)["sessions"][0]["session_id"]
    words = {"JOURNEY": journey, "OUTDATED": outdated, "SESSION": session}
    return inside(person, FULL, "journey", *(words.get(word, word) for word in command.split()), check=False)


def test_a_document_that_does_not_fit_does_not_change_the_others(person: Person) -> None:
    """J28: the transaction is rolled back, and the next one has room."""
    journey = run_operation(person, "get_or_create_journey")["journey_id"]
    room = memory_path(person.realm).stat().st_size + 400_000
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
    many = "sys.argv[1:] = ['journey', 'add', sys.argv[1], '--content', 'x' * 3_000_000]"
    done = inside(person, limit + many, journey, check=False)
    assert (done.returncode, done.stderr.startswith("recollect: Failed to add document: ")) == (1, True), done.stderr
    assert run_operation(person, "list_documents", journey_id=journey) == {"documents": []}
    person.run("journey", "add", journey)
    assert len(run_operation(person, "list_documents", journey_id=journey)["documents"]) == 1


# ---- deadlines


@pytest.mark.parametrize("operation", PREFIXES)
def test_an_exceeded_deadline_is_a_500_with_the_text_of_the_contract(person: Person, operation: str) -> None:
    """A bad request is still refused as such: a refusal needs no time."""
    realm = LiveRealm(person.settings(deadline_ms=0))
    late = f"{PREFIXES[operation]}the request took longer than its deadline"
    for more, code, message in (({}, 500, late), ({"nonsense": 1}, 400, "unknown argument: nonsense")):
        reply = OPERATIONS[operation].run(realm, {**ARGUMENTS[operation], **more}, RequestContext.now())
        assert json.loads(reply.text) == {"code": code, "message": message}
