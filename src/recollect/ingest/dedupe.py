"""Leaves out records that the archive already has: copies of history in resumed, forked and rewritten sessions."""

from collections.abc import Callable

from recollect.assemble import State
from recollect.ingest.discover import Log
from recollect.ingest.rewritten import ID_TAKEN, RewrittenLog, has_same_content
from recollect.model import Entry, Problem, Record, SessionMetadata, event_id, path_text, session_id
from recollect.store import Writer

SessionRecords = list[Record | SessionMetadata]
"""The records and metadata of one session, in the order of the log."""
States = dict[str, State]
"""The folds in progress, by the native ids of their sessions."""


class Deduplicator:
    """Finds what is new in the entries of one log."""

    def __init__(self, archive: Writer, log: Log, rewritten: RewrittenLog) -> None:
        self.archive = archive
        self.log = log
        self.source = log.source.name
        self.rewritten = rewritten
        self._overlaps: set[bytes] = set()  # sessions whose log is known to overlap with this one

    def new_by_session(self, entries: list[Entry], states: States) -> dict[str, SessionRecords]:
        """The new records of a log that grows, by session."""
        return self._by_session(entries, lambda record, owner, seq: self._is_stored(record, owner, seq, states))

    def own_by_session(self, entries: list[Entry]) -> dict[str, SessionRecords]:
        """All records of a log that is read completely, by session. Records that belong to other sessions are left out."""
        return self._by_session(entries, self._belongs_elsewhere)

    def new_records(self, records: SessionRecords, states: States) -> SessionRecords:
        """These records and metadata without the records that the archive already has."""
        known = self.archive.locate_events([record.id for record in records if isinstance(record, Record)])
        return [
            entry
            for entry in records
            if isinstance(entry, SessionMetadata)
            or entry.id not in known
            or not self._is_stored(entry, *known[entry.id], states)
        ]

    def _by_session(self, entries: list[Entry], is_copy: Callable[[Record, bytes, int], bool]) -> dict[str, SessionRecords]:
        known = self.archive.locate_events([entry.id for entry in entries if isinstance(entry, Record)])
        sessions: dict[str, SessionRecords] = {}
        seen: set[bytes] = set()
        for entry in entries:
            if isinstance(entry, Record):
                if entry.id in known and is_copy(entry, *known[entry.id]):
                    continue
                if entry.id in seen:
                    continue
                seen.add(entry.id)
                sessions.setdefault(entry.session, []).append(entry)
            elif isinstance(entry, SessionMetadata) and entry.leaf is None:
                sessions.setdefault(entry.session, []).append(entry)
        return sessions

    def _is_stored(self, record: Record, owner: bytes, seq: int, states: States) -> bool:
        """Whether a record equals the stored event with its id: the one at `seq` of the session `owner`."""
        if owner != session_id(self.source, record.session):
            self._note_overlap(owner)
            if has_same_content(record, *self.archive.kind_and_text(record.id)):
                return True
        else:
            state = states.setdefault(record.session, State(native_id=record.session))
            if self.rewritten.is_stored(record, seq, state):
                return True
            if seq >= self.rewritten.prefix_length(record.session):
                return False
        known = self._assign_new_id(record)
        return known is not None and self._is_stored(record, *known, states)

    def _note_overlap(self, owner: bytes) -> None:
        """Note that another log holds a record of this one, so the reading order of the two matters."""
        if owner not in self._overlaps:
            self._overlaps.add(owner)
            path = path_text(self.log.path)
            self.archive.put_overlap(path, self.archive.path_of_session(owner) or path)

    def _belongs_elsewhere(self, record: Record, owner: bytes, seq: int) -> bool:
        """Whether a record belongs to another session. If only the id belongs there, the record gets a new id."""
        own = session_id(self.source, record.session)
        if owner == own:
            return False
        if has_same_content(record, *self.archive.kind_and_text(record.id)):
            return True
        known = self._assign_new_id(record)
        return known is not None and known[0] != own

    def _assign_new_id(self, record: Record) -> tuple[bytes, int] | None:
        """Give a record a new id, because another event has its id. Returns the position of the new id if it is stored."""
        self.archive.put_problems(self.source, [Problem(self.log.path, record.line, ID_TAKEN, record.key)])
        record.key = f"{record.session}/{record.key}"
        record.id = event_id(self.source, record.key)
        return self.archive.locate_events([record.id]).get(record.id)
