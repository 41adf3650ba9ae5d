"""What carries requests to a server: lines over pipes or a socket, or HTTP."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from typing import Any

from msgspec import Raw

from recollect.client.events import SessionEvent
from recollect.client.results import ServerInfo

GREETED_WITHIN_S = 60.0  # seconds: a server that has only just been started, on a busy machine, takes some
CONNECT_S = 10.0  # seconds that a server has to take a connection

Listener = Callable[[SessionEvent], None]
Answer = bytes | Raw  # JSON that nobody has looked into yet


class Wire(ABC):
    """Lives in one event loop. Raises `RecollectError` and nothing else; who is cancelled only stops waiting."""

    server: ServerInfo

    @abstractmethod
    async def request(self, method: str, params: dict[str, Any], listener: Listener | None = None) -> Answer:
        """Ask, and get the answer. Of a turn, `listener` has heard all events by then."""

    @abstractmethod
    async def tool(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool, and get its result as MCP has it."""

    @abstractmethod
    def events(self, session_id: str, after: int | None) -> AsyncGenerator[SessionEvent, None]:
        """The events of a session's turns, whoever asked for them, until the session is archived."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the server. What is under way fails with `ConnectionLost`."""


def session_of(params: dict[str, Any]) -> str | None:
    """The session that a request is about, also by `<realm>:<id>`, as events name it."""
    locator = params.get("session_id")
    return locator.rpartition(":")[2].lower() if isinstance(locator, str) else None
