"""Events of a turn, in the order in which they happen; `sequence` grows by 1."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from recollect.client._json import decoded
from recollect.client.results import Usage


class SessionEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What all events have."""

    session_id: str

    @property
    def type(self) -> str:
        """What the kind is called on the wire, such as `text_delta`."""
        return str(self.__struct_config__.tag)


class _Told(SessionEvent, frozen=True, kw_only=True):
    sequence: int


class TurnStarted(_Told, frozen=True, kw_only=True, tag="turn_started"):
    turn: int
    """Which turn of the session it is, from 1."""


class TextDelta(_Told, frozen=True, kw_only=True, tag="text_delta"):
    delta: str


class ReasoningDelta(_Told, frozen=True, kw_only=True, tag="reasoning_delta"):
    delta: str


class ToolCall(_Told, frozen=True, kw_only=True, tag="tool_call"):
    id: str
    name: str
    input: Any = None


class ToolCallResult(_Told, frozen=True, kw_only=True, tag="tool_result"):
    id: str
    content: str
    is_error: bool = False
    exit_code: int | None = None


class TurnCompleted(_Told, frozen=True, kw_only=True, tag="turn_completed"):
    """The turn is over, and what it came to can be read."""

    text: str
    usage: Usage
    turns: int
    tool_calls: int
    stop_reason: str


class TurnFailed(_Told, frozen=True, kw_only=True, tag="turn_failed"):
    message: str


class TurnInterrupted(_Told, frozen=True, kw_only=True, tag="turn_interrupted"):
    message: str


class StreamTruncated(SessionEvent, frozen=True, kw_only=True, tag="stream_truncated"):
    """We read too slowly: this many events are missing here."""

    dropped: int


class UnknownEvent(SessionEvent, frozen=True, kw_only=True):
    """A kind that this version does not know, whole."""

    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data.get("type", ""))


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
ENDS = (TurnCompleted, TurnFailed, TurnInterrupted)  # nothing of a turn comes after one of these


def event_of(text: bytes | Raw) -> SessionEvent:
    """An event as it came. Raises ValueError where it is no JSON object."""
    try:
        return decoded(text, Known)  # type: ignore[arg-type]
    except msgspec.ValidationError:
        data = decoded(text, dict[str, Any])
        return UnknownEvent(session_id=str(data.get("session_id", "")), data=data)
