"""What an error is called where errors are numbers: in JSON-RPC, in HTTP, and when a command ends."""

from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.errors import ErrorKind

if TYPE_CHECKING:  # else every command would load all that can be asked
    from recollect.operations import Reply

INVALID_PARAMS, INTERNAL = -32602, -32603


class Numbers(Struct, frozen=True):
    rpc: int
    http: int
    exit: int


REFUSED = Numbers(INVALID_PARAMS, 400, 2)
FAILED = Numbers(INTERNAL, 500, 1)
BY_KIND = {
    ErrorKind.BAD_ARGUMENT: REFUSED,
    ErrorKind.BAD_ID: REFUSED,
    ErrorKind.BAD_EVENT_TYPE: REFUSED,
    ErrorKind.BAD_DETAIL_LEVEL: REFUSED,
    ErrorKind.BAD_CURSOR: REFUSED,
    ErrorKind.OUT_OF_RANGE: REFUSED,
    ErrorKind.SETTINGS: REFUSED,
    ErrorKind.STALE_CURSOR: Numbers(-32027, 410, 47),
    ErrorKind.AMBIGUOUS: Numbers(INVALID_PARAMS, 409, 2),
    ErrorKind.GENERATION: Numbers(INVALID_PARAMS, 409, 2),
    ErrorKind.NO_REALM: Numbers(INVALID_PARAMS, 404, 2),
    ErrorKind.ABSENT: Numbers(INVALID_PARAMS, 404, 1),
    ErrorKind.NO_SESSION: Numbers(-32001, 404, 10),
    ErrorKind.SESSION_BUSY: Numbers(-32002, 409, 11),
    ErrorKind.CANCELLED: Numbers(-32005, 499, 14),
    ErrorKind.PROVIDER: Numbers(-32010, 502, 20),
    ErrorKind.AGENT: Numbers(-32013, 500, 30),
    ErrorKind.NOT_KEPT: Numbers(-32020, 501, 40),
    ErrorKind.DEADLINE: Numbers(INTERNAL, 504, 1),
    ErrorKind.BUSY: Numbers(INTERNAL, 409, 1),
}


def numbers_of(kind: ErrorKind) -> Numbers:
    return BY_KIND.get(kind, FAILED)


def numbers(reply: "Reply") -> Numbers | None:
    """Of an answer that is an error; None of any other."""
    return numbers_of(reply.kind) if reply.kind is not None else None
