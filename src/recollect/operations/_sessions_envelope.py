"""The sessions family's answers: bare objects; errors are `{code, message, details?}`."""

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.errors import ErrorKind, RecollectError
from recollect.operations._operation import Clock, Reply
from recollect.realms import Realm

CODES = {
    ErrorKind.BAD_ARGUMENT: "INVALID_PARAMS",
    ErrorKind.BAD_ID: "INVALID_PARAMS",
    ErrorKind.SETTINGS: "INVALID_PARAMS",
    ErrorKind.ABSENT: "INVALID_PARAMS",
    ErrorKind.GENERATION: "GENERATION_CONFLICT",
}
INTERNAL = "INTERNAL_ERROR"

Answer = dict[str, Any]
log = logging.getLogger(__name__)


def replied(operation: Callable[[Realm, Any, Clock], Answer]) -> Callable[[Realm, Any, Clock], Reply]:
    def run(realm: Realm, arguments: Any, clock: Clock) -> Reply:
        try:
            body = msgspec.json.encode(operation(realm, {} if arguments is None else arguments, clock))
        except RecollectError as error:
            return _refused(CODES.get(error.kind, INTERNAL), str(error), error.details)
        except Exception:  # the family's last net: a fault of ours is an answer too, and never ends the server
            log.exception("%s failed", operation.__name__)
            return _refused(INTERNAL, f"{operation.__name__} failed; `recollect doctor` may know why.", {})
        return Reply(body.decode(), body)

    return run


def _refused(code: str, message: str, details: dict[str, Any]) -> Reply:
    body = msgspec.json.encode({"code": code, "message": message, **({"details": details} if details else {})})
    return Reply(body.decode(), body, is_error=True)
