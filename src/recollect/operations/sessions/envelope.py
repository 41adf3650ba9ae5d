"""The sessions family's answers: bare objects; errors are `{code, message, details?}`."""

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.errors import ErrorKind, RecollectError
from recollect.live import LiveRealm
from recollect.operations.operation import DOCTOR, Reply, RequestContext, reply_or_error

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
# Kinds that have no word of their own here, by those whose they share: with the word they share its numbers on all surfaces.
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


def replied(
    operation: Callable[[LiveRealm, Any, RequestContext], Answer],
) -> Callable[[LiveRealm, Any, RequestContext], Reply]:
    def run(realm: LiveRealm, arguments: Any, context: RequestContext) -> Reply:
        def made() -> Reply:
            body = msgspec.json.encode(operation(realm, {} if arguments is None else arguments, context))
            return Reply(body.decode(), body)

        reply = reply_or_error(operation.__name__, made, refused, f"{operation.__name__} failed; {DOCTOR}.")
        return reply if reply.kind is None else msgspec.structs.replace(reply, kind=_kind(reply.kind))

    return run


def refused(reason: RecollectError) -> Reply:
    """An error, as this family says it."""
    kind = _kind(reason.kind)
    details = {"details": reason.details} if reason.details else {}
    body = msgspec.json.encode({"code": CODES[kind], "message": str(reason), **details})
    return Reply(body.decode(), body, is_error=True, kind=kind)


def _kind(kind: ErrorKind) -> ErrorKind:
    """The kind by whose word an error is called here."""
    shared = SHARED.get(kind, kind)
    return shared if shared in CODES else ErrorKind.STORE
