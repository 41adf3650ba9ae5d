"""The client's errors, as one tree:

RecollectError
├── NotFound                    the library has no such session, observation, event or label
│   └── SessionNotFound         no such session in this realm, or it is archived
├── SessionBusy                 a turn of the session is already running; turns are not queued
├── RequestCancelled            the turn was interrupted, or the request took too long
├── ProviderError               a program or service that the agent needs is not available
├── AgentError                  the agent failed, or its turn took too long
├── SessionPersistenceDisabled  the realm is in memory and does not store this
├── StaleCursor                 events were requested after one that the session does not have
├── Conflict                    something changed in the meantime, so nothing was done
│   └── GenerationConflict      the config was changed in the meantime
├── InvalidParams               the request is not valid
│   ├── AmbiguousId             the beginning of an id fits several; `matches` has them
│   └── InvalidFilter           no session can have this value of a filter; it names similar ones
├── StoreBusy                   another process writes to the store
├── InternalError               the server failed, or its response cannot be read
├── Unauthorized                the server refuses access
└── ConnectionLost              the server has ended, or cannot be reached

An error with an unknown code is a plain `RecollectError`.
"""

from collections.abc import Mapping
from typing import Any

Details = dict[str, Any]


class RecollectError(Exception):
    """An error that the server returned, or a missing server."""

    def __init__(
        self, code: str, message: str, details: Mapping[str, Any] | None = None, session_id: str | None = None
    ) -> None:
        super().__init__(code, message, dict(details or {}), session_id)  # all of them, so that the error can be pickled

    def __str__(self) -> str:
        return self.message

    @property
    def code(self) -> str:
        """The error's code, such as `SESSION_BUSY`. It is the same over every protocol."""
        return str(self.args[0])

    @property
    def message(self) -> str:
        return str(self.args[1])

    @property
    def details(self) -> Details:
        """More about the error, such as both generations of a conflict."""
        details: Details = self.args[2]
        return details

    @property
    def session_id(self) -> str | None:
        """The session of the failed call, if any. After a failed first turn, it is the session that was created."""
        session_id = self.details.get("session_id", self.args[3])
        return session_id if isinstance(session_id, str) else None


class NotFound(RecollectError):
    pass


class SessionNotFound(NotFound):
    pass


class SessionBusy(RecollectError):
    pass


class RequestCancelled(RecollectError):
    pass


class ProviderError(RecollectError):
    pass


class AgentError(RecollectError):
    pass


class SessionPersistenceDisabled(RecollectError):
    pass


class StaleCursor(RecollectError):
    """`events(after=…)` names an event that the session does not have. `details` has the `newest` event's sequence."""


class Conflict(RecollectError):
    pass


class GenerationConflict(Conflict):
    """`details` has `expected_generation` and `current_generation`; nothing was written."""


class InvalidParams(RecollectError):
    pass


class AmbiguousId(InvalidParams):
    @property
    def matches(self) -> list[str]:
        """The ids that begin like this."""
        return _texts(self.details.get("matches"))


class InvalidFilter(InvalidParams):
    @property
    def did_you_mean(self) -> list[str]:
        """The values that are similar."""
        return _texts(self.details.get("did_you_mean"))


class StoreBusy(RecollectError):
    pass


class InternalError(RecollectError):
    pass


class Unauthorized(RecollectError):
    pass


class ConnectionLost(RecollectError):
    """Every waiting call fails with this. For a server that this client started, `details` has `exit_code`, `signal` and
    the end of its `stderr`."""


BY_CODE: dict[str, type[RecollectError]] = {
    "SESSION_NOT_FOUND": SessionNotFound,
    "SESSION_BUSY": SessionBusy,
    "REQUEST_CANCELLED": RequestCancelled,
    "PROVIDER_ERROR": ProviderError,
    "AGENT_ERROR": AgentError,
    "SESSION_PERSISTENCE_DISABLED": SessionPersistenceDisabled,
    "STALE_CURSOR": StaleCursor,
    "GENERATION_CONFLICT": GenerationConflict,
    "INVALID_PARAMS": InvalidParams,
    "INTERNAL_ERROR": InternalError,
    "UNAUTHORIZED": Unauthorized,
    "FORBIDDEN_HOST": Unauthorized,
    "FORBIDDEN_ORIGIN": Unauthorized,
    "CONNECTION_LOST": ConnectionLost,
    # of the library
    "not_found": NotFound,
    "invalid_request": InvalidParams,
    "invalid_id": InvalidParams,
    "invalid_cursor": InvalidParams,
    "ambiguous_id": AmbiguousId,
    "invalid_filter": InvalidFilter,
    "conflict": Conflict,
    "session_busy": SessionBusy,
    "store_busy": StoreBusy,
    "deadline_exceeded": RequestCancelled,
    "cancelled": RequestCancelled,
    "agent_failed": AgentError,
    "runner_unavailable": ProviderError,
    "model_unavailable": ProviderError,
    "not_stored": SessionPersistenceDisabled,
    "invalid_settings": InternalError,
    "internal_error": InternalError,
}
BY_STATUS = {  # for errors without a code: those of journeys and a proxy's error pages have only a status
    200: "INTERNAL_ERROR",
    400: "INVALID_PARAMS",
    401: "UNAUTHORIZED",
    403: "UNAUTHORIZED",
    404: "INVALID_PARAMS",
    408: "REQUEST_CANCELLED",
    410: "STALE_CURSOR",
    413: "INVALID_PARAMS",
    499: "REQUEST_CANCELLED",
    500: "INTERNAL_ERROR",
    504: "REQUEST_CANCELLED",
}


def error_of(
    code: object, message: str, details: Mapping[str, Any] | None = None, session_id: str | None = None
) -> RecollectError:
    """The error for a code. If the code is an HTTP status, `details` has it as `status`."""
    if isinstance(code, int):
        return error_of(BY_STATUS.get(code, f"HTTP_{code}"), message, {**(details or {}), "status": code}, session_id)
    kind = BY_CODE.get(str(code), RecollectError)
    return kind(str(code), message, details, session_id)


def connection_lost(message: str, details: Mapping[str, Any] | None = None) -> ConnectionLost:
    return ConnectionLost("CONNECTION_LOST", message, details)


def for_session(lost: ConnectionLost, session_id: str | None) -> ConnectionLost:
    """The same error, for a call about this session."""
    return ConnectionLost(lost.code, lost.message, lost.details, session_id)


def message_too_long(max_bytes: int, session_id: str | None) -> InvalidParams:
    return InvalidParams("INVALID_PARAMS", f"a message may have at most {max_bytes >> 20} MB", None, session_id)


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
