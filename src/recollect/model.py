"""The data types that all steps share: records of a source, sessions, turns, events, observations.

A session has turns, and a turn has events. This module does no I/O.
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
    """The kind of an event. The archive stores the position in this list, so the order must not change."""

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
OWN_TRAFFIC_CODE = 16  # in indexes, added to the code of the kind for traffic of our own tools
TOKEN_USAGE_CODE = 32  # in the n-gram index, added to the code of `runtime` for a count of tokens
SEARCHABLE = KINDS[:-1]
DEFAULT_KINDS = (Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE, Kind.TOOL_RESPONSE)  # searched unless the caller names others
DEFAULT_KIND_CODES = tuple(KIND_CODE[kind] for kind in DEFAULT_KINDS)
AGENT_KINDS = frozenset({Kind.ASSISTANT_RESPONSE, Kind.REASONING, Kind.TOOL_CALL})


class TurnStart(StrEnum):
    """Whether a record begins a turn."""

    NO = "no"
    PROMPT = "prompt"
    COMMAND = "command"  # a slash command, which begins a turn only if the agent answers it
    ECHO = "echo"  # output of a slash command: the agent does not answer that command


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
    """Ranks of titles. The title with the highest rank is used, or the latest of those with the same rank."""

    NONE, PROMPT, SUMMARY, GENERATED, AGENT, CUSTOM = range(6)


class Usage(Struct, frozen=True, array_like=True, omit_defaults=True):
    """Tokens of one model call, or a sum of them. `input` excludes tokens read from or written to a cache.

    `cost` is what the log recorded, in micro-dollars; 0 if it recorded none. `cache_write_1h` is the part of `cache_write`
    that stays in the cache for an hour, which costs more than 5 minutes.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: int = 0
    cache_write_1h: int = 0

    def total(self) -> int:
        """All input and output tokens. Reasoning tokens are part of the output."""
        return self.input + self.output + self.cache_read + self.cache_write

    def counts(self) -> dict[str, int]:
        """The counts by their names in JSON."""
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
            self.cost + other.cost,
            self.cache_write_1h + other.cache_write_1h,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input - other.input,
            self.output - other.output,
            self.cache_read - other.cache_read,
            self.cache_write - other.cache_write,
            self.reasoning - other.reasoning,
            self.cost - other.cost,
            self.cache_write_1h - other.cache_write_1h,
        )


class Record(Struct, kw_only=True):
    """One thing that happened, as a source read it from a log. Assembly turns it into an event.

    `key` identifies the record by the agent's own ids, so a copy of it in another file has the same key. A key that is
    unique only in its session begins with the session's native id.
    """

    session: str
    key: str
    kind: Kind
    id: bytes = b""  # the id of the event, which ingest derives from the key
    at: int | None = None  # milliseconds since 1970, UTC
    estimated: bool = False  # the log has no time, so `at` is the date of its file
    text: str = ""
    line: int = 0
    opens: TurnStart = TurnStart.NO  # whether it begins a turn
    stop: Stop | None = None  # how the turn ended, if it ends one
    model: str | None = None
    tool: str | None = None
    call: str | None = None  # the id that a tool call and its response share
    arguments: dict[str, Any] | None = None
    exit_code: int | None = None
    failed: bool = False
    own: bool = False  # traffic of Recollect's own tools, which repeats other sessions
    usage: Usage | None = None
    cwd: str | None = None
    branch: str | None = None


class SessionMetadata(Struct, kw_only=True):
    """What a log states about a session as a whole."""

    session: str
    title: str | None = None
    title_rank: int = TitleRank.NONE
    leaf: str | None = None  # if set, the title belongs to the session that has the record with this key
    parent: str | None = None
    parent_call: str | None = None
    is_fork: bool = False  # it continues its parent or was forked from it; otherwise it is a sub-agent
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    at: int | None = None


class Ignored(Struct, frozen=True):
    """A known record that is left out on purpose: bookkeeping, progress, copies. `kind` is the agent's name for it."""

    kind: str


