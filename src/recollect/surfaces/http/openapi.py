"""The OpenAPI 3.1 document, derived from the table of operations."""

import re
from functools import cache
from typing import Any

import msgspec

from recollect import __version__
from recollect.operations import FAMILIES, Operation, Route, answer_components, toolset_of
from recollect.operations.schema import schema_of

Part = dict[str, Any]

ARGUMENT = re.compile(r"{(\w+)}")
JSON = "application/json"
SSE = "text/event-stream"
TEXT: Part = {"type": "string"}
FAILURES = {
    "400": "The request is invalid.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another site's page, or its `Host` is not this machine's.",
    "404": "Not found in this realm.",
    "408": "The request took too long to arrive.",
    "409": "Conflict: a turn is running, or the config has changed.",
    "413": "The body is too large.",
    "499": "The turn was interrupted.",
    "500": "The agent or this server failed.",
    "501": "This realm does not store this.",
    "502": "A service that the agent needs is not available.",
    "503": "The server takes no more requests now.",
    "504": "The deadline has passed.",
}


@cache
def document() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(_document())


def _document() -> Part:
    paths: dict[str, Part] = {}
    for family, operation in ((name, operation) for name in FAMILIES for operation in FAMILIES[name].operations):
        for route in operation.routes:
            if route.http:
                method, path = route.http.split(" ")
                paths.setdefault(path, {})[method.lower()] = _entry(operation, route, family)
    paths["/sessions/{session_id}/events"] = {"get": _events()}
    paths["/library/stream"] = {"get": _changes()}
    paths["/health"] = {"get": _health()}
    paths["/login-links"] = {"post": _new_link()}
    for tool in toolset_of(tuple(FAMILIES)).operations.values():
        paths[f"/v1/tools/{tool.name}"] = {"post": _tool(tool)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": __version__,
            "description": "The history and memory of AI agents. Arguments have the same names in paths, queries and "
            "bodies, and errors the same codes as on every other surface. Every path also exists under /v1.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name} for name in (*FAMILIES, "tools", "server")],
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR, "ToolResult": _TOOL_RESULT, "Event": _EVENT, **answer_components()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


_ERROR: Part = {
    "type": "object",
    "properties": {"code": TEXT, "message": TEXT, "details": {"type": "object"}},
    "required": ["code", "message"],
}
_TOOL_RESULT: Part = {
    "type": "object",
    "description": "The same result as over MCP.",
    "properties": {
        "content": {"type": "array", "items": {"type": "object"}},
        "structuredContent": {"type": "object"},
        "isError": {"type": "boolean"},
    },
    "required": ["content", "isError"],
}
_EVENT: Part = {
    "type": "object",
    "properties": {
        "session_id": TEXT,
        "sequence": {"type": "integer", "minimum": 1},
        "type": {
            "type": "string",
            "description": "turn_started, text_delta, reasoning_delta, tool_call, tool_result, turn_completed, turn_failed, "
            "turn_interrupted, or stream_truncated with the number of dropped events.",
        },
    },
    "required": ["session_id", "type"],
}


def _entry(operation: Operation, route: Route, family: str) -> Part:
    method, path = route.http.split(" ")
    path_names = ARGUMENT.findall(path)
    schema = schema_of(route.request) if route.request else _without(operation.input_schema, *route.implied_arguments)
    has_body = method in ("POST", "PUT", "PATCH")
    query_names = [] if has_body else [name for name in schema["properties"] if name not in path_names]
    content = {JSON: {"schema": operation.response_schema}}
    content |= {kind: {"schema": TEXT} for kind in operation.file_types}
    if (operation.is_long and "messages" in path) or (path == "/sessions" and method == "POST"):
        content[SSE] = {"schema": TEXT}
    entry: Part = {
        "operationId": route.rpc.replace("/", "_") or operation.name,
        "summary": operation.title,
        "description": operation.description,
        "tags": [family],
        "parameters": [
            *(_parameter(name, schema, is_in_path=True) for name in path_names),
            *(_parameter(name, schema, is_in_path=False) for name in query_names),
            *_headers(route, schema),
        ],
        "responses": _responses(content, family),
    }
    if has_body:
        entry["requestBody"] = _body(_without(schema, *path_names))
    return entry


def _body(schema: Part) -> Part:
    """The JSON body. Unknown names are refused, and null means absent."""
    required = schema.get("required", [])
    properties = {name: part if name in required else _or_null(part) for name, part in schema["properties"].items()}
    kind = "object" if required else ["object", "null"]
    body = {**schema, "type": kind, "properties": properties, "additionalProperties": False}
    return {"required": bool(required), "content": {JSON: {"schema": body}}}


def _or_null(schema: Part) -> Part:
    match schema:
        case {"type": str(kind), "enum": list(values)}:
            return {**schema, "type": [kind, "null"], "enum": [*values, None]}
        case {"type": str(kind)}:
            return {**schema, "type": [kind, "null"]}
        case {"type": list(kinds)} if "null" not in kinds:
            return {**schema, "type": [*kinds, "null"]}
    return schema


def _without(schema: Part, *names: str) -> Part:
    properties = {name: part for name, part in schema["properties"].items() if name not in names}
    required = [name for name in schema.get("required", ()) if name not in names]
    rest = {key: value for key, value in schema.items() if key not in ("properties", "required")}
    return {**rest, "properties": properties, **({"required": required} if required else {})}


def _parameter(name: str, schema: Part, *, is_in_path: bool) -> Part:
    value = _plain(schema["properties"].get(name, TEXT))
    parameter: Part = {"name": name, "in": "path" if is_in_path else "query", "schema": value}
    if "description" in value:
        parameter["description"] = value["description"]
    if is_in_path or name in schema.get("required", ()):
        parameter["required"] = True
    if value.get("type") == "object":
        parameter |= {"style": "deepObject", "explode": True}
    return parameter


def _plain(schema: Part) -> Part:
    """The schema of a query parameter, which cannot be null."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("type", "enum")}
    values = {"enum": [value for value in schema["enum"] if value is not None]} if "enum" in schema else {}
    return {**rest, "type": next(kind for kind in kinds if kind != "null"), **values}


def _headers(route: Route, schema: Part) -> list[Part]:
    return [
        {
            "name": header,
            "in": "header",
            "schema": schema["properties"][name],
            "description": f"{name}, if the body does not have it.",
        }
        for header, name in route.headers.items()
    ]


def _responses(content: Part, family: str) -> Part:
    """Success and all errors. Errors are in the format of the family, or of this server."""
    error = {"$ref": "#/components/schemas/Error"} if family == "sessions" else {"type": "object"}
    failures = {status: _failure(text, error) for status, text in FAILURES.items()}
    return {"200": {"description": "The result.", "content": content}, **failures}


def _failure(description: str, error: Part) -> Part:
    return {"description": description, "content": {JSON: {"schema": error}}}


def _tool(operation: Operation) -> Part:
    result = {JSON: {"schema": {"$ref": "#/components/schemas/ToolResult"}}}
    return {
        "operationId": f"tool_{operation.name}",
        "summary": operation.title,
        "description": operation.description,
        "tags": ["tools"],
        "requestBody": _body(operation.input_schema),
        "responses": _responses(result, "tools"),
    }


def _events() -> Part:
    return {
        "operationId": "session_events",
        "summary": "Follow a session",
        "description": "The events of this session's turns that run in this server, as Server-Sent Events: `data` is "
        "an event. A client that joins during a turn gets all its events; with Last-Event-ID, those after that event.",
        "tags": ["sessions"],
        "parameters": [
            {"name": "session_id", "in": "path", "required": True, "schema": TEXT},
            {"name": "Last-Event-ID", "in": "header", "schema": TEXT},
        ],
        "responses": {
            **_responses({SSE: {"schema": TEXT}}, "sessions"),
            "410": _failure("Last-Event-ID is not an event of this session.", {"$ref": "#/components/schemas/Error"}),
        },
    }


def _changes() -> Part:
    return {
        "operationId": "library_stream",
        "summary": "Follow the realm",
        "description": "Server-Sent Events that say which sessions changed, and up to which event. `refresh` means that a "
        "page must be loaded again. With Last-Event-ID, the stream begins with what was missed.",
        "tags": ["library"],
        "parameters": [{"name": "Last-Event-ID", "in": "header", "schema": TEXT}],
        "responses": _responses({SSE: {"schema": TEXT}}, "library"),
    }


def _health() -> Part:
    fields = dict.fromkeys(("status", "version", "realm_id", "instance_id", "backend"), TEXT)
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return {
        "operationId": "health",
        "summary": "Check that the server is running",
        "tags": ["server"],
        "security": [],
        "responses": {"200": {"description": "It is running.", "content": {JSON: {"schema": schema}}}},
    }


def _new_link() -> Part:
    schema = {"type": "object", "properties": {"url": TEXT}, "required": ["url"]}
    return {
        "operationId": "new_login_link",
        "summary": "Create a link that signs a browser in",
        "description": "The link works once. The browser that opens it gets a cookie.",
        "tags": ["server"],
        "responses": _responses({JSON: {"schema": schema}}, "server"),
    }
