"""MCP over streamable HTTP: one message a POST, answered as JSON, or as a stream where the client wants to hear of progress.

A client that opens with `initialize` gets a session, which only keeps its calls apart from those of others, so that it can
cancel them. From 2026-07-28 on there is none: a client cancels a call by hanging up, and headers repeat what the body says,
so that what stands between need not read it.
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
from recollect.surfaces.http.body import Unreadable, json_of
from recollect.surfaces.http.dispatcher import HEARTBEAT, HEARTBEAT_S, Dispatcher, sse_named
from recollect.surfaces.http.guard import LOCAL
from recollect.surfaces.http.responses import JSON, SSE
from recollect.surfaces.mcp.server import (
    HANDSHAKE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    STATELESS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Call,
    Job,
    McpServer,
    Message,
    RpcError,
)

PATH = "/mcp"
SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
METHOD, NAME = "mcp-method", "mcp-name"
NAMED = {"tools/call": "name", "prompts/get": "name"}  # what `Mcp-Name` repeats of these
MOST_SESSIONS = 10_000  # clients whose calls are kept apart; the one that was silent longest goes
HEADER_MISMATCH = -32020
EARLIER = dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, UNSUPPORTED_VERSION), 400)  # 404 would say that the session is gone
STATUS = {**EARLIER, **dict.fromkeys((INVALID_PARAMS, HEADER_MISMATCH), 400), NO_METHOD: 404}
Answer = tuple[bytes, int]  # with its status
ENCODED = re.compile(r"=\?base64\?(.*)\?=")  # a header whose value would not be one


class Session(Struct):
    """A client that has opened one."""

    running: dict[str | int, Call]

    def cancel(self) -> None:
        for call in list(self.running.values()):
            call.cancelled.set()


class McpEndpoint:
    def __init__(self, dispatcher: Dispatcher, offer: Toolset) -> None:
        self._dispatcher = dispatcher
        self._offer = offer
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def route(self) -> Route:
        async def enter(request: Request) -> Response:
            return await (self.receive(request) if request.method == "POST" else self.end(request))

        return Route(PATH, enter, methods=["POST", "DELETE"])

    async def end(self, request: Request) -> Response:
        """A client says goodbye."""
        session = self._sessions.pop(request.headers.get(SESSION, ""), None)
        if session is not None:
            session.cancel()
        return Response(status_code=204 if session is not None else 404)

    async def receive(self, request: Request) -> Response:
        context = RequestContext(
            RequestContext.now().received, cancelled=self._dispatcher.work.is_unwanted, is_local=request.scope[LOCAL]
        )
        try:
            message = await json_of(request)
        except Unreadable as wrong:
            code = PARSE_ERROR if wrong.status == 400 else INVALID_REQUEST
            return _error(RpcError(code, str(wrong)), status=wrong.status, headers=wrong.headers)
        is_modern = _is_modern(request, message)
        try:
            session = self._entered(request, message, is_modern)
            if is_modern:
                _check_headers(request, message)
        except RpcError as refused:
            return _error(refused, message)
        except KeyError:
            return _error(RpcError(INVALID_REQUEST, "there is no such session; initialize again"), message, status=404)
        exchange = self._begun(message, context, session, STATUS if is_modern else EARLIER)
        if not exchange.is_expected:
            return Response(status_code=202)
        if _wants_progress(message) and SSE in request.headers.get("accept", ""):
            lines = exchange.lines(session.cancel if is_modern else None)
            return StreamingResponse(lines, media_type=SSE, headers={"cache-control": "no-store"})
        answer, status = await (_answer_unless_gone(request, exchange, session) if is_modern else exchange.answer())
        headers = self._opened(session) if message.get("method") == "initialize" and status == 200 else {}
        return Response(answer, status, headers, JSON if answer else None)

    def _entered(self, request: Request, message: Any, is_modern: bool) -> Session:
        """The session of a client, or one for this message only. Raises KeyError where the client has another's."""
        if not isinstance(message, dict):
            raise RpcError(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 object; batches are not served")
        version = request.headers.get(VERSION)
        if version is not None and version not in (*HANDSHAKE, *STATELESS):
            supported = {"supported": [*STATELESS, *reversed(HANDSHAKE)], "requested": version}
            raise RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", supported)
        name = request.headers.get(SESSION)
        if name is None or is_modern or message.get("method") == "initialize":
            return Session({})
        self._sessions.move_to_end(name)
        return self._sessions[name]

    def _opened(self, session: Session) -> dict[str, str]:
        """The headers that tell a client of its session."""
        name = str(uuid7())
        self._sessions[name] = session
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return {SESSION: name}

    def _begun(self, message: Message, context: RequestContext, session: Session, statuses: dict[int, int]) -> "Exchange":
        exchange = Exchange(statuses)

        def run(job: Job, is_long: bool) -> bool:
            return self._dispatcher.work.take(exchange.through(job), is_long=is_long)

        McpServer(self._dispatcher.realm, self._offer, exchange.send, session.running).receive(message, context, run)
        return exchange


class Exchange:
    """What the server sends because of one message, from any thread: the answer, and notices before it."""

    def __init__(self, statuses: dict[int, int]) -> None:
        self.is_expected = False  # that anything is sent at all
        self._statuses = statuses  # of errors, by their codes
        self._loop = asyncio.get_running_loop()
        self._sent: asyncio.Queue[tuple[Message, bytes] | None] = asyncio.Queue()

    def send(self, message: Message) -> None:
        self._put((message, encode(message)))  # encoded here, in the thread that made it

    def through(self, job: Job) -> Job:
        """A job, and then the end: who cancels a call is sent no answer to it."""
        self.is_expected = True

        def work() -> None:
            try:
                job()
            finally:
                self._put(None)

        return work

    def _put(self, sent: tuple[Message, bytes] | None) -> None:
        self.is_expected = True
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._sent.put_nowait, sent)

    async def answer(self) -> Answer:
        """The answer alone, and its status; nothing where the call was cancelled."""
        while (sent := await self._sent.get()) is not None:
            message, line = sent
            if "id" in message:
                return line, self._statuses.get(message["error"]["code"], 200) if "error" in message else 200
        return b"", 202

    async def lines(self, on_end: Callable[[], None] | None) -> AsyncIterator[bytes]:
        """Everything, up to the answer or until nobody reads any more."""
        try:
            while (sent := await self._next()) is not None:
                message, line = sent
                yield sse_named("message", line) if line else HEARTBEAT
                if "id" in message:
                    return
        finally:
            if on_end is not None:
                on_end()

    async def _next(self) -> tuple[Message, bytes] | None:
        """What is sent next, which is nothing at all after a while; None when there is no more."""
        try:
            return await asyncio.wait_for(self._sent.get(), HEARTBEAT_S)
        except TimeoutError:
            return {}, b""


