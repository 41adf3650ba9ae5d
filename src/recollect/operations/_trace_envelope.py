"""The trace family's wrapper: data, and beside it only what there is of pages, a hint and warnings; errors have one form."""

import logging
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ErrorKind, RecollectError
from recollect.operations._operation import Clock, Reply
from recollect.realms import Realm

CODES = {
    ErrorKind.BAD_ARGUMENT: "invalid_parameter",
    ErrorKind.BAD_EVENT_TYPE: "invalid_parameter",
    ErrorKind.BAD_ID: "invalid_session_id",
    ErrorKind.AMBIGUOUS: "ambiguous_session_prefix",
    ErrorKind.BAD_DETAIL_LEVEL: "invalid_detail_level",
    ErrorKind.BAD_CURSOR: "invalid_cursor",
    ErrorKind.OUT_OF_RANGE: "invalid_event_index",
    ErrorKind.ABSENT: "session_not_found",
    ErrorKind.DEADLINE: "search_timeout",
}
INTERNAL = "internal_error"
RETRYABLE = {"search_timeout", "rate_limit_exceeded", INTERNAL}

log = logging.getLogger(__name__)


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


def wrapped(tool: str, operation: Callable[[Realm, Any, Clock], Answer]) -> Callable[[Realm, Any, Clock], Reply]:
    """The operation with its wrapper around what comes of it, whatever that is."""

    def run(realm: Realm, arguments: Any, clock: Clock) -> Reply:
        try:
            body = msgspec.json.encode(operation(realm, {} if arguments is None else arguments, clock))
        except RecollectError as error:
            return _refused(CODES.get(error.kind, INTERNAL), str(error), error.details)
        except Exception:  # the family's last net: a fault of ours is an answer too, and never ends the server
            log.exception("%s failed", tool)
            return _refused(INTERNAL, f"{tool} failed; `recollect doctor` may know why.", {})
        return Reply(body.decode(), body)

    return run


def _refused(code: str, message: str, details: dict[str, Any]) -> Reply:
    if code == "invalid_parameter":
        field = details.pop("field", None)
        details = {**({"parameter": field} if field is not None else {}), "reason": message, **details}
    error = {"code": code, "message": message, **({"details": details} if details else {}), "retryable": code in RETRYABLE}
    body = msgspec.json.encode({"error": error})
    return Reply(body.decode(), body, is_error=True)
