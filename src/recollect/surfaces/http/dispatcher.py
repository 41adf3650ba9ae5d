"""From a request to the operation that answers it, in a thread; and from the events of a turn to whoever reads them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from recollect.lenient_json import encode
from recollect.live import LiveRealm
from recollect.live.event_streams import Event, Subscriber
from recollect.operations import Operation, Reply, RequestContext
from recollect.operations.sessions.reading import is_present, subscribe
from recollect.surfaces.transport.thread_pool import ThreadPool

HEARTBEAT_S = 15.0  # seconds of silence after which a reader is told that we are still here
HEARTBEAT = b": still here\n\n"

Result = TypeVar("Result")
IsPresent = Callable[[], Awaitable[bool]]


class Overloaded(Exception):
    """No thread is to be had, or the server is about to end."""


class Dispatcher:
    """One realm, asked by everybody who is connected."""

    def __init__(self, realm: LiveRealm, work: ThreadPool) -> None:
        self.realm = realm
        self.work = work
        self._readings: set[Reading] = set()

    async def ask(self, operation: Operation, arguments: Any, context: RequestContext) -> Reply:
        """What an operation answers. A turn goes on when its caller hangs up: `interrupt` is how one ends it."""
        if operation.is_long:
            context = msgspec.structs.replace(context, cancelled=self.work.is_unwanted)
        return await self._done(lambda: operation.run(self.realm, arguments, context), is_long=operation.is_long)

    async def listening(self, session: str, heard: int | None) -> "Reading | Reply":
        """The events of a session's turns, or why there are none."""
        wake = Wake()
        begun = await self._done(lambda: subscribe(self.realm, session, heard, wake.call))
        if isinstance(begun, Reply):
            return begun
        return self._reading(begun, wake, lambda: self._done(lambda: is_present(self.realm, session)))

    def telling(self) -> "Reading":
        """The events that are fed to a listener of its own."""
        wake = Wake()
        return self._reading(Subscriber(on_change=wake.call), wake)

    def close(self) -> None:
        """Everybody who reads has read all there will be."""
        for reading in list(self._readings):
            reading.listener.finish()

    def _reading(self, listener: Subscriber, wake: "Wake", is_present: "IsPresent | None" = None) -> "Reading":
        reading = Reading(listener, wake, self._readings.discard, is_present)
        self._readings.add(reading)
        return reading

    async def _done(self, job: Callable[[], Result], *, is_long: bool = False) -> Result:
        """What a job comes to, in a thread."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def settle(how: Callable[[Any], None], result: Any) -> None:
            if not done.done():
                how(result)

        def work() -> None:
            outcome: tuple[Callable[[Any], None], Any]
            try:
                outcome = (done.set_result, job())
            except BaseException as fault:  # noqa: BLE001 - even what is no Exception: a caller must never wait for ever
                outcome = (done.set_exception, RuntimeError(f"an operation broke off: {fault!r}"))
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, *outcome)

        if not self.work.take(work, is_long=is_long):
            raise Overloaded
        return await done


class Wake:
    """Calls from any thread, to be awaited in the loop's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._called = asyncio.Event()

    def call(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._called.set)

    async def wait(self, seconds: float | None = None) -> bool:
        """Until it was called; False when that took too long."""
        try:
            await asyncio.wait_for(self._called.wait(), seconds)
        except TimeoutError:
            return False
        self._called.clear()
        return True


class Reading:
    """The events that one caller reads."""

    def __init__(
        self, listener: Subscriber, wake: Wake, on_close: Callable[["Reading"], None], is_present: IsPresent | None
    ) -> None:
        """`is_present` tells whether there will be more: another process may have archived the session."""
        self.listener = listener
        self._wake = wake
        self._on_close = on_close
        self._is_present = is_present

    async def begun(self) -> bool:
        """Wait for the first event; False where there will be none."""
        while self.listener.is_empty():
            if self.listener.is_finished():
                return False
            await self._wake.wait()
        return True

    async def lines(self) -> AsyncIterator[bytes]:
        """Everything, as it comes, until nothing will."""
        try:
            while True:
                if waiting := list(iter(lambda: self.listener.next(0), None)):
                    yield b"".join(map(sse, waiting))
                elif self.listener.is_finished():
                    return
                elif not await self._wake.wait(HEARTBEAT_S):
                    if self._is_present is not None and not await self._is_present():
                        return
                    yield HEARTBEAT
        finally:
            self.close()

    def close(self) -> None:
        self._on_close(self)
        self.listener.close()


def sse(event: Event) -> bytes:
    """An event of a turn. Its id is what a reader that comes back has heard last."""
    number = f"id: {event['sequence']}\n".encode() if "sequence" in event else b""
    return number + b"data: " + encode(event) + b"\n\n"


def sse_named(name: str, body: bytes) -> bytes:
    """What is no event of a turn: what came of it."""
    return b"event: " + name.encode() + b"\ndata: " + body + b"\n\n"
