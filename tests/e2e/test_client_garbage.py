"""The Python SDK and servers that break the protocol: invalid messages, broken or silent connections, single bytes."""

import asyncio
import json
import socket
import threading
import time
from typing import Any

import pytest

from recollect.client import (
    AsyncClient,
    Client,
    ConnectionLost,
    InternalError,
    RecollectError,
    RequestCancelled,
    SessionBusy,
    StreamTruncated,
    TextDelta,
    TurnStarted,
    Unauthorized,
    UnknownEvent,
)
from recollect.client._event_router import EventRouter
from recollect.client.events import SessionEvent, event_of
from tests.e2e.odd_servers import CONFIG, CONFIGURED, HEALTH, SERVER, SSE, Requests, answering, body, chunked, odd

RAN = {"session_id": "s", "text": "t", "usage": {}, "turns": 1, "tool_calls": 0, "stop_reason": "end_turn"}


# ---- lines


@pytest.mark.parametrize(
    "said",
    [
        'write("Welcome to the machine\\n")',
        'write(b"\\xff\\xfe\\x00\\n")',
        'write("{\\n")',
        'write("null\\n")',
        'write("[]\\n")',
        'write("7\\n")',
        'write("[" * 100_000 + "\\n")',
        'write(\'{"id": "text", "result": {}}\\n\')',
        'write(\'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}\\n\')',
        'write(\'{"jsonrpc":"2.0","method":"session/event","params":[]}\\n\')',
        'write(\'{"jsonrpc":"2.0","id":2,"error":"no object"}\\n\')',
    ],
)
def test_an_invalid_message_ends_the_connection_and_all_waiting_calls(said: str) -> None:
    """The invalid bytes may contain an answer."""
    with Client.spawn(command=odd(f"greet(); {said}; sys.stdin.read()")) as client:
        with pytest.raises(ConnectionLost, match="sent invalid JSON-RPC"):
            client.config_get()
        with pytest.raises(ConnectionLost, match="sent invalid JSON-RPC"):
            client.config_get()


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("print('out of luck', file=sys.stderr); sys.exit(3)", "exited with code 3: out of luck"),
        ("greet(); print('a\\nb\\n', file=sys.stderr); sys.exit(4)", "exited with code 4: b"),
        ('greet(); write(\'{"id": 2, "resu\'); sys.exit(0)', "exited with code 0"),
        ("greet(); os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("greet(); os.close(1); sys.stdin.read()", "exited with code 0"),
        ("greet(); os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '20'); sys.exit(5)", "exited with code 5"),
    ],
)
def test_the_error_of_an_ended_server_has_the_end_of_its_stderr(code: str, sentence: str) -> None:
    def ask() -> None:
        with Client.spawn(command=odd(code)) as client:
            client.config_get()

    began = time.monotonic()
    with pytest.raises(ConnectionLost) as caught:
        ask()
    assert time.monotonic() - began < 15  # and not when its last child has closed the pipes
    assert sentence in str(caught.value)
    assert set(caught.value.details) == {"exit_code", "signal", "stderr"}


def test_an_answer_that_arrives_byte_by_byte_between_others_is_read() -> None:
    """Empty lines, unexpected answers, unknown notifications, and an answer byte by byte."""
    code = """
identity = greet()
write("\\n \\n")
say(id=99, result={})
say(method="weather/changed", params={})
say(method="session/event", params={"session_id": "s", "type": "text_delta", "sequence": 1, "delta": "for nobody"})
for byte in json.dumps({"jsonrpc": "2.0", "id": identity, "result": CONFIG}).encode() + b"\\r\\n":
    write(bytes([byte]))
sys.stdin.read()
"""
    with Client.spawn(command=odd(code)) as client:
        assert client.config_get().generation == 3


