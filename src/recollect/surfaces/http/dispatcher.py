"""Runs operations in threads, and streams the events of turns to HTTP clients."""

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

HEARTBEAT_S = 15.0  # seconds without an event until a comment is sent, which keeps the connection alive
HEARTBEAT = b": still here\n\n"

Result = TypeVar("Result")
IsPresent = Callable[[], Awaitable[bool]]


class Overloaded(Exception):
    """No thread is free, or the server is stopping."""


class Dispatcher:
    """Runs operations of one realm for all connections."""

    def __init__(self, realm: LiveRealm, threads: ThreadPool) -> None:
        self.realm = realm
        self.threads = threads
        self._streams: set[EventStream] = set()

    async def run(self, operation: Operation, arguments: Any, context: RequestContext) -> Reply:
        """The reply of an operation. A turn continues when its caller disconnects; only `interrupt` ends it."""
        if operation.is_long:
            context = msgspec.structs.replace(context, cancelled=self.threads.is_stopping)
        return await self.in_thread(lambda: operation.run(self.realm, arguments, context), is_long=operation.is_long)

    async def follow_session(self, session: str, last_event: int | None) -> "EventStream | Reply":
        """A stream of the events of a session's turns, or an error."""
        changed = ThreadEvent()
        subscriber = await self.in_thread(lambda: subscribe(self.realm, session, last_event, changed.set))
        if isinstance(subscriber, Reply):
            return subscriber
        return self._open(subscriber, changed, lambda: self.in_thread(lambda: is_present(self.realm, session)))

    def open_stream(self) -> "EventStream":
        """A stream of the events that its subscriber gets."""
        changed = ThreadEvent()
        return self._open(Subscriber(on_change=changed.set), changed)

    def close(self) -> None:
        """End all streams."""
        for stream in list(self._streams):
            stream.subscriber.finish()

    def _open(self, subscriber: Subscriber, changed: "ThreadEvent", is_present: "IsPresent | None" = None) -> "EventStream":
        stream = EventStream(subscriber, changed, self._streams.discard, is_present)
        self._streams.add(stream)
        return stream

    async def in_thread(self, job: Callable[[], Result], *, is_long: bool = False) -> Result:
        """The result of a job that runs in a thread."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()

        def settle(setter: Callable[[Any], None], result: Any) -> None:
            if not done.done():
                setter(result)

        def work() -> None:
            outcome: tuple[Callable[[Any], None], Any]
            try:
                outcome = (done.set_result, job())
            except BaseException as fault:  # noqa: BLE001 - not only Exception: the caller must not wait for ever
                outcome = (done.set_exception, RuntimeError(f"an operation failed: {fault!r}"))
            with suppress(RuntimeError):  # the loop is closed: no caller waits
                loop.call_soon_threadsafe(settle, *outcome)

        if not self.threads.submit(work, is_long=is_long):
            raise Overloaded
        return await done


class ThreadEvent:
    """An asyncio event that any thread can set."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until the event is set, and clear it. False after a timeout."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True


class EventStream:
    """A stream of events for one client."""

    def __init__(
        self,
        subscriber: Subscriber,
        changed: ThreadEvent,
        on_close: Callable[["EventStream"], None],
        is_present: IsPresent | None,
    ) -> None:
        """`is_present` returns whether more events can come: another process may archive the session."""
        self.subscriber = subscriber
        self._changed = changed
        self._on_close = on_close
        self._is_present = is_present

    async def wait_for_first(self) -> bool:
        """Wait for the first event; False if the stream ends without one."""
        while self.subscriber.is_empty():
            if self.subscriber.is_finished():
                return False
            await self._changed.wait()
        return True

    async def lines(self) -> AsyncIterator[bytes]:
        """All events as Server-Sent Events, until the stream ends."""
        try:
            while True:
                if events := list(iter(lambda: self.subscriber.next(0), None)):
                    yield b"".join(map(encode_event, events))
                elif self.subscriber.is_finished():
                    return
                elif not await self._changed.wait(HEARTBEAT_S):
                    if self._is_present is not None and not await self._is_present():
                        return
                    yield HEARTBEAT
        finally:
            self.close()

    def close(self) -> None:
        self._on_close(self)
        self.subscriber.close()


def encode_event(event: Event) -> bytes:
    """An event of a turn as a Server-Sent Event. A client that reconnects sends the last `id`."""
    id_line = f"id: {event['sequence']}\n".encode() if "sequence" in event else b""
    return id_line + b"data: " + encode(event) + b"\n\n"


def encode_named_event(name: str, body: bytes) -> bytes:
    """A Server-Sent Event with a name, such as the result of a turn."""
    return b"event: " + name.encode() + b"\ndata: " + body + b"\n\n"
