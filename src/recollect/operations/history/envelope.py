"""The history family's envelope: the same frame around every answer and every error."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.operation import DOCTOR, Reply, RequestContext, reply_or_error

CODES = {
    ErrorKind.BAD_ARGUMENT: "invalid_request",
    ErrorKind.BAD_ID: "invalid_id",
    ErrorKind.BAD_EVENT_TYPE: "unsupported_event_type",
    ErrorKind.NOT_FOUND: "not_found",
    ErrorKind.DEADLINE: "deadline_exceeded",
}
INTERNAL = "internal_error"
ERROR = {"code": {"enum": [*CODES.values(), INTERNAL]}, "message": {"type": "string"}, "details": {"type": "object"}}
PERFORMANCE = {"elapsed_ms": {"type": "number"}, "sla_target_ms": {"type": "integer"}, "met_sla": {"type": "boolean"}}


class Answer(Struct):
    """What an operation found, and the target that its time is measured against."""

    request: dict[str, Any]
    data: dict[str, Any]
    sla_ms: int
    warnings: list[str] = []


def enveloped(
    tool: str,
    arguments: Any,
    context: RequestContext,
    target: Callable[[Any], int],
    answer: Callable[[dict[str, Any]], Answer],
) -> Reply:
    """Run an operation and frame what comes of it. An error echoes the request as it was received; it is an answer, too."""
    given = {} if arguments is None else arguments

    def made() -> Reply:
        found = answer(given)
        frame = {"schema_version": f"moraine.mcp.{tool}.v1", "tool": tool, "request": found.request, "data": found.data}
        return _timed({**frame, "warnings": found.warnings}, context, found.sla_ms)

    def refuse(error: RecollectError) -> Reply:
        body = {"code": CODES.get(error.kind, INTERNAL), "message": str(error), "details": error.details}
        request = given if isinstance(given, dict) else {}
        frame = {"schema_version": "moraine.mcp.error.v1", "tool": tool, "request": request, "error": body, "warnings": []}
        return _timed(frame, context, target(given))

    return reply_or_error(tool, made, refuse, f"{tool} failed; {DOCTOR}")


def _timed(frame: dict[str, Any], context: RequestContext, sla_ms: int) -> Reply:
    """The frame as JSON. The time is taken when all the rest has been written."""
    body = msgspec.json.encode(frame)
    elapsed = round(context.elapsed_ms(), 3)
    performance = {"elapsed_ms": elapsed, "sla_target_ms": sla_ms, "met_sla": elapsed <= sla_ms}
    whole = body[:-1] + b',"performance":' + msgspec.json.encode(performance) + b"}"
    return Reply(whole.decode(), whole)


def schemas(tool: str, data: dict[str, Any]) -> dict[str, Any]:
    """Success and error in one schema, because clients check both against it: all of it for programs; for models, who
    carry it along in every conversation, only what is always there."""
    frame = {"type": "object", "required": ["schema_version", "tool", "request", "warnings", "performance"]}
    error = {"type": "object", "required": ["code", "message", "details"]}
    outline = {"data": {"type": "object", "required": data["required"]}, "error": error}
    whole = {
        "schema_version": {"type": "string", "enum": [f"moraine.mcp.{tool}.v1", "moraine.mcp.error.v1"]},
        "tool": {"type": "string"},
        "request": {"type": "object"},
        "data": data,
        "error": {**error, "properties": ERROR},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "performance": {"type": "object", "required": list(PERFORMANCE), "properties": PERFORMANCE},
    }
    return {"output_schema": {**frame, "properties": outline}, "answer_schema": {**frame, "properties": whole}}
