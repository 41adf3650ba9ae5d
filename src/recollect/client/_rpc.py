"""JSON-RPC 2.0, one message a line."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Raw, Struct

from recollect.client._json import LONGEST, decoded, encoded
from recollect.client._turns import Asked, Turns
from recollect.client._wire import GREETED_WITHIN_S, Answer, Listener, Wire, session_of
from recollect.client.errors import ConnectionLost, InvalidParams, RecollectError, Unauthorized, error_of, lost
from recollect.client.events import SessionEvent, event_of
from recollect.client.results import ServerInfo

CHUNK = 1 << 18  # bytes that are read at once
SHOWN = 200  # characters of what a server should not have said
INVALID_REQUEST = -32600
PROTOCOL_ERRORS = {  # what errors are called that the protocol has numbers for, and no more
    -32700: "PARSE_ERROR",
    INVALID_REQUEST: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL_ERROR",
}


class Lines(Protocol):
    """Lines to and from a server, whatever they travel through."""

    name: str

    def lines(self) -> AsyncIterator[bytes]:
        """Every line that comes, until none will."""

    async def end(self) -> ConnectionLost:
        """Why none will come any more."""

    async def send(self, line: bytes) -> None:
        """Never fails: that nobody takes it is told by the end of the lines."""

    async def close(self) -> None: ...


async def cut(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """What comes, line by line. A last one without its end was torn off, and is dropped."""
    parts: list[bytes] = []  # of the line that is coming: joined once, however many there are
    while chunk := await reader.read(CHUNK):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield b"".join((*parts, end))
            parts = []
        parts.append(rest)


async def put(writer: asyncio.StreamWriter, line: bytes) -> None:
    """Write, no faster than it is read at the other end."""
    try:
        writer.write(line)
        await writer.drain()
    except (OSError, RuntimeError):  # it is gone: the end of its lines tells why
        pass


class RpcError(Struct, frozen=True):
    code: int
    message: str
    data: Any = None

    def for_session(self, session: str | None) -> RecollectError:
        data = self.data if isinstance(self.data, dict) else {}
        code = data.get("code", PROTOCOL_ERRORS.get(self.code, str(self.code)))
        return error_of(code, self.message, data.get("details"), session)


class Incoming(Struct, frozen=True):
    id: int | None = None
    method: str = ""
    params: Raw = Raw(b"")
    result: Raw = Raw(b"")
    error: RpcError | None = None


@dataclass(slots=True)
class Pending:
    answer: "asyncio.Future[Raw]"
    session: str | None
    turn: Asked | None


class RpcWire(Wire):
    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._pending: dict[int, Pending] = {}
        self._turns = Turns()
        self._last = 0
        self._lost: ConnectionLost | None = None
        self._reading = asyncio.create_task(self._read())

    async def greet(self, token: str | None = None) -> None:
        """Make sure that there is a server, and one that lets us in."""
        given = {} if token is None else {"token": token}
        try:
            async with asyncio.timeout(GREETED_WITHIN_S):
                self.server = decoded(await self.request("initialize", given), ServerInfo)
        except TimeoutError:
            raise lost(f"{self._lines.name} did not answer within {GREETED_WITHIN_S:g} s") from None
        except RecollectError as refused:
            if refused.code != PROTOCOL_ERRORS[INVALID_REQUEST]:
                raise
            raise Unauthorized("UNAUTHORIZED", refused.message) from None
        except (ValueError, RecursionError):
            raise lost(f"{self._lines.name} is no server of ours") from None

    async def request(self, method: str, params: dict[str, Any], listener: Listener | None = None) -> Answer:
        session = session_of(params)
        if self._lost is not None:
            raise lost(self._lost.message, self._lost.details, session)
        self._last += 1
        identity = self._last
        line = encoded({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}) + b"\n"
        if len(line) > LONGEST:
            raise InvalidParams("INVALID_PARAMS", f"a message may have at most {LONGEST >> 20} MB", None, session)
        turn = self._turns.ask(session, listener) if method == "turn/start" and session is not None else None
        pending = Pending(asyncio.get_running_loop().create_future(), session, turn)
        self._pending[identity] = pending
        try:
            await self._lines.send(line)
            return await pending.answer
        finally:
            if turn is not None:
                turn.listener = None  # who was cancelled hears no more, and is still known: the turn goes on

    async def tool(self, name: str, arguments: dict[str, Any]) -> Answer:
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def events(self, session_id: str, after: int | None) -> AsyncGenerator[SessionEvent, None]:
        told = "JSON-RPC tells only of turns that were asked for here, by `stream`; `http` tells of all others, too"
        raise RecollectError("NOT_OFFERED", told, None, session_id)
        yield  # a generator, like that of HTTP

    async def close(self) -> None:
        self._end(lost("the client was closed"))
        await self._lines.close()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        line = b""
        try:
            async for line in self._lines.lines():
                self._take(line)
        except (ValueError, RecursionError):  # an answer may be lost in it, and somebody would wait for ever
            shown = line.decode("utf-8", "replace")[:SHOWN]
            self._end(lost(f"{self._lines.name} said what is no JSON-RPC: {shown}"))
            await self._lines.close()
        self._end(await self._lines.end())

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        message = decoded(line, Incoming)
        if message.method == "session/event":
            self._turns.tell(event_of(message.params))
        elif message.id is not None:
            self._settle(message.id, message)
        elif message.error is not None:
            raise ValueError("an error that is nobody's")

    def _settle(self, identity: int, message: Incoming) -> None:
        pending = self._pending.pop(identity, None)
        if pending is None:
            return
        error = message.error.for_session(pending.session) if message.error is not None else None
        if pending.turn is not None and pending.session is not None:
            self._turns.answer(pending.session, pending.turn, error.code if error is not None else None)
        if pending.answer.done():  # nobody waits any more
            return
        if error is not None:
            pending.answer.set_exception(error)
        else:
            pending.answer.set_result(message.result)

    def _end(self, reason: ConnectionLost) -> None:
        self._lost = self._lost or reason
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(lost(self._lost.message, self._lost.details, pending.session))
        self._pending.clear()
