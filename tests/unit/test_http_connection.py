"""Connections without a request, or with an invalid one, get an error in JSON and are closed."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from recollect.surfaces.http import connection as _connection
from recollect.surfaces.http.connection import Connection

ClientScript = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class ImpatientConnection(Connection):
    timeout_s = 0.2


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("here you are")(scope, receive, send)


def talk(script: ClientScript, connection: type[Connection] = ImpatientConnection) -> None:
    """Run a client's script against a real server in this process."""

    async def serve_and_talk() -> None:
        config = uvicorn.Config(app, http=connection, lifespan="off", log_level="error", port=0, host="127.0.0.1")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(20):
            await script(reader, writer)
        writer.close()
        server.should_exit = True
        await serving

    asyncio.run(serve_and_talk())


async def refusal(reader: asyncio.StreamReader) -> tuple[int, str]:
    """The status and the message of an answer after which the connection is closed."""
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    assert b"connection: close" in head.lower()
    answer = json.loads(body)
    return int(head.split()[1]), f"{answer['code']}: {answer['message']}"


def test_a_connection_without_a_request_is_closed() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        assert await refusal(reader) == (408, "INVALID_PARAMS: the request did not begin within 0.2 s")

    talk(trickle)


def test_sending_a_head_byte_by_byte_does_not_extend_the_time_limit() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply = asyncio.create_task(refusal(reader))
        while not reply.done():
            writer.write(b"G")
            await asyncio.wait([reply], timeout=0.05)
        assert reply.result()[0] == 408

    talk(trickle)


def test_a_connection_without_a_second_request_is_closed() -> None:
    async def send_two_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        assert (await reader.readuntil(b"here you are")).startswith(b"HTTP/1.1 200")
        writer.write(HEAD)
        assert (await refusal(reader))[0] == 408

    talk(send_two_requests)


def test_a_client_that_only_connects_is_disconnected_without_a_response() -> None:
    async def only_connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""

    talk(only_connect)


def test_a_client_may_stay_silent_after_an_answer() -> None:
    """Longer than a head may take: the time limit does not apply between two requests."""

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"here you are")
        closed = asyncio.create_task(reader.read(1))
        assert await asyncio.wait([closed], timeout=2 * ImpatientConnection.timeout_s) == (set(), {closed})
        writer.write(HEAD + b"\r\n")
        assert await closed == b"H"

    talk(stay_silent)


@pytest.mark.parametrize(
    ("request_line", "status", "reason"),
    [(b"\x16\x03\x01\x02\x00\r\n\r\n", 400, "not an HTTP request"), (HEAD + b"X: " + b"x" * 100_000, 431, "too long")],
    ids=["TLS", "a long head"],
)
def test_an_invalid_request_is_refused_in_json(request_line: bytes, status: int, reason: str) -> None:
    async def send_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request_line)
        code, message = await refusal(reader)
        assert code == status
        assert reason in message

    talk(send_line)


def test_too_many_callers_are_told_to_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connection, "MAX_CONNECTIONS", 0)

    async def send_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        status, message = await refusal(reader)
        assert status == 503
        assert message.startswith("UNAVAILABLE: ")

    talk(send_request)
