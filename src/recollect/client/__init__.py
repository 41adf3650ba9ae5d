"""The Python client of Recollect: the library of all sessions, live sessions, journeys, and every tool.

    with Client.spawn("main") as client:
        session = client.create_session("How did we fix the flaky test?")
        print(session.result.text)
        for found in client.library.sessions(project="cli", since="7d"):
            print(found.title)

The server is another process. The client loads the standard library and msgspec, and none of the server's code.
`AsyncClient` has the same methods as `Client`, as coroutines.
"""

from recollect.client._async_client import AsyncClient
from recollect.client._async_journey import AsyncJourney
from recollect.client._async_library import AsyncLibrary
from recollect.client._async_pages import AsyncPages
from recollect.client._async_session import AsyncDeferredSession, AsyncSession, AsyncStartedSession
from recollect.client._client import Client
from recollect.client._journey import Journey
from recollect.client._library import Library
from recollect.client._pages import Pages
from recollect.client._session import DeferredSession, Session, StartedSession
from recollect.client._turn_stream import AsyncTurnStream, TurnStream
from recollect.client.errors import (
    AgentError,
    AmbiguousId,
    Conflict,
    ConnectionLost,
    GenerationConflict,
    InternalError,
    InvalidFilter,
    InvalidParams,
    NotFound,
    ProviderError,
    RecollectError,
    RequestCancelled,
    SessionBusy,
    SessionNotFound,
    SessionPersistenceDisabled,
    StaleCursor,
    StoreBusy,
    Unauthorized,
)
from recollect.client.events import (
    LibraryChange,
    ReasoningDelta,
    SessionEvent,
    StreamTruncated,
    TextDelta,
    ToolCall,
    ToolCallResult,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    UnknownEvent,
)
from recollect.client.results import (
    AddedDocument,
    ArchiveResult,
    DeletedJourney,
    Document,
    DocumentRow,
    DocumentType,
    HistoryPage,
    Instance,
    InterruptResult,
    JourneyHistory,
    JourneyInfo,
    JourneySession,
    JsonObject,
    LinkedSession,
    Message,
    RealmConfig,
    RealmInfo,
    RealmRow,
    ServerInfo,
    SessionState,
    TimelineEntry,
    ToolResult,
    TurnResult,
    Usage,
)

__all__ = [
    "AddedDocument",
    "AgentError",
    "AmbiguousId",
    "ArchiveResult",
    "AsyncClient",
    "AsyncDeferredSession",
    "AsyncJourney",
    "AsyncLibrary",
    "AsyncPages",
    "AsyncSession",
    "AsyncStartedSession",
    "AsyncTurnStream",
    "Client",
    "Conflict",
    "ConnectionLost",
    "DeferredSession",
    "DeletedJourney",
    "Document",
    "DocumentRow",
    "DocumentType",
    "GenerationConflict",
    "HistoryPage",
    "Instance",
    "InternalError",
    "InterruptResult",
    "InvalidFilter",
    "InvalidParams",
    "Journey",
    "JourneyHistory",
    "JourneyInfo",
    "JourneySession",
    "JsonObject",
    "Library",
    "LibraryChange",
    "LinkedSession",
    "Message",
    "NotFound",
    "Pages",
    "ProviderError",
    "RealmConfig",
    "RealmInfo",
    "RealmRow",
    "ReasoningDelta",
    "RecollectError",
    "RequestCancelled",
    "ServerInfo",
    "Session",
    "SessionBusy",
    "SessionEvent",
    "SessionNotFound",
    "SessionPersistenceDisabled",
    "SessionState",
    "StaleCursor",
    "StartedSession",
    "StoreBusy",
    "StreamTruncated",
    "TextDelta",
    "TimelineEntry",
    "ToolCall",
    "ToolCallResult",
    "ToolResult",
    "TurnCompleted",
    "TurnFailed",
    "TurnInterrupted",
    "TurnResult",
    "TurnStarted",
    "TurnStream",
    "Unauthorized",
    "UnknownEvent",
    "Usage",
]
