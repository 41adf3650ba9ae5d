"""Runs the async client for the blocking one: an event loop in its own thread. Any thread may use it.

`make sdk` generates the blocking classes from the async ones. They use `BlockingTransport` instead of `Transport`.
"""

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from recollect.client._library_frame import Answer
from recollect.client._new_file import FilePath
from recollect.client._transport import Result, Transport
from recollect.client.errors import ConnectionLost, connection_lost
from recollect.client.events import LibraryChange, SessionEvent
from recollect.client.results import ServerInfo, ToolResult

Value = TypeVar("Value")


class LoopThread:
    """An event loop in its own thread."""

    def __init__(self) -> None:
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._is_closed = False
        self._submitting = threading.Lock()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True, name="recollect client")
        self._thread.start()
        self._loop = self._started.result()

    async def _serve(self) -> None:
        """Run until closed. `asyncio.run` then cancels all tasks that still run."""
        self._closing = asyncio.Event()
        self._started.set_result(asyncio.get_running_loop())
        await self._closing.wait()

    def run(self, awaited: Awaitable[Value]) -> Value:
        """Wait for the result. An interrupted wait, such as by Ctrl-C, cancels the task in the loop."""

        async def wait() -> Value:
            return await awaited

        with self._submitting:  # a closed loop would never run a submitted task
            if self._is_closed:
                _discard(awaited)
                raise connection_lost("the client was closed")
            waiting = asyncio.run_coroutine_threadsafe(wait(), self._loop)
        try:
            return waiting.result()
        except CancelledError:
            raise connection_lost("the client was closed") from None
        finally:
            waiting.cancel()

    def next(self, source: AsyncIterator[Value]) -> Value:
        """The next item; StopIteration at the end."""
        try:
            return self.run(anext(source))
        except StopAsyncIteration:
            raise StopIteration from None

    def iterate(self, source: AsyncGenerator[Value, None]) -> Iterator[Value]:
        """All items. Leaving the loop early closes the source."""
        try:
            while True:
                try:
                    value = self.next(source)
                except StopIteration:
                    return
                yield value
        finally:
            with suppress(ConnectionLost):  # the client was closed in the meantime
                self.run(source.aclose())

    def close(self) -> None:
        with self._submitting:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()


def _discard(awaited: Awaitable[object]) -> None:
    """Close a coroutine that will never run, so that Python does not warn about it."""
    close = getattr(awaited, "close", None)
    if close is not None:
        close()


class BlockingTransport:
    """A `Transport` whose methods block."""

    def __init__(self, opening: Awaitable[Transport]) -> None:
        self.loop = LoopThread()
        try:
            self.transport = self.loop.run(opening)
        except BaseException:
            self.loop.close()
            raise
        atexit.register(self.close)  # a server that we started must not outlive us

    @property
    def server(self) -> ServerInfo:
        return self.transport.server

    def call(self, shape: type[Result], method: str, /, **params: Any) -> Result:
        return self.loop.run(self.transport.call(shape, method, **params))

    def call_method(self, method: str, params: Mapping[str, Any] | None) -> Any:
        return self.loop.run(self.transport.call_method(method, params))

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None) -> ToolResult:
        return self.loop.run(self.transport.call_tool(name, arguments))

    def call_library(self, shape: type[Answer], method: str, params: Mapping[str, Any]) -> Answer:
        return self.loop.run(self.transport.call_library(shape, method, params))

    def call_document(self, shape: type[Answer], method: str, params: Mapping[str, Any], to: FilePath | None) -> Answer:
        return self.loop.run(self.transport.call_document(shape, method, params, to))

    def changes(self, after: str | None) -> Iterator[LibraryChange]:
        return self.loop.iterate(self.transport.changes(after))

    def events(self, session_id: str, after: int | None) -> Iterator[SessionEvent]:
        return self.loop.iterate(self.transport.events(session_id, after))

    def close(self) -> None:
        atexit.unregister(self.close)
        try:
            with suppress(ConnectionLost):  # it is closed already
                self.loop.run(self.transport.close())
        finally:
            self.loop.close()


def open_blocking(client: Callable[[BlockingTransport], Value], opening: Coroutine[Any, Any, Transport]) -> Value:
    """The blocking counterpart of `Opening`."""
    return client(BlockingTransport(opening))
