"""The `data` of the library's answers. The table names one of these shapes for each operation.

From it come the schemas of OpenAPI, the types that both SDKs return, and the answers in docs/reference.md.
"""

from typing import Any

from msgspec import Struct, field

from recollect.library_answers import (
    FacetValue,
    FileEntry,
    Interval,
    LibraryEvent,
    LibraryHit,
    LibraryObservation,
    LibrarySession,
    LibraryTurn,
    RelatedSession,
    RunningSession,
    UsageRow,
)
from recollect.operations.memory.ask import Citation


class SessionPage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sessions, and how many sessions have each value of the requested facets."""

    sessions: list[LibrarySession]
    facets: dict[str, list[FacetValue]] = field(default_factory=dict)


class SessionDetails(Struct, frozen=True, kw_only=True):
    """One session in full."""

    session: LibrarySession
    turns: list[LibraryTurn]
    files: list[FileEntry]
    observations: list[LibraryObservation]
    related: list[RelatedSession]
    resume: str | None
    """The agent's own command to go on with the session, for a shell."""


class SessionResume(Struct, frozen=True, kw_only=True):
    """How to go on with a session in its agent's own program. `command` is null if there is no such command."""

    session: str
    """The session that the command opens: for a sub-agent, the one that started it."""
    agent: str
    native_id: str
    command: str | None
    words: list[str]
    """The program and its arguments, without the change into the folder."""
    folder: str | None
    folder_exists: bool
    program: str | None
    """The path of the program; null if it is not installed."""
    reason: str | None
    """Why there is no command."""
    notes: list[str]


class BriefView(Struct, frozen=True, kw_only=True):
    """What an agent gets that cannot load a session itself."""

    text: str
    tokens: int
    budget_tokens: int


class Continuation(Struct, frozen=True, kw_only=True):
    """How a session goes on. In a preview nothing is started, and `session` is null unless it is a live one already."""

    session: str | None
    """The live session that goes on with the other one, or is that one itself."""
    uuid: str | None
    continues: str
    way: str
    """native: the agent has the session, or loads it itself; brief: it gets a brief."""
    runner: str
    agent: str | None
    folder: str
    prompt: str
    brief: BriefView | None
    """What the agent got; null if it got none. In a preview: what it gets, or would get if it cannot load the session."""
    started: bool = False
    text: str | None = None
    usage: dict[str, Any] | None = None
    turns: int | None = None
    tool_calls: int | None = None
    stop_reason: str | None = None


class EventPage(Struct, frozen=True, kw_only=True):
    """Events of one session, in their order."""

    session: str
    events: list[LibraryEvent]


class FilePage(Struct, frozen=True, kw_only=True):
    """What tool calls did to files, newest first."""

    files: list[FileEntry]


class SessionFiles(Struct, frozen=True, kw_only=True):
    """What the tool calls of one session did to files, in their order."""

    session: str
    files: list[FileEntry]


class SearchPage(Struct, frozen=True, kw_only=True):
    """Sessions with their matching events, best first."""

    hits: list[LibraryHit]


class ActivityPage(Struct, frozen=True, kw_only=True):
    """Sessions as intervals, and the range of time that they are in."""

    intervals: list[Interval]
    since: str
    until: str


class RunningSessions(Struct, frozen=True, kw_only=True):
    """Sessions that run now."""

    sessions: list[RunningSession]


class UsagePage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and cost of each key, and of all sessions together."""

    by: str
    rows: list[UsageRow]
    total: UsageRow
    content: str | None = None
    """The table in CSV, if it was asked for and the answer is JSON."""


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


class ExportedDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A document that was written. Over REST the response is the document, and a header has the receipt."""

    format: str
    media_type: str
    file_name: str
    receipt: ExportReceipt
    files: list[str] = field(default_factory=list)
    """The names of the files, if each session has its own."""
    content: str | None = None
    """The document, if the answer is JSON."""


class ObservationPage(Struct, frozen=True, kw_only=True):
    """Observations."""

    observations: list[LibraryObservation]


class OneObservation(Struct, frozen=True, kw_only=True):
    """One observation."""

    observation: LibraryObservation


class ReviewedObservation(Struct, frozen=True, kw_only=True):
    """An observation after a person's decision about it."""

    observation: LibraryObservation


class DeletedObservation(Struct, frozen=True, kw_only=True):
    """The observation that was deleted."""

    id: str
    deleted: bool


class QuestionAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a question, with its sources."""

    question: str
    answer: str
    """In Markdown."""
    sources: list[Citation]
    tokens: int
    """The length of the answer."""
    by: str
    """`extract` if the answer only quotes; otherwise the model that wrote it."""


class HealthReport(Struct, frozen=True, kw_only=True):
    """What `recollect status`, `recollect sources` and `recollect doctor` show."""

    status: dict[str, Any]
    sources: list[dict[str, Any]]
    doctor: dict[str, Any]


class LabelCount(Struct, frozen=True, kw_only=True):
    """A label, and how many sessions have it."""

    name: str
    sessions: int


class LabelList(Struct, frozen=True, kw_only=True):
    """All labels."""

    labels: list[LabelCount]


class SessionLabels(Struct, frozen=True, kw_only=True):
    """The labels of a session."""

    session: str
    labels: list[str]


class SessionNote(Struct, frozen=True, kw_only=True):
    """The note on a session; null if there is none."""

    session: str
    note: str | None


class EventNote(Struct, frozen=True, kw_only=True):
    """The note on an event; null if there is none."""

    event: str
    session: str
    note: str | None
