"""The codes of errors: in JSON-RPC, as HTTP status, and as exit code of the command line."""

from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.errors import ErrorKind

if TYPE_CHECKING:  # importing all operations takes 150 ms
    from recollect.operations import Reply

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


class ErrorCodes(Struct, frozen=True):
    """One error in JSON-RPC, in HTTP, and in the shell."""

    rpc: int
    http: int
    exit: int


BAD_REQUEST = ErrorCodes(INVALID_PARAMS, 400, 2)
INTERNAL_ERROR = ErrorCodes(INTERNAL, 500, 1)
BY_KIND = {
    ErrorKind.BAD_ARGUMENT: BAD_REQUEST,
    ErrorKind.BAD_ID: BAD_REQUEST,
    ErrorKind.BAD_FILTER: BAD_REQUEST,
    ErrorKind.BAD_EVENT_TYPE: BAD_REQUEST,
    ErrorKind.BAD_DETAIL_LEVEL: BAD_REQUEST,
    ErrorKind.BAD_CURSOR: BAD_REQUEST,
    ErrorKind.OUT_OF_RANGE: BAD_REQUEST,
    ErrorKind.SETTINGS: BAD_REQUEST,
    ErrorKind.STALE_CURSOR: ErrorCodes(-32027, 410, 47),
    ErrorKind.AMBIGUOUS: ErrorCodes(INVALID_PARAMS, 409, 2),
    ErrorKind.GENERATION: ErrorCodes(INVALID_PARAMS, 409, 2),
    ErrorKind.REALM_NOT_FOUND: ErrorCodes(INVALID_PARAMS, 404, 2),
    ErrorKind.NOT_FOUND: ErrorCodes(INVALID_PARAMS, 404, 1),
    ErrorKind.SESSION_NOT_FOUND: ErrorCodes(-32001, 404, 10),
    ErrorKind.SESSION_BUSY: ErrorCodes(-32002, 409, 11),
    ErrorKind.CANCELLED: ErrorCodes(-32005, 499, 14),
    ErrorKind.PROVIDER: ErrorCodes(-32010, 502, 20),
    ErrorKind.AGENT: ErrorCodes(-32013, 500, 30),
    ErrorKind.PERSISTENCE_DISABLED: ErrorCodes(-32020, 501, 40),
    ErrorKind.DEADLINE: ErrorCodes(INTERNAL, 504, 1),
    ErrorKind.STORE_BUSY: ErrorCodes(INTERNAL, 409, 1),
}


def codes_of_kind(kind: ErrorKind) -> ErrorCodes:
    return BY_KIND.get(kind, INTERNAL_ERROR)


def codes_of_reply(reply: "Reply") -> ErrorCodes | None:
    """The codes of an error; None for any other reply."""
    return codes_of_kind(reply.kind) if reply.kind is not None else None
