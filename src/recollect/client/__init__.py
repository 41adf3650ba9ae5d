"""The Python client of Recollect: live sessions, their history, journeys, and every tool.

    with Client.spawn("main") as client:
        session = client.create_session("How did we fix the flaky test?")
        print(session.result.text)

The server is another process. The client loads the standard library and msgspec, and none of the server's code.
`AsyncClient` has the same methods as `Client`, as coroutines.
"""

from recollect.client._async_client import AsyncClient
from recollect.client._async_journey import AsyncJourney
from recollect.client._async_session import AsyncDeferredSession, AsyncSession, AsyncStartedSession
from recollect.client._client import Client
from recollect.client._journey import Journey
from recollect.client._session import DeferredSession, Session, StartedSession
from recollect.client._turn_stream import AsyncTurnStream, TurnStream
from recollect.client.errors import (
    AgentError,
    ConnectionLost,
    GenerationConflict,
    InternalError,
    InvalidParams,
    ProviderError,
    RecollectError,
    RequestCancelled,
    SessionBusy,
    SessionNotFound,
    SessionPersistenceDisabled,
    StaleCursor,
    Unauthorized,
)
from recollect.client.events import (
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
    "ArchiveResult",
    "AsyncClient",
    "AsyncDeferredSession",
    "AsyncJourney",
    "AsyncSession",
    "AsyncStartedSession",
    "AsyncTurnStream",
    "Client",
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
    "InvalidParams",
    "Journey",
    "JourneyHistory",
    "JourneyInfo",
    "JourneySession",
    "JsonObject",
    "LinkedSession",
    "Message",
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
