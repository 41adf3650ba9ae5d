"""An event loop in a thread of its own, for those who wait instead of awaiting. Any thread may use it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TypeVar

from recollect.client.errors import ConnectionLost, lost

Value = TypeVar("Value")


class LoopThread:
    def __init__(self) -> None:
        self._begun: Future[asyncio.AbstractEventLoop] = Future()
        self._is_closed = False
        self._submitting = threading.Lock()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True, name="recollect client")
        self._thread.start()
        self._loop = self._begun.result()

    async def _serve(self) -> None:
        """Until it is closed; what is still under way then is cancelled by `asyncio.run`."""
        self._ended = asyncio.Event()
        self._begun.set_result(asyncio.get_running_loop())
        await self._ended.wait()

    def run(self, awaited: Awaitable[Value]) -> Value:
        """What it comes to. Who breaks off waiting, such as by Ctrl-C, cancels it."""

        async def wait() -> Value:
            return await awaited

        with self._submitting:  # nothing may come after the loop was told to end: it would never be looked at
            if self._is_closed:
                _forget(awaited)
                raise lost("the client was closed")
            waiting = asyncio.run_coroutine_threadsafe(wait(), self._loop)
        try:
            return waiting.result()
        except CancelledError:
            raise lost("the client was closed") from None
        finally:
            waiting.cancel()

    def next(self, source: AsyncIterator[Value]) -> Value:
        """The next one, as any iterator gives it."""
        try:
            return self.run(anext(source))
        except StopAsyncIteration:
            raise StopIteration from None

    def iterate(self, source: AsyncGenerator[Value, None]) -> Iterator[Value]:
        """All of them, one by one; who leaves early lets go of their source."""
        try:
            while True:
                try:
                    value = self.next(source)
                except StopIteration:
                    return
                yield value
        finally:
            with suppress(ConnectionLost):  # the client was closed meanwhile
                self.run(source.aclose())

    def close(self) -> None:
        with self._submitting:
            if not self._is_closed:
                self._is_closed = True
                self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()


def _forget(awaited: Awaitable[object]) -> None:
    """One that will never be awaited says so, unless it is closed."""
    close = getattr(awaited, "close", None)
    if close is not None:
        close()
