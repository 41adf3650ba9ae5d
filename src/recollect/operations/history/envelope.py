"""The history family's envelope: the same frame around every answer and every error."""

from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.context import RequestContext
from recollect.operations.operation import Envelope, Operation, Reply

CODES = {
    ErrorKind.BAD_ARGUMENT: "invalid_request",
    ErrorKind.BAD_FILTER: "invalid_request",
    ErrorKind.AMBIGUOUS: "invalid_request",
    ErrorKind.BAD_ID: "invalid_id",
    ErrorKind.BAD_EVENT_TYPE: "unsupported_event_type",
    ErrorKind.NOT_FOUND: "not_found",
    ErrorKind.DEADLINE: "deadline_exceeded",
}
INTERNAL = "internal_error"
ERROR = {
    "code": {"enum": [*dict.fromkeys(CODES.values()), INTERNAL]},
    "message": {"type": "string"},
    "details": {"type": "object"},
}
PERFORMANCE = {"elapsed_ms": {"type": "number"}, "sla_target_ms": {"type": "integer"}, "met_sla": {"type": "boolean"}}

# Target response times in milliseconds, fixed by the contract: by the kind of the id, else by the tool.
TARGETS_BY_KIND = {"session": 500, "turn": 300}
TARGETS = {"search_sessions": 750, "open": 200, "list_sessions": 300}


class HistoryAnswer(Struct):
    """The answer of an operation, and the target for its response time."""

    request: dict[str, Any]
    data: dict[str, Any]
    sla_ms: int
    warnings: list[str] = []


def target_of(tool: str, identity: Any) -> int:
    """The target for a request; `identity` is the id in it, or None."""
    kind = identity.partition(":")[0] if isinstance(identity, str) else ""
    return TARGETS_BY_KIND.get(kind, TARGETS[tool])


def _success(operation: Operation, answer: HistoryAnswer, context: RequestContext) -> Reply:
    tool = operation.name
    frame = {"schema_version": f"moraine.mcp.{tool}.v1", "tool": tool, "request": answer.request, "data": answer.data}
    return _timed({**frame, "warnings": answer.warnings}, context, answer.sla_ms)


def _failure(operation: Operation, error: RecollectError, arguments: Any, context: RequestContext) -> Reply:
    """The error, with the request as received."""
    body = {"code": CODES.get(error.kind, INTERNAL), "message": str(error), "details": error.details}
    request = arguments if isinstance(arguments, dict) else {}
    frame = {"schema_version": "moraine.mcp.error.v1", "tool": operation.name, "request": request, "error": body}
    identity = request.get({"search_sessions": "within_id", "open": "id"}.get(operation.name, ""))
    return _timed({**frame, "warnings": []}, context, target_of(operation.name, identity))


ENVELOPE = Envelope(_success, _failure)


def _timed(frame: dict[str, Any], context: RequestContext, sla_ms: int) -> Reply:
    """The frame as JSON. The time is measured last, after everything else is encoded."""
    body = msgspec.json.encode(frame)
    elapsed = round(context.elapsed_ms(), 3)
    performance = {"elapsed_ms": elapsed, "sla_target_ms": sla_ms, "met_sla": elapsed <= sla_ms}
    framed = body[:-1] + b',"performance":' + msgspec.json.encode(performance) + b"}"
    return Reply(framed.decode(), framed)


def schemas(tool: str, data: dict[str, Any]) -> dict[str, Any]:
    """One schema for success and error, because clients check both against it.

    Programs get the whole schema. Models get only its required fields, because it takes tokens in every conversation.
    """
    frame = {"type": "object", "required": ["schema_version", "tool", "request", "warnings", "performance"]}
    error = {"type": "object", "required": ["code", "message", "details"]}
    outline = {"data": {"type": "object", "required": data["required"]}, "error": error}
    complete = {
        "schema_version": {"type": "string", "enum": [f"moraine.mcp.{tool}.v1", "moraine.mcp.error.v1"]},
        "tool": {"type": "string"},
        "request": {"type": "object"},
        "data": data,
        "error": {**error, "properties": ERROR},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "performance": {"type": "object", "required": list(PERFORMANCE), "properties": PERFORMANCE},
    }
    return {"output_schema": {**frame, "properties": outline}, "answer_schema": {**frame, "properties": complete}}
