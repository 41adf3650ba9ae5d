"""The state of reading a Codex rollout, and the functions that build its records."""

from typing import Any
from zlib import crc32

import msgspec
from msgspec import Raw, Struct, field

from recollect.model import Entry, Ignored, Kind, Record, Usage
from recollect.sources.codex.shapes import Envelope
from recollect.sources.formats.container import Line
from recollect.sources.formats.source import ReaderState
from recollect.sources.formats.values import parse_iso_time

MAX_TWIN_DISTANCE = 32  # lines between the two records of one message; at most 4 seen
MAX_TWINS = 32  # records that may still have a twin: a reasoning item may have a dozen parts
UNKNOWN_TEXT = 2000  # bytes of an unknown record that are stored as its text
ITEM, EVENT, LOG = 1, 2, 4  # the streams in which one message may be repeated


class Twin(Struct, array_like=True):
    """A message that was read in one or more streams, identified by the checksum of its text."""

    checksum: int
    streams: int  # bits
    line: int


class Call(Struct, array_like=True):
    """An open tool call, with the outcome from an event that came before the call's output."""

    exit_code: int | None = None
    failed: bool = False
    running: bool = False


class CodexState(ReaderState):
    thread: str  # the session's id in the log
    begun: bool = False  # a record other than session_meta was read
    born_at: int | None = None  # the only time in the oldest rollouts
    forked: bool = False
    copying: bool = False  # the lines are still the parent's history, which a fork begins with
    own_from: int | None = None  # the ordinal of a sub-agent's first own line, if its log has one
    copied_at: int | None = None
    copied_turns: bool = False
    turn: str | None = None
    prompted: bool = False  # the running task has its prompt: the next prompt steers
    spoke: bool = False
    cwd: str | None = None
    model: str | None = None
    total: Usage | None = None  # tokens of the session, by the last count
    twins: list[Twin] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    answered: list[str] = field(default_factory=list)


def decode_shape(decoder: "msgspec.json.Decoder[Any]", raw: Raw | bytes) -> Any:
    """The value in its declared shape; None if it has another shape."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    except UnicodeDecodeError:
        return decode_shape(decoder, bytes(raw).decode("utf-8", "replace").encode())


def at(value: Envelope) -> int | None:
    return parse_iso_time(value.timestamp or value.created_at)


def record(line: Line, state: CodexState, kind: Kind, text: str = "", place: int = 0, **fields: Any) -> Record:
    """A record of this line. `place` tells the records of one line apart."""
    key = f"{state.session}@{line.offset}.{place}" if place else f"{state.session}@{line.offset}"
    when = at(line.value) if isinstance(line.value, Envelope) else None
    when = state.born_at if when is None else when
    return Record(session=state.session, key=key, kind=kind, at=when, text=text, line=line.number, **fields)


def runtime(line: Line, state: CodexState, text: str, **fields: Any) -> list[Entry]:
    return [record(line, state, Kind.RUNTIME, text, **fields)]


def unknown(line: Line, state: CodexState) -> list[Entry]:
    return [record(line, state, Kind.UNKNOWN, line.raw[:UNKNOWN_TEXT].decode("utf-8", "replace"))]


def is_twin(role: str, text: str, stream: int, line: Line, state: CodexState) -> bool:
    """Whether this message was already read from another stream. If not, it is noted for the other streams."""
    checksum = crc32(f"{role}\0{text.strip()}".encode("utf-8", "surrogatepass"))
    state.twins = [twin for twin in state.twins[-MAX_TWINS:] if line.number - twin.line <= MAX_TWIN_DISTANCE]
    for twin in state.twins:
        if twin.checksum == checksum and not twin.streams & stream:
            twin.streams |= stream
            return True
    state.twins.append(Twin(checksum, stream, line.number))
    return False


def twin_of(stream: int) -> list[Entry]:
    """The entry for an ignored twin in this stream."""
    return [Ignored("twin of a response item" if stream == EVENT else "twin of an event")]
