"""MCP over streamable HTTP: one message a POST, answered as JSON, or as a stream where the client wants to hear of progress.

A client that opens with `initialize` gets a session, which only keeps its calls apart from those of others; from 2026-07-28
on there is none, and headers repeat what the body says, so that what stands between need not read it.
"""

import asyncio
import base64
import re
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from recollect.operations import Clock, Offer
from recollect.realms.names import uuid7
from recollect.surfaces.http._answers import JSON
from recollect.surfaces.http._body import Unreadable, json_of
from recollect.surfaces.http._desk import HEARTBEAT, HEARTBEAT_S, Desk, sse_named
from recollect.surfaces.http._guard import LOCAL
from recollect.surfaces.mcp import (
    HANDSHAKE,
    INTERNAL,
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
    encode,
)

PATH = "/mcp"
SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
METHOD, NAME = "mcp-method", "mcp-name"
NAMED = {"tools/call": "name", "prompts/get": "name"}  # what `Mcp-Name` repeats of these
MOST_SESSIONS = 10_000  # clients whose calls are kept apart; the one that was silent longest goes
HEADER_MISMATCH = -32020
STATUS = dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION), 400)
STATUS |= {NO_METHOD: 404}
ENCODED = re.compile(r"=\?base64\?(.*)\?=")  # a header whose value would not be one


class Session(Struct):
    """A client that has opened one."""

    running: dict[str | int, Call]


class McpEndpoint:
    def __init__(self, desk: Desk, offer: Offer) -> None:
        self._desk = desk
        self._offer = offer
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def routes(self) -> list[Route]:
        return [
            Route(PATH, self.receive, methods=["POST"], name="mcp"),
            Route(PATH, self.end, methods=["DELETE"], name="mcp end"),
        ]

    async def end(self, request: Request) -> Response:
        """A client says goodbye."""
        session = self._sessions.pop(request.headers.get(SESSION, ""), None)
        for call in list(session.running.values()) if session is not None else ():
            call.cancelled.set()
        return Response(status_code=204 if session is not None else 404)

    async def receive(self, request: Request) -> Response:
        clock = Clock(Clock.now().received, is_local=request.scope[LOCAL])
        try:
            message = await json_of(request)
        except Unreadable as wrong:
            code = PARSE_ERROR if wrong.status == 400 else INVALID_REQUEST
            return _error(RpcError(code, str(wrong)), status=wrong.status)
        try:
            session = self._entered(request, message)
            if _is_modern(request, message):
                _check_headers(request, message)
        except RpcError as refused:
            return _error(refused, message)
        except KeyError:
            return _error(RpcError(INVALID_REQUEST, "there is no such session; initialize again"), message, status=404)
        return await self._answered(request, message, clock, session)

    def _entered(self, request: Request, message: Any) -> Session:
        """The session of a client, or one for this message only. Raises KeyError where the client has another's."""
        if not isinstance(message, dict):
            raise RpcError(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 object; batches are not served")
        version = request.headers.get(VERSION)
        if version is not None and version not in (*HANDSHAKE, *STATELESS):
            supported = {"supported": [*STATELESS, *reversed(HANDSHAKE)], "requested": version}
            raise RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", supported)
        name = request.headers.get(SESSION)
        if name is None or message.get("method") == "initialize":
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

    async def _answered(self, request: Request, message: Message, clock: Clock, session: Session) -> Response:
        exchange = Exchange()
        server = McpServer(self._desk.realm, self._offer, exchange.send, session.running)

        def run(job: Job, is_long: bool) -> None:
            if not (self._desk.work.beside(job) if is_long else self._desk.work.soon(job)):
                error = {"code": INTERNAL, "message": "this server takes no more requests now"}
                exchange.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

        server.receive(message, clock, run)
        if "id" not in message or ("method" not in message and ("result" in message or "error" in message)):
            return Response(status_code=202)
        headers = self._opened(session) if message.get("method") == "initialize" else {}
        if _wants_progress(message) and "text/event-stream" in request.headers.get("accept", ""):
            return StreamingResponse(exchange.lines(), media_type="text/event-stream", headers={"cache-control": "no-store"})
        answer, status = await exchange.answer()
        return Response(answer, status, headers, JSON)


class Exchange:
    """What the server sends because of one message, from any thread: the answer, and notices before it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sent: asyncio.Queue[tuple[Message, bytes]] = asyncio.Queue()

    def send(self, message: Message) -> None:
        line = encode(message)  # here, in the thread that made it
        try:
            self._loop.call_soon_threadsafe(self._sent.put_nowait, (message, line))
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    async def answer(self) -> tuple[bytes, int]:
        """The answer alone, and its status."""
        while True:
            message, line = await self._sent.get()
            if "id" in message:
                return line, STATUS.get(message["error"]["code"], 200) if "error" in message else 200

    async def lines(self) -> AsyncIterator[bytes]:
        """Everything, up to the answer."""
        while True:
            try:
                message, line = await asyncio.wait_for(self._sent.get(), HEARTBEAT_S)
            except TimeoutError:
                yield HEARTBEAT
                continue
            yield sse_named("message", line)
            if "id" in message:
                return


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


def _error(error: RpcError, message: Any = None, *, status: int | None = None) -> Response:
    identity = message.get("id") if isinstance(message, dict) else None
    body: Message = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    answer = msgspec.json.encode({"jsonrpc": "2.0", "id": identity, "error": body})
    return Response(answer, status or STATUS.get(error.code, 200), media_type=JSON)
