"""The values that travel: what a source reads, what assembly makes of it, what the archive keeps.

Session > Turn > Event. No I/O here.
"""

import re
import time
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Struct


class Kind(StrEnum):
    """What an event is. The order is the vocabulary's, and the place in it is the code that the archive stores."""

    USER_INPUT = "user_input"
    ASSISTANT_RESPONSE = "assistant_response"
    REASONING = "reasoning"
    TOOL_CALL = "tool_call"
    TOOL_RESPONSE = "tool_response"
    COMPACTION = "compaction"
    SYSTEM = "system"
    RUNTIME = "runtime"
    UNKNOWN = "unknown"


KINDS = tuple(Kind)
KIND_CODE = {kind: code for code, kind in enumerate(KINDS)}
OWN_TRAFFIC_CODE = 16  # added to the kind's code, in indexes, for traffic of our own tools
TOKEN_USAGE_CODE = 32  # added to the code of `runtime`, in the n-gram index, for a count of tokens
SEARCHABLE = KINDS[:-1]
DEFAULT_KINDS = (Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE, Kind.TOOL_RESPONSE)  # what is searched unless asked otherwise
DEFAULT_KIND_CODES = tuple(KIND_CODE[kind] for kind in DEFAULT_KINDS)
AGENT_KINDS = frozenset({Kind.ASSISTANT_RESPONSE, Kind.REASONING, Kind.TOOL_CALL})


class TurnStart(StrEnum):
    """Whether a record begins a turn."""

    NO = "no"
    PROMPT = "prompt"
    COMMAND = "command"  # a slash command: only if the agent then answers it
    ECHO = "echo"  # what a slash command printed: the agent will not answer that command


class Stop(StrEnum):
    """How a turn ended."""

    ANSWER = "answer"
    CANCEL = "cancel"
    INTERRUPT = "interrupt"
    CRASH = "crash"
    EXIT = "exit"
    OTHER = "other"


class SessionMode(StrEnum):
    """What kind of work a session was."""

    WEB_SEARCH = "web_search"
    MCP_INTERNAL = "mcp_internal"
    TOOL_CALLING = "tool_calling"
    CHAT = "chat"


class TitleRank:
    """Which title wins; a later one of the same rank replaces an earlier one."""

    NONE, PROMPT, SUMMARY, GENERATED, AGENT, CUSTOM = range(6)