class Problem(Struct, frozen=True):
    """A part of a log that could not be read. It is stored with the events and shown by `doctor`."""

    path: Path
    line: int
    reason: str
    excerpt: str = ""


Entry = Record | SessionMetadata | Ignored | Problem


class Event(Struct, kw_only=True):
    """One recorded item of a turn. A tool call has `arguments` instead of text."""

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
    answers: int | None = None  # in a tool response, the `seq` of the call that it answers
    exit_code: int | None = None
    failed: bool = False
    own: bool = False  # traffic of Recollect's own tools
    duplicate: bool = False  # a live session also has it
    estimated: bool = False  # its time is the date of the log file
    usage: Usage | None = None


class Turn(Struct, kw_only=True):
    """One prompt and everything until the next one. Fields refer to events by their `seq` in the session."""

    ordinal: int  # from 1
    started_at: int
    updated_at: int
    event_count: int = 0
    opened: bool = False  # it begins with a prompt; False if it only has events before the first prompt
    prompt: int | None = None
    answer: int | None = None  # the last assistant response so far
    terminal: int | None = None  # the event that ended it
    stop: Stop | None = None  # how it ended
    last: int = 0  # its last event
    tools: list[str] = []
    kinds: list[Kind] = []
    usage: Usage = Usage()
    estimated: bool = False  # one of its events has an estimated time


class Session(Struct, kw_only=True):
    """One conversation with an agent, or between a sub-agent and its parent agent."""

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
    estimated: bool = False  # one of its events has an estimated time


FILE_OPERATIONS = ("read", "changed", "created", "deleted")


class FileChange(Struct, frozen=True):
    """What one tool call did to one file. The lines are None if the log cannot tell them.

    The operation is read, changed, created or deleted. A rename deletes the old path and creates the new one.
    """

    path: str
    operation: str
    added: int | None = None
    removed: int | None = None


TYPES = (
    "decision", "bug-fix", "feature", "refactor", "discovery", "diagnosis", "pattern", "test", "config", "general",
)  # fmt: skip
TYPE_SYNONYMS = {"bugfix": "bug-fix", "bug": "bug-fix", "fix": "bug-fix"}


def observation_type(word: str) -> str:
    """A type in its canonical spelling: lower case, with dashes. Any word can be a type; "" means no type."""
    dashed = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
    return TYPE_SYNONYMS.get(dashed, dashed)


class Observation(Struct, frozen=True, kw_only=True):
    """Knowledge from a turn, with the events that prove it. The type is one of `TYPES`, or an agent's own word."""

    type: str
    title: str
    evidence: tuple[bytes, ...]  # ids of events, the most important first; never empty
    at: int
    subtitle: str = ""
    narrative: str = ""
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()


LIVE_SOURCE = "recollect"  # the source of sessions that Recollect runs
AGENT_START_S = 60.0  # seconds until an agent must accept a prompt; agents installed on first use take long
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def now_ms() -> int:
    """The current time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def timestamp(at: int) -> str:
    """A time in RFC 3339: UTC, with milliseconds."""
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def path_text(path: Path) -> str:
    """A path as text that can be stored and sent, even if the path is not UTF-8."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def replace_surrogates(text: str) -> str:
    """The text with unpaired surrogates replaced, because they cannot be stored or sent. Most come from invalid UTF-8."""
    return text.encode("utf-8", "replace").decode()


def derived_id(*parts: str) -> bytes:
    """A 128-bit id derived from these parts. The same parts always give the same id, on every machine."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def session_id(source: str, native_id: str) -> bytes:
    """The id of a session. A live session's id is its own UUID."""
    if source == LIVE_SOURCE and UUID.fullmatch(native_id):
        return bytes.fromhex(native_id.replace("-", ""))
    return derived_id("session", source, native_id)


def event_id(source: str, key: str) -> bytes:
    """The id of an event, derived from the key of its record."""
    return derived_id("event", source, key)
