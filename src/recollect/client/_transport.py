"""The interface to a server, independent of the protocol: JSON-RPC over pipes or TCP, or HTTP."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from io import BytesIO
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from recollect.client._json import decode
from recollect.client._library_frame import Answer, LibraryFrame, unframe
from recollect.client._new_file import FilePath, NewFile
from recollect.client.errors import InternalError
from recollect.client.events import LibraryChange, SessionEvent
from recollect.client.results import ServerInfo, ToolResult

Result = TypeVar("Result")
Listener = Callable[[SessionEvent], None]
Response = bytes | Raw  # JSON, not decoded yet
Write = Callable[[bytes], object]

HANDSHAKE_TIMEOUT_S = 60.0  # a server that was just started on a busy machine needs several seconds
CONNECT_TIMEOUT_S = 10.0  # a listening server accepts within milliseconds; this leaves room for a slow network


class FileName(Struct, frozen=True):
    """The part of a document's description that says how to name its file."""

    file_name: str


class Transport(ABC):
    """Sends requests to one server, within one event loop.

    Every failure is a `RecollectError`. Cancelling a call does not cancel the turn on the server.
    """

    server: ServerInfo

    async def call(self, shape: type[Result], method: str, listener: Listener | None = None, /, **params: Any) -> Result:
        """Call a method and decode its result. Parameters that are None are left out."""
        present = {name: value for name, value in params.items() if value is not None}
        return decode_result(method, await self.request(method, present, listener), shape)

    async def call_method(self, method: str, params: Mapping[str, Any] | None) -> Any:
        """Call a method with exactly these parameters. The result consists of plain JSON values."""
        return decode_result(method, await self.request(method, dict(params or {})), object)

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None) -> ToolResult:
        """Call a tool and decode its result."""
        return decode_result(name, await self.request_tool(name, dict(arguments or {})), ToolResult)

    async def call_library(self, shape: type[Answer], method: str, params: Mapping[str, Any]) -> Answer:
        """Call a method of the library. Parameters that are None are left out."""
        frame = await self.call(LibraryFrame, method, **params)
        return unframe(decode_result(method, frame.data, shape), frame)

    async def call_document(
        self, shape: type[Answer], method: str, params: Mapping[str, Any], to: FilePath | None
    ) -> Answer:
        """Call a method whose answer is a document. It is written to a file, into a folder, or else into the answer."""
        present = {name: value for name, value in params.items() if value is not None}
        if to is None:
            content = BytesIO()
            frame = await self.download(method, present, content.write)
            answer = unframe(decode_result(method, frame.data, shape), frame)
            return msgspec.structs.replace(answer, content=content.getvalue().decode("utf-8", "replace"))
        with NewFile(to) as file:
            frame = await self.download(method, present, file.write)
            answer = unframe(decode_result(method, frame.data, shape), frame)
            file.finish(decode_result(method, frame.data, FileName).file_name)
        return answer

    @abstractmethod
    async def download(self, method: str, params: dict[str, Any], write: Write) -> LibraryFrame:
        """Call a method whose answer is a document. `write` gets the document in parts, and the frame describes it."""

    @abstractmethod
    def changes(self, after: str | None) -> AsyncGenerator[LibraryChange, None]:
        """What changes in the library, from now on or after a position."""

    @abstractmethod
    async def request(self, method: str, params: dict[str, Any], listener: Listener | None = None) -> Response:
        """Call a method. If it runs a turn, `listener` gets every event before the response is returned."""

    @abstractmethod
    async def request_tool(self, name: str, arguments: dict[str, Any]) -> Response:
        """Call a tool. The response is an MCP tool result."""

    @abstractmethod
    def events(self, session_id: str, after: int | None) -> AsyncGenerator[SessionEvent, None]:
        """Events of all turns of a session, also of other clients, until the session is archived."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect. Calls that are still waiting fail with `ConnectionLost`."""


def decode_result(method: str, response: Response, shape: type[Result]) -> Result:
    try:
        return decode(response, shape)
    except (ValueError, RecursionError) as reason:
        message = f"This client cannot read the server's response to {method}: {reason}"
        raise InternalError("INTERNAL_ERROR", message) from reason


def session_of(params: dict[str, Any]) -> str | None:
    """The id of the session that a request names, without the realm of a `<realm>:<id>`."""
    locator = params.get("session_id")
    return locator.rpartition(":")[2].lower() if isinstance(locator, str) else None