class Usage(Struct, frozen=True, array_like=True, omit_defaults=True):
    """Tokens of one model call, or a sum of them. `input` is what was neither read from nor written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def total(self) -> int:
        """All tokens that went in or came out. What was reasoned is part of what came out."""
        return self.input + self.output + self.cache_read + self.cache_write

    def counts(self) -> dict[str, int]:
        """By the names that everybody is told them by."""
        return {
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_read_tokens": self.cache_read,
            "cache_write_tokens": self.cache_write,
            "reasoning_tokens": self.reasoning,
        }

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input - other.input,
            self.output - other.output,
            self.cache_read - other.cache_read,
            self.cache_write - other.cache_write,
            self.reasoning - other.reasoning,
        )


class Record(Struct, kw_only=True):
    """One thing that an agent wrote down, already in our words. Assembly makes an event of it.

    `key` is the native identity: the same record copied into another file has the same key. A key that is unique in
    its own session only begins with the session's native id.
    """

    session: str
    key: str
    kind: Kind
    id: bytes = b""  # the event's, derived from the key by ingest
    at: int | None = None  # milliseconds since 1970, UTC
    estimated: bool = False  # the time is the date of the log file: the log tells none
    text: str = ""
    line: int = 0
    opens: TurnStart = TurnStart.NO
    stop: Stop | None = None
    model: str | None = None
    tool: str | None = None
    call: str | None = None
    arguments: dict[str, Any] | None = None
    exit_code: int | None = None
    failed: bool = False
    own: bool = False  # an answer of Recollect's, made of what was said elsewhere
    usage: Usage | None = None
    cwd: str | None = None
    branch: str | None = None


class SessionMetadata(Struct, kw_only=True):
    """What a log says of a session rather than in it."""

    session: str
    title: str | None = None
    title_rank: int = TitleRank.NONE
    leaf: str | None = None  # the title is of the session that holds the record with this key, maybe another one
    parent: str | None = None
    parent_call: str | None = None
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    at: int | None = None


class Ignored(Struct, frozen=True):
    """A record that we know and leave out on purpose, by its kind: bookkeeping, progress, copies."""

    kind: str


class Problem(Struct, frozen=True):
    """A stretch of log we could not read. Kept beside the events and shown by `doctor`."""

    path: Path
    line: int
    reason: str
    excerpt: str = ""


Entry = Record | SessionMetadata | Ignored | Problem


class Event(Struct, kw_only=True):
    """One recorded item inside a turn. `body` is its text; of a tool call, its arguments."""

    id: bytes
    turn: int
    seq: int
    kind: Kind
    at: int
    line: int
    text: str
    arguments: dict[str, Any] | None = None
    tool: str | None = None
    model: str | None = None
    answers: int | None = None  # of a tool response: the seq of its call
    exit_code: int | None = None
    failed: bool = False
    own: bool = False  # traffic of Recollect's own tools
    estimated: bool = False  # its time is the date of the log file
    usage: Usage | None = None


class Turn(Struct, kw_only=True):
    """One interaction driven by the person. Events are named by their seq in the session."""

    ordinal: int  # from 1
    started_at: int
    updated_at: int
    event_count: int = 0
    opened: bool = False  # by a real prompt; not so while it only holds what came before the first one
    prompt: int | None = None
    answer: int | None = None  # the last assistant response so far
    terminal: int | None = None
    stop: Stop | None = None
    last: int = 0
    tools: list[str] = []
    kinds: list[Kind] = []
    usage: Usage = Usage()
    estimated: bool = False  # an event of it has an estimated time


class Session(Struct, kw_only=True):
    """One conversation with an agent, or of a sub-agent with its parent."""

    id: bytes
    source: str
    native_id: str
    path: str
    title: str
    title_rank: int
    started_at: int
    updated_at: int
    completed: bool
    turn_count: int
    event_count: int
    mode: SessionMode
    parent: bytes | None = None
    parent_call: str | None = None
    cwd: str | None = None
    branch: str | None = None
    project: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    redactions: dict[str, int] = {}
    estimated: bool = False  # an event of it has an estimated time


TYPES = (
    "decision", "bug-fix", "feature", "refactor", "discovery", "diagnosis", "pattern", "test", "config", "general",
)  # fmt: skip
SAME_TYPES = {"bugfix": "bug-fix", "bug": "bug-fix", "fix": "bug-fix"}


def observation_type(word: str) -> str:
    """A type in its one spelling: lower case, with dashes. Any word will do; "" where there is none."""
    dashed = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
    return SAME_TYPES.get(dashed, dashed)


class Observation(Struct, frozen=True, kw_only=True):
    """What is worth remembering of a turn, with the events that prove it. Its type is of `TYPES`, or an agent's own word."""

    type: str
    title: str
    evidence: tuple[bytes, ...]  # ids of events, the most telling first; never empty
    at: int
    subtitle: str = ""
    narrative: str = ""
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()


LIVE_SOURCE = "recollect"  # the source of sessions that were run here
AGENT_START_S = 60.0  # seconds that an agent has to get ready for a prompt; those that are installed on first use take long
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def now_ms() -> int:
    """The time of day, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def timestamp(at: int) -> str:
    """RFC 3339, UTC, milliseconds."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def path_text(path: Path) -> str:
    """A path as text that can be stored and sent, also where its name is not UTF-8."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def replace_surrogates(text: str) -> str:
    """Text without halves of surrogate pairs, which can be neither stored nor sent: bytes that were no UTF-8, most often."""
    return text.encode("utf-8", "replace").decode()


def derived_id(*parts: str) -> bytes:
    """The 128-bit id of whatever these parts name. The same parts give the same id on every machine, for ever."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def session_id(source: str, native_id: str) -> bytes:
    """A session's id; a live one's is the UUID that it was given."""
    if source == LIVE_SOURCE and UUID.fullmatch(native_id):
        return bytes.fromhex(native_id.replace("-", ""))
    return derived_id("session", source, native_id)


def event_id(source: str, key: str) -> bytes:
    return derived_id("event", source, key)
