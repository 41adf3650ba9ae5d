"""Whose an event is, on a connection that tells of all its turns and names only their sessions.

One turn of a session runs at a time. While more than one was asked for, all but one will hear that the session is busy, and
who that one is shows when they do: until then, events wait.
"""

from recollect.client._wire import Listener
from recollect.client.events import ENDS, SessionEvent, StreamTruncated, TurnStarted

BUSY = "SESSION_BUSY"


class Asked:
    """A turn that was asked for here and is not answered yet."""

    def __init__(self, listener: Listener | None) -> None:
        self.listener = listener  # None where nobody wants to know, or not any more
        self.has_begun = False
        self.is_over = False

    def hear(self, event: SessionEvent) -> None:
        """What comes before the beginning is of a turn that was asked for in another way, such as by a tool."""
        self.has_begun = self.has_begun or isinstance(event, TurnStarted | StreamTruncated)
        if not self.has_begun or self.is_over:
            return
        self.is_over = isinstance(event, ENDS)
        if self.listener is not None:
            self.listener(event)


class Turns:
    def __init__(self) -> None:
        self._asked: dict[str, list[Asked]] = {}
        self._held: dict[str, list[SessionEvent]] = {}

    def ask(self, session: str, listener: Listener | None) -> Asked:
        asked = Asked(listener)
        self._asked.setdefault(session, []).append(asked)
        return asked

    def tell(self, event: SessionEvent) -> None:
        possible = [asked for asked in self._asked.get(event.session_id, ()) if not asked.is_over]
        if len(possible) == 1:
            possible[0].hear(event)
        elif possible:
            self._held.setdefault(event.session_id, []).append(event)

    def answer(self, session: str, asked: Asked, code: str | None) -> None:
        """A turn was answered, with an error where there is a code: all its events have come."""
        self._asked[session].remove(asked)
        held = self._held.pop(session, [])
        ends = [place for place, event in enumerate(held, 1) if isinstance(event, ENDS)]
        if code is None or (ends and code != BUSY):
            own = 0 if asked.is_over else ends[0] if ends else len(held)
            for event in held[:own]:
                asked.hear(event)
            held = held[own:]
        for event in held:
            self.tell(event)
        if not self._asked[session]:
            del self._asked[session]
