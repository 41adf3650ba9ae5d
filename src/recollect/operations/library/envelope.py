"""The library's envelope: data, page and warnings; or an error with a code."""

from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.answer_file import AnswerFile
from recollect.operations.answer_types import reference_to
from recollect.operations.context import RequestContext
from recollect.operations.json_schema import COUNT, TEXT, TEXT_OR_NULL, array_of, object_of, with_optional
from recollect.operations.operation import Envelope, Operation, Reply, json_reply
from recollect.operations.schema import JsonSchema

CODES = {
    ErrorKind.BAD_ARGUMENT: "invalid_request",
    ErrorKind.BAD_ID: "invalid_id",
    ErrorKind.BAD_FILTER: "invalid_filter",
    ErrorKind.BAD_CURSOR: "invalid_cursor",
    ErrorKind.AMBIGUOUS: "ambiguous_id",
    ErrorKind.NOT_FOUND: "not_found",
    ErrorKind.SESSION_NOT_FOUND: "not_found",
    ErrorKind.GENERATION: "conflict",
    ErrorKind.SESSION_BUSY: "session_busy",
    ErrorKind.STORE_BUSY: "store_busy",
    ErrorKind.SETTINGS: "invalid_settings",
    ErrorKind.DEADLINE: "deadline_exceeded",
    ErrorKind.CANCELLED: "cancelled",
    ErrorKind.AGENT: "agent_failed",
    ErrorKind.PROVIDER: "runner_unavailable",
    ErrorKind.PERSISTENCE_DISABLED: "not_stored",
    ErrorKind.MODEL: "model_unavailable",
}
INTERNAL = "internal_error"


class PageEnd(Struct, frozen=True):
    """Where a page ends: the cursor of the next one, or null; and the number of results on all pages, if it is known."""

    next: str | None
    total: int | None = None


class LibraryAnswer(Struct, frozen=True, omit_defaults=True):
    """What an operation found."""

    data: Any
    page: PageEnd | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
    file: AnswerFile | None = None
    """What was asked for is not JSON; `data` describes it."""


def _success(operation: Operation, answer: LibraryAnswer, context: RequestContext) -> Reply:
    page = {} if answer.page is None else {"page": answer.page}
    reply = json_reply({"data": answer.data, **page, "warnings": answer.warnings})
    return reply if answer.file is None else msgspec.structs.replace(reply, file=answer.file)


def _failure(operation: Operation, error: RecollectError, arguments: Any, context: RequestContext) -> Reply:
    body = {"code": CODES.get(error.kind, INTERNAL), "message": str(error), "details": error.details}
    return json_reply({"error": body}, is_error=True, kind=error.kind)


def _frame(answer: type[Struct]) -> JsonSchema:
    """The schema of a success with this data."""
    page = object_of(next=TEXT_OR_NULL, total={**COUNT, "type": ["integer", "null"]})
    return with_optional(object_of(data=reference_to(answer), warnings=array_of(TEXT)), page=page)


ENVELOPE = Envelope(_success, _failure, _frame)
