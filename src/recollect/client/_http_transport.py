"""The transport over HTTP: every method has a route, and turns stream their events as Server-Sent Events (SSE)."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Raw

from recollect.client._http_connection import ConnectionPool, HttpResponse
from recollect.client._json import MAX_MESSAGE_BYTES, decode, encode, shorten
from recollect.client._library_frame import LibraryFrame
from recollect.client._routes import ROUTES
from recollect.client._sse import SseMessage, read_sse
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
    InternalError,
    InvalidParams,
    RecollectError,
    SessionNotFound,
    connection_lost,
    error_of,
    for_session,
    message_too_long,
)
from recollect.client.events import LibraryChange, SessionEvent, StreamTruncated, event_of
from recollect.client.results import ServerInfo, ToolResult

EVENTS_PATH = "/sessions/{session_id}/events"
CHANGES_PATH = "/library/stream"
READY = "ready"  # the first message of the library's stream
API_VERSION = "/v1"
PATH_PARAMETER = re.compile(r"\{(\w+)\}")
FILE_NAME = re.compile(r'filename="([^"]+)"')
SSE = "text/event-stream"
ACCEPT = f"accept: application/json, {SSE}\r\n"  # events show that the server still runs a long turn
SILENCE_S = 60.0  # while a turn runs, a server sends at least a comment every 15 seconds
RETRY_PAUSES_S = (
    0.1,
    0.2,
    0.4,
    0.8,
    1.6,
    3.2,
)  # before each new attempt to get events: a server restarts in less than their sum


@dataclass(slots=True)
class StreamPlace:
    """Where a stream goes on if it has to connect again."""

    last_event_id: str | None


class HttpTransport(Transport):
    """Sends requests over HTTP."""

    def __init__(self, url: str, token: str | None, silence_s: float) -> None:
        self._pool = ConnectionPool(url, token)
        self._silence_s = silence_s

    async def handshake(self) -> None:
        """Check that the other end is a Recollect server."""
        url = self._pool.url
        try:
            async with (
                asyncio.timeout(HANDSHAKE_TIMEOUT_S),
                self._pool.request("GET", "/health", None, ACCEPT) as response,
            ):
                server = decode(await response.read(), ServerInfo)
        except TimeoutError:
            raise connection_lost(f"{url} did not answer within {HANDSHAKE_TIMEOUT_S:g} s") from None
        except (ValueError, RecursionError):
            raise connection_lost(f"{url} is not a Recollect server") from None
        self.server = msgspec.structs.replace(server, methods=sorted(ROUTES))

    async def request(self, method: str, params: dict[str, Any], listener: Listener | None = None) -> Response:
        if method not in ROUTES:
            raise RecollectError("METHOD_NOT_FOUND", f"Method not found: {method}")
        session = session_of(params)

        def receive(event: SessionEvent) -> None:
            nonlocal session
            session = session or event.session_id  # the first event names a session that is being created
            if listener is not None:
                listener(event)

        try:
            return await self._request(method, params, receive)
        except ConnectionLost as reason:
            raise for_session(reason, session) from reason

    async def _request(self, method: str, params: dict[str, Any], listener: Listener) -> Response:
        session = session_of(params)
        verb, target, body = _encode_request(ROUTES[method], params, session)
        async with self._pool.request(verb, API_VERSION + target, body, ACCEPT) as response:
            if _is_stream(response):
                return await self._read_turn(response, listener, session)
            content = await response.read()
        if response.status != 200:
            raise _decode_error(response.status, content, session)
        return content

    async def _read_turn(self, response: HttpResponse, listener: Listener, session: str | None) -> Response:
        """Pass on the events of a turn. The last message of the stream is its result or its error."""
        outcome: SseMessage | None = None
        async for message in read_sse(response.parts(self._silence_s)):
            if message.name:
                outcome = message
            else:
                listener(_decode_event(message.data, session))
        if outcome is None or outcome.name not in ("result", "error"):
            raise connection_lost(f"{self._pool.url}: the connection ended before the turn did")
        if outcome.name == "error":
            raise _decode_error(response.status, outcome.data, session)
        return outcome.data

    async def events(self, session_id: str, after: int | None) -> AsyncGenerator[SessionEvent, None]:
        """Events of all turns, until the session is archived."""
        path = EVENTS_PATH.format(session_id=_path_segment(session_id, "session_id"))
        place = StreamPlace(None if after is None else str(after))
        async for message in self._follow(path, place, session_id):
            event = _decode_event(message.data, session_id)
            after = _sequence_after(event, after)
            place.last_event_id = None if after is None else str(after)
            yield event

    async def changes(self, after: str | None) -> AsyncGenerator[LibraryChange, None]:
        """What changes in the library. `ready` comes once, also if the stream has to connect again."""
        if after is not None and not (after.isascii() and after.isprintable()):
            raise InvalidParams("INVALID_PARAMS", f"after must be the position of a change, not {after!r}")
        place, has_begun = StreamPlace(after), False
        async for message in self._follow(CHANGES_PATH, place, None):
            change = decode_result(CHANGES_PATH, message.data, LibraryChange)
            place.last_event_id = message.id or place.last_event_id
            if change.type != READY or not has_begun:
                yield msgspec.structs.replace(change, position=message.id or None)
            has_begun = True

    async def _follow(self, path: str, place: StreamPlace, session: str | None) -> AsyncGenerator[SseMessage, None]:
        """The messages of a stream. After a first connection, it reconnects for the time that a server needs to restart."""
        pauses: list[float] = []
        has_connected = False
        while True:
            try:
                async with self._open_stream(path, place.last_event_id, session) as messages:
                    has_connected, pauses = True, list(RETRY_PAUSES_S)
                    async for message in messages:
                        yield message
            except SessionNotFound:
                if not has_connected:
                    raise
                return  # the session was archived
            except ConnectionLost:
                if not pauses or self._pool.is_closed:
                    raise
            await asyncio.sleep(pauses.pop(0))

    @asynccontextmanager
    async def _open_stream(
        self, path: str, last_event_id: str | None, session: str | None
    ) -> AsyncIterator[AsyncIterator[SseMessage]]:
        headers = ACCEPT if last_event_id is None else f"{ACCEPT}last-event-id: {last_event_id}\r\n"
        async with self._pool.request("GET", API_VERSION + path, None, headers) as response:
            if not _is_stream(response):
                raise _decode_error(response.status, await response.read(), session)
            yield read_sse(response.parts(self._silence_s))

    async def download(self, method: str, params: dict[str, Any], write: Write) -> LibraryFrame:
        verb, target, body = _encode_request(ROUTES[method], params, None)
        async with self._pool.request(verb, API_VERSION + target, body, "") as response:
            if response.status != 200:
                raise _decode_error(response.status, await response.read(), None)
            async for part in response.parts():
                write(part)
        warnings = decode_result(method, response.headers.get("recollect-warnings", "[]").encode(), list[str])
        return LibraryFrame(Raw(encode(_describe_file(response.headers, params))), None, warnings)

    async def request_tool(self, name: str, arguments: dict[str, Any]) -> Response:
        target = f"{API_VERSION}/tools/{quote(name, safe='', errors='replace')}"
        async with self._pool.request("POST", target, _encode_body(arguments, None), ACCEPT) as response:
            content = await response.read()
        if response.status == 200 or _is_tool_result(content):  # an error of the tool is a result too
            return content
        if response.status == 404:
            raise InvalidParams("INVALID_PARAMS", f"Unknown tool: {name}")
        raise _decode_error(response.status, content, None)

    async def close(self) -> None:
        await self._pool.close()


# ---- requests


def _encode_request(route: str, params: Mapping[str, Any], session: str | None) -> tuple[str, str, bytes | None]:
    """Verb, target and body. Parameters go into the path, and all others into the query or the body."""
    verb, _, path = route.partition(" ")
    path_names, is_library = PATH_PARAMETER.findall(path), path.startswith("/library/")
    for name in path_names:
        path = path.replace(f"{{{name}}}", _path_segment(params.get(name), name, allows_slash=is_library))
    rest = {name: value for name, value in params.items() if name not in path_names}
    if verb not in ("GET", "DELETE"):
        return verb, path, _encode_body(rest, session)
    query = urlencode({name: _query_value(value) for name, value in rest.items()}, errors="replace")
    return verb, f"{path}?{query}" if query else path, None


def _path_segment(value: Any, name: str, *, allows_slash: bool = False) -> str:
    """A value for a path. Refuses a value that would lead to another path. An agent's own id may contain slashes."""
    text = str(value)
    if value is None or text in ("", ".", "..") or ("/" in text and not allows_slash):
        raise InvalidParams("INVALID_PARAMS", f"{name} must be an id, not {value!r}")
    return quote(text, safe=":", errors="replace")


