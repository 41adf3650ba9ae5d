"""Sends the events of running turns to subscribers. A turn never waits: a slow subscriber learns how many it missed."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct

from recollect.errors import StaleCursor

Event = dict[str, Any]
QUEUE_SIZE = 1_000  # events that a subscriber may be behind; text comes in chunks of up to 64 KB
EXTRA_FOR_ENDS = 100  # ends of turns queued beyond that: a subscriber always learns how a turn ended
MAX_REPLAY = 4 << 20  # characters of a turn that are stored for subscribers that join late
MAX_FINISHED = 8  # finished turns that are stored for subscribers that lost their connection near the end
PREVIOUS_TURN_S = 2.0  # seconds that a turn waits for the previous one to send its end; that one may hang
TRUNCATED = "stream_truncated"
TURN_END_TYPES = frozenset({"turn_completed", "turn_failed", "turn_interrupted"})


def truncation_event(session: str, dropped: int) -> Event:
    """The event that replaces dropped ones."""
    return {"session_id": session, "type": TRUNCATED, "dropped": dropped}


class Subscriber:
    """A bounded queue of a session's events, filled from any thread. `on_change` is called when it may have changed."""

    def __init__(
        self,
        session: str = "",
        queue_size: int = QUEUE_SIZE,
        on_change: Callable[[], None] = lambda: None,
        on_close: Callable[["Subscriber"], None] = lambda subscriber: None,
    ) -> None:
        self._session = session
        self._queue_size = queue_size
        self._on_change = on_change
        self._on_close = on_close
        self._events: deque[Event] = deque()
        self._dropped = 0
        self._is_closed = False
        self._condition = threading.Condition()

    def add_dropped(self, events: int) -> None:
        """Count events that the subscriber will not get."""
        with self._condition:
            self._dropped += events

    def push(self, event: Event) -> None:
        """Queue an event, or count it as dropped if the queue is full."""
        with self._condition:
            self._session = event["session_id"]
            if event["type"] in TURN_END_TYPES and len(self._events) < self._queue_size + EXTRA_FOR_ENDS:
                if self._dropped:
                    self._events.append(truncation_event(self._session, self._dropped))
                    self._dropped = 0
                self._events.append(event)
            elif self._dropped or len(self._events) >= self._queue_size:
                self._dropped += 1
            else:
                self._events.append(event)
            self._condition.notify_all()
        self._on_change()

    def next(self, seconds: float | None = None) -> Event | None:
        """The next event; None if none comes in that time or the queue is closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._events or self._dropped or self._is_closed, seconds)
            if self._events:
                return self._events.popleft()
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                return truncation_event(self._session, dropped)
            return None

    def is_empty(self) -> bool:
        """Whether there is nothing to read now."""
        with self._condition:
            return not self._events and not self._dropped

    def is_finished(self) -> bool:
        """Whether everything was read and nothing more will come."""
        with self._condition:
            return self._is_closed and not self._events and not self._dropped

    def close(self) -> None:
        """Unsubscribe."""
        self._on_close(self)
        self.finish()

    def finish(self) -> None:
        """Close the queue: no more events come. Queued ones can still be read."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        self._on_change()

    def __enter__(self) -> "Subscriber":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StreamedTurn(Struct):
    """The events of one turn, for subscribers that join late; only the first events and the end of a long turn."""

    events: list[Event] = []
    dropped: int = 0
    length: int = 0
    end: Event | None = None

    def add(self, event: Event) -> None:
        if event["type"] in TURN_END_TYPES:
            self.end = event
        elif self.dropped or len(self.events) >= QUEUE_SIZE or self.length >= MAX_REPLAY:
            self.dropped += 1
        else:
            self.events.append(event)
            self.length += len(event.get("delta", ""))

    def replay(self, subscriber: Subscriber, last_sequence: int, limit: int) -> None:
        """Send the events after this number."""
        missed = [event for event in self.events if event["sequence"] > last_sequence]
        for event in missed[:limit]:
            subscriber.push(event)
        newest = self.events[-1]["sequence"] + self.dropped
        subscriber.add_dropped(len(missed[limit:]) + min(self.dropped, max(0, newest - last_sequence)))
        if self.end is not None and self.end["sequence"] > last_sequence:
            subscriber.push(self.end)

    def previous_sequence(self) -> int:
        """The number of the last event before this turn."""
        return int(self.events[0]["sequence"]) - 1


