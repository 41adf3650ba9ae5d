"""Compares a log that is read from its start again with the stored events of its sessions.

One rule decides what a log can remove (docs/decisions/2026-11-18-what-a-shrunken-log-means.md). A log replaces the stored
events of a session from the first event that differs. Events that the log no longer holds stay, because the archive has the
only copy.
"""

from typing import Any

import msgspec

from recollect.assemble import State, current_metadata, merge_metadata
from recollect.model import KIND_CODE, Event, Kind, Record, SessionMetadata, session_id
from recollect.store import EventCells, Writer
from recollect.store.sqlite.body import decode_body

ID_TAKEN = "another session has the same id; stored under an id of its own"
MAX_PREVIOUS = 64  # sessions per log whose previous folds are stored: a log holds one session and its sub-agents


class ReadAgain(Exception):
    """The log must be read from its start again, because some events that counted as stored are not stored."""


class RewrittenLog:
    """The sessions of one log that are compared with the archive.

    `previous` has the folds of the last read that reached the end of the log.
    """

    def __init__(self, archive: Writer, source: str, path: str) -> None:
        self.archive = archive
        self.source = source
        self.path = path
        self.previous: dict[str, State] = {}
        self.was_rotated = False  # emptied or rotated: the present content comes after the earlier content
        self.continues = False  # the source says that the present content continues the earlier content
        self.restart()

    def restart(self) -> None:
        """Start again with the first line of the log."""
        self.comparing: set[str] = set()  # native ids of the sessions that are compared with the archive
        self._prefix_lengths: dict[str, int] = {}

    def set_previous(self, previous: dict[str, State]) -> None:
        self.previous = dict(list(previous.items())[-MAX_PREVIOUS:])

    # ---- the first record of a session

    def open_session(self, native_id: str, own: str, states: dict[str, State], first: Record) -> None:
        """Choose the fold that the records of a session continue. Decide whether to compare them with the archive."""
        if native_id in self._prefix_lengths:
            return
        identity = session_id(self.source, native_id)
        if native_id not in states or states[native_id].turn is None:
            states[native_id] = self._initial_state(native_id, identity, first, states.get(native_id))
        self._prefix_lengths[native_id] = self._stored_prefix_length(identity)
        stored = self.archive.path_and_size(identity)
        if stored is not None and (native_id == own or stored[0] == self.path) and stored[1] > states[native_id].seq:
            self.comparing.add(native_id)

    def _initial_state(self, native_id: str, identity: bytes, first: Record, known: State | None) -> State:
        """The fold to start from. `known` has the metadata that the log states before the first record."""
        prefix = self.archive.session_prefix(identity)
        if native_id in self.previous and self._comes_after(identity, self.previous[native_id], first):
            state = self.store_prefix(native_id)
        elif prefix is not None:
            state = msgspec.msgpack.decode(prefix, type=State)
        else:
            return known or State(native_id=native_id)
        if known is not None:
            merge_metadata(state, current_metadata(known))
        return state

    def _comes_after(self, identity: bytes, previous: State, first: Record) -> bool:
        """Whether the first record of a session comes after all records that the log held before."""
        if not self.continues and not self.was_rotated:
            return False
        if previous.clocked and first.at is not None and first.at > previous.updated_at:
            return True  # even if records have no ids, and this one has the offset of an earlier one
        known = self.archive.stored_events(identity, [first.id]).get(first.id)
        if known is not None and known.seq <= self._stored_prefix_length(identity):
            return False  # the log begins with the same record as before
        return self.continues or known is None

    def _stored_prefix_length(self, identity: bytes) -> int:
        prefix = self.archive.session_prefix(identity)
        return msgspec.msgpack.decode(prefix, type=State).seq if prefix else 0

    def store_prefix(self, native_id: str) -> State:
        """Store the earlier content of the log as the session's prefix. Returns the fold that the log continues now."""
        state = self.previous.pop(native_id)
        self.archive.put_session_prefix(session_id(self.source, native_id), msgspec.msgpack.encode(state))
        self._prefix_lengths[native_id] = state.seq
        self.comparing.discard(native_id)
        return state

    def prefix_length(self, native_id: str) -> int:
        """The number of events of a session that no log has any more."""
        return self._prefix_lengths.get(native_id, 0)

    # ---- records whose ids the archive has

    def is_stored(self, record: Record, seq: int, state: State) -> bool:
        """Whether a record equals the stored event at `seq` of its session, and needs no comparison."""
        if seq < self.prefix_length(record.session):
            return has_same_content(record, *self.archive.kind_and_text(record.id))
        return record.session not in self.comparing or seq < state.seq

    def first_change(self, native_id: str, events: list[Event], state: State) -> int | None:
        """The position of the first event that differs from the archive; None if all are stored."""
        stored = self.archive.stored_events(session_id(self.source, native_id), [event.id for event in events])
        tentative = {record.id for record in state.command}
        for position, event in enumerate(events):
            known = stored.get(event.id)
            if known is None or not self._is_same(event, known, state.clocked, event.id in tentative):
                return position
        return None

    def _is_same(self, event: Event, known: EventCells, clocked: bool, tentative: bool) -> bool:
        """Whether an event equals the stored one. In a session without times, the times may differ."""
        now = self.archive.encode_event(known.session, event)
        ignored: dict[str, Any] = {"body": now.body}
        if not clocked:
            ignored["at"] = now.at
        if tentative:  # later records decide its turn and its kind
            ignored |= {"turn": now.turn, "seq": now.seq, "answers": now.answers, "kind": now.kind}
        if now != known._replace(**ignored):
            return False
        return now.body == known.body or decode_body(now.body) == decode_body(known.body)

    def has_lost_events(self, native_id: str, event: Event, records: list[Record | SessionMetadata]) -> bool:
        """Whether damage removed events from the log before this one: this line, or lines before it, could not be read."""
        identity = session_id(self.source, native_id)
        replaced, last = self.archive.event_at(identity, event.seq), self.archive.event_at(identity, event.seq - 1)
        if replaced is None or any(_is_same_event(replaced, record) for record in records):
            return False
        problems = self.archive.problems_between(self.path, last.line if last else 0, event.line)
        is_damaged = event.kind is Kind.UNKNOWN or any(reason != ID_TAKEN for reason in problems)
        return native_id in self.previous and is_damaged

    def has_caught_up(self, native_id: str, state: State) -> bool:
        """Whether the log has reached the last stored event of a session."""
        stored = self.archive.path_and_size(session_id(self.source, native_id))
        return stored is None or state.seq >= stored[1]

    def stop_comparing(self, native_id: str) -> None:
        """Treat all following records of a session as new."""
        self.comparing.discard(native_id)
        self.previous.pop(native_id, None)


def _is_same_event(known: EventCells, record: Record | SessionMetadata) -> bool:
    """Whether a record is this stored event. An unreadable line has its offset as id, so its text is compared."""
    if not isinstance(record, Record):
        return False
    return record.id == known.id or (
        record.kind is Kind.UNKNOWN and has_same_content(record, known.kind, decode_body(known.body))
    )


def has_same_content(record: Record, kind: int, body: str) -> bool:
    """Whether a record has the kind and the text of a stored event. The arguments of tool calls are not compared."""
    return kind == KIND_CODE[record.kind] and (record.kind is Kind.TOOL_CALL or body == record.text)
