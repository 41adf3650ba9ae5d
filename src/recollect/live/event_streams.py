"""Events of running turns, to whoever listens. A turn never waits for a listener; a slow one is told what it missed."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct

from recollect.errors import StaleCursor

Event = dict[str, Any]
QUEUE_SIZE = 1_000  # events that a listener may be behind; text comes in pieces of up to 64 KB
EXTRA_FOR_ENDS = 100  # ends of turns that may wait beyond that: how a turn ended is told, whatever else is missing
MAX_REPLAY = 4 << 20  # characters of a turn that are kept for those who join late
MAX_FINISHED = 8  # turns that are kept for those whose connection broke off near the end
PREVIOUS_TURN_S = 2.0  # seconds that a turn waits for the one before it to have told its end; it may hang
TRUNCATED = "stream_truncated"
TURN_END_TYPES = frozenset({"turn_completed", "turn_failed", "turn_interrupted"})


def truncation_event(session: str, dropped: int) -> Event:
    """What stands where events are missing."""
    return {"session_id": session, "type": TRUNCATED, "dropped": dropped}


class Subscriber:
    """One reader of a session's events, fed from any thread. `on_change` is called when there may be something to read."""

    def __init__(
        self,
        session: str = "",
        queue_size: int = QUEUE_SIZE,
        on_change: Callable[[], None] = lambda: None,
        on_close: Callable[["Subscriber"], None] = lambda listener: None,
    ) -> None:
        self._session = session
        self._most = queue_size
        self._on_change = on_change
        self._on_close = on_close
        self._events: deque[Event] = deque()
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()

    def add_dropped(self, events: int) -> None:
        with self._changed:
            self._dropped += events

    def push(self, event: Event) -> None:
        with self._changed:
            self._session = event["session_id"]
            if event["type"] in TURN_END_TYPES and len(self._events) < self._most + EXTRA_FOR_ENDS:
                if self._dropped:
                    self._events.append(truncation_event(self._session, self._dropped))
                    self._dropped = 0
                self._events.append(event)
            elif self._dropped or len(self._events) >= self._most:
                self._dropped += 1
            else:
                self._events.append(event)
            self._changed.notify_all()
        self._on_change()

    def next(self, seconds: float | None = None) -> Event | None:
        """The next event; None when none came in that time, or none will."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._dropped or self._closed, seconds)
            if self._events:
                return self._events.popleft()
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                return truncation_event(self._session, dropped)
            return None

    def is_empty(self) -> bool:
        """Whether nothing waits to be read."""
        with self._changed:
            return not self._events and not self._dropped

    def is_finished(self) -> bool:
        """Whether nothing will come any more."""
        with self._changed:
            return self._closed and not self._events and not self._dropped

    def close(self) -> None:
        self._on_close(self)
        self.end()

    def end(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._on_change()

    def __enter__(self) -> "Subscriber":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StreamedTurn(Struct):
    """What was told of a turn so far, for those who join late; of a long one, its beginning, and how it ended."""

    events: list[Event] = []
    more: int = 0
    length: int = 0
    end: Event | None = None

    def add(self, event: Event) -> None:
        if event["type"] in TURN_END_TYPES:
            self.end = event
        elif self.more or len(self.events) >= QUEUE_SIZE or self.length >= MAX_REPLAY:
            self.more += 1
        else:
            self.events.append(event)
            self.length += len(event.get("delta", ""))

    def again(self, listener: Subscriber, heard: int, most: int) -> None:
        """Tell what came after the event with this number."""
        fresh = [event for event in self.events if event["sequence"] > heard]
        for event in fresh[:most]:
            listener.push(event)
        newest = self.events[-1]["sequence"] + self.more
        listener.add_dropped(len(fresh[most:]) + min(self.more, max(0, newest - heard)))
        if self.end is not None and self.end["sequence"] > heard:
            listener.push(self.end)

    def begun(self) -> int:
        """The number of the last event before this turn."""
        return int(self.events[0]["sequence"]) - 1


class EventStreams:
    """All listeners of a realm in this process. Who joins while a turn runs hears it from its beginning."""

    def __init__(self) -> None:
        self._changing = threading.Condition()
        self._listeners: dict[str, list[Subscriber]] = {}
        self._running: dict[str, StreamedTurn] = {}
        self._finished: dict[str, StreamedTurn] = {}
        self._last: dict[str, int] = {}  # the sequence of the last event of each session that ran here

    def subscribe(
        self,
        session: str,
        queue_size: int = QUEUE_SIZE,
        on_change: Callable[[], None] = lambda: None,
        *,
        last_sequence: int | None = None,
        committed: int = 0,
    ) -> Subscriber:
        """Join. Who comes back says up to which event it has `heard`, and is told how many of the `committed` it missed."""
        listener = Subscriber(session, queue_size, on_change, lambda one: self._leave(session, one))
        with self._changing:
            newest = max(committed, self._last.get(session, 0))
            if last_sequence is not None and last_sequence > newest:
                raise StaleCursor(
                    f"This session has no event {last_sequence}; its newest is {newest}."
                    " Connect again without Last-Event-ID.",
                    newest=newest,
                )
            told = self._running.get(session) or (self._finished.get(session) if last_sequence is not None else None)
            if told is not None and not told.events:
                told = None
            begun = told.begun() if told is not None else newest
            if last_sequence is not None and last_sequence < begun:
                listener.push(truncation_event(session, begun - last_sequence))
            if told is not None:
                told.again(listener, begun if last_sequence is None else last_sequence, queue_size)
            self._listeners.setdefault(session, []).append(listener)
        return listener

    def _leave(self, session: str, listener: Subscriber) -> None:
        with self._changing, suppress(ValueError, KeyError):
            self._listeners[session].remove(listener)
            if not self._listeners[session]:
                del self._listeners[session]

    def begin(self, session: str) -> StreamedTurn:
        """A turn begins, once the end of the one before it is told: that is committed, and so lets us begin, first."""
        with self._changing:
            self._changing.wait_for(lambda: session not in self._running, PREVIOUS_TURN_S)
            self._finished.pop(session, None)
            self._running[session] = told = StreamedTurn()
            return told

    def publish(self, session: str, event: Event, told: StreamedTurn) -> None:
        """Of a turn that was taken over, and another has begun since, nothing is told any more."""
        with self._changing:
            if self._running.get(session) is not told:
                return
            self._last[session] = event["sequence"]
            told.add(event)
            for listener in self._listeners.get(session, ()):
                listener.push(event)

    def last(self, session: str) -> int:
        """The sequence of the last event that was told here of a session, also of a turn that could not be committed."""
        with self._changing:
            return self._last.get(session, 0)

    def finish(self, session: str, told: StreamedTurn) -> None:
        with self._changing:
            if self._running.get(session) is told:
                self._finished[session] = self._running.pop(session)
                self._changing.notify_all()
            while len(self._finished) > MAX_FINISHED:
                del self._finished[next(iter(self._finished))]

    def end(self, session: str) -> None:
        """The session is over: nothing more will be told of it."""
        with self._changing:
            listeners = self._listeners.pop(session, [])
            self._finished.pop(session, None)
        for listener in listeners:
            listener.end()
