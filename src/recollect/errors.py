"""Everything that can go wrong, as sentences for the person who meets it.

RecollectError
├── BadRequest          an argument is missing, malformed or out of range
│   ├── BadId           an id that no family of ours ever gave out
│   │   └── Ambiguous   the beginning of more than one id
│   ├── BadEventType    an event type outside the vocabulary
│   ├── BadDetailLevel  a depth of detail that there is not
│   ├── BadCursor       a cursor of another question, or none at all
│   ├── StaleCursor     a place in a stream of events that this stream does not have
│   ├── OutOfRange      a place beyond the last one
│   └── GenerationConflict  somebody else has written in between
├── Absent              a well-formed id of something that is not here
│   ├── NoSession       no such live session in this realm, or an archived one
│   └── NoRealm         no realm of this name
├── SessionBusy         a turn of this session is running already
├── Cancelled           the turn was interrupted, or the caller gave up
├── AgentFault          the agent that ran the turn failed
├── ProviderFault       what an agent needs cannot be had: its program, its service
├── NotKept             this realm keeps nothing of what is asked for
├── DeadlineExceeded    the work was stopped because its time was up
├── Busy                another process is writing this realm
├── BadSettings         the settings file cannot be used as it is
├── ModelFault          a model cannot be used, or gave no answer
└── StoreFault          the archive or the disk under it refused
    └── ReadOnlyFolder  the state folder cannot be written
"""

from enum import StrEnum
from typing import Any


class ErrorKind(StrEnum):
    BAD_ARGUMENT = "bad argument"
    BAD_ID = "bad id"
    AMBIGUOUS = "ambiguous prefix"
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
    PERSISTENCE_DISABLED = "not kept"
    STORE = "store fault"


class RecollectError(Exception):
    """An error of ours: `kind` lets every surface find its own word for it, `details` is for machines."""

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
