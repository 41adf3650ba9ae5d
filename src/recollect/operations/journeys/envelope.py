"""The journeys family answers with bare objects; an error is `{"code": 404, "message": "…"}`, its code as in HTTP."""

from typing import Any

import msgspec

from recollect.errors import ErrorKind, RecollectError
from recollect.operations.context import RequestContext
from recollect.operations.operation import Envelope, Operation, Reply, json_reply

BAD_REQUEST, NOT_FOUND, FAULT = 400, 404, 500
CODES = {ErrorKind.BAD_ARGUMENT: BAD_REQUEST, ErrorKind.BAD_ID: BAD_REQUEST, ErrorKind.NOT_FOUND: NOT_FOUND}


def _success(_: Operation, answer: dict[str, Any], context: RequestContext) -> Reply:
    return json_reply(answer)


def _failure(operation: Operation, error: RecollectError, arguments: Any, context: RequestContext) -> Reply:
    """The error as text only: clients check an object against the schema of success."""
    code = CODES.get(error.kind, FAULT)
    message = str(error) if code != FAULT else f"{operation.failure}: {error}"
    return Reply(msgspec.json.encode({"code": code, "message": message}).decode(), is_error=True)


ENVELOPE = Envelope(_success, _failure)
