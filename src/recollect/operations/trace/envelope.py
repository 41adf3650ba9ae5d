"""The trace family's envelope: data, and if there are any, a page, a hint and warnings. Errors have their own form."""

from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.context import RequestContext
from recollect.operations.operation import Envelope, Operation, Reply, json_reply

CODES = {
    ErrorKind.BAD_ARGUMENT: "invalid_parameter",
    ErrorKind.BAD_EVENT_TYPE: "invalid_parameter",
    ErrorKind.BAD_ID: "invalid_session_id",
    ErrorKind.AMBIGUOUS: "ambiguous_session_prefix",
    ErrorKind.BAD_DETAIL_LEVEL: "invalid_detail_level",
    ErrorKind.BAD_CURSOR: "invalid_cursor",
    ErrorKind.OUT_OF_RANGE: "invalid_event_index",
    ErrorKind.NOT_FOUND: "session_not_found",
    ErrorKind.DEADLINE: "search_timeout",
}
INTERNAL = "internal_error"
RETRYABLE = {"search_timeout", INTERNAL}


class Pagination(Struct):
    total_in_page: int
    next_cursor: str | None
    has_more: bool


class TraceAnswer(Struct, omit_defaults=True):
    """The answer of an operation. It is sent without a frame; empty fields are omitted."""

    data: Any
    pagination: Pagination | None = None
    hint: str | None = None
    warnings: list[str] = []

    def size(self) -> int:
        """Bytes of the whole answer."""
        return len(msgspec.json.encode(self))


def _success(_: Operation, answer: TraceAnswer, context: RequestContext) -> Reply:
    return json_reply(answer)


def _failure(_: Operation, error: RecollectError, arguments: Any, context: RequestContext) -> Reply:
    code, message, details = CODES.get(error.kind, INTERNAL), str(error), error.details
    if code == "invalid_parameter":
        field = details.pop("field", None)
        details = {**({"parameter": field} if field is not None else {}), "reason": message, **details}
    body = {"code": code, "message": message, **({"details": details} if details else {}), "retryable": code in RETRYABLE}
    return json_reply({"error": body}, is_error=True)


ENVELOPE = Envelope(_success, _failure)