def test_an_answer_of_another_shape_is_an_internal_error_and_the_client_continues() -> None:
    code = """
say(id=greet(), result={"config": "none"})
say(id=hear()["id"], result=CONFIG)
say(id=hear()["id"])
say(id=hear()["id"], error={"code": -32099, "message": "new", "data": ["no object"]})
sys.stdin.read()
"""
    with Client.spawn(command=odd(code)) as client:
        with pytest.raises(InternalError, match="config/get"):
            client.config_get()
        assert client.config_get().generation == 3
        with pytest.raises(InternalError):
            client.config_get()
        with pytest.raises(RecollectError) as caught:
            client.config_get()
        assert (caught.value.code, str(caught.value)) == ("-32099", "new")


def test_half_of_a_surrogate_pair_causes_no_error() -> None:
    """It is valid JSON, but not valid text."""
    code = """
hear_turn = greet()
write('{"jsonrpc":"2.0","method":"session/event","params":{"session_id":"s","sequence":1,"type":"turn_started","turn":1}}\\n')
write('{"jsonrpc":"2.0","method":"session/event","params":{"session_id":"s","sequence":2,"type":"text_delta","delta":"a\\\\ud83d b\\\\ud83e\\\\udd98"}}\\n')
ran = '{"session_id":"s","text":"a\\\\ud83d b","usage":{},"turns":1,"tool_calls":0,"stop_reason":"end_turn"}'
write('{"jsonrpc":"2.0","id":' + str(hear_turn) + ',"result":' + ran + '}\\n')
sys.stdin.read()
"""
    with Client.spawn(command=odd(code)) as client:
        turn = client.session("s").stream("x")
        assert [event.delta for event in turn if isinstance(event, TextDelta)] == ["a? b🦘"]
        assert turn.result.text == "a? b"


# ---- whose an event is


def session_event(kind: str, sequence: int = 1, **more: Any) -> SessionEvent:
    return event_of(json.dumps({"session_id": "s", "type": kind, "sequence": sequence, **more}).encode())


BEGIN, MIDDLE = session_event("turn_started", 1, turn=1), session_event("text_delta", 2, delta="x")
END, CUT = session_event("turn_failed", 3, message="m"), StreamTruncated(session_id="s", dropped=2)


def test_events_go_to_the_turn_that_requested_them() -> None:
    router, heard = EventRouter(), list[Any]()
    turn = router.add("s", heard.append)
    for event in (MIDDLE, BEGIN, MIDDLE, END, MIDDLE):
        router.dispatch(event)
    router.finish("s", turn, None)
    router.dispatch(BEGIN)
    assert heard == [BEGIN, MIDDLE, END]


def test_of_two_requested_turns_the_one_that_runs_gets_the_events() -> None:
    for busy in (0, 1):
        router = EventRouter()
        heard: list[list[SessionEvent]] = [[], []]
        turns = [router.add("s", one.append) for one in heard]
        router.dispatch(BEGIN)
        router.dispatch(MIDDLE)
        router.finish("s", turns[busy], "SESSION_BUSY")
        router.dispatch(END)
        router.finish("s", turns[1 - busy], "AGENT_ERROR")
        assert heard[busy] == []
        assert heard[1 - busy] == [BEGIN, MIDDLE, END]


def test_a_turn_that_begins_before_the_previous_response_gets_its_own_events() -> None:
    router = EventRouter()
    first: list[SessionEvent] = []
    second: list[SessionEvent] = []
    one = router.add("s", first.append)
    router.dispatch(BEGIN)
    two = router.add("s", second.append)
    for event in (MIDDLE, END, BEGIN, CUT):
        router.dispatch(event)
    router.finish("s", one, None)
    router.dispatch(END)
    router.finish("s", two, None)
    assert first == [BEGIN, MIDDLE, END]
    assert second == [BEGIN, CUT, END]


# ---- TCP


