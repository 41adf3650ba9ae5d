"""A turn while it runs: its events, and what it comes to.

    turn = session.stream("And then?")
    for event in turn:
        ...
    print(turn.result.text)

A turn that does not complete ends the loop with its error, after its last event. It runs whether or not anybody looks: to
leave the loop early does not end it, `session.interrupt()` does, and the loop may be taken up again. What was not looked at
yet is kept; a turn says 32 million characters at most.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any

from recollect.client._loop import LoopThread
from recollect.client._wire import Listener
from recollect.client.events import SessionEvent
from recollect.client.results import TurnResult

Run = Callable[[Listener], Coroutine[Any, Any, TurnResult]]


class AsyncTurnStream(AsyncIterator[SessionEvent]):
    def __init__(self, run: Run) -> None:
        """`run` runs the turn; it returns after the last event."""
        self._events: asyncio.Queue[SessionEvent | None] = asyncio.Queue()
        self._running = asyncio.get_running_loop().create_task(run(self._events.put_nowait))
        self._running.add_done_callback(self._over)
        self._is_heard = False

    def _over(self, running: "asyncio.Task[TurnResult]") -> None:
        self._events.put_nowait(None)
        if not running.cancelled():
            running.exception()  # whoever only loops is told by the loop

    async def __anext__(self) -> SessionEvent:
        event = None if self._is_heard else await self._events.get()
        if event is not None:
            return event
        self._is_heard = True
        if not self._running.cancelled():
            self._running.result()
        raise StopAsyncIteration

    @property
    def result(self) -> TurnResult:
        """What the turn came to, once it is over; its error where it did not complete."""
        if not self._running.done():
            raise RuntimeError("The turn is still running: loop to its end, or call wait().")
        if self._running.cancelled():
            raise RuntimeError("Nobody listens to this turn any more.")
        return self._running.result()

    async def wait(self) -> TurnResult:
        """Wait for the end, whatever happens until then."""
        await asyncio.wait([self._running])
        return self.result

    async def close(self) -> None:
        """Stop listening. The turn goes on."""
        self._running.cancel()
        await asyncio.wait([self._running])

    async def __aenter__(self) -> "AsyncTurnStream":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


class TurnStream(Iterator[SessionEvent]):
    def __init__(self, loop: LoopThread, start: Callable[[], AsyncTurnStream]) -> None:
        async def begin() -> AsyncTurnStream:  # a stream begins where there is a loop
            return start()

        self._loop = loop
        self._stream = loop.run(begin())

    def __next__(self) -> SessionEvent:
        return self._loop.next(self._stream)

    @property
    def result(self) -> TurnResult:
        """What the turn came to, once it is over; its error where it did not complete."""
        return self._stream.result

    def wait(self) -> TurnResult:
        """Wait for the end, whatever happens until then."""
        return self._loop.run(self._stream.wait())

    def close(self) -> None:
        """Stop listening. The turn goes on."""
        self._loop.run(self._stream.close())

    def __enter__(self) -> "TurnStream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
