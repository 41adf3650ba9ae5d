"""A turn while it runs: its events, then its result.

    turn = session.stream("And then?")
    for event in turn:
        ...
    print(turn.result.text)

If the turn does not complete, the loop raises its error after the last event. The turn runs even if nothing reads its
events. Leaving the loop does not end the turn; `session.interrupt()` ends it. A new loop continues where the last one
stopped. Unread events stay in memory; a turn produces at most 32 million characters.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

from recollect.client._blocking import BlockingTransport
from recollect.client._transport import Transport
from recollect.client.events import SessionEvent
from recollect.client.results import TurnResult


class AsyncTurnStream(AsyncIterator[SessionEvent]):
    """The events of a running turn, in order."""

    def __init__(self, transport: Transport, params: Mapping[str, Any], on_result: Callable[[TurnResult], None]) -> None:
        self._events: asyncio.Queue[SessionEvent | None] = asyncio.Queue()  # None marks the end
        self._task = asyncio.get_running_loop().create_task(self._run(transport, params, on_result))
        self._task.add_done_callback(self._finish)
        self._has_ended = False

    async def _run(
        self, transport: Transport, params: Mapping[str, Any], on_result: Callable[[TurnResult], None]
    ) -> TurnResult:
        result = await transport.call(TurnResult, "turn/start", self._events.put_nowait, **params)
        on_result(result)
        return result

    def _finish(self, task: "asyncio.Task[TurnResult]") -> None:
        self._events.put_nowait(None)
        if not task.cancelled():
            task.exception()  # marks it as retrieved: the loop raises it

    async def __anext__(self) -> SessionEvent:
        event = None if self._has_ended else await self._events.get()
        if event is not None:
            return event
        self._has_ended = True
        if not self._task.cancelled():
            self._task.result()
        raise StopAsyncIteration

    @property
    def result(self) -> TurnResult:
        """The result of the finished turn. Raises the turn's error if it did not complete."""
        if not self._task.done():
            raise RuntimeError("The turn is still running: loop to its end, or call wait().")
        if self._task.cancelled():
            raise RuntimeError("The stream was closed before the turn ended.")
        return self._task.result()

    async def wait(self) -> TurnResult:
        """Wait for the end of the turn and return its result."""
        await asyncio.wait([self._task])
        return self.result

    async def close(self) -> None:
        """Stop receiving events. The turn continues."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def __aenter__(self) -> "AsyncTurnStream":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


class TurnStream(Iterator[SessionEvent]):
    """The events of a running turn, in order."""

    # Written by hand, unlike the other blocking classes: the async stream must be created inside the event loop.
    def __init__(
        self, transport: BlockingTransport, params: Mapping[str, Any], on_result: Callable[[TurnResult], None]
    ) -> None:
        async def start() -> AsyncTurnStream:
            return AsyncTurnStream(transport.transport, params, on_result)

        self._loop = transport.loop
        self._stream = self._loop.run(start())

    def __next__(self) -> SessionEvent:
        return self._loop.next(self._stream)

    @property
    def result(self) -> TurnResult:
        """The result of the finished turn. Raises the turn's error if it did not complete."""
        return self._stream.result

    def wait(self) -> TurnResult:
        """Wait for the end of the turn and return its result."""
        return self._loop.run(self._stream.wait())

    def close(self) -> None:
        """Stop receiving events. The turn continues."""
        self._loop.run(self._stream.close())

    def __enter__(self) -> "TurnStream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
