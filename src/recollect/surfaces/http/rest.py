"""REST: operations by the paths of their routes. Arguments have the same names in the path, the query and the body."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as HttpRoute

from recollect.errors import BadRequest
from recollect.lenient_json import decode, encode
from recollect.operations import FAMILIES, OPERATIONS, Operation, Reply, RequestContext, Route, toolset_of
from recollect.surfaces.http.body import BodyError, read_json
from recollect.surfaces.http.dispatcher import Dispatcher, Overloaded, encode_named_event
from recollect.surfaces.http.guard import LOCAL
from recollect.surfaces.http.responses import JSON, SSE, error_response, response_of, status_of
from recollect.surfaces.mcp.server import tool_result

VERSION = "/v1"  # optional prefix of every path, for clients that name their version
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
WHOLE = re.compile(r"-?[0-9]{1,4000}")  # as long as Python reads it
NAME = re.compile(r"([^\[\]]*)(?:\[([^\[\]]*)\])?")  # in a query; `labels[team]` is one entry of an object
WITH_BODY = ("POST", "PUT", "PATCH")


Endpoint = Callable[[Request], Awaitable[Response]]


def routes(dispatcher: Dispatcher) -> list[HttpRoute]:
    """One route per path, so that a wrong method is answered with all methods of the path."""
    paths: dict[str, dict[str, Endpoint]] = {"/sessions/{session_id}/events": {"GET": _events(dispatcher)}}
    for operation in OPERATIONS.values():
        for route in operation.routes:
            if route.http:
                method, path = route.http.split(" ")
                paths.setdefault(path, {})[method] = _handler(dispatcher, operation, route)
    tools = {
        f"{VERSION}/tools/{tool.name}": _tool(dispatcher, tool) for tool in toolset_of(tuple(FAMILIES)).operations.values()
    }
    return [
        *(_route(prefix + path, methods) for prefix in ("", VERSION) for path, methods in paths.items()),
        *(_route(path, {"POST": tool}) for path, tool in tools.items()),
    ]


def _route(path: str, methods: dict[str, Endpoint]) -> HttpRoute:
    async def enter(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        try:
            return await methods[method](request)
        except BodyError as wrong:
            return error_response(wrong.status, "INVALID_PARAMS", str(wrong), headers=wrong.headers)
        except Overloaded:
            return error_response(503, "OVERLOADED", "this server takes no more requests now", headers={"retry-after": "1"})

    return HttpRoute(path, enter, methods=[*methods])


def _handler(dispatcher: Dispatcher, operation: Operation, route: Route) -> Endpoint:
    async def enter(request: Request) -> Response:
        context = _context(request)
        arguments: Any
        try:
            arguments = route.arguments(await _arguments(request, operation, route))
        except BadRequest as wrong:
            arguments = wrong  # the operation reports it in its family's format
        if operation.is_long and SSE in request.headers.get("accept", ""):
            return await _turn(dispatcher, operation, arguments, context)
        return response_of(await dispatcher.run(operation, arguments, context))

    return enter


def _tool(dispatcher: Dispatcher, operation: Operation) -> Endpoint:
    """A tool, with the same result as over MCP."""

    async def call(request: Request) -> Response:
        context = _context(request)
        try:
            arguments = await _body(request)
        except BadRequest as wrong:
            arguments = wrong
        reply = await dispatcher.run(operation, arguments, context)
        return Response(encode(tool_result(reply)), status_of(reply), media_type=JSON)

    return call


def _context(request: Request) -> RequestContext:
    return RequestContext(RequestContext.now().received, is_local=request.scope[LOCAL])


# ---- events


def _events(dispatcher: Dispatcher) -> Endpoint:
    async def stream(request: Request) -> Response:
        """The events of a session's turns in this server, until it is archived."""
        last = request.headers.get("last-event-id", "")
        found = await dispatcher.follow_session(
            request.path_params["session_id"], int(last) if WHOLE.fullmatch(last) else None
        )
        if isinstance(found, Reply):
            return response_of(found)
        if request.method == "HEAD":  # which wants no events, and would wait for the end of them
            found.close()
            return Response(media_type=SSE)
        return _stream(found.lines())

    return stream


async def _turn(dispatcher: Dispatcher, operation: Operation, arguments: Any, context: RequestContext) -> Response:
    """A turn as a stream of its events, then `result` or `error`. A turn that cannot start gets a plain response."""
    stream = dispatcher.open_stream()
    streamed = msgspec.structs.replace(context, on_event=stream.subscriber.push)
    running = asyncio.ensure_future(dispatcher.run(operation, arguments, streamed))
    running.add_done_callback(lambda _: stream.subscriber.finish())
    if not await stream.wait_for_first():
        stream.close()
        return response_of(await running)

    async def lines() -> AsyncIterator[bytes]:
        async for events in stream.lines():
            yield events
        reply = await running
        yield encode_named_event("result" if status_of(reply) == 200 else "error", reply.structured or reply.text.encode())

    return _stream(lines())


def _stream(lines: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(lines, media_type=SSE, headers=STREAM_HEADERS)


# ---- arguments


async def _arguments(request: Request, operation: Operation, route: Route) -> dict[str, Any]:
    """The arguments of a request, from path, query, body and headers. One that is given twice must be equal."""
    properties = operation.input_schema["properties"]
    given = _from_query(properties, request.query_params.multi_items())
    if request.method in WITH_BODY:
        body = await _body(request)
        if body is not None and not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object")
        _merge(given, body or {})
    _merge(given, request.path_params)
    for header, name in route.headers.items():
        if name not in given and header in request.headers:
            given[name] = request.headers[header]
    return given


async def _body(request: Request) -> Any:
    """The body. The operation refuses invalid JSON; a body that is too large or late never reaches it."""
    try:
        return await read_json(request)
    except BodyError as wrong:
        if wrong.status != 400:
            raise
        raise BadRequest(str(wrong)) from None


def _merge(given: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name in given and given[name] != value:
            raise BadRequest(f"{name} is given twice, and not alike", field=name)
        given[name] = value


def _from_query(properties: dict[str, Any], query: list[tuple[str, str]]) -> dict[str, Any]:
    """The values of a query by the types that the schema has for them; what does not fit stays text, to be refused."""
    given: dict[str, Any] = {}
    for whole, text in query:
        found = NAME.fullmatch(whole)
        name, key = found.groups() if found is not None else (whole, None)
        kinds = _kinds(properties.get(name, {}))
        if "object" in kinds:
            given.setdefault(name, {}).update(_entry(key, text))
        elif "array" in kinds and key in (None, ""):
            given.setdefault(name, []).extend(_items(text))
        elif found is None or key is not None or name in given:
            raise BadRequest(f"{whole} cannot be given so", field=name)
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
        return decode(text.encode())
    except (ValueError, RecursionError):
        return None
