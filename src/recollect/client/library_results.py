# Generated from the table of operations by `make sdk`: do not edit.
"""The library's answers. Fields have their JSON names; fields that a newer server adds are ignored."""

from typing import Any

from msgspec import field

from recollect.client._library_frame import LibraryAnswer, LibraryPage
from recollect.client.library_values import (
    BriefView,
    Citation,
    ExportReceipt,
    FacetValue,
    FileEntry,
    ForgetCounts,
    ForgottenSession,
    Interval,
    LabelCount,
    LibraryEvent,
    LibraryHit,
    LibraryObservation,
    LibrarySession,
    LibraryTurn,
    RelatedSession,
    RunningSession,
    UsageRow,
)


class ActivityPage(LibraryPage, frozen=True, kw_only=True):
    """Sessions as intervals, and the range of time that they are in."""

    intervals: list[Interval]
    since: str
    until: str


class Continuation(LibraryAnswer, frozen=True, kw_only=True):
    """How a session goes on. In a preview nothing is started, and `session` is null unless it is a live one already."""

    session: str | None = None
    """The live session that goes on with the other one, or is that one itself."""
    uuid: str | None = None
    continues: str
    way: str
    """native: the agent has the session, or loads it itself; brief: it gets a brief."""
    runner: str
    agent: str | None = None
    folder: str
    prompt: str
    brief: BriefView | None = None
    """What the agent got; null if it got none. In a preview: what it gets, or would get if it cannot load the session."""
    started: bool = False
    text: str | None = None
    usage: dict[str, Any] | None = None
    turns: int | None = None
    tool_calls: int | None = None
    stop_reason: str | None = None


class DeletedObservation(LibraryAnswer, frozen=True, kw_only=True):
    """The observation that was deleted."""

    id: str
    deleted: bool


class EventNote(LibraryAnswer, frozen=True, kw_only=True):
    """The note on an event; null if there is none."""

    event: str
    session: str
    note: str | None = None


class EventPage(LibraryPage, frozen=True, kw_only=True):
    """Events of one session, in their order."""

    session: str
    events: list[LibraryEvent]


class ExportedDocument(LibraryAnswer, frozen=True, kw_only=True):
    """A document that was written. Over REST the response is the document, and a header has the receipt."""

    format: str
    media_type: str
    file_name: str
    receipt: ExportReceipt
    files: list[str] = field(default_factory=list)
    """The names of the files, if each session has its own."""
    content: str | None = None
    """The document, if the answer is JSON."""


class FilePage(LibraryPage, frozen=True, kw_only=True):
    """What tool calls did to files, newest first."""

    files: list[FileEntry]


class ForgetReceipt(LibraryAnswer, frozen=True, kw_only=True):
    """What was forgotten, or what would be with `dry_run`. `logs` still have the text: Recollect never writes to logs."""

    dry_run: bool
    sessions: list[ForgottenSession]
    counts: ForgetCounts
    logs: list[str]
    bytes_freed: int | None = None


class HealthReport(LibraryAnswer, frozen=True, kw_only=True):
    """What `recollect status`, `recollect sources` and `recollect doctor` show."""

    status: dict[str, Any]
    sources: list[dict[str, Any]]
    doctor: dict[str, Any]


class LabelList(LibraryAnswer, frozen=True, kw_only=True):
    """All labels."""

    labels: list[LabelCount]


class ObservationPage(LibraryPage, frozen=True, kw_only=True):
    """Observations."""

    observations: list[LibraryObservation]


class OneObservation(LibraryAnswer, frozen=True, kw_only=True):
    """One observation."""

    observation: LibraryObservation


class QuestionAnswer(LibraryAnswer, frozen=True, kw_only=True):
    """The answer to a question, with its sources."""

    question: str
    answer: str
    """In Markdown."""
    sources: list[Citation]
    tokens: int
    """The length of the answer."""
    by: str
    """`extract` if the answer only quotes; otherwise the model that wrote it."""


class ReviewedObservation(LibraryAnswer, frozen=True, kw_only=True):
    """An observation after a person's decision about it."""

    observation: LibraryObservation


class RunningSessions(LibraryAnswer, frozen=True, kw_only=True):
    """Sessions that run now."""

    sessions: list[RunningSession]


class SearchPage(LibraryPage, frozen=True, kw_only=True):
    """Sessions with their matching events, best first."""

    hits: list[LibraryHit]


class SessionDetails(LibraryAnswer, frozen=True, kw_only=True):
    """One session in full."""

    session: LibrarySession
    turns: list[LibraryTurn]
    files: list[FileEntry]
    observations: list[LibraryObservation]
    related: list[RelatedSession]
    resume: str | None = None
    """The agent's own command to go on with the session, for a shell."""


class SessionFiles(LibraryPage, frozen=True, kw_only=True):
    """What the tool calls of one session did to files, in their order."""

    session: str
    files: list[FileEntry]


class SessionLabels(LibraryAnswer, frozen=True, kw_only=True):
    """The labels of a session."""

    session: str
    labels: list[str]


class SessionNote(LibraryAnswer, frozen=True, kw_only=True):
    """The note on a session; null if there is none."""

    session: str
    note: str | None = None


class SessionPage(LibraryPage, frozen=True, kw_only=True):
    """Sessions, and how many sessions have each value of the requested facets."""

    sessions: list[LibrarySession]
    facets: dict[str, list[FacetValue]] = field(default_factory=dict)


class SessionResume(LibraryAnswer, frozen=True, kw_only=True):
    """How to go on with a session in its agent's own program. `command` is null if there is no such command."""

    session: str
    """The session that the command opens: for a sub-agent, the one that started it."""
    agent: str
    native_id: str
    command: str | None = None
    words: list[str]
    """The program and its arguments, without the change into the folder."""
    folder: str | None = None
    folder_exists: bool
    program: str | None = None
    """The path of the program; null if it is not installed."""
    reason: str | None = None
    """Why there is no command."""
    notes: list[str]


class UsagePage(LibraryPage, frozen=True, kw_only=True):
    """Tokens and cost of each key, and of all sessions together."""

    by: str
    rows: list[UsageRow]
    total: UsageRow
    content: str | None = None
    """The table in CSV, if it was asked for and the answer is JSON."""
