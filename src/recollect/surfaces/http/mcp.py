"""MCP over streamable HTTP: one message per POST, answered as JSON, or as a stream if the client wants progress.

A client that starts with `initialize` gets a session, whose only purpose is to let the client cancel its own calls. From
2026-07-28 on there are no sessions: a client cancels a call by disconnecting, and headers repeat parts of the body for
proxies.
"""

import asyncio
import base64
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from recollect.lenient_json import encode
from recollect.operations import RequestContext, Toolset
from recollect.realms.names import uuid7
from recollect.surfaces.http.body import BodyError, read_json
from recollect.surfaces.http.dispatcher import HEARTBEAT, HEARTBEAT_S, Dispatcher, encode_named_event
from recollect.surfaces.http.guard import LOCAL
from recollect.surfaces.http.responses import JSON, SSE
from recollect.surfaces.mcp.server import (
    HANDSHAKE,
    STATELESS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Call,
    Job,
    McpServer,
    Message,
    RpcError,
)
from recollect.surfaces.transport.error_codes import INVALID_PARAMS, INVALID_REQUEST, NO_METHOD, PARSE_ERROR

PATH = "/mcp"
SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
METHOD, NAME = "mcp-method", "mcp-name"
NAME_FIELDS = {"tools/call": "name", "prompts/get": "name"}  # the field that `Mcp-Name` repeats
MAX_SESSIONS = 10_000  # the least recently used session is dropped
HEADER_MISMATCH = -32020
HANDSHAKE_STATUS = dict.fromkeys(
    (PARSE_ERROR, INVALID_REQUEST, UNSUPPORTED_VERSION), 400
)  # 404 would mean that the session is gone
STATUS = {**HANDSHAKE_STATUS, **dict.fromkeys((INVALID_PARAMS, HEADER_MISMATCH), 400), NO_METHOD: 404}
Answer = tuple[bytes, int]  # body and status
ENCODED = re.compile(r"=\?base64\?(.*)\?=")  # a header value that is not ASCII


class McpSession(Struct):
    """The running calls of a client that has initialized."""

    running: dict[str | int, Call]

    def cancel(self) -> None:
        for call in list(self.running.values()):
            call.cancelled.set()


