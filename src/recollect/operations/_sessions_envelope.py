"""The sessions family's answers: bare objects; errors are `{code, message, details?}`."""

from collections.abc import Callable
from typing import Any

import msgspec

from recollect.errors import ErrorKind, RecollectError
from recollect.operations._operation import DOCTOR, Clock, Reply, answered
from recollect.realms import Realm

CODES = {
    ErrorKind.BAD_ARGUMENT: "INVALID_PARAMS",
    ErrorKind.BAD_ID: "INVALID_PARAMS",
    ErrorKind.AMBIGUOUS: "INVALID_PARAMS",
    ErrorKind.SETTINGS: "INVALID_PARAMS",
    ErrorKind.NO_REALM: "INVALID_PARAMS",
    ErrorKind.ABSENT: "INVALID_PARAMS",
    ErrorKind.GENERATION: "GENERATION_CONFLICT",
    ErrorKind.NO_SESSION: "SESSION_NOT_FOUND",
    ErrorKind.SESSION_BUSY: "SESSION_BUSY",
    ErrorKind.CANCELLED: "REQUEST_CANCELLED",
    ErrorKind.DEADLINE: "REQUEST_CANCELLED",
    ErrorKind.PROVIDER: "PROVIDER_ERROR",
    ErrorKind.MODEL: "PROVIDER_ERROR",
    ErrorKind.AGENT: "AGENT_ERROR",
    ErrorKind.NOT_KEPT: "SESSION_PERSISTENCE_DISABLED",
}
INTERNAL = "INTERNAL_ERROR"

Answer = dict[str, Any]


def replied(operation: Callable[[Realm, Any, Clock], Answer]) -> Callable[[Realm, Any, Clock], Reply]:
    def run(realm: Realm, arguments: Any, clock: Clock) -> Reply:
        def made() -> Reply:
            body = msgspec.json.encode(operation(realm, {} if arguments is None else arguments, clock))
            return Reply(body.decode(), body)

        return answered(operation.__name__, made, _refused, f"{operation.__name__} failed; {DOCTOR}.")

    return run


def _refused(reason: RecollectError) -> Reply:
    details = {"details": reason.details} if reason.details else {}
    body = msgspec.json.encode({"code": CODES.get(reason.kind, INTERNAL), "message": str(reason), **details})
    return Reply(body.decode(), body, is_error=True)
