"""The content of a realm, for comparisons: by the archive's own reader and by the real search."""

import json
from pathlib import Path
from typing import Any

from recollect.ingest import sync
from recollect.live import LiveRealm
from recollect.model import SEARCHABLE
from recollect.operations import OPERATIONS, RequestContext
from recollect.sources import all_sources
from recollect.store import EventRow, Reader, SessionRow, archive_path
from tests.conftest import Person
from tests.golden import contents


def archived(person: Person, realm: Path | None = None) -> list[str]:
    """Every session, turn, event, problem and count of lines, one JSON line each."""
    return list(contents(realm or person.realm, person.home))


def undisturbed(person: Person) -> list[str]:
    """The same after a single sync of the current home into an empty realm."""
    realm = person.state.parent / "undisturbed"
    sync(realm, person.settings(), all_sources(), person.env)
    return archived(person, realm)


def sessions(person: Person) -> list[SessionRow]:
    reader = Reader(archive_path(person.realm))
    try:
        return reader.sessions_overlapping(-(2**62), 2**62, None, newest_first=False, after=None, limit=10_000)
    finally:
        reader.close()


def events(person: Person) -> list[EventRow]:
    reader = Reader(archive_path(person.realm))
    try:
        return [
            event
            for session in sessions(person)
            for turn in reader.turns(session.key)
            for event in reader.events_of_turn(session.key, turn.ordinal)
        ]
    finally:
        reader.close()


def texts(person: Person) -> list[str]:
    """The texts of all events, in order."""
    return [event.text() for event in events(person)]


def answer(person: Person, query: str, **more: Any) -> dict[str, Any]:
    """A search over every kind of event, by the tool's own function; its envelope."""
    arguments = {"query": query, "event_types": list(SEARCHABLE), "n_hits": 50, **more}
    realm = LiveRealm(person.settings())
    envelope: dict[str, Any] = json.loads(OPERATIONS["search_sessions"].run(realm, arguments, RequestContext.now()).text)
    realm.repair_now()  # a search may have started to repair the index: no process outlives its test
    return envelope


def found(person: Person, query: str) -> list[str]:
    """The snippets of all hits, in a realm that reports no warning."""
    envelope = answer(person, query)
    assert envelope["warnings"] == []
    return [hit["snippet"]["text"] for hit in envelope["data"]["results"]]
