"""A connection whose requests do not begin, or are none, is told so as everything else is, and closed."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from recollect.surfaces.http import connection as _connection
from recollect.surfaces.http.connection import Connection

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class Hasty(Connection):
    timeout_s = 0.2


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("here you are")(scope, receive, send)


def talk(say: Talk, connection: type[Connection] = Hasty) -> None:
    """Have somebody talk to a real server in this process."""

    async def both() -> None:
        config = uvicorn.Config(app, http=connection, lifespan="off", log_level="error", port=0, host="127.0.0.1")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(20):
            await say(reader, writer)
        writer.close()
        server.should_exit = True
        await serving

    asyncio.run(both())


async def refusal(reader: asyncio.StreamReader) -> tuple[int, str]:
    """The status and the message of an answer after which the connection is closed."""
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    assert b"connection: close" in head.lower()
    answer = json.loads(body)
    return int(head.split()[1]), f"{answer['code']}: {answer['message']}"


def test_a_request_that_does_not_begin_is_not_waited_for() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        assert await refusal(reader) == (408, "INVALID_PARAMS: the request did not begin within 0.2 s")

    talk(trickle)


def test_every_byte_of_a_head_does_not_win_more_time() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answered = asyncio.create_task(refusal(reader))
        while not answered.done():
            writer.write(b"G")
            await asyncio.wait([answered], timeout=0.05)
        assert answered.result()[0] == 408

    talk(trickle)


def test_nor_is_the_second_request_of_a_connection() -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        assert (await reader.readuntil(b"here you are")).startswith(b"HTTP/1.1 200")
        writer.write(HEAD)
        assert (await refusal(reader))[0] == 408

    talk(twice)


def test_who_only_connects_is_let_go_without_a_word() -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""

    talk(nothing)


def test_an_answer_may_be_followed_by_silence() -> None:
    """Longer than a head may take: between two requests there is nothing to wait for."""

    async def rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"here you are")
        closed = asyncio.create_task(reader.read(1))
        assert await asyncio.wait([closed], timeout=2 * Hasty.timeout_s) == (set(), {closed})
        writer.write(HEAD + b"\r\n")
        assert await closed == b"H"

    talk(rest)


@pytest.mark.parametrize(
    ("request_line", "status", "said"),
    [(b"\x16\x03\x01\x02\x00\r\n\r\n", 400, "not an HTTP request"), (HEAD + b"X: " + b"x" * 100_000, 431, "too long")],
    ids=["TLS", "a long head"],
)
def test_what_is_no_request_is_refused_in_json(request_line: bytes, status: int, said: str) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request_line)
        code, message = await refusal(reader)
        assert code == status
        assert said in message

    talk(speak)


def test_one_caller_too_many_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connection, "MAX_CONNECTIONS", 0)

    async def come(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        status, message = await refusal(reader)
        assert status == 503
        assert message.startswith("UNAVAILABLE: ")

    talk(come)
