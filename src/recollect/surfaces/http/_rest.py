"""REST: an operation by the path of one of its doors. Arguments have the same names in the path, the query and the body."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from recollect.errors import BadRequest
from recollect.operations import OPERATIONS, TOOLSETS, Clock, Door, Operation, Reply, offer_of
from recollect.surfaces._json import decoded
from recollect.surfaces.http._answers import JSON, answer, refused, status
from recollect.surfaces.http._body import Unreadable, json_of
from recollect.surfaces.http._desk import Desk, Overloaded, sse_named
from recollect.surfaces.http._guard import LOCAL
from recollect.surfaces.mcp import encode, tool_result

VERSION = "/v1"  # before any path, for clients that want to say which one they were written for
SSE = "text/event-stream"
STREAMED = {"cache-control": "no-store", "x-accel-buffering": "no"}
WHOLE = re.compile(r"-?[0-9]{1,18}")
WITH_BODY = ("POST", "PUT", "PATCH")


def routes(desk: Desk) -> list[Route]:
    doors = [(operation, door) for operation in OPERATIONS.values() for door in operation.doors if door.http]
    made = [_door(desk, operation, door) for operation, door in doors]
    return [*made, _events(desk), *(_tool(desk, tool) for tool in offer_of(tuple(TOOLSETS)).operations.values())]


def _door(desk: Desk, operation: Operation, door: Door) -> Route:
    method, path = door.http.split(" ")

    async def enter(request: Request) -> Response:
        clock = _clock(request)
        try:
            arguments = door.arguments(await _given(request, operation, door))
        except BadRequest as wrong:
            return refused(400, "INVALID_PARAMS", str(wrong))
        if operation.is_long and SSE in request.headers.get("accept", ""):
            return await _turn(desk, operation, arguments, clock)
        return answer(await desk.ask(operation, arguments, clock))

    return Route(path, _caught(enter), methods=[method], name=f"{operation.name} {method}")


def _tool(desk: Desk, operation: Operation) -> Route:
    """A tool, with the very answer that it has by MCP."""

    async def call(request: Request) -> Response:
        clock = _clock(request)
        reply = await desk.ask(operation, await json_of(request), clock)
        return Response(encode(tool_result(reply)), status(reply), media_type=JSON)

    return Route(f"{VERSION}/tools/{operation.name}", _caught(call), methods=["POST"], name=f"tool {operation.name}")


def _caught(endpoint: Any) -> Any:
    async def answered(request: Request) -> Response:
        try:
            response: Response = await endpoint(request)
        except Unreadable as wrong:
            return refused(wrong.status, "INVALID_PARAMS", str(wrong))
        except Overloaded:
            return refused(503, "OVERLOADED", "this server takes no more requests now", headers={"retry-after": "1"})
        return response

    return answered


def _clock(request: Request) -> Clock:
    return Clock(Clock.now().received, is_local=request.scope[LOCAL])


# ---- events


def _events(desk: Desk) -> Route:
    async def stream(request: Request) -> Response:
        """The turns of a session as they run in this server, one event after the other, until it is archived."""
        last = request.headers.get("last-event-id", "")
        found = await desk.listening(request.path_params["session_id"], int(last) if WHOLE.fullmatch(last) else None)
        return answer(found) if isinstance(found, Reply) else _stream(found.lines())

    return Route("/sessions/{session_id}/events", _caught(stream), methods=["GET"], name="events")


async def _turn(desk: Desk, operation: Operation, arguments: Any, clock: Clock) -> Response:
    """A turn whose events are the answer, and then `result` or `error`. What cannot even begin has a status of its own."""
    reading = desk.telling()
    told = msgspec.structs.replace(clock, tell=reading.listener.feed)
    running = asyncio.ensure_future(desk.ask(operation, arguments, told))
    running.add_done_callback(lambda _: reading.listener.end())
    if not await reading.begun():
        reading.close()
        return answer(await running)

    async def lines() -> AsyncIterator[bytes]:
        async for events in reading.lines():
            yield events
        reply = await running
        yield sse_named("result" if status(reply) == 200 else "error", reply.structured or reply.text.encode())

    return _stream(lines())


def _stream(lines: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(lines, media_type=SSE, headers=STREAMED)


# ---- arguments


async def _given(request: Request, operation: Operation, door: Door) -> dict[str, Any]:
    """What a request says, wherever it says it. The same thing twice must be the same."""
    properties = operation.input_schema["properties"]
    given = _queried(properties, request.query_params.multi_items())
    if request.method in WITH_BODY:
        body = await json_of(request)
        if body is not None and not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object")
        _merge(given, body or {})
    _merge(given, request.path_params)
    for header, name in door.headers.items():
        if name not in given and header in request.headers:
            given[name] = request.headers[header]
    return given


def _merge(given: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name in given and given[name] != value:
            raise BadRequest(f"{name} is given twice, and not alike", field=name)
        given[name] = value


def _queried(properties: dict[str, Any], query: list[tuple[str, str]]) -> dict[str, Any]:
    """The values of a query by the types that the schema has for them; what does not fit stays text, to be refused."""
    given: dict[str, Any] = {}
    for name, text in query:
        name, inner, key = name.partition("[")
        kinds = _kinds(properties.get(name, {}))
        if "object" in kinds:
            given.setdefault(name, {}).update(_entry(key.removesuffix("]") if inner else None, text))
        elif "array" in kinds:
            given.setdefault(name, []).extend(_items(text))
        elif inner or name in given:
            raise BadRequest(f"{name}{inner}{key} cannot be given so", field=name)
        else:
            given[name] = _value(kinds, text)
    return given


def _kinds(schema: dict[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    inner = [kind for one in schema.get("anyOf", ()) for kind in _kinds(one)]
    return {kinds} if isinstance(kinds, str) else {*kinds, *inner}


def _value(kinds: set[str], text: str) -> Any:
    if "integer" in kinds and WHOLE.fullmatch(text):
        return int(text)
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    return text


def _entry(key: str | None, text: str) -> dict[str, Any]:
    """An entry of an object: `labels[team]=core`, `labels=team=core`, or all of it as JSON."""
    if key is not None:
        return {key: text}
    if text.startswith("{"):
        found = _json(text)
        if isinstance(found, dict):
            return found
    name, is_one, value = text.partition("=")
    if not is_one:
        raise BadRequest(f"{text!r} is neither KEY=VALUE nor a JSON object")
    return {name: value}


def _items(text: str) -> list[Any]:
    found = _json(text) if text.startswith("[") else [text]
    return found if isinstance(found, list) else [text]


def _json(text: str) -> Any:
    try:
        return decoded(text.encode())
    except (ValueError, RecursionError):
        return None