async def _answer_unless_gone(request: Request, exchange: Exchange, session: Session) -> Answer:
    """An answer, for which a client without a session stays connected."""
    answering, leaving = asyncio.ensure_future(exchange.answer()), asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            session.cancel()
        return await answering
    finally:
        leaving.cancel()


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _wants_progress(message: Message) -> bool:
    match message:
        case {"method": "tools/call", "params": {"_meta": {"progressToken": str() | int()}}}:
            return True
    return False


def _is_modern(request: Request, message: Message) -> bool:
    """Whether a message is of the era without a handshake: its header says so, or its envelope."""
    match message:
        case {"params": {"_meta": dict(meta)}} if VERSION_KEY in meta:
            return True
    return request.headers.get(VERSION) in STATELESS


def _check_headers(request: Request, message: Message) -> None:
    """What headers repeat must be what the body says; of a notification, nobody says what they have to be."""
    if "id" not in message:
        return
    match message:
        case {"params": {"_meta": dict(meta)}} if VERSION_KEY in meta:
            said: list[tuple[str, Any]] = [(VERSION, meta[VERSION_KEY]), (METHOD, message.get("method"))]
        case _:
            raise RpcError(INVALID_PARAMS, f"params._meta must have {VERSION_KEY}")
    name = message["params"].get(NAMED.get(str(message.get("method")), ""))
    if name is not None:
        said.append((NAME, name))
    for header, value in said:
        if _decoded(request.headers.get(header)) != value:
            raise RpcError(HEADER_MISMATCH, f"the header {header} does not say what the body does")


def _decoded(header: str | None) -> str | None:
    found = ENCODED.fullmatch(header) if header is not None else None
    if found is None:
        return header
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except ValueError:
        return header


def _error(
    error: RpcError, message: Any = None, *, status: int | None = None, headers: dict[str, str] | None = None
) -> Response:
    identity = message.get("id") if isinstance(message, dict) else None
    return Response(encode(error.answer(identity)), status or STATUS.get(error.code, 200), headers, JSON)
