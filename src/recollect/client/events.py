"""Events of a turn, in order, whose `sequence` grows by 1; and changes of the library."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from recollect.client._json import decode
from recollect.client.results import Usage


class SessionEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """The fields of every event."""

    session_id: str

    @property
    def type(self) -> str:
        """The event's type in JSON, such as `text_delta`."""
        return str(self.__struct_config__.tag)


class _Numbered(SessionEvent, frozen=True, kw_only=True):
    sequence: int


class TurnStarted(_Numbered, frozen=True, kw_only=True, tag="turn_started"):
    turn: int
    """The number of the turn in its session, from 1."""


class TextDelta(_Numbered, frozen=True, kw_only=True, tag="text_delta"):
    delta: str


class ReasoningDelta(_Numbered, frozen=True, kw_only=True, tag="reasoning_delta"):
    delta: str


class ToolCall(_Numbered, frozen=True, kw_only=True, tag="tool_call"):
    id: str
    name: str
    input: Any = None


class ToolCallResult(_Numbered, frozen=True, kw_only=True, tag="tool_result"):
    id: str
    content: str
    is_error: bool = False
    exit_code: int | None = None


class TurnCompleted(_Numbered, frozen=True, kw_only=True, tag="turn_completed"):
    """The turn is over, with this result."""

    text: str
    usage: Usage
    turns: int
    tool_calls: int
    stop_reason: str


class TurnFailed(_Numbered, frozen=True, kw_only=True, tag="turn_failed"):
    message: str


class TurnInterrupted(_Numbered, frozen=True, kw_only=True, tag="turn_interrupted"):
    message: str


class StreamTruncated(SessionEvent, frozen=True, kw_only=True, tag="stream_truncated"):
    """This many events are missing here, because the client read too slowly."""

    dropped: int


class UnknownEvent(SessionEvent, frozen=True, kw_only=True):
    """An event of a type that this version does not know. `data` has all its fields."""

    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data.get("type", ""))


class LibraryChange(Struct, frozen=True, kw_only=True):
    """A change of the library. `type`: `ready` (the stream has begun), `session_changed`, or `refresh`.

    `refresh` means that too much changed to be named, or that sessions were removed: read again what you show.
    """

    type: str
    session: str | None = None
    uuid: str | None = None
    title: str | None = None
    updated_at: str | None = None
    sequence: int | None = None
    """The sequence of the session's newest event."""
    reason: str | None = None
    """Why a refresh is needed."""
    position: str | None = None
    """Pass it as `after` to get what follows. Only the last of the changes that came together has it."""


Known = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | ToolCall
    | ToolCallResult
    | TurnCompleted
    | TurnFailed
    | TurnInterrupted
    | StreamTruncated
)
FINAL_EVENTS = (TurnCompleted, TurnFailed, TurnInterrupted)  # one of these is the last event of a turn


def event_of(text: bytes | Raw) -> SessionEvent:
    """Decode an event. Raises ValueError if it is not a JSON object."""
    try:
        return decode(text, Known)  # type: ignore[arg-type]
    except msgspec.ValidationError:
        data = decode(text, dict[str, Any])
        return UnknownEvent(session_id=str(data.get("session_id", "")), data=data)
