"""A server that runs already, over HTTP: methods have paths, the events of a turn are the answer to it."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from recollect.client._doors import DOORS
from recollect.client._http1 import Exchange, Http
from recollect.client._json import LONGEST, decoded, encoded
from recollect.client._sse import Sent, sent_by
from recollect.client._wire import GREETED_WITHIN_S, Answer, Listener, Wire, session_of
from recollect.client.errors import (
    ConnectionLost,
    InternalError,
    InvalidParams,
    RecollectError,
    SessionNotFound,
    error_of,
    lost,
)
from recollect.client.events import SessionEvent, StreamTruncated, event_of
from recollect.client.results import ServerInfo, ToolResult

VERSION = "/v1"  # of the paths that this client knows
EVENTS = "GET /sessions/{session_id}/events"
SSE = "text/event-stream"
ACCEPT = f"accept: application/json, {SSE}\r\n"  # a turn is answered by its events: silence would tell nothing of a server
SILENCE_S = 60.0  # seconds: a server says every 15 that it is still there
PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # before events are asked for again: a server restarts in less
NAMED = re.compile(r"\{(\w+)\}")


class HttpWire(Wire):
    def __init__(self, url: str, token: str | None, silence_s: float) -> None:
        self._http = Http(url, token)
        self._silence_s = silence_s

    async def greet(self) -> None:
        """Make sure that there is a server."""
        try:
            async with asyncio.timeout(GREETED_WITHIN_S), self._http.exchange("GET", "/health", None, ACCEPT) as exchange:
                told = decoded(await exchange.read(), ServerInfo)
        except TimeoutError:
            raise lost(f"{self._http.url} did not answer within {GREETED_WITHIN_S:g} s") from None
        except (ValueError, RecursionError):
            raise lost(f"{self._http.url} is no server of ours") from None
        self.server = msgspec.structs.replace(told, methods=sorted(DOORS))

    async def request(self, method: str, params: dict[str, Any], listener: Listener | None = None) -> Answer:
        if method not in DOORS:
            raise RecollectError("METHOD_NOT_FOUND", f"Method not found: {method}")
        session = session_of(params)

        def hear(event: SessionEvent) -> None:
            nonlocal session
            session = session or event.session_id  # of a session that is being made, they are the first to tell
            if listener is not None:
                listener(event)

        try:
            return await self._asked(method, params, hear)
        except ConnectionLost as reason:
            raise lost(reason.message, reason.details, session) from reason

    async def _asked(self, method: str, params: dict[str, Any], hear: Listener) -> Answer:
        session = session_of(params)
        verb, target, body = _entered(DOORS[method], params, session)
        async with self._http.exchange(verb, VERSION + target, body, ACCEPT) as exchange:
            if _is_stream(exchange):
                return await self._ran(exchange, hear, session)
            answer = await exchange.read()
        if exchange.status != 200:
            raise _error(exchange.status, answer, session)
        return answer

    async def _ran(self, exchange: Exchange, hear: Listener, session: str | None) -> Answer:
        """Hear the events of a turn; what came of it is the last of them."""
        outcome: tuple[str, bytes] | None = None
        async for sent in sent_by(exchange.parts(self._silence_s)):
            if sent.name:
                outcome = sent.name, sent.data
            else:
                hear(_heard(sent.data, session))
        match outcome:
            case "result", answer:
                return answer
            case "error", answer:
                raise _error(exchange.status, answer, session)
        raise lost(f"{self._http.url}: the events of the turn broke off")

    async def events(self, session_id: str, after: int | None) -> AsyncGenerator[SessionEvent, None]:
        """Once they have begun, they are asked for again where they break off, for as long as a server restarts."""
        heard, pauses, has_begun = after, list[float](), False
        while True:
            try:
                async with self._listening(session_id, heard) as told:
                    has_begun, pauses = True, list(PAUSES_S)
                    async for sent in told:
                        event = _heard(sent.data, session_id)
                        heard = _heard_after(event, heard)
                        yield event
            except SessionNotFound:  # it was archived meanwhile, or there never was one
                if not has_begun:
                    raise
                return
            except ConnectionLost:
                if not pauses or self._http.is_closed:
                    raise
            await asyncio.sleep(pauses.pop(0))

    @asynccontextmanager
    async def _listening(self, session_id: str, heard: int | None) -> AsyncIterator[AsyncIterator[Sent]]:
        _, target, _ = _entered(EVENTS, {"session_id": session_id}, session_id)
        headers = ACCEPT if heard is None else f"{ACCEPT}last-event-id: {heard}\r\n"
        async with self._http.exchange("GET", VERSION + target, None, headers) as exchange:
            if not _is_stream(exchange):
                raise _error(exchange.status, await exchange.read(), session_id)
            yield sent_by(exchange.parts(self._silence_s))

    async def tool(self, name: str, arguments: dict[str, Any]) -> Answer:
        target = f"{VERSION}/tools/{quote(name, safe='', errors='replace')}"
        async with self._http.exchange("POST", target, _body(arguments, None), ACCEPT) as exchange:
            answer = await exchange.read()
        if exchange.status == 200 or _is_tool_result(answer):  # what a tool refuses is an answer too
            return answer
        if exchange.status == 404:
            raise InvalidParams("INVALID_PARAMS", f"Unknown tool: {name}")
        raise _error(exchange.status, answer, None)

    async def close(self) -> None:
        await self._http.close()


# ---- to the server


def _entered(door: str, params: Mapping[str, Any], session: str | None) -> tuple[str, str, bytes | None]:
    """A request: what to do, where, and with what."""
    verb, _, path = door.partition(" ")
    named = NAMED.findall(path)
    for name in named:
        path = path.replace(f"{{{name}}}", _segment(params.get(name), name))
    rest = {name: value for name, value in params.items() if name not in named}
    if verb not in ("GET", "DELETE"):
        return verb, path, _body(rest, session)
    query = urlencode({name: _text(value) for name, value in rest.items()}, errors="replace")
    return verb, f"{path}?{query}" if query else path, None


def _segment(value: Any, name: str) -> str:
    """A part of a path. What would lead somewhere else cannot be an id."""
    text = str(value)
    if value is None or text in ("", ".", "..") or "/" in text:
        raise InvalidParams("INVALID_PARAMS", f"{name} must be an id, not {value!r}")
    return quote(text, safe=":", errors="replace")


def _text(value: Any) -> str:
    """A value as a query has it; an object is JSON, so that its names may have any character."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else encoded(value).decode()


