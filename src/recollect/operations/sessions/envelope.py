"""The sessions family answers with bare objects; errors are `{code, message, details?}`."""

from typing import Any

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.context import RequestContext
from recollect.operations.operation import Envelope, Operation, Reply, json_reply

CODES = {
    ErrorKind.BAD_ARGUMENT: "INVALID_PARAMS",
    ErrorKind.GENERATION: "GENERATION_CONFLICT",
    ErrorKind.SESSION_NOT_FOUND: "SESSION_NOT_FOUND",
    ErrorKind.SESSION_BUSY: "SESSION_BUSY",
    ErrorKind.CANCELLED: "REQUEST_CANCELLED",
    ErrorKind.PROVIDER: "PROVIDER_ERROR",
    ErrorKind.AGENT: "AGENT_ERROR",
    ErrorKind.PERSISTENCE_DISABLED: "SESSION_PERSISTENCE_DISABLED",
    ErrorKind.STALE_CURSOR: "STALE_CURSOR",
    ErrorKind.STORE: "INTERNAL_ERROR",
}
# Error kinds without a code of their own in this family, each with the kind whose code and status it uses everywhere.
SHARED = {
    ErrorKind.BAD_ID: ErrorKind.BAD_ARGUMENT,
    ErrorKind.AMBIGUOUS: ErrorKind.BAD_ARGUMENT,
    ErrorKind.SETTINGS: ErrorKind.BAD_ARGUMENT,
    ErrorKind.REALM_NOT_FOUND: ErrorKind.BAD_ARGUMENT,
    ErrorKind.NOT_FOUND: ErrorKind.BAD_ARGUMENT,
    ErrorKind.DEADLINE: ErrorKind.CANCELLED,
    ErrorKind.MODEL: ErrorKind.PROVIDER,
}

Answer = dict[str, Any]


def _success(_: Operation, answer: Answer, context: RequestContext) -> Reply:
    return json_reply(answer)


def _failure(_: Operation, error: RecollectError, arguments: Any, context: RequestContext) -> Reply:
    return error_reply(error)


def error_reply(error: RecollectError) -> Reply:
    """An error in this family's form."""
    kind = _kind(error.kind)
    details = {"details": error.details} if error.details else {}
    return json_reply({"code": CODES[kind], "message": str(error), **details}, is_error=True, kind=kind)


ENVELOPE = Envelope(_success, _failure)


def _kind(kind: ErrorKind) -> ErrorKind:
    """The kind whose code an error has here."""
    shared = SHARED.get(kind, kind)
    return shared if shared in CODES else ErrorKind.STORE
