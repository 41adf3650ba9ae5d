"""The transport over JSON-RPC 2.0: one message per line."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw, Struct

from recollect.client._event_router import EventRouter, PendingTurn
from recollect.client._json import MAX_MESSAGE_BYTES, decode, encode, shorten
from recollect.client._library_frame import LibraryFrame
from recollect.client._line_connection import LineConnection
from recollect.client._transport import (
    HANDSHAKE_TIMEOUT_S,
    Listener,
    Response,
    Transport,
    Write,
    decode_result,
    session_of,
)
from recollect.client.errors import (
    ConnectionLost,
    RecollectError,
    Unauthorized,
    connection_lost,
    error_of,
    for_session,
    message_too_long,
)
from recollect.client.events import LibraryChange, SessionEvent, event_of
from recollect.client.results import ServerInfo

INVALID_REQUEST = -32600
PROTOCOL_ERRORS = {  # our names for JSON-RPC's own errors, which have none
    -32700: "PARSE_ERROR",
    INVALID_REQUEST: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL_ERROR",
}


class RpcError(Struct, frozen=True):
    """The error in a response."""

    code: int
    message: str
    data: Any = None

    def as_exception(self, session: str | None) -> RecollectError:
        data = self.data if isinstance(self.data, dict) else {}
        code = data.get("code", PROTOCOL_ERRORS.get(self.code, str(self.code)))
        return error_of(code, self.message, data.get("details"), session)


class Incoming(Struct, frozen=True):
    """A response (with an id) or a notification (with a method)."""

    id: int | None = None
    method: str = ""
    params: Raw = Raw(b"")
    result: Raw = Raw(b"")
    error: RpcError | None = None


@dataclass(slots=True)
class PendingRequest:
    """A request that has no response yet. `turn` is set if it runs a turn."""

    response: "asyncio.Future[Raw]"
    session: str | None
    turn: PendingTurn | None


class RpcTransport(Transport):
    """Sends requests over a connection that carries one message per line."""

    def __init__(self, connection: LineConnection) -> None:
        self._connection = connection
        self._pending: dict[int, PendingRequest] = {}
        self._router = EventRouter()
        self._last_id = 0
        self._lost: ConnectionLost | None = None
        self._reading = asyncio.create_task(self._read())

    async def handshake(self, token: str | None = None) -> None:
        """Check that the other end is a Recollect server and accepts the token."""
        name = self._connection.name
        params = {} if token is None else {"token": token}
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
                self.server = decode(await self.request("initialize", params), ServerInfo)
        except TimeoutError:
            raise connection_lost(f"{name} did not answer within {HANDSHAKE_TIMEOUT_S:g} s") from None
        except RecollectError as error:
            if error.code != PROTOCOL_ERRORS[INVALID_REQUEST]:
                raise
            raise Unauthorized("UNAUTHORIZED", error.message) from None
        except (ValueError, RecursionError):
            raise connection_lost(f"{name} is not a Recollect server") from None

    async def request(self, method: str, params: dict[str, Any], listener: Listener | None = None) -> Response:
        session = session_of(params)
        if self._lost is not None:
            raise for_session(self._lost, session)
        self._last_id += 1
        request_id = self._last_id
        line = encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"
        if len(line) > MAX_MESSAGE_BYTES:
            raise message_too_long(MAX_MESSAGE_BYTES, session)
        turn = self._router.add(session, listener) if method == "turn/start" and session is not None else None
        pending = PendingRequest(asyncio.get_running_loop().create_future(), session, turn)
        self._pending[request_id] = pending
        try:
            await self._connection.send(line)
            return await pending.response
        finally:
            if turn is not None:
                turn.listener = None  # after a cancel the turn still runs, so it stays in the router

    async def request_tool(self, name: str, arguments: dict[str, Any]) -> Response:
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def download(self, method: str, params: dict[str, Any], write: Write) -> LibraryFrame:
        frame = await self.call(LibraryFrame, method, **params)
        description = decode_result(method, frame.data, dict[str, Any])
        write(str(description.pop("content", "")).encode())
        return msgspec.structs.replace(frame, data=Raw(encode(description)))

    async def changes(self, after: str | None) -> AsyncGenerator[LibraryChange, None]:
        raise RecollectError("NOT_OFFERED", "Over JSON-RPC nothing tells what changes in the library. Use `http`.")
        yield  # makes this a generator

    async def events(self, session_id: str, after: int | None) -> AsyncGenerator[SessionEvent, None]:
        message = "Over JSON-RPC only `stream` gives events, those of its own turn. Use `http` for the events of all turns."
        raise RecollectError("NOT_OFFERED", message, None, session_id)
        yield  # makes this a generator

    async def close(self) -> None:
        self._fail_pending(connection_lost("the client was closed"))
        await self._connection.close()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        line = b""
        try:
            async for line in self._connection.lines():
                self._receive(line)
        except (ValueError, RecursionError):  # it may have been a response: its caller would wait for ever
            self._fail_pending(connection_lost(f"{self._connection.name} sent invalid JSON-RPC: {shorten(line)}"))
            await self._connection.close()
        self._fail_pending(await self._connection.wait_ended())

    def _receive(self, line: bytes) -> None:
        if not line.strip():
            return
        message = decode(line, Incoming)
        if message.method == "session/event":
            self._router.dispatch(event_of(message.params))
        elif message.id is not None:
            self._settle(message.id, message)
        elif message.error is not None:
            raise ValueError("an error without the id of a request")

    def _settle(self, request_id: int, message: Incoming) -> None:
        pending = self._pending.pop(request_id, None)
        if pending is None:
            return
        error = message.error.as_exception(pending.session) if message.error is not None else None
        if pending.turn is not None and pending.session is not None:
            self._router.finish(pending.session, pending.turn, error.code if error is not None else None)
        if pending.response.done():  # the caller was cancelled
            return
        if error is not None:
            pending.response.set_exception(error)
        else:
            pending.response.set_result(message.result)

    def _fail_pending(self, reason: ConnectionLost) -> None:
        """Fail all waiting and later requests. The first reason stays."""
        self._lost = self._lost or reason
        for pending in self._pending.values():
            if not pending.response.done():
                pending.response.set_exception(for_session(self._lost, pending.session))
        self._pending.clear()
