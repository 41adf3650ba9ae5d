"""What waits to be written to one reader. No turn ever waits for a reader: a slow one is told how much it missed."""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from recollect.lenient_json import encode
from recollect.live.event_streams import EXTRA_FOR_ENDS, QUEUE_SIZE, TURN_END_TYPES, Event, truncation_event

MOST_ANSWERS = 64 << 20  # bytes of answers that may wait before no more requests are read
AT_ONCE = 1 << 16  # bytes, or so: a write for each event would be slower than an agent that talks fast
DRAIN_S = 5.0  # seconds that a connection's reader has for what is left when it is closed

log = logging.getLogger(__name__)


class _Missing(Struct):
    """Stands in the queue where events of a session are missing, and counts them until it is written."""

    session: str
    events: int


class WriteQueue:
    """A queue and the one thread that writes it. Answers are never dropped; of the rest, as much waits as may."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """`write` writes all of it, and raises OSError when nobody reads any more."""
        self.fault: OSError | None = None  # why nothing can be written any more
        self._write = write
        self._queue: deque[bytes | Event | _Missing] = deque()
        self._events = 0  # that wait
        self._answers = 0  # bytes that wait
        self._missing: dict[str, _Missing] = {}
        self._closing = self._gone = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True, name="outbox")
        self._thread.start()

    def answer(self, line: bytes) -> None:
        with self._changed:
            if not self._gone:
                self._queue.append(line)
                self._answers += len(line)
                self._changed.notify_all()

    def note(self, line: bytes) -> None:
        """What is worth nothing once it is old: left out where the other end is far behind."""
        with self._changed:
            if len(self._queue) < QUEUE_SIZE:
                self.answer(line)

    def tell(self, event: Event) -> None:
        """An event of a turn, after all that waits already; or one more that is missing."""
        with self._changed:
            if self._gone:
                return
            session = event["session_id"]
            if event["type"] in TURN_END_TYPES and self._events < QUEUE_SIZE + EXTRA_FOR_ENDS:
                self._missing.pop(session, None)  # it stands before the end, and what is missing later is counted anew
                self._queue.append(event)
                self._events += 1
            elif (missing := self._missing.get(session)) is not None:
                missing.events += 1
            elif self._events < QUEUE_SIZE:
                self._queue.append(event)
                self._events += 1
            else:
                self._missing[session] = missing = _Missing(session, 1)
                self._queue.append(missing)
            self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Until the other end has read some of its answers: who only asks would fill our memory with them."""
        with self._changed:
            self._changed.wait_for(lambda: self._answers < MOST_ANSWERS or self._gone or self._closing)

    def is_gone(self) -> bool:
        """Whether nobody reads any more."""
        return self._gone

    def close(self, seconds: float | None = DRAIN_S) -> None:
        """Write what is left, as long as somebody reads it; None is for somebody who may take any time."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(seconds)
        self.drop()

    def drop(self) -> None:
        """Nobody reads any more: keep nothing."""
        with self._changed:
            self._gone = True
            self._queue.clear()
            self._missing.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while waiting := self._next():
                self._write(b"".join(map(_line, waiting)))
        except OSError as reason:
            log.info("The other end is gone: %s", reason)
            self.fault = reason
        self.drop()

    def _next(self) -> list[bytes | Event]:
        """Some of what waits, oldest first: as much as is worth writing at once. Nothing, at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing or self._gone)
            taken: list[bytes | Event] = []
            size = 0
            while self._queue and size < AT_ONCE:
                item = self._queue.popleft()
                if isinstance(item, bytes):
                    self._answers -= len(item)
                    size += len(item)
                elif isinstance(item, _Missing):
                    if self._missing.get(item.session) is item:
                        del self._missing[item.session]
                    item = truncation_event(item.session, item.events)
                else:
                    self._events -= 1
                    size += len(item.get("delta", ""))
                taken.append(item)
            self._changed.notify_all()
        return taken


def _line(item: bytes | Event) -> bytes:
    return item if isinstance(item, bytes) else line_of({"jsonrpc": "2.0", "method": "session/event", "params": item})


def line_of(message: dict[str, Any]) -> bytes:
    return encode(message) + b"\n"


def write_all(descriptor: int, line: bytes) -> None:
    """Not by a buffered stream: one that a reader never reads from could not be let go of at the end."""
    left = memoryview(line)
    while left:
        left = left[os.write(descriptor, left) :]
