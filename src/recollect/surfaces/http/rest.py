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
from recollect.surfaces.http.library_stream import ChangeStream
from recollect.surfaces.http.responses import JSON, SSE, STREAM_HEADERS, error_response, response_of, status_of
from recollect.surfaces.mcp.server import tool_result
from recollect.surfaces.transport.thread_pool import OVERLOADED

VERSION = "/v1"  # optional prefix of every path, for clients that name their version
INTEGER = re.compile(r"-?[0-9]{1,4000}")  # Python refuses to convert longer numbers
PARAMETER = re.compile(r"([^\[\]]*)(?:\[([^\[\]]*)\])?")  # a query parameter; `labels[team]` is one entry of an object
ANY_TEXT = (  # an agent's own id may contain slashes, and so may a label
    ("/library/sessions/{id}", "/library/sessions/{id:path}"),
    ("/labels/{name}", "/labels/{name:path}"),
)
WITH_BODY = ("POST", "PUT", "PATCH")


Endpoint = Callable[[Request], Awaitable[Response]]


def routes(dispatcher: Dispatcher) -> list[HttpRoute]:
    """One route per path, so that a wrong method is answered with all methods of the path."""
    paths: dict[str, dict[str, Endpoint]] = {
        "/sessions/{session_id}/events": {"GET": _events(dispatcher)},
        "/library/stream": {"GET": ChangeStream(dispatcher).respond},
    }
    for operation in OPERATIONS.values():
        for route in operation.routes:
            if route.http:
                method, path = route.http.split(" ")
                paths.setdefault(path, {})[method] = _handler(dispatcher, operation, route)
    paths = {path: paths[path] for path in sorted(paths, key=_precedence)}
    tools = {
        f"{VERSION}/tools/{tool.name}": _tool(dispatcher, tool) for tool in toolset_of(tuple(FAMILIES)).operations.values()
    }
    return [
        *(_route(prefix + path, methods) for prefix in ("", VERSION) for path, methods in paths.items()),
        *(_route(path, {"POST": tool}) for path, tool in tools.items()),
    ]


def _precedence(path: str) -> tuple[bool, int]:
    """Paths that end with a name come before those that end with any text, and longer ones before their beginnings."""
    return path.endswith("}"), -path.count("/")


def _route(path: str, methods: dict[str, Endpoint]) -> HttpRoute:
    async def handle(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        try:
            return await methods[method](request)
        except BodyError as error:
            return error_response(error.status, "INVALID_PARAMS", str(error), headers=error.headers)
        except Overloaded:
            return error_response(503, "OVERLOADED", OVERLOADED, headers={"retry-after": "1"})

    for named, matching in ANY_TEXT:
        path = path.replace(named, matching)
    return HttpRoute(path, handle, methods=[*methods])


def _handler(dispatcher: Dispatcher, operation: Operation, route: Route) -> Endpoint:
    async def handle(request: Request) -> Response:
        context = _context(request)
        arguments: Any
        try:
            arguments = route.arguments(await _arguments(request, operation, route))
        except BadRequest as error:
            arguments = error  # the operation reports it in its family's format
        if operation.is_long and SSE in request.headers.get("accept", ""):
            return await _turn(dispatcher, operation, arguments, context)
        return response_of(await dispatcher.run(operation, arguments, context))

    return handle


def _tool(dispatcher: Dispatcher, operation: Operation) -> Endpoint:
    """A tool, with the same result as over MCP."""

    async def call(request: Request) -> Response:
        context = _context(request)
        try:
            arguments = await _body(request)
        except BadRequest as error:
            arguments = error
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
        events = await dispatcher.follow_session(
            request.path_params["session_id"], int(last) if INTEGER.fullmatch(last) else None
        )
        if isinstance(events, Reply):
            return response_of(events)
        if request.method == "HEAD":  # it gets no events, and would wait until the stream ends
            events.close()
            return Response(media_type=SSE)
        return _stream(events.lines())

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
    """The arguments in path, query, body and headers. An argument that occurs twice must have equal values."""
    properties = operation.input_schema["properties"]
    arguments = _from_query(properties, request.query_params.multi_items())
    if request.method in WITH_BODY:
        body = await _body(request)
        if body is not None and not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object")
        _merge(arguments, body or {})
    _merge(arguments, request.path_params)
    for header, name in route.headers.items():
        if name not in arguments and header in request.headers:
            arguments[name] = request.headers[header]
    return arguments


async def _body(request: Request) -> Any:
    """The body's JSON. Invalid JSON is `BadRequest`, which the operation reports; other errors do not reach it."""
    try:
        return await read_json(request)
    except BodyError as error:
        if error.status != 400:
            raise
        raise BadRequest(str(error)) from None


def _merge(arguments: dict[str, Any], others: dict[str, Any]) -> None:
    """Add other arguments. Raises an error for an argument with two different values."""
    for name, value in others.items():
        if name in arguments and arguments[name] != value:
            raise BadRequest(f"{name} has two different values", field=name)
        arguments[name] = value


def _from_query(properties: dict[str, Any], query: list[tuple[str, str]]) -> dict[str, Any]:
    """The arguments in a query, by their types in the schema. A value of another type stays text, to be refused."""
    arguments: dict[str, Any] = {}
    for parameter, text in query:
        match = PARAMETER.fullmatch(parameter)
        name, key = match.groups() if match is not None else (parameter, None)
        kinds = _kinds(properties.get(name, {}))
        if "object" in kinds:
            arguments.setdefault(name, {}).update(_entry(key, text))
        elif "array" in kinds and key in (None, ""):
            arguments.setdefault(name, []).extend(_items(text))
        elif match is None or key is not None or name in arguments:
            raise BadRequest(f"cannot read the query parameter {parameter}", field=name)
        else:
            arguments[name] = _value(kinds, text)
    return arguments


def _kinds(schema: dict[str, Any]) -> set[str]:
    kinds = schema.get("type", [])
    inner = [kind for option in schema.get("anyOf", ()) for kind in _kinds(option)]
    return {kinds} if isinstance(kinds, str) else {*kinds, *inner}


def _value(kinds: set[str], text: str) -> Any:
    if "integer" in kinds and INTEGER.fullmatch(text):
        return int(text)
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    return text


def _entry(key: str | None, text: str) -> dict[str, Any]:
    """An entry of an object: `labels[team]=core`, `labels=team=core`, or the whole object as JSON."""
    if key is not None:
        return {key: text}
    if text.startswith("{"):
        decoded = _json(text)
        if isinstance(decoded, dict):
            return decoded
    name, equals, value = text.partition("=")
    if not equals:
        raise BadRequest(f"{text!r} is neither KEY=VALUE nor a JSON object")
    return {name: value}


def _items(text: str) -> list[Any]:
    decoded = _json(text) if text.startswith("[") else [text]
    return decoded if isinstance(decoded, list) else [text]


def _json(text: str) -> Any:
    try:
        return decode(text.encode())
    except (ValueError, RecursionError):
        return None