class EventStreams:
    """All subscribers of a realm in this process. A subscriber that joins during a turn gets its events from the start."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._subscribers: dict[str, list[Subscriber]] = {}
        self._running: dict[str, StreamedTurn] = {}
        self._finished: dict[str, StreamedTurn] = {}
        self._last_sequences: dict[str, int] = {}  # by session, for sessions that ran in this process

    def subscribe(
        self,
        session: str,
        queue_size: int = QUEUE_SIZE,
        on_change: Callable[[], None] = lambda: None,
        *,
        last_sequence: int | None = None,
        committed: int = 0,
    ) -> Subscriber:
        """Subscribe to a session's events. `committed` is the number of the last committed event.

        A client that reconnects passes the `last_sequence` it has. It gets the events since, or the number it missed.
        """
        subscriber = Subscriber(session, queue_size, on_change, lambda closed: self._unsubscribe(session, closed))
        with self._condition:
            newest = max(committed, self._last_sequences.get(session, 0))
            if last_sequence is not None and last_sequence > newest:
                raise StaleCursor(
                    f"This session has no event {last_sequence}; its newest is {newest}."
                    " Connect again without Last-Event-ID.",
                    newest=newest,
                )
            turn = self._running.get(session) or (self._finished.get(session) if last_sequence is not None else None)
            if turn is not None and not turn.events:
                turn = None
            previous = turn.previous_sequence() if turn is not None else newest
            if last_sequence is not None and last_sequence < previous:
                subscriber.push(truncation_event(session, previous - last_sequence))
            if turn is not None:
                turn.replay(subscriber, previous if last_sequence is None else last_sequence, queue_size)
            self._subscribers.setdefault(session, []).append(subscriber)
        return subscriber

    def _unsubscribe(self, session: str, subscriber: Subscriber) -> None:
        with self._condition, suppress(ValueError, KeyError):
            self._subscribers[session].remove(subscriber)
            if not self._subscribers[session]:
                del self._subscribers[session]

    def begin_turn(self, session: str) -> StreamedTurn:
        """Begin a turn once the previous one has sent its end, which it does after the commit that lets this one begin."""
        with self._condition:
            self._condition.wait_for(lambda: session not in self._running, PREVIOUS_TURN_S)
            self._finished.pop(session, None)
            self._running[session] = turn = StreamedTurn()
            return turn

    def publish(self, session: str, event: Event, turn: StreamedTurn) -> None:
        """Send an event to all subscribers, unless another turn has begun: then this turn was closed as crashed."""
        with self._condition:
            if self._running.get(session) is not turn:
                return
            self._last_sequences[session] = event["sequence"]
            turn.add(event)
            for subscriber in self._subscribers.get(session, ()):
                subscriber.push(event)

    def last_sequence(self, session: str) -> int:
        """The number of the last event that this process sent, even if its turn could not be committed."""
        with self._condition:
            return self._last_sequences.get(session, 0)

    def finish_turn(self, session: str, turn: StreamedTurn) -> None:
        """Store the turn for subscribers that reconnect."""
        with self._condition:
            if self._running.get(session) is turn:
                self._finished[session] = self._running.pop(session)
                self._condition.notify_all()
            while len(self._finished) > MAX_FINISHED:
                del self._finished[next(iter(self._finished))]

    def end_session(self, session: str) -> None:
        """End all subscriptions: the session was archived."""
        with self._condition:
            subscribers = self._subscribers.pop(session, [])
            self._finished.pop(session, None)
        for subscriber in subscribers:
            subscriber.finish()
