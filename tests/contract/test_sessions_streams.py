"""The events of a running turn reach every subscriber in order; a slow subscriber learns how many it missed."""

import json
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.processes import until
from tests.http_server import HttpServer, events_of
from tests.live_surfaces import Agent
from tests.rpc_server import RawRpc

pytestmark = pytest.mark.process

ENDS = {"turn_completed", "turn_failed", "turn_interrupted"}
CHATTY = """
import os, sys, time
for number in range({pieces}):
    os.write(1, b"x" * {size})
    time.sleep(0.0002)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("streams"))) as server:
        yield server


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path / "agent")


def create_deferred(server: HttpServer, **more: Any) -> str:
    return str(server.ask("POST", "/sessions", {"initial_turn": "deferred", **more})[1]["session_id"])


def turn(server: HttpServer, session: str, prompt: str = "hello", **more: Any) -> Any:
    status, answer = server.ask("POST", f"/sessions/{session}/messages", {"prompt": prompt, **more})
    assert status == 200, answer
    return answer


def all_events(server: HttpServer, session: str) -> int:
    """The number of the last event: a subscriber that reconnects gets the end of the turn."""
    with server.events(f"/sessions/{session}/events", last_event_id="0") as events:
        return int(read_to_end(events)[-1]["sequence"])


def read_to_end(events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    received = []
    for event in events:
        received.append(event)
        if event["type"] in ENDS:
            return received
    raise AssertionError(f"no end: {received[-3:]}")


def check_order(events: list[dict[str, Any]], session: str, first: int = 1) -> None:
    assert [event["sequence"] for event in events] == list(range(first, first + len(events)))
    assert {event["session_id"] for event in events} == {session}
    assert events[0]["type"] == "turn_started"
    assert [event["type"] for event in events if event["type"] in ENDS] == [events[-1]["type"]]


# ---- JSON-RPC


def test_the_caller_gets_the_events_before_the_answer(person: Person) -> None:
    """M45: with two connections at once, each gets the events of its own turn."""
    with RawRpc(person, "--realm", "r") as rpc:
        ran = rpc.result("session/create", prompt="one two", command=["cat"])
        events = rpc.events()
        check_order(events, ran["session_id"])
        assert "".join(event["delta"] for event in events if event["type"] == "text_delta") == "one two"
        assert events[-1]["type"] == "turn_completed"
        assert events[-1]["text"] == ran["text"]
        rpc.earlier_messages.clear()
        rpc.result("turn/start", session_id=ran["session_id"], prompt="three")
        check_order(rpc.events(), ran["session_id"], first=len(events) + 1)


@pytest.mark.parametrize(
    ("command", "end"),
    [(["sh", "-c", "exit 1"], "turn_failed"), (["/no/such/program"], "turn_failed"), (["cat"], "turn_completed")],
)
def test_every_turn_ends_with_one_event(person: Person, command: list[str], end: str) -> None:
    with RawRpc(person) as rpc:
        rpc.request("session/create", prompt="x", command=command)
        events = rpc.events()
        check_order(events, events[0]["session_id"])
        assert events[-1]["type"] == end


def test_a_client_that_does_not_read_learns_how_many_events_are_missing(server: HttpServer) -> None:
    """M46, over TCP: the turn ends even if the client does not read, and only progress events are dropped."""
    with server.rpc() as slow, server.rpc() as quick:
        session = slow.result("session/create", initial_turn="deferred")["session_id"]
        command = [sys.executable, "-c", CHATTY.format(pieces=6_000, size=2_500)]
        request = slow.ask("turn/start", {"session_id": session, "prompt": "talk", "command": command})
        until(lambda: quick.result("session/read", session_id=session)["message_count"] == 2, 60)
        answer = slow.answer(request)
    received = slow.events()
    dropped = sum(event["dropped"] for event in received if event["type"] == "stream_truncated")
    sequences = [event["sequence"] for event in received if "sequence" in event]
    assert dropped > 0
    assert sequences == sorted(set(sequences))
    assert received[-1]["type"] == "turn_completed", "the end of the turn is never dropped"
    assert len(sequences) + dropped == all_events(server, session)
    assert answer["result"]["text"] == "x" * 15_000_000


# ---- Server-Sent Events


def test_a_subscriber_gets_every_turn_in_order(server: HttpServer) -> None:
    """M45."""
    session = create_deferred(server, command=["cat"])
    with server.events(f"/sessions/{session}/events") as events:
        turn(server, session, "first")
        first = read_to_end(events)
        check_order(first, session)
        turn(server, session, "second")
        check_order(read_to_end(events), session, first=len(first) + 1)
        server.ask("DELETE", f"/sessions/{session}")
        assert list(events) == [], "the stream of an archived session ends"


def test_a_late_subscriber_gets_the_turn_from_its_beginning(server: HttpServer, agent: Agent) -> None:
    session = create_deferred(server, command=agent.command)
    with ThreadPoolExecutor() as pool, ExitStack() as readers:
        running = pool.submit(turn, server, session)
        until(agent.begun.exists)
        heard = [readers.enter_context(server.events(f"/sessions/{session}/events")) for _ in range(3)]
        agent.go.touch()
        streams = [read_to_end(events) for events in heard]
        assert running.result(30)["text"] == "started\nfinished\n"
    assert streams[0] == streams[1] == streams[2]
    check_order(streams[0], session)


def test_a_subscriber_that_reconnects_gets_the_events_that_it_missed(server: HttpServer, agent: Agent) -> None:
    """M46."""
    session = create_deferred(server, command=["cat"])
    turn(server, session)  # events 1 to 3
    with ThreadPoolExecutor() as pool:
        running = pool.submit(turn, server, session, command=agent.command)
        until(agent.begun.exists)
        with server.events(f"/sessions/{session}/events", last_event_id="1") as events:
            agent.go.touch()
            received = read_to_end(events)
        running.result(30)
    assert received[0] == {"session_id": session, "type": "stream_truncated", "dropped": 2}
    check_order(received[1:], session, first=4)
    last = received[-1]["sequence"]
    with server.events(f"/sessions/{session}/events", last_event_id=str(last)) as events:
        turn(server, session, command=["cat"])
        check_order(read_to_end(events), session, first=last + 1)


def test_a_subscriber_that_reconnects_after_the_end_gets_the_rest(server: HttpServer) -> None:
    """Its connection broke in the middle of the turn, and the turn continued."""
    session = create_deferred(server, command=["cat"])
    turn(server, session)
    with server.events(f"/sessions/{session}/events", last_event_id="1") as events:
        heard = read_to_end(events)
    assert [(event["sequence"], event["type"]) for event in heard] == [(2, "text_delta"), (3, "turn_completed")]


def test_a_slow_subscriber_learns_exactly_how_many_events_are_missing(server: HttpServer) -> None:
    """M46: and it never blocks the turn."""
    session = create_deferred(server, command=[sys.executable, "-c", CHATTY.format(pieces=6_000, size=2_500)])
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = server.host.split(":")
    slow.connect((host, int(port)))
    head = f"GET /sessions/{session}/events HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {server.token}"
    slow.sendall(f"{head}\r\n\r\n".encode())
    received = slow.makefile("rb")
    assert b"200" in received.readline()
    turn(server, session)
    delivered = []
    for line in received:
        if line.startswith(b"data: "):
            delivered.append(json.loads(line[6:]))
            if delivered[-1]["type"] in ENDS:
                break
    slow.close()
    *progress, truncated, end = delivered
    assert [event["sequence"] for event in progress] == list(range(1, len(progress) + 1)), "the first events have no gap"
    assert len(progress) + truncated["dropped"] + 1 == end["sequence"] == all_events(server, session)


@pytest.mark.parametrize("session", ["01a00000-0000-7000-8000-000000000000", "no uuid"])
def test_events_of_an_unknown_session_are_an_error(server: HttpServer, session: str) -> None:
    status, answer = server.ask("GET", f"/sessions/{session.replace(' ', '%20')}/events")
    assert (status, answer["code"]) in ((404, "SESSION_NOT_FOUND"), (400, "INVALID_PARAMS"))


# ---- a turn that answers with its events


def stream_events(server: HttpServer, path: str, body: Any) -> tuple[int, list[dict[str, Any]]]:
    with server.response("POST", path, body, {"accept": "text/event-stream"}) as response:
        if response.status != 200:
            return response.status, [json.loads(response.read())]
        return 200, list(events_of(response))


def test_a_turn_may_be_answered_by_its_events(server: HttpServer) -> None:
    status, events = stream_events(server, "/sessions", {"prompt": "hello", "command": ["cat"]})
    *events, result = events
    assert status == 200
    check_order(events, result["session_id"])
    assert (result["named"], result["text"], result["turns"]) == ("result", "hello", 1)
    status, [*events, result] = stream_events(
        server, f"/sessions/{result['session_id']}/messages", {"prompt": "x", "command": ["false"]}
    )
    assert (events[-1]["type"], result["named"], result["code"]) == ("turn_failed", "error", "AGENT_ERROR")


def test_a_turn_that_cannot_begin_has_its_own_status(server: HttpServer, agent: Agent) -> None:
    session = create_deferred(server, command=agent.command)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(turn, server, session)
        until(agent.begun.exists)
        status, (error,) = stream_events(server, f"/sessions/{session}/messages", {"prompt": "me too"})
        agent.go.touch()
        running.result(30)
    assert (status, error["code"]) == (409, "SESSION_BUSY")
    assert stream_events(server, "/sessions", {"prompt": ""})[0] == 400


def test_a_turn_continues_when_its_caller_disconnects(server: HttpServer, agent: Agent) -> None:
    session = create_deferred(server, command=agent.command)
    with server.response(
        "POST", f"/sessions/{session}/messages", {"prompt": "x"}, {"accept": "text/event-stream"}
    ) as response:
        next(events_of(response))
        until(agent.begun.exists)
    agent.go.touch()
    until(lambda: server.ask("GET", f"/sessions/{session}/history")[1]["message_count"] == 2)
    assert server.ask("GET", f"/sessions/{session}/history")[1]["messages"][1]["content"] == "started\nfinished\n"


def test_a_subscription_after_an_unknown_event_is_refused(server: HttpServer) -> None:
    session = create_deferred(server, command=["cat"])
    turn(server, session)  # events 1 to 3
    status, error = server.ask("GET", f"/sessions/{session}/events", last_event_id="4000")
    assert (status, error["code"], error["details"]) == (410, "STALE_CURSOR", {"newest": 3})
    assert "4000" in error["message"]