def _query_value(value: Any) -> str:
    """Strings and integers unchanged; anything else as JSON, so that keys may contain any character."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else encode(value).decode()


def _encode_body(params: Mapping[str, Any], session: str | None) -> bytes:
    body = encode(params)
    if len(body) > MAX_MESSAGE_BYTES:
        raise message_too_long(MAX_MESSAGE_BYTES, session)
    return body


# ---- responses


def _is_stream(response: HttpResponse) -> bool:
    return response.status == 200 and response.headers.get("content-type", "").startswith(SSE)


def _describe_file(headers: Mapping[str, str], params: Mapping[str, Any]) -> dict[str, Any]:
    """What the headers of a document say about it."""
    named = FILE_NAME.search(headers.get("content-disposition", ""))
    return {
        "format": params.get("format"),
        "media_type": headers.get("content-type", "").partition(";")[0],
        "file_name": named[1] if named is not None else "document",
        "receipt": decode_result("receipt", headers.get("recollect-receipt", "{}").encode(), dict[str, Any]),
    }


def _sequence_after(event: SessionEvent, last: int | None) -> int | None:
    """The sequence of the last event that was received or dropped."""
    if isinstance(event, StreamTruncated):
        return None if last is None else last + event.dropped
    return getattr(event, "sequence", last)


def _decode_event(data: bytes, session: str | None) -> SessionEvent:
    try:
        return event_of(data)
    except (ValueError, RecursionError):
        message = f"the server sent an invalid event: {shorten(data)}"
        raise InternalError("INTERNAL_ERROR", message, None, session) from None


def _is_tool_result(content: bytes) -> bool:
    try:
        decode(content, ToolResult)
    except (ValueError, RecursionError):
        return False
    return True


def _decode_error(status: int, content: bytes, session: str | None) -> RecollectError:
    """The error in a body, bare or under `error`. A proxy's own error page leaves only the status."""
    try:
        body = decode(content, dict[str, Any])
    except (ValueError, RecursionError):
        body = {}
    body = body["error"] if isinstance(body.get("error"), dict) else body
    message = str(body.get("message", f"the server answered with status {status}"))
    details = body.get("details") if isinstance(body.get("details"), dict) else None
    return error_of(body.get("code", status), message, details, session)
