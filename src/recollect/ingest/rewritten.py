"""A log that is read from its start although the archive has its sessions: what is told again, and what is new.

One rule decides what a log may take away (docs/decisions/2026-11-18-what-a-shrunken-log-means.md): a log replaces what
it told of a session only from the first event on in which it tells that session differently. What it merely no longer
tells stays, because then the archive is the only copy.
"""

from typing import Any

import msgspec

from recollect.assemble import State, known_of, learn
from recollect.model import KIND_CODE, Event, Kind, Record, SessionMetadata, session_id
from recollect.store import EventCells, Writer
from recollect.store.sqlite.body import unpacked

NAMESAKE = "an id that another session has as well; kept under one of its own"
MOST_BEFORE = 64  # sessions of one log whose earlier telling is remembered: a log holds one, and its sub-agents


class StartOver(Exception):
    """The log has to be read from its start again, because events that were taken as known are not."""


class Retelling:
    """The sessions that one log tells again. `before` are the folds of what it told when it was last read whole."""

    def __init__(self, archive: Writer, source: str, path: str) -> None:
        self.archive = archive
        self.source = source
        self.path = path
        self.before: dict[str, State] = {}
        self.moved_on = False
        self.continues = False
        self.forget()

    def forget(self) -> None:
        """Begin again with the first line of the log."""
        self.active: set[str] = set()
        self._base: dict[str, int] = {}

    def remember(self, before: dict[str, State]) -> None:
        """Note what the log told until it changed."""
        self.before = dict(list(before.items())[-MOST_BEFORE:])

    # ---- beginning to tell a session

    def open(self, native_id: str, own: str, states: dict[str, State], first: Record) -> None:
        """Get ready to take records of a session: from where its fold goes on, and whether they may be known."""
        if native_id in self._base:
            return
        identity = session_id(self.source, native_id)
        if native_id not in states or states[native_id].turn is None:
            states[native_id] = self._begin(native_id, identity, first, states.get(native_id))
        self._base[native_id] = self._lost(identity)
        there = self.archive.path_and_size(identity)
        if there is not None and (native_id == own or there[0] == self.path) and there[1] > states[native_id].seq:
            self.active.add(native_id)

    def _begin(self, native_id: str, identity: bytes, first: Record, known: State | None) -> State:
        """The fold to begin with. `known` is what was said of the session before anything was said in it."""
        earlier = self.archive.earlier(identity)
        if native_id in self.before and self._comes_after(identity, self.before[native_id], first):
            state = self.go_on(native_id)
        elif earlier is not None:
            state = msgspec.msgpack.decode(earlier, type=State)
        else:
            return known or State(native_id=native_id)
        if known is not None:
            learn(state, known_of(known))
        return state

    def _comes_after(self, identity: bytes, before: State, first: Record) -> bool:
        """Whether what a log tells of a session now comes after all that it told before."""
        if not self.continues and not self.moved_on:
            return False
        if before.clocked and first.at is not None and first.at > before.updated_at:
            return True  # also where records have no ids, and this one stands where another one did
        known = self.archive.cells(identity, [first.id]).get(first.id)
        if known is not None and known.seq <= self._lost(identity):
            return False  # it begins where it always did
        return self.continues or known is None

    def _lost(self, identity: bytes) -> int:
        """How many events of a session no log holds any more."""
        earlier = self.archive.earlier(identity)
        return msgspec.msgpack.decode(earlier, type=State).seq if earlier else 0

    def go_on(self, native_id: str) -> State:
        """Keep what the log told before for good; the fold that what it tells now goes on from."""
        state = self.before.pop(native_id)
        self.archive.put_earlier(session_id(self.source, native_id), msgspec.msgpack.encode(state))
        self._base[native_id] = state.seq
        self.active.discard(native_id)
        return state

    # ---- records that the archive knows

    def is_repeated(self, record: Record, seq: int, state: State) -> bool:
        """Whether a record of its own session, known at place `seq`, is no news and need not be compared either."""
        if seq < self._base.get(record.session, 0):
            return says(record, *self.archive.content(record.id))
        return record.session not in self.active or seq < state.seq

    def first_change(self, native_id: str, events: list[Event], state: State) -> int | None:
        """The place of the first event that the archive does not have just so; None where nothing is new."""
        stored = self.archive.cells(session_id(self.source, native_id), [event.id for event in events])
        tentative = {record.id for record in state.command}
        for place, event in enumerate(events):
            known = stored.get(event.id)
            if known is None or not self._is_same(event, known, state.clocked, event.id in tentative):
                return place
        return None

    def _is_same(self, event: Event, known: EventCells, clocked: bool, tentative: bool) -> bool:
        """Whether an event is the one in the archive. What has no time of its own may have another one by now."""
        now = self.archive.row(known.session, event)
        loose: dict[str, Any] = {"body": now.body}
        if not clocked:
            loose["at"] = now.at
        if tentative:  # in which turn it is, and whether it was a prompt, depends on what follows
            loose |= {"turn": now.turn, "seq": now.seq, "answers": now.answers, "kind": now.kind}
        if now != known._replace(**loose):
            return False
        return now.body == known.body or unpacked(now.body) == unpacked(known.body)

    def is_damaged(self, native_id: str, event: Event, said: list[Record | SessionMetadata]) -> bool:
        """Whether a log lost events rather than took them back: it, or lines in front of it, cannot be understood."""
        identity = session_id(self.source, native_id)
        replaced, last = self.archive.event_at(identity, event.seq), self.archive.event_at(identity, event.seq - 1)
        if replaced is None or any(_is_told(replaced, record) for record in said):
            return False
        problems = self.archive.problems_between(self.path, last.line if last else 0, event.line)
        lost = event.kind is Kind.UNKNOWN or any(reason != NAMESAKE for reason in problems)
        return native_id in self.before and lost

    def is_complete(self, native_id: str, state: State) -> bool:
        """Whether the log has told all again that the archive has of a session."""
        there = self.archive.path_and_size(session_id(self.source, native_id))
        return there is None or state.seq >= there[1]

    def end(self, native_id: str) -> None:
        """The log tells something new of a session from here on, or has told it whole."""
        self.active.discard(native_id)
        self.before.pop(native_id, None)

    def base(self, native_id: str) -> int:
        """How many events of a session no log holds any more."""
        return self._base.get(native_id, 0)


def _is_told(known: EventCells, record: Record | SessionMetadata) -> bool:
    """Whether a record is this event. What could not be understood is named for its offset, so it is known by its text."""
    if not isinstance(record, Record):
        return False
    return record.id == known.id or (record.kind is Kind.UNKNOWN and says(record, known.kind, unpacked(known.body)))


def says(record: Record, kind: int, body: str) -> bool:
    """Whether a record says what an event in the archive says."""
    return kind == KIND_CODE[record.kind] and (record.kind is Kind.TOOL_CALL or body == record.text)