def _body(params: Mapping[str, Any], session: str | None) -> bytes:
    body = encoded(params)
    if len(body) > LONGEST:
        raise InvalidParams("INVALID_PARAMS", f"a message may have at most {LONGEST >> 20} MB", None, session)
    return body


# ---- from the server


def _is_stream(exchange: Exchange) -> bool:
    return exchange.status == 200 and exchange.headers.get("content-type", "").startswith(SSE)


def _heard_after(event: SessionEvent, heard: int | None) -> int | None:
    """Up to which event everything was heard, or is known to be missed."""
    if isinstance(event, StreamTruncated):
        return None if heard is None else heard + event.dropped
    return getattr(event, "sequence", heard)


def _heard(data: bytes, session: str | None) -> SessionEvent:
    try:
        return event_of(data)
    except (ValueError, RecursionError):
        told = f"the server sent what is no event: {data[:200]!r}"
        raise InternalError("INTERNAL_ERROR", told, None, session) from None


def _is_tool_result(answer: bytes) -> bool:
    try:
        decoded(answer, ToolResult)
    except (ValueError, RecursionError):
        return False
    return True


def _error(status: int, answer: bytes, session: str | None) -> RecollectError:
    """The error that a body tells of, in any family's form; what stands between us and the server may have its own."""
    try:
        body = decoded(answer, dict[str, Any])
    except (ValueError, RecursionError):
        body = {}
    body = body["error"] if isinstance(body.get("error"), dict) else body
    message = str(body.get("message", f"the server answered with status {status}"))
    details = body.get("details") if isinstance(body.get("details"), dict) else None
    return error_of(body.get("code", status), message, details, session)