def test_a_port_of_another_program_is_not_taken_for_a_server() -> None:
    for said in (b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", b'{"id":1,"result":{}}\n', b""):
        with answering(lambda one, _, said=said: one.sendall(said)) as port, pytest.raises(ConnectionLost):  # type: ignore[misc]
            Client.connect("127.0.0.1", port)


def test_a_reset_connection_raises_connection_lost() -> None:
    def talk(one: socket.socket, _: int) -> None:
        one.recv(1 << 16)
        one.sendall(json.dumps({"id": 1, "result": SERVER}).encode() + b"\n")
        one.recv(1 << 16)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()

    with answering(talk) as port, Client.connect("127.0.0.1", port) as client:
        with pytest.raises(ConnectionLost) as caught:
            client.config_get()
        assert f"127.0.0.1:{port}" in str(caught.value)


# ---- HTTP


EVENTS = (
    b": hello\r\n\r\nid: 1\r\ndata: " + json.dumps({"session_id": "s", "sequence": 1, "type": "turn_started", "turn": 1}).encode()
    + b'\r\n\r\ndata: {"session_id": "s",\r\ndata: "type": "new_kind"}\n\n: still here\n\n'
    + b"event: result\ndata: " + json.dumps(RAN).encode() + b"\n\n"
)  # fmt: skip


def single_bytes(content: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in content]


CONTENT = json.dumps(CONFIG).encode()


@pytest.mark.parametrize(
    "answer",
    [
        CONFIGURED,
        single_bytes(CONFIGURED),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + CONFIGURED,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunked(CONTENT[:1], CONTENT[1:50], CONTENT[50:]),
        single_bytes(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunked(CONTENT)),
        [b"HTTP/1.0 200 OK\r\n\r\n" + CONTENT],
        [b"HTTP/1.1 200\r\nConnection: close\r\n\r\n" + CONTENT],
    ],
    ids=range(7),
)
def test_an_answer_is_read_in_any_framing(answer: bytes) -> None:
    requests = Requests(HEALTH, answer, CONFIGURED)
    with requests.client() as client:
        assert client.config_get().generation == 3
        assert client.config_get().generation == 3
    assert requests.connections == (2 if isinstance(answer, list) else 1)


@pytest.mark.parametrize(
    "answer",
    [
        [b"SSH-2.0-OpenSSH_9.6\r\n\r\n"],
        [b"HTTP/1.1 two hundred\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunked(CONTENT, end=b"")],
        [b"HTTP/1.1 200 OK\r\ncontent-le"],
        [b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200_000],
        [SSE + b"\r\n" + EVENTS[:200]],
    ],
    ids=range(10),
)
def test_an_incomplete_or_invalid_answer_raises_connection_lost(answer: list[bytes]) -> None:
    with Requests(HEALTH, answer, CONFIGURED).client() as client:
        with pytest.raises(ConnectionLost):
            client.session("s").stream("x").wait()
        assert client.config_get().generation == 3


def test_events_are_read_in_any_chunks() -> None:
    whole = SSE + b"\r\n" + EVENTS
    pieces = [EVENTS[at : at + 7] for at in range(0, len(EVENTS), 7)]
    by_chunks = SSE + b"transfer-encoding: chunked\r\n\r\n" + chunked(*pieces)
    for answer in ([whole], single_bytes(whole), by_chunks):
        with Requests(HEALTH, answer).client() as client:
            turn = client.session("s").stream("x")
            received = list(turn)
            assert [type(event) for event in received] == [TurnStarted, UnknownEvent]
            assert received[1].type == "new_kind"
            assert turn.result.text == "t"


def test_errors_are_recognised_in_any_envelope_and_without_one() -> None:
    busy = {"code": "SESSION_BUSY", "message": "m", "details": {"session_id": "t"}}
    html = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\n\r\n<html>"
    for answer, kind, code, session in (
        (body(busy, "409 Conflict"), SessionBusy, "SESSION_BUSY", "t"),
        (body({"error": busy}, "409 Conflict"), SessionBusy, "SESSION_BUSY", "t"),
        (SSE + b"content-length: %d\r\n\r\n" % 0, ConnectionLost, "CONNECTION_LOST", "s"),
        ([SSE + b"\r\nevent: error\ndata: " + json.dumps(busy).encode() + b"\n\n"], SessionBusy, "SESSION_BUSY", "t"),
        (html, RecollectError, "HTTP_502", "s"),
        (body([], "504 Gateway Timeout"), RequestCancelled, "REQUEST_CANCELLED", "s"),
        (body({}, "401 Unauthorized"), Unauthorized, "UNAUTHORIZED", "s"),
        (body({"code": "FORBIDDEN_HOST", "message": "m"}, "403 Forbidden"), Unauthorized, "FORBIDDEN_HOST", "s"),
        (b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /\r\ncontent-length: 0\r\n\r\n", RecollectError, "HTTP_307", "s"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", RecollectError, "HTTP_204", "s"),
    ):
        with Requests(HEALTH, answer).client() as client:
            with pytest.raises(RecollectError) as caught:
                client.session("s").start_turn("x")
            assert (type(caught.value), caught.value.code, caught.value.session_id) == (kind, code, session)


def test_reads_are_repeated_after_a_closed_connection_and_turns_never_are() -> None:
    """A turn that runs twice would be worse than a turn of which the client does not know whether it runs."""
    requests = Requests(HEALTH, None, CONFIGURED, None)
    with requests.client() as client:
        assert client.config_get().generation == 3
        with pytest.raises(ConnectionLost):
            client.session("s").start_turn("x")
    assert [request.split()[0] for request in requests.seen] == ["GET", "GET", "GET", "POST"]


def test_a_connection_is_reused_unless_its_response_was_not_read() -> None:
    answers = [HEALTH, *[CONFIGURED] * 3, SSE + b"content-length: 9999\r\n\r\n" + EVENTS[:100], CONFIGURED]
    requests = Requests(*answers)

    async def case(url: str) -> None:
        async with AsyncClient.http(url) as client:
            for _ in range(3):
                await client.config_get()
            turn = client.session("s").stream("x")
            while len(requests.seen) < 5:
                await asyncio.sleep(0.01)
            await turn.close()
            assert (await client.config_get()).generation == 3

    with answering(requests.talk) as port:
        asyncio.run(case(f"http://127.0.0.1:{port}/prefix/"))
    assert requests.connections == 2
    assert [request.split()[1] for request in requests.seen][:2] == ["/prefix/health", "/prefix/v1/config"]


def test_a_server_that_is_silent_during_a_turn_counts_as_lost() -> None:
    waiting = threading.Event()

    def talk(one: socket.socket, number: int) -> None:
        one.recv(1 << 16)
        one.sendall(HEALTH)
        one.recv(1 << 16)
        one.sendall(SSE + b"\r\n: hello\n\n")
        waiting.wait(20)

    with answering(talk) as port, Client.http(f"http://127.0.0.1:{port}", silence_s=0.1) as client:
        with pytest.raises(ConnectionLost, match=r"sent nothing for 0.1 s"):
            client.session("s").start_turn("x")
        waiting.set()


def test_events_continue_after_the_last_one_received() -> None:
    def event(sequence: int) -> bytes:
        return (
            b"data: "
            + json.dumps({"session_id": "s", "sequence": sequence, "type": "text_delta", "delta": "x"}).encode()
            + b"\n\n"
        )

    missed = b'data: {"session_id":"s","type":"stream_truncated","dropped":2}\n\n'
    gone = body({"code": "SESSION_NOT_FOUND", "message": "archived"}, "404 Not Found")
    head = SSE + b"\r\n"
    requests = Requests(HEALTH, [head + event(1) + event(2)], None, [head + missed], [head + event(5)], gone)
    with requests.client() as client:
        received = list(client.session("s").events())
    assert [getattr(event, "sequence", event.type) for event in received] == [1, 2, "stream_truncated", 5]
    came_back = [request.lower().partition("last-event-id: ")[2].split("\r")[0] for request in requests.seen[1:]]
    assert came_back == ["", "2", "2", "4", "5"]


def test_a_foreign_server_raises_connection_lost() -> None:
    for answer in (body({"status": "ok"}), [b"HTTP/1.1 200 OK\r\n\r\n<html>"], None, [b""], body({}, "404 Not Found")):
        with answering(Requests(answer).talk) as port, pytest.raises(ConnectionLost):
            Client.http(f"http://127.0.0.1:{port}")
