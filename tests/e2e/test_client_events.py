"""The Python SDK and connections that break while events are sent: what continues, and the fields of the error."""

import json
from typing import Any

import pytest

from recollect.client import Client, ConnectionLost, InternalError
from tests.e2e.odd_servers import HEALTH, SSE, Requests, body, chunked, odd

ARCHIVED = body({"code": "SESSION_NOT_FOUND", "message": "archived"}, "404 Not Found")


def event(kind: str, sequence: int, **more: Any) -> bytes:
    told = {"session_id": "s", "sequence": sequence, "type": kind, **more}
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def torn(*events: bytes) -> list[bytes]:
    """A stream whose connection breaks: its last chunk never arrives."""
    return [SSE + b"transfer-encoding: chunked\r\n\r\n" + chunked(*events, end=b"")]


def ended(*events: bytes) -> list[bytes]:
    return [SSE + b"\r\n" + b"".join(events)]


@pytest.mark.parametrize("breaks", [torn, ended])
def test_events_continue_after_a_broken_connection_even_if_the_server_is_away(breaks: Any) -> None:
    away = None
    streams = [breaks(event("text_delta", 4, delta="a")), away, breaks(), away, breaks(event("text_delta", 5, delta="b"))]
    requests = Requests(HEALTH, *streams, ARCHIVED)
    with requests.client() as client:
        received = list(client.session("s").events())
    assert [told.sequence for told in received] == [4, 5]  # type: ignore[attr-defined]
    came_back = [request.lower().partition("last-event-id: ")[2].split("\r")[0] for request in requests.seen[1:]]
    assert came_back == ["", *["4"] * 4, "5"]


def test_events_that_never_began_are_not_requested_again() -> None:
    requests = Requests(HEALTH, None, None)  # the connection that was used before may have been closed
    with requests.client() as client, pytest.raises(ConnectionLost):
        next(client.session("s").events())
    assert len(requests.seen) == 3


def test_invalid_events_are_not_requested_for_ever() -> None:
    for answer in (ended(b"data: no JSON\n\n"), body({"sessions": []})):
        with Requests(HEALTH, answer).client() as client, pytest.raises(InternalError):
            next(client.session("s").events())
    with Requests(HEALTH, ended(b"data: no JSON\n\n")).client() as client, pytest.raises(InternalError):
        client.session("s").start_turn("x")


def test_a_lost_connection_names_its_session() -> None:
    """Also a session that was being created, once its turn has begun."""
    began = event("turn_started", 1, turn=1)
    with Requests(HEALTH, torn(began), torn(), torn()).client() as client:
        for asked, session in (
            (lambda: client.create_session("x"), "s"),
            (lambda: client.create_session("x"), None),
            (lambda: client.session("known").start_turn("x"), "known"),
        ):
            with pytest.raises(ConnectionLost) as caught:
                asked()
            assert caught.value.session_id == session
    with Client.spawn(command=odd("greet()")) as client:
        for _ in ("while it is under way", "afterwards"):
            with pytest.raises(ConnectionLost) as caught:
                client.session("known").start_turn("x")
            assert (caught.value.session_id, caught.value.details["exit_code"]) == ("known", 0)
