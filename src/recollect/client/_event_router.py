"""Routes events to the turns that wait for them. One connection carries the events of all its turns.

An event names its session, not its turn. A session runs one turn at a time: if several were requested, the server refuses
all others as busy. Until those errors arrive, the client cannot know which turn runs, so the router holds events back.
"""

from recollect.client._transport import Listener
from recollect.client.events import FINAL_EVENTS, SessionEvent, StreamTruncated, TurnStarted

BUSY = "SESSION_BUSY"


class PendingTurn:
    """A turn that was requested on this connection and has no response yet."""

    def __init__(self, listener: Listener | None) -> None:
        self.listener = listener  # None if nothing listens, or no longer
        self.has_started = False
        self.is_over = False

    def receive(self, event: SessionEvent) -> None:
        """Pass an event on. Events before the start belong to another turn, such as one that a tool started."""
        self.has_started = self.has_started or isinstance(event, TurnStarted | StreamTruncated)
        if not self.has_started or self.is_over:
            return
        self.is_over = isinstance(event, FINAL_EVENTS)
        if self.listener is not None:
            self.listener(event)


class EventRouter:
    """Sends each event to the turn it belongs to."""

    def __init__(self) -> None:
        self._pending: dict[str, list[PendingTurn]] = {}  # by session, in the order of the requests
        self._held: dict[str, list[SessionEvent]] = {}

    def add(self, session: str, listener: Listener | None) -> PendingTurn:
        """Register a turn that is about to be requested."""
        turn = PendingTurn(listener)
        self._pending.setdefault(session, []).append(turn)
        return turn

    def dispatch(self, event: SessionEvent) -> None:
        """Pass an event to its turn, or hold it back while several turns may own it."""
        candidates = [turn for turn in self._pending.get(event.session_id, ()) if not turn.is_over]
        if len(candidates) == 1:
            candidates[0].receive(event)
        elif candidates:
            self._held.setdefault(event.session_id, []).append(event)

    def finish(self, session: str, turn: PendingTurn, error_code: str | None) -> None:
        """Remove a turn: its response has arrived, and all its events arrived before."""
        self._pending[session].remove(turn)
        held = self._held.pop(session, [])
        ends = [count for count, event in enumerate(held, 1) if isinstance(event, FINAL_EVENTS)]
        if error_code is None or (ends and error_code != BUSY):
            own = 0 if turn.is_over else ends[0] if ends else len(held)
            for event in held[:own]:
                turn.receive(event)
            held = held[own:]
        for event in held:
            self.dispatch(event)
        if not self._pending[session]:
            del self._pending[session]
