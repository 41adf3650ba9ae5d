"""The memory family answers with text; an error is its text alone."""

from typing import Any

from recollect.errors import RecollectError
from recollect.operations.context import RequestContext
from recollect.operations.operation import Envelope, Operation, Reply


def _success(_: Operation, answer: str, context: RequestContext) -> Reply:
    return Reply(answer)


def _failure(_: Operation, error: RecollectError, arguments: Any, context: RequestContext) -> Reply:
    return Reply(str(error), is_error=True)


ENVELOPE = Envelope(_success, _failure)
