"""A queue of messages for one reader. A turn never waits for a slow reader; the reader gets the number of missed events."""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from recollect.lenient_json import encode
from recollect.live.event_streams import EXTRA_FOR_ENDS, QUEUE_SIZE, TURN_END_TYPES, Event, truncation_event

MAX_RESPONSE_BYTES = 64 << 20  # bytes of queued responses, above which no more requests are read
WRITE_BYTES = 1 << 16  # approximate bytes per write: one write per event would be slower than a fast agent
DRAIN_S = 5.0  # seconds to write the rest of the queue when a connection closes

log = logging.getLogger(__name__)


class _Dropped(Struct):
    """Replaces the dropped events of a session in the queue, and counts them until it is written."""

    session: str
    events: int


class WriteQueue:
    """A queue and the thread that writes it. Responses are never dropped; events are dropped above a limit."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """`write` writes all bytes, and raises OSError when the reader is gone."""
        self.fault: OSError | None = None  # why writing failed
        self._write = write
        self._queue: deque[bytes | Event | _Dropped] = deque()
        self._event_count = 0  # in the queue
        self._response_bytes = 0  # in the queue
        self._dropped: dict[str, _Dropped] = {}
        self._closing = self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True, name="write queue")
        self._thread.start()

    def put_response(self, line: bytes) -> None:
        with self._changed:
            if not self._closed:
                self._queue.append(line)
                self._response_bytes += len(line)
                self._changed.notify_all()

    def put_progress(self, line: bytes) -> None:
        """Queue a progress notice; drop it if the reader is behind."""
        with self._changed:
            if len(self._queue) < QUEUE_SIZE:
                self.put_response(line)

    def put_event(self, event: Event) -> None:
        """Queue an event of a turn, or count it as dropped if the queue is full."""
        with self._changed:
            if self._closed:
                return
            session = event["session_id"]
            if event["type"] in TURN_END_TYPES and self._event_count < QUEUE_SIZE + EXTRA_FOR_ENDS:
                self._dropped.pop(session, None)  # events that are dropped later get a new count
                self._queue.append(event)
                self._event_count += 1
            elif (missing := self._dropped.get(session)) is not None:
                missing.events += 1
            elif self._event_count < QUEUE_SIZE:
                self._queue.append(event)
                self._event_count += 1
            else:
                self._dropped[session] = missing = _Dropped(session, 1)
                self._queue.append(missing)
            self._changed.notify_all()

    def wait_for_space(self) -> None:
        """Wait until the reader has read some responses. A client that never reads must not fill our memory."""
        with self._changed:
            self._changed.wait_for(lambda: self._response_bytes < MAX_RESPONSE_BYTES or self._closed or self._closing)

    def is_closed(self) -> bool:
        """Whether the reader is gone."""
        return self._closed

    def close(self, seconds: float | None = DRAIN_S) -> None:
        """Write the rest of the queue within these seconds; None sets no limit."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(seconds)
        self.discard()

    def discard(self) -> None:
        """Empty the queue: the reader is gone."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            self._dropped.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while items := self._next():
                self._write(b"".join(map(_as_line, items)))
        except OSError as reason:
            log.info("The reader is gone: %s", reason)
            self.fault = reason
        self.discard()

    def _next(self) -> list[bytes | Event]:
        """The oldest items, enough for one write. Empty at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing or self._closed)
            items: list[bytes | Event] = []
            size = 0
            while self._queue and size < WRITE_BYTES:
                item = self._queue.popleft()
                if isinstance(item, bytes):
                    self._response_bytes -= len(item)
                    size += len(item)
                elif isinstance(item, _Dropped):
                    if self._dropped.get(item.session) is item:
                        del self._dropped[item.session]
                    item = truncation_event(item.session, item.events)
                else:
                    self._event_count -= 1
                    size += len(item.get("delta", ""))
                items.append(item)
            self._changed.notify_all()
        return items


def _as_line(item: bytes | Event) -> bytes:
    return item if isinstance(item, bytes) else encode_line({"jsonrpc": "2.0", "method": "session/event", "params": item})


def encode_line(message: dict[str, Any]) -> bytes:
    return encode(message) + b"\n"


def write_all(descriptor: int, line: bytes) -> None:
    """Write all bytes to a descriptor. A buffered stream would block at exit if nothing reads it."""
    remaining = memoryview(line)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