class McpEndpoint:
    """Answers the POST and DELETE requests of all MCP clients."""

    def __init__(self, dispatcher: Dispatcher, toolset: Toolset) -> None:
        self._dispatcher = dispatcher
        self._toolset = toolset
        self._sessions: OrderedDict[str, McpSession] = OrderedDict()

    def route(self) -> Route:
        async def handle(request: Request) -> Response:
            return await (self.receive(request) if request.method == "POST" else self.close_session(request))

        return Route(PATH, handle, methods=["POST", "DELETE"])

    async def close_session(self, request: Request) -> Response:
        """End a client's session."""
        session = self._sessions.pop(request.headers.get(SESSION, ""), None)
        if session is not None:
            session.cancel()
        return Response(status_code=204 if session is not None else 404)

    async def receive(self, request: Request) -> Response:
        """The response to a message."""
        context = RequestContext(
            RequestContext.now().received, cancelled=self._dispatcher.threads.is_stopping, is_local=request.scope[LOCAL]
        )
        try:
            message = await read_json(request)
        except BodyError as error:
            code = PARSE_ERROR if error.status == 400 else INVALID_REQUEST
            return _error(RpcError(code, str(error)), status=error.status, headers=error.headers)
        is_stateless = _is_stateless(request, message)
        try:
            session = self._session_of(request, message, is_stateless)
            if is_stateless:
                _check_headers(request, message)
        except RpcError as error:
            return _error(error, message)
        except KeyError:
            return _error(RpcError(INVALID_REQUEST, "there is no such session; initialize again"), message, status=404)
        exchange = self._start(message, context, session, STATUS if is_stateless else HANDSHAKE_STATUS)
        if not exchange.has_response:
            return Response(status_code=202)
        if _wants_progress(message) and SSE in request.headers.get("accept", ""):
            lines = exchange.lines(session.cancel if is_stateless else None)
            return StreamingResponse(lines, media_type=SSE, headers={"cache-control": "no-store"})
        answer, status = await (_answer_while_connected(request, exchange, session) if is_stateless else exchange.answer())
        headers = self._new_session(session) if message.get("method") == "initialize" and status == 200 else {}
        return Response(answer, status, headers, JSON if answer else None)

    def _session_of(self, request: Request, message: Any, is_stateless: bool) -> McpSession:
        """The session of a client, or a new one for this message. Raises KeyError for an unknown session."""
        if not isinstance(message, dict):
            raise RpcError(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 object; batches are not served")
        version = request.headers.get(VERSION)
        if version is not None and version not in (*HANDSHAKE, *STATELESS):
            supported = {"supported": [*STATELESS, *reversed(HANDSHAKE)], "requested": version}
            raise RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", supported)
        name = request.headers.get(SESSION)
        if name is None or is_stateless or message.get("method") == "initialize":
            return McpSession({})
        self._sessions.move_to_end(name)
        return self._sessions[name]

    def _new_session(self, session: McpSession) -> dict[str, str]:
        """Register a session. Returns the header that names it."""
        name = str(uuid7())
        self._sessions[name] = session
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return {SESSION: name}

    def _start(self, message: Message, context: RequestContext, session: McpSession, statuses: dict[int, int]) -> "Exchange":
        exchange = Exchange(statuses)

        def run(job: Job, is_long: bool) -> bool:
            return self._dispatcher.threads.submit(exchange.then_end(job), is_long=is_long)

        McpServer(self._dispatcher.realm, self._toolset, exchange.send, session.running).receive(message, context, run)
        return exchange


class Exchange:
    """What the server sends for one message, from any thread: progress notices and the response."""

    def __init__(self, statuses: dict[int, int]) -> None:
        self.has_response = False  # a notification has none
        self._statuses = statuses  # HTTP status by error code
        self._loop = asyncio.get_running_loop()
        self._sent: asyncio.Queue[tuple[Message, bytes] | None] = asyncio.Queue()

    def send(self, message: Message) -> None:
        self._put((message, encode(message)))  # encoded in the worker thread, not in the event loop

    def then_end(self, job: Job) -> Job:
        """A job that ends the exchange afterwards: a cancelled call gets no response."""
        self.has_response = True

        def work() -> None:
            try:
                job()
            finally:
                self._put(None)

        return work

    def _put(self, item: tuple[Message, bytes] | None) -> None:
        self.has_response = True
        with suppress(RuntimeError):  # the loop is closed: no caller waits
            self._loop.call_soon_threadsafe(self._sent.put_nowait, item)

    async def answer(self) -> Answer:
        """The response and its status; empty if the call was cancelled."""
        while (item := await self._sent.get()) is not None:
            message, line = item
            if "id" in message:
                return line, self._statuses.get(message["error"]["code"], 200) if "error" in message else 200
        return b"", 202

    async def lines(self, on_end: Callable[[], None] | None) -> AsyncIterator[bytes]:
        """Progress and the response as Server-Sent Events, until the client disconnects."""
        try:
            while (item := await self._next()) is not None:
                message, line = item
                yield encode_named_event("message", line) if line else HEARTBEAT
                if "id" in message:
                    return
        finally:
            if on_end is not None:
                on_end()

    async def _next(self) -> tuple[Message, bytes] | None:
        """The next message; an empty message after some silence, for a heartbeat; None at the end."""
        try:
            return await asyncio.wait_for(self._sent.get(), HEARTBEAT_S)
        except TimeoutError:
            return {}, b""


async def _answer_while_connected(request: Request, exchange: Exchange, session: McpSession) -> Answer:
    """The response. Cancels the call if the client disconnects, for clients without a session."""
    answering, disconnecting = asyncio.ensure_future(exchange.answer()), asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait((answering, disconnecting), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            session.cancel()
        return await answering
    finally:
        disconnecting.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _wants_progress(message: Message) -> bool:
    match message:
        case {"method": "tools/call", "params": {"_meta": {"progressToken": str() | int()}}}:
            return True
    return False


def _is_stateless(request: Request, message: Message) -> bool:
    """Whether a message uses a revision without a handshake, by its header or its `_meta`."""
    match message:
        case {"params": {"_meta": dict(meta)}} if VERSION_KEY in meta:
            return True
    return request.headers.get(VERSION) in STATELESS


def _check_headers(request: Request, message: Message) -> None:
    """Raise an error unless the headers repeat the body's values. Notifications need no headers, by the specification."""
    if "id" not in message:
        return
    match message:
        case {"params": {"_meta": dict(meta)}} if VERSION_KEY in meta:
            expected: list[tuple[str, Any]] = [(VERSION, meta[VERSION_KEY]), (METHOD, message.get("method"))]
        case _:
            raise RpcError(INVALID_PARAMS, f"params._meta must have {VERSION_KEY}")
    name = message["params"].get(NAME_FIELDS.get(str(message.get("method")), ""))
    if name is not None:
        expected.append((NAME, name))
    for header, value in expected:
        if _decode_header(request.headers.get(header)) != value:
            raise RpcError(HEADER_MISMATCH, f"the header {header} does not match the body")


def _decode_header(header: str | None) -> str | None:
    """The value of a header, which may be encoded in Base64."""
    match = ENCODED.fullmatch(header) if header is not None else None
    if match is None:
        return header
    try:
        return base64.b64decode(match[1], validate=True).decode()
    except ValueError:
        return header


def _error(
    error: RpcError, message: Any = None, *, status: int | None = None, headers: dict[str, str] | None = None
) -> Response:
    identity = message.get("id") if isinstance(message, dict) else None
    return Response(encode(error.response(identity)), status or STATUS.get(error.code, 200), headers, JSON)
