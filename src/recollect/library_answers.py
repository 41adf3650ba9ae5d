"""The shapes of the library's answers: the operations fill them in, and the clients of both SDKs return them."""

from typing import Any, Literal

from msgspec import Struct

CostSource = Literal["recorded", "estimated", "unknown"]


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens by kind. `input` excludes what was read from or written to a cache; `reasoning` is part of `output`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    total: int = 0


class Cost(Struct, frozen=True, kw_only=True):
    """What tokens cost. It is `estimated` if any part of it is, and `unknown` if no part has a price."""

    usd: float | None = None
    source: CostSource = "unknown"
    unpriced_tokens: int = 0
    """Tokens of models without a known price, which `usd` leaves out."""


class LibrarySession(Struct, frozen=True, kw_only=True):
    """A session with everything that is known about it without reading its events."""

    id: str
    uuid: str
    native_id: str
    title: str
    agent: str
    project: str | None
    folder: str | None
    branch: str | None
    models: list[str]
    mode: str
    started_at: str
    updated_at: str
    estimated_time: bool
    """The log has no times, so these are the date of its file."""
    duration_s: float
    active_s: float
    """The time during which turns ran."""
    turns: int
    events: int
    tool_calls: int
    errors: int
    tokens: Tokens
    cost: Cost
    state: str
    parent: str | None
    children: list[str]
    files_changed: int
    labels: list[str]
    note: str | None
    outcome: str | None
    """The beginning of the last answer."""
    path: str
    machine: str


class FileEntry(Struct, frozen=True, kw_only=True):
    """A file that a tool call read, changed, created or deleted. Lines are null if the log does not tell."""

    path: str
    project: str | None
    operation: str
    lines_added: int | None
    lines_removed: int | None
    session: str
    event: str
    at: str


class LibraryTurn(Struct, frozen=True, kw_only=True):
    """A turn of a session. `context_tokens` is what its last model call read."""

    id: str
    number: int
    prompt: str
    started_at: str
    updated_at: str
    duration_s: float
    events: int
    tools: list[str]
    stop: str | None
    tokens: Tokens
    context_tokens: int


class LibraryEvent(Struct, frozen=True, kw_only=True):
    """An event in full. A tool call has its arguments and, if it edits a file, the difference."""

    id: str
    sequence: int
    turn: int
    type: str
    at: str
    text: str
    tool: str | None
    arguments: dict[str, Any] | None
    exit_code: int | None
    failed: bool
    duration_ms: int | None
    usage: Tokens | None
    diff: str | None
    answers: int | None
    """Of a tool response: the sequence number of its call."""
    note: str | None = None


class Match(Struct, frozen=True, kw_only=True):
    """An event that a search found. `offsets` are pairs (start, end) of characters of `text` that match."""

    event: str
    turn: str
    sequence: int
    type: str
    at: str
    text: str
    offsets: list[tuple[int, int]]
    score: float
    why: dict[str, float] | None = None


class LibraryHit(Struct, frozen=True, kw_only=True):
    """A session with its matching events, best first."""

    session: LibrarySession
    matches: list[Match]


class UsageRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and cost of one day, week, project, agent, model or session. A session's row includes its sub-agents."""

    key: str
    """The day (2026-03-01), the week (2026-W10), the name, or the session's id. Empty for sessions without a project."""
    title: str | None = None
    """Only of a session."""
    sessions: int
    turns: int
    tokens: Tokens
    cost: Cost


class Interval(Struct, frozen=True, kw_only=True):
    """The time of a session in a range."""

    session: str
    title: str
    agent: str
    project: str | None
    start: str
    end: str
    estimated_time: bool
    turns: int
    state: str


class FacetValue(Struct, frozen=True, kw_only=True):
    """A value of a property, and how many sessions have it."""

    value: str | None
    count: int


class LibraryObservation(Struct, frozen=True, kw_only=True):
    """Knowledge from a turn."""

    id: str
    type: str
    title: str
    subtitle: str
    narrative: str
    facts: list[str]
    concepts: list[str]
    files_read: list[str]
    files_modified: list[str]
    made_by: str
    at: str
    estimated_time: bool
    project: str | None
    session: str
    turn: str
    evidence: list[str]
    path: str
    """The log of its turn, and the lines."""
    first_line: int
    last_line: int
    score: float | None = None
    """How well it answers the query, 0 to 1; null in a list without words."""
    verdict: str | None = None
    """What a person decided last: confirmed, edited or retired."""
    reviewer: str | None = None
    reviewed_at: str | None = None


class RelatedSession(Struct, frozen=True, kw_only=True):
    """A session that belongs to another one. `files`: how many files both changed."""

    session: str
    relation: str
    """parent, sub-agent, continues, continued by, or same files"""
    title: str
    agent: str
    updated_at: str
    files: int = 0


class RunningSession(LibrarySession, frozen=True, kw_only=True):
    """A session that runs now. `doing` is its newest event in one line."""

    doing: str


class ForgottenSession(Struct, frozen=True, kw_only=True):
    """A session that is forgotten. A sub-agent is forgotten with its parent."""

    id: str
    uuid: str
    title: str
    agent: str
    project: str | None
    updated_at: str
    turns: int
    events: int
    is_sub_agent: bool


class ForgetCounts(Struct, frozen=True, kw_only=True):
    """What forgotten sessions add up to. `sub_agents` are some of `sessions`; `recorded` are some of `observations`."""

    sessions: int
    sub_agents: int
    turns: int
    events: int
    observations: int
    recorded: int
    """Observations that agents and people recorded: no rule makes them again."""
    labels: int
    notes: int


class ForgetReceipt(Struct, frozen=True, kw_only=True):
    """What was forgotten, or what would be with `dry_run`. `logs` still have the text: Recollect never writes to logs."""

    dry_run: bool
    sessions: list[ForgottenSession]
    counts: ForgetCounts
    logs: list[str]
    bytes_freed: int | None
