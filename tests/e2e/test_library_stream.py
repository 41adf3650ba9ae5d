"""GET /library/stream: which sessions changed, as it happens, and what a reader missed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.http_server import HttpServer
from tests.logs import Claude, append, write


@pytest.fixture
def person(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    write(person.claude_log(LOG.session), [LOG.prompt("first"), LOG.says("One.")])
    person.sync()
    return person


LOG = Claude()


def go_on(person: Person, text: str) -> None:
    append(person.claude_log(LOG.session), LOG.prompt(text), LOG.says("More."))
    person.sync()


def test_a_reader_hears_which_session_changed_and_up_to_where(person: Person) -> None:
    with HttpServer(person) as server, server.events("/v1/library/stream") as events:
        assert next(events)["type"] == "ready"
        go_on(person, "second")
        changed = next(events)
        assert changed["type"] == "session_changed"
        assert changed["sequence"] == 3
        status, answer = server.ask("GET", f"/v1/library/sessions/{changed['session']}/events?from=2")
        assert status == 200
        assert [event["sequence"] for event in answer["data"]["events"]] == [2, 3]


def test_a_reader_that_comes_back_hears_what_it_missed(person: Person) -> None:
    with HttpServer(person) as server:
        with server.response("GET", "/v1/library/stream") as response:
            position = position_of(iter(response.readline, b""))
        go_on(person, "third")
        with server.events("/v1/library/stream", last_event_id=position) as events:
            assert next(events)["type"] == "session_changed"
        with server.events("/v1/library/stream", last_event_id="other.1.1") as events:
            assert next(events)["type"] == "refresh", "the position belongs to another archive"
        with server.events("/v1/library/stream", last_event_id="nonsense") as events:
            assert next(events)["type"] == "ready"


def position_of(lines: Iterator[bytes]) -> str:
    """The id of the first event."""
    line = next(line for line in lines if line.startswith(b"id: "))
    return line.decode().removeprefix("id: ").strip()
