"""Results of requests. Fields have their JSON names; fields that a newer server adds are ignored."""

from typing import Any, Literal

from msgspec import Struct, field

JsonObject = dict[str, Any]
DocumentType = Literal["woop_plan", "file_upload", "artifact", "note"]

# ---- sessions


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens as the agent reports them, or `estimated` from the length of the text."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0
    estimated: bool = False


class TurnResult(Struct, frozen=True, kw_only=True):
    """The result of a turn. `turns` is the number of turns of the session so far."""

    session_id: str
    text: str
    usage: Usage
    turns: int
    tool_calls: int
    stop_reason: str


class SessionState(Struct, frozen=True, kw_only=True):
    """State and usage of a session. `is_active` is true while a turn runs."""

    session_id: str
    realm_id: str
    instance_id: str
    backend: str
    config_generation: int
    created_at: str
    updated_at: str
    message_count: int
    is_active: bool
    labels: dict[str, str]
    usage: Usage
    turns: int = 0
    runner: str = ""
    archived_at: str | None = None
    imported: bool = False
    title: str = ""
    estimated_time: bool = False


class Message(Struct, frozen=True, kw_only=True):
    """A committed message. `role` is `user`, `assistant`, `tool_results` or `system_notice`."""

    role: str
    content: str
    created_at: str
    estimated_time: bool = False
    """The log has no timestamps, so `created_at` is the date of its file."""
    blocks: list[JsonObject] = field(default_factory=list)
    """Assistant messages: text, reasoning and tool calls, in order."""
    results: list[JsonObject] = field(default_factory=list)
    """Tool results: one for each call."""
    kind: str | None = None
    """System notices: `interrupt`, `error` or `crash`."""
    injected: bool = False
    """User messages of imported sessions: context that the agent added, not typed by the user."""
    compaction_summary: bool = False
    stop_reason: str | None = None
    usage: Usage | None = None


class HistoryPage(Struct, frozen=True, kw_only=True):
    """One page of a session's messages, oldest first."""

    session_id: str
    message_count: int
    offset: int
    limit: int
    has_more: bool
    messages: list[Message]


class SessionList(Struct, frozen=True, kw_only=True):
    sessions: list[SessionState]


class CreatedSession(Struct, frozen=True, kw_only=True):
    session_id: str


class InterruptResult(Struct, frozen=True, kw_only=True):
    """`interrupted` is false if no turn was running."""

    session_id: str
    interrupted: bool


class ArchiveResult(Struct, frozen=True, kw_only=True):
    session_id: str
    archived: bool


# ---- realms and servers


class RealmConfig(Struct, frozen=True, kw_only=True):
    """The config of a realm. `generation` counts its changes."""

    config: JsonObject
    generation: int
    realm_id: str
    instance_id: str
    backend: str


class RealmRow(Struct, frozen=True, kw_only=True):
    """A realm in a list of realms."""

    realm_id: str
    backend: str
    origin: str | None = None
    created_at: str | None = None


class Instance(Struct, frozen=True, kw_only=True):
    """A process that uses a realm."""

    instance_id: str
    surface: str
    pid: int
    since: str


class RealmInfo(RealmRow, frozen=True, kw_only=True):
    """A realm with its size and the processes that use it."""

    folder: str = ""
    bytes: int = 0
    config_generation: int = 0
    instances: list[Instance] = field(default_factory=list)


class FailedRealm(Struct, frozen=True, kw_only=True):
    """A realm that cannot be read, and the reason."""

    realm_id: str
    message: str


class RealmList(Struct, frozen=True, kw_only=True):
    realms: list[RealmRow]
    failed: list[FailedRealm] = field(default_factory=list)


class ServerInfo(Struct, frozen=True, kw_only=True):
    """A server's version, its realm, and the methods it has."""

    name: str = "recollect"
    version: str
    realm_id: str
    instance_id: str
    backend: str
    methods: list[str] = field(default_factory=list)


class ToolResult(Struct, frozen=True, kw_only=True, rename={"structured": "structuredContent", "is_error": "isError"}):
    """The MCP result of a tool. An error of the tool is a result too, with `is_error`."""

    content: list[JsonObject]
    structured: Any = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """All text parts, joined by line feeds."""
        return "\n".join(str(part["text"]) for part in self.content if part.get("type") == "text")


# ---- journeys


class JourneyInfo(Struct, frozen=True, kw_only=True):
    journey_id: str
    created_at: str
    session_count: int
    is_new: bool
    user_id: str | None = None


class JourneySession(Struct, frozen=True, kw_only=True):
    """A session of a journey."""

    session_id: str
    created_at: str
    summary: str
    estimated_time: bool = False
    has_diagnosis: bool = False
    relevance_score: float = 0.0


class DocumentRow(Struct, frozen=True, kw_only=True):
    """A document in a list of documents, without its content."""

    document_id: str
    document_type: str
    created_at: str
    title: str = ""


class Document(DocumentRow, frozen=True, kw_only=True):
    """A document with its content."""

    journey_id: str
    content: str | None = None
    metadata: JsonObject | None = None


class JourneyHistory(Struct, frozen=True, kw_only=True):
    """The first of `total_results` matching sessions, and the documents if requested."""

    journey_id: str
    sessions: list[JourneySession]
    total_results: int
    documents: list[DocumentRow] = field(default_factory=list)


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """A session (with a summary) or a document (with a type and a title)."""

    entry_type: str
    entry_id: str
    created_at: str
    estimated_time: bool = False
    summary: str | None = None
    has_diagnosis: bool | None = None
    document_type: str | None = None
    title: str | None = None


class Timeline(Struct, frozen=True, kw_only=True):
    journey_id: str
    entries: list[TimelineEntry]


class DocumentList(Struct, frozen=True, kw_only=True):
    documents: list[DocumentRow]


class AddedDocument(Struct, frozen=True, kw_only=True):
    document_id: str
    journey_id: str
    document_type: str
    created_at: str


class LinkedSession(Struct, frozen=True, kw_only=True):
    journey_id: str
    session_id: str


class DeletedJourney(Struct, frozen=True, kw_only=True):
    journey_id: str
    session_count: int
    document_count: int
