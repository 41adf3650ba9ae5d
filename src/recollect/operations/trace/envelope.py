"""The trace family's wrapper: data, and beside it only what there is of pages, a hint and warnings; errors have one form."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.operation import DOCTOR, Reply, RequestContext, reply_or_error
from recollect.realms import Realm

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


class Answer(Struct, omit_defaults=True):
    """What an operation found. Exactly this is sent, without what is empty."""

    data: Any
    pagination: Pagination | None = None
    hint: str | None = None
    warnings: list[str] = []

    def size(self) -> int:
        """Bytes of the whole answer."""
        return len(msgspec.json.encode(self))


def wrapped(
    tool: str, operation: Callable[[Realm, Any, RequestContext], Answer]
) -> Callable[[Realm, Any, RequestContext], Reply]:
    """The operation with its wrapper around what comes of it, whatever that is."""

    def run(realm: Realm, arguments: Any, context: RequestContext) -> Reply:
        def made() -> Reply:
            body = msgspec.json.encode(operation(realm, {} if arguments is None else arguments, context))
            return Reply(body.decode(), body)

        return reply_or_error(tool, made, _refused, f"{tool} failed; {DOCTOR}.")

    return run


def _refused(reason: RecollectError) -> Reply:
    code, message, details = CODES.get(reason.kind, INTERNAL), str(reason), reason.details
    if code == "invalid_parameter":
        field = details.pop("field", None)
        details = {**({"parameter": field} if field is not None else {}), "reason": message, **details}
    error = {"code": code, "message": message, **({"details": details} if details else {}), "retryable": code in RETRYABLE}
    body = msgspec.json.encode({"error": error})
    return Reply(body.decode(), body, is_error=True)
