"""The journal of a memory restores its rows after crashes, disk faults and updates from earlier versions."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.errors import StoreFault
from recollect.model import Observation
from recollect.store import OutOfDate
from recollect.store.journaled import RULES, memory_path
from recollect.store.journeys import DateRange, JourneyDocument, JourneyRow, Journeys, SessionSummaryRow
from recollect.store.memory import AGENT, Memory, ObservationWords, ObservedPlace
from recollect.store.memory_journal import create_journal, journal_path
from recollect.store.observation_filters import ObservationFilters

JOURNEY, SESSION = b"j" * 16, b"s" * 16
PLACE = ObservedPlace(session=SESSION, turn=1, project="app", path="/log", first_line=1, last_line=2)
WORDS = ObservationWords("quoll", "night", "", "around")
INSERTED = '{"table":"journey","row":{"id":"77777777-7777-7777-7777-777777777777","user":null,"created_at":7}}\n'


@pytest.fixture
def realm(tmp_path: Path) -> Path:
    create_journal(tmp_path)
    return tmp_path


def observation(title: str) -> Observation:
    return Observation(
        type="gotcha", title=title, subtitle="", narrative="", facts=("at night",), concepts=("Fauna",),
        files_read=(), files_modified=("src/den.py",), evidence=(b"e" * 16, b"f" * 16), at=5,
    )  # fmt: skip


def document(name: bytes, content: str = "") -> JourneyDocument:
    return JourneyDocument(
        id=name * 16, journey=JOURNEY, type="note", title=None, created_at=3, content=content, metadata=None
    )


def write(realm: Path, *names: bytes) -> None:
    """A journey with these documents, a session and an observation."""
    with Memory(realm, writable=True) as memory:
        journeys = Journeys(memory)
        if journeys.journey(JOURNEY) is None:
            journeys.create_journey(JourneyRow(JOURNEY, b"u" * 16, 1))
        for name in names:
            journeys.add_document(document(name))
        with memory.transaction():
            summary = SessionSummaryRow(
                session=SESSION, started_at=2, mark="m", summary="Of quolls", words="quoll", is_supplied=True
            )
            journeys.add_member(JOURNEY, summary)
            memory.record(PLACE, AGENT, observation("Quolls bite"), WORDS)


def delete_memory(realm: Path) -> None:
    for path in realm.glob("memory.db*"):
        path.unlink()


def documents(realm: Path) -> bytes:
    with Memory(realm, writable=True) as memory:
        found = Journeys(memory).documents(JOURNEY, DateRange(), newest_first=False)
        return b"".join(row.id[:1] for row in found)


def test_every_row_is_restored_unchanged_with_its_search_data(realm: Path) -> None:
    write(realm, b"a")
    delete_memory(realm)
    with Memory(realm, writable=True) as memory:
        (row,) = memory.newest(ObservationFilters(concepts=("fauna",), files=("den.py",)), 9)
        assert (row.title, row.facts, row.evidence) == ("Quolls bite", ["at night"], [b"e" * 16, b"f" * 16])
        assert [key for key, _ in memory.match_words("around", ObservationFilters(), 9)] == [row.key]
        (member,), count = Journeys(memory).search_members(JOURNEY, "quoll", DateRange(), 9)
        assert (member.session, member.summary, count) == (SESSION, "Of quolls", 1)
        journey = Journeys(memory).journey_of_user(b"u" * 16)
        assert journey == JourneyRow(JOURNEY, b"u" * 16, 1)


def test_a_line_is_a_readable_row(realm: Path) -> None:
    write(realm, b"a")
    lines = [json.loads(line) for line in journal_path(realm).read_text("utf-8").splitlines()]
    assert [line["table"] for line in lines] == ["journey", "document", "member", "observation"]
    assert lines[0]["row"] == {"id": "6a6a6a6a-6a6a-6a6a-6a6a-6a6a6a6a6a6a", "user": "75757575-7575-7575-7575-757575757575",
                              "created_at": 1}  # fmt: skip
    assert journal_path(realm).stat().st_mode & 0o077 == 0


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "half a line at its end": lambda content: content + b'{"table":"docu',
    "rubbish at its end": lambda content: content + b"\x00\xff rubbish\n[1]\n\n",
    "rubbish at its beginning": lambda content: b"\x00\xff rubbish\n" + content,
    "lines that are not rows": lambda content: (
        content + b'{"table":"session","row":{}}\n{"table":"journey","row":{"id":"no"}}\n{}\n'
    ),
}


@pytest.mark.parametrize("is_lost", [False, True], ids=["with its database", "without"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_unreadable_lines_cost_no_rows(realm: Path, damage: Callable[[bytes], bytes], is_lost: bool) -> None:
    write(realm, b"a", b"b")
    journal_path(realm).write_bytes(damage(journal_path(realm).read_bytes()))
    if is_lost:
        delete_memory(realm)
    assert documents(realm) == b"ab"
    write(realm, b"c")
    delete_memory(realm)
    assert documents(realm) == b"abc"


def test_rows_that_a_killed_process_did_not_commit_are_recovered(realm: Path) -> None:
    write(realm, b"a")
    with journal_path(realm).open("a") as file:
        file.write(INSERTED)
    with Memory(realm, writable=True) as memory:
        assert Journeys(memory).journey(b"w" * 16) == JourneyRow(b"w" * 16, None, 7)
    write(realm, b"b")
    delete_memory(realm)
    assert documents(realm) == b"ab"


def test_rows_that_were_rolled_back_are_in_no_file(realm: Path) -> None:
    write(realm, b"a")
    before = journal_path(realm).read_bytes()
    with Memory(realm, writable=True) as memory:
        with pytest.raises(ZeroDivisionError), memory.transaction():
            memory.record(PLACE, AGENT, observation("Never"), WORDS)
            raise ZeroDivisionError
        with memory.transaction():
            memory.put_observed_session(SESSION, 1)
    assert journal_path(realm).read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b'{"table":"journey"'], ids=["deleted", "empty", "cut"])
def test_a_file_that_lost_rows_is_rewritten(realm: Path, content: bytes | None) -> None:
    """As after a power failure; and beside a memory that is older than journals."""
    write(realm, b"a")
    journal_path(realm).unlink()
    if content is not None:
        journal_path(realm).write_bytes(content)
    create_journal(realm)
    assert documents(realm) == b"a"
    delete_memory(realm)
    assert documents(realm) == b"a"


def test_rows_from_an_earlier_version_are_written_to_the_files(tmp_path: Path) -> None:
    write(tmp_path, b"a")
    create_journal(tmp_path)
    documents(tmp_path)
    delete_memory(tmp_path)
    assert documents(tmp_path) == b"a"


def test_a_memory_that_does_not_exist_yet_is_not_read(realm: Path) -> None:
    write(realm, b"a")
    delete_memory(realm)
    elsewhere = realm / "elsewhere"
    Memory(elsewhere, writable=True).close()
    memory_path(elsewhere).replace(memory_path(realm))
    with pytest.raises(OutOfDate):
        Memory(realm)
    assert documents(realm) == b"a"
    Memory(realm).close()


def test_a_session_that_is_not_in_the_archive_yet_loses_only_rule_based_observations(realm: Path) -> None:
    write(realm, b"a")
    with Memory(realm, writable=True) as memory, memory.transaction():
        memory.put_turn_observations(PLACE, 1, [(observation("Made"), WORDS)])
        memory.forget_session(SESSION, for_good=False)
    with Memory(realm) as memory:
        assert [row.made_by for row in memory.newest(ObservationFilters(), 9)] == [AGENT]
        assert Journeys(memory).members_by_time(JOURNEY, DateRange(), 9)[0].summary == "Of quolls"


def test_nothing_of_a_session_that_became_private_is_left(realm: Path) -> None:
    write(realm, b"a")
    with Memory(realm, writable=True) as memory, memory.transaction():
        memory.forget_session(SESSION, for_good=True)
    delete_memory(realm)
    with Memory(realm, writable=True) as memory:
        assert memory.newest(ObservationFilters(), 9) == []
        assert Journeys(memory).members_by_time(JOURNEY, DateRange(), 9) == []
    assert "quolls" not in journal_path(realm).read_text("utf-8")


def test_a_second_extraction_of_a_turn_replaces_the_first(realm: Path) -> None:
    with Memory(realm, writable=True) as memory:
        for title in ("First", "Second"):
            with memory.transaction():
                memory.forget_model_observations(PLACE, "model:m")
                memory.record(PLACE, "model:m", observation(title), WORDS)
                memory.put_extracted_turn(PLACE, 5, "m", 100)
        with memory.transaction():
            memory.put_turn_observations(PLACE, 1, [(observation("Made"), WORDS)])
    assert RULES not in journal_path(realm).read_text("utf-8")
    delete_memory(realm)
    with Memory(realm, writable=True) as memory:
        assert [row.title for row in memory.newest(ObservationFilters(), 9)] == ["Second"]
        assert memory.extracted_turns("m") == {(SESSION, 1): 5}


def test_a_file_that_cannot_be_written_loses_only_the_new_rows(realm: Path) -> None:
    write(realm, b"a")
    with Memory(realm, writable=True) as memory:
        journal_path(realm).unlink()
        journal_path(realm).mkdir()
        with pytest.raises(StoreFault, match=str(journal_path(realm))):
            Journeys(memory).add_document(document(b"b"))
        journal_path(realm).rmdir()
        assert [row.id for row in Journeys(memory).documents(JOURNEY, DateRange())] == [b"a" * 16]
        Journeys(memory).add_document(document(b"c"))
    delete_memory(realm)
    assert documents(realm) == b"ac"


def test_skipped_lines_are_reported(realm: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal_path(realm).write_text('{"table":"journey","row":{"id":"zz"}}\n' + INSERTED)
    with caplog.at_level(logging.WARNING), Memory(realm, writable=True) as memory:
        assert Journeys(memory).journey(b"w" * 16) is not None
    assert "Skipped a line" in caplog.text
