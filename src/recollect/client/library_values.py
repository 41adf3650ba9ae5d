# Generated from the table of operations by `make sdk`: do not edit.
"""The parts of the library's answers. Fields have their JSON names; fields that a newer server adds are ignored."""

from typing import Any

from msgspec import Struct, field


class Interval(Struct, frozen=True, kw_only=True):
    """The time of a session in a range."""

    session: str
    title: str
    agent: str
    project: str | None = None
    start: str
    end: str
    estimated_time: bool
    turns: int
    state: str


class BriefView(Struct, frozen=True, kw_only=True):
    """What an agent gets that cannot load a session itself."""

    text: str
    tokens: int
    budget_tokens: int


class Tokens(Struct, frozen=True, kw_only=True):
    """Tokens by kind. `input` excludes what was read from or written to a cache; `reasoning` is part of `output`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    total: int = 0


class LibraryEvent(Struct, frozen=True, kw_only=True):
    """An event in full. A tool call has its arguments and, if it edits a file, the difference."""

    id: str
    sequence: int
    turn: int
    type: str
    at: str
    text: str
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    exit_code: int | None = None
    failed: bool
    duration_ms: int | None = None
    usage: Tokens | None = None
    diff: str | None = None
    answers: int | None = None
    """Of a tool response: the sequence number of its call."""
    note: str | None = None


class ExportReceipt(Struct, frozen=True, kw_only=True):
    """What a document has, and what was left out of it."""

    sessions: int
    events: int
    redacted_when_stored: dict[str, int]
    """Secrets that were replaced before they were stored, by kind."""
    redacted_now: dict[str, int]
    """Secrets that were replaced in the document, by kind."""
    texts_shortened: int
    events_left_out: int


class FileEntry(Struct, frozen=True, kw_only=True):
    """A file that a tool call read, changed, created or deleted. Lines are null if the log does not tell."""

    path: str
    project: str | None = None
    operation: str
    lines_added: int | None = None
    lines_removed: int | None = None
    session: str
    event: str
    at: str


class ForgottenSession(Struct, frozen=True, kw_only=True):
    """A session that is forgotten. A sub-agent is forgotten with its parent."""

    id: str
    uuid: str
    title: str
    agent: str
    project: str | None = None
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


class LabelCount(Struct, frozen=True, kw_only=True):
    """A label, and how many sessions have it."""

    name: str
    sessions: int


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
    project: str | None = None
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


class Citation(Struct, frozen=True, kw_only=True):
    """The source of a statement in an answer."""

    id: str
    date: str
    title: str
    path: str
    first_line: int = field(name="startLine")
    last_line: int = field(name="endLine")
    estimated_time: bool = False


class Cost(Struct, frozen=True, kw_only=True):
    """What tokens cost. It is `estimated` if any part of it is, and `unknown` if no part has a price."""

    usd: float | None = None
    source: str = "unknown"
    unpriced_tokens: int = 0
    """Tokens of models without a known price, which `usd` leaves out."""


class RunningSession(Struct, frozen=True, kw_only=True):
    """A session that runs now. `doing` is its newest event in one line."""

    id: str
    uuid: str
    native_id: str
    title: str
    agent: str
    project: str | None = None
    folder: str | None = None
    branch: str | None = None
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
    parent: str | None = None
    children: list[str]
    files_changed: int
    labels: list[str]
    note: str | None = None
    outcome: str | None = None
    """The beginning of the last answer."""
    path: str
    machine: str
    doing: str


class LibrarySession(Struct, frozen=True, kw_only=True):
    """A session with everything that is known about it without reading its events."""

    id: str
    uuid: str
    native_id: str
    title: str
    agent: str
    project: str | None = None
    folder: str | None = None
    branch: str | None = None
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
    parent: str | None = None
    children: list[str]
    files_changed: int
    labels: list[str]
    note: str | None = None
    outcome: str | None = None
    """The beginning of the last answer."""
    path: str
    machine: str


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
    stop: str | None = None
    tokens: Tokens
    context_tokens: int


class RelatedSession(Struct, frozen=True, kw_only=True):
    """A session that belongs to another one. `files`: how many files both changed."""

    session: str
    relation: str
    """parent, sub-agent, continues, continued by, or same files"""
    title: str
    agent: str
    updated_at: str
    files: int = 0


class FacetValue(Struct, frozen=True, kw_only=True):
    """A value of a property, and how many sessions have it."""

    value: str | None = None
    count: int


class UsageRow(Struct, frozen=True, kw_only=True):
    """Tokens and cost of one day, week, project, agent, model or session. A session's row includes its sub-agents."""

    key: str
    """The day (2026-03-01), the week (2026-W10), the name, or the session's id. Empty for sessions without a project."""
    title: str | None = None
    """Only of a session."""
    sessions: int
    turns: int
    tokens: Tokens
    cost: Cost
