"""All errors. Their messages are sentences for people.

RecollectError
├── BadRequest              an argument is missing, malformed or out of range
│   ├── BadId               not in the form of an id
│   │   └── AmbiguousId     the prefix of more than one id
│   ├── BadFilter           a filter that fits nothing
│   ├── BadDate             a text that is not a date, or a date that does not exist
│   ├── BadEventType        an unknown event type
│   ├── BadDetailLevel      an unknown level of detail
│   ├── BadCursor           not a cursor, or the cursor of another query
│   ├── StaleCursor         a position that this event stream does not have
│   ├── OutOfRange          a position after the last one
│   └── GenerationConflict  another writer has changed the object since it was read
├── NotFound                a valid id of an object that does not exist
│   ├── SessionNotFound     no such live session in this realm, or it is archived
│   └── RealmNotFound       no realm of this name
├── SessionBusy             a turn of this session is already running
├── Cancelled               the turn was interrupted, or the caller cancelled
├── AgentFault              the agent that ran the turn failed
│   └── SessionNotLoaded    the agent could not load the session that the turn was to go on with
├── ProviderFault           the agent's program or service is not available
├── PersistenceDisabled     this realm does not store the requested data
├── DeadlineExceeded        the request took too long and was stopped
├── StoreBusy               another process is writing this realm
├── BadSettings             the settings file is not valid
├── ModelFault              a model is not available, or did not answer
└── StoreFault              the archive or its disk failed
    └── ReadOnlyFolder      the state folder is read-only
"""

from enum import StrEnum
from typing import Any


class ErrorKind(StrEnum):
    """The kinds of errors. Surfaces translate them to codes and statuses."""

    BAD_ARGUMENT = "bad argument"
    BAD_ID = "bad id"
    AMBIGUOUS = "ambiguous prefix"
    BAD_FILTER = "bad filter"
    BAD_EVENT_TYPE = "bad event type"
    BAD_DETAIL_LEVEL = "bad detail level"
    BAD_CURSOR = "bad cursor"
    STALE_CURSOR = "stale cursor"
    OUT_OF_RANGE = "index out of range"
    GENERATION = "generation conflict"
    NOT_FOUND = "unknown object"
    DEADLINE = "deadline"
    STORE_BUSY = "busy"
    SETTINGS = "settings"
    MODEL = "model fault"
    SESSION_NOT_FOUND = "no such session"
    REALM_NOT_FOUND = "no such realm"
    SESSION_BUSY = "session busy"
    CANCELLED = "cancelled"
    AGENT = "agent fault"
    PROVIDER = "provider fault"
    PERSISTENCE_DISABLED = "persistence disabled"
    STORE = "store fault"


class RecollectError(Exception):
    """An error of Recollect. Every surface has its own code for each `kind`; `details` are for programs."""

    kind = ErrorKind.STORE

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class BadRequest(RecollectError):
    kind = ErrorKind.BAD_ARGUMENT


class BadId(BadRequest):
    kind = ErrorKind.BAD_ID


class AmbiguousId(BadId):
    kind = ErrorKind.AMBIGUOUS


class BadFilter(BadRequest):
    kind = ErrorKind.BAD_FILTER


class BadDate(BadRequest):
    """A text that is not a date, or a date that does not exist."""


class BadEventType(BadRequest):
    kind = ErrorKind.BAD_EVENT_TYPE


class BadDetailLevel(BadRequest):
    kind = ErrorKind.BAD_DETAIL_LEVEL


class BadCursor(BadRequest):
    kind = ErrorKind.BAD_CURSOR


class StaleCursor(BadRequest):
    kind = ErrorKind.STALE_CURSOR


class OutOfRange(BadRequest):
    kind = ErrorKind.OUT_OF_RANGE


class GenerationConflict(BadRequest):
    kind = ErrorKind.GENERATION


class NotFound(RecollectError):
    kind = ErrorKind.NOT_FOUND


class SessionNotFound(NotFound):
    kind = ErrorKind.SESSION_NOT_FOUND


class RealmNotFound(NotFound):
    kind = ErrorKind.REALM_NOT_FOUND


class SessionBusy(RecollectError):
    kind = ErrorKind.SESSION_BUSY


class Cancelled(RecollectError):
    kind = ErrorKind.CANCELLED


class AgentFault(RecollectError):
    kind = ErrorKind.AGENT


class SessionNotLoaded(AgentFault):
    """Nothing was sent to the agent."""


class ProviderFault(RecollectError):
    kind = ErrorKind.PROVIDER


class PersistenceDisabled(RecollectError):
    kind = ErrorKind.PERSISTENCE_DISABLED


class DeadlineExceeded(RecollectError):
    kind = ErrorKind.DEADLINE


class StoreBusy(RecollectError):
    kind = ErrorKind.STORE_BUSY


class BadSettings(RecollectError):
    kind = ErrorKind.SETTINGS


class ModelFault(RecollectError):
    kind = ErrorKind.MODEL


class StoreFault(RecollectError):
    kind = ErrorKind.STORE


class ReadOnlyFolder(StoreFault):
    def __init__(self, folder: object) -> None:
        super().__init__(
            f"The state folder {folder} is read-only. Make it writable, or set RECOLLECT_HOME to a folder that is."
        )
