"""Turns entries into stored sessions: admit, leave out copies, fold, store, index."""

from recollect.assemble import Folded, State, current_metadata, fold, merge_metadata, session_of
from recollect.ingest.admit import Admission
from recollect.ingest.dedupe import Deduplicator, SessionRecords, States
from recollect.ingest.discover import Log
from recollect.ingest.file_changes import TOOL_KINDS, FileRecorder
from recollect.ingest.forgotten import ForgottenRecords
from recollect.ingest.indexing import Indexer
from recollect.ingest.report import SyncReport
from recollect.ingest.rewritten import ReadAgain, RewrittenLog
from recollect.label import label
from recollect.model import (
    LIVE_SOURCE,
    Entry,
    Event,
    Problem,
    Record,
    Session,
    SessionMetadata,
    event_id,
    path_text,
    session_id,
)
from recollect.project import project_of
from recollect.settings import Settings
from recollect.sources.formats.injected import separate_context
from recollect.store import EventCells, Writer
from recollect.store.sqlite.duplicates import is_duplicate
from recollect.title import MAX_TITLE


class SessionUpdater:
    """Stores the entries of one log. `states` are the folds in progress, by the native ids of its sessions."""

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, log: Log) -> None:
        self.archive = archive
        self.indexer = indexer
        self.log = log
        self.source = log.source
        self.path = path_text(log.path)
        self.states: States = {}
        self.rewritten = RewrittenLog(archive, log.source.name, self.path)
        self.forgotten = ForgottenRecords(archive, log.source.name, log.path)
        self._admission = Admission(archive, settings, log)
        self._deduplicator = Deduplicator(archive, log, self.rewritten)

    def append(self, entries: list[Entry], own: str, report: SyncReport) -> int:
        """Store a batch of the log of session `own`. Returns the number of new events."""
        entries = self._admit(entries, report)
        self._open_sessions(entries, own)
        sessions = self._deduplicator.new_by_session(entries, self.states)
        events = sum(self._append_to_session(native_id, records, own, report) for native_id, records in sessions.items())
        self._store_event_titles(entries)
        report.events += events
        return events

    def replace(self, entries: list[Entry], report: SyncReport) -> int:
        """Replace sessions by these entries. Returns the number of events that were written."""
        self.states = {}
        entries = self._admit(entries, report)
        sessions = self._deduplicator.own_by_session(entries)
        events = sum(self._replace_session(native_id, records, report) for native_id, records in sessions.items())
        self._store_event_titles(entries)
        report.events += events
        return events

    # ---- before anything is stored

    def _admit(self, entries: list[Entry], report: SyncReport) -> list[Entry]:
        """The entries without secrets and with their ids. Raises `Excluded` if they must not be stored."""
        entries = self.forgotten.remove(list(separate_context(entries)))
        for session, counts in self._admission.admit(entries):
            redactions = self._state(session).redactions
            for rule, count in counts.items():
                redactions[rule] = redactions.get(rule, 0) + count
        problems = [entry for entry in entries if isinstance(entry, Problem)]
        self.archive.put_problems(self.source.name, problems)
        report.problems += len(problems)
        for entry in entries:
            if isinstance(entry, Record):
                entry.id = event_id(self.source.name, entry.key)
        return entries

    def _open_sessions(self, entries: list[Entry], own: str) -> None:
        first: dict[str, Record] = {}
        for entry in entries:
            if isinstance(entry, Record):
                first.setdefault(entry.session, entry)
        for native_id, record in first.items():
            self.rewritten.open_session(native_id, own, self.states, record)

    def _state(self, native_id: str) -> State:
        return self.states.setdefault(native_id, State(native_id=native_id))

    # ---- a log that grows

    def _append_to_session(self, native_id: str, records: SessionRecords, own: str, report: SyncReport) -> int:
        """Add new records to a session."""
        state = self._state(native_id)
        if state.event_count and native_id != own and self._has_moved(native_id):
            del self.states[native_id]
            state = self._state(native_id)
        if native_id in self.rewritten.comparing:
            return self._compare_session(native_id, records, own, report)
        was_empty = state.event_count == 0
        folded = self._fold(state, records)
        report.sessions += was_empty and state.turn is not None
        return self._store_folded(state, folded, folded.events)

    def _compare_session(self, native_id: str, records: SessionRecords, own: str, report: SyncReport) -> int:
        """Compare records with the stored events of their session, and replace those from the first difference on."""
        identity, state = session_id(self.source.name, native_id), self._state(native_id)
        has_open_command = bool(state.command)
        folded = self._fold(state, records)
        change = self.rewritten.first_change(native_id, folded.events, state)
        if change is None and not self.rewritten.has_caught_up(native_id, state):
            return 0  # nothing is new; stored events that the log has not reached yet stay
        if change is not None and self.rewritten.has_lost_events(native_id, folded.events[change], records):
            self.states[native_id] = self.rewritten.store_prefix(native_id)
            new = self._deduplicator.new_records(records, self.states)
            return self._append_to_session(native_id, new, own, report)
        self.rewritten.stop_comparing(native_id)
        if change is not None and has_open_command:
            self.archive.truncate_session(identity, self.rewritten.prefix_length(native_id))
            raise ReadAgain
        if change is not None:
            self.archive.truncate_session(identity, folded.events[change].seq)
        else:
            self.archive.reset_title(identity)
        folded.withdrawn = []
        stored = self._store_folded(state, folded, folded.events[change:] if change is not None else [])
        self.archive.reapply_event_titles(identity)
        return stored

    def _has_moved(self, native_id: str) -> bool:
        """Whether a sub-agent that this log contained has a log of its own now."""
        stored = self.archive.path_and_size(session_id(self.source.name, native_id))
        return stored is None or stored[0] != self.path

    # ---- a log that is read completely

    def _replace_session(self, native_id: str, records: SessionRecords, report: SyncReport) -> int:
        """Make a session equal to its log. Only the differences are written."""
        stored = self.archive.all_stored_events(session_id(self.source.name, native_id))
        self._set_missing_times([record for record in records if isinstance(record, Record)], stored)
        state = self._state(native_id)
        folded = self._fold(state, records)
        session = self._session(state)
        if session is None:
            self._store_metadata(state)
            return 0
        if self._is_shorter_copy(session):
            return 0
        report.sessions += not stored
        before = self.archive.key_and_folder(session.id)
        key = self.archive.put_session(session)
        changed = folded.events
        if stored:
            changed = [
                event for event in folded.events if self.archive.encode_event(key, event) != stored.pop(event.id, None)
            ]
        self.archive.remove_events([*stored, *(event.id for event in changed)])
        self.archive.replace_turns(key, folded.turns)
        self._store_events(key, changed, session, state, before)
        return len(changed)

    def _set_missing_times(self, records: list[Record], stored: dict[bytes, EventCells]) -> None:
        """Date the records of a log without times: a stored record as it is stored, a new one by the date of the file."""
        if any(record.at is not None for record in records):
            return
        for record in records:
            record.at = stored[record.id].at if record.id in stored else self._file_time()
            record.estimated = True

    def _store_metadata(self, state: State) -> None:
        """Store this log's metadata of a session that another log holds, such as its title and its folder."""
        identity = session_id(self.source.name, state.native_id)
        stored = self.archive.key_and_folder(identity)
        self.archive.put_metadata(identity, self.path, current_metadata(state), project_of(state.cwd) if state.cwd else None)
        if stored is not None and stored[1] is None and state.cwd:
            FileRecorder(self.archive, stored[0], state.cwd).add_all()

    def _is_shorter_copy(self, session: Session) -> bool:
        """Whether another log has more of the same session."""
        stored = self.archive.path_and_size(session.id)
        return stored is not None and stored[0] != session.path and stored[1] > session.event_count

    # ---- fold, store, index

    def _fold(self, state: State, records: SessionRecords) -> Folded:
        """Fold a batch. Turns that an agent ran for a live session are marked: the live session also has them."""
        folded = fold(state, records, self._file_time())
        live = self.archive.live_turn_starts(state.native_id) if self.source.name != LIVE_SOURCE else ()
        if live:
            duplicates = {turn.ordinal for turn in folded.turns if is_duplicate(turn.started_at, live)}
            for event in folded.events:
                event.duplicate = event.turn in duplicates
                event.own = event.own or event.duplicate
        return folded

    def _file_time(self) -> int:
        """When the log was last written, in milliseconds. Records without a time get this one."""
        return self.log.stamp.mtime_ns // 1_000_000

    def _session(self, state: State) -> Session | None:
        """The session in its current state; None while it has no turn."""
        identity = session_id(self.source.name, state.native_id)
        if state.parent:
            parent = session_id(self.source.name, state.parent)
            self.archive.put_link(identity, parent, state.parent_call, is_fork=state.is_fork)
        if state.turn is None:
            return None
        for metadata in self.archive.metadata_from_other_logs(identity, other_than=self.path):
            merge_metadata(state, metadata)
        session = session_of(state, self.source.name, self.path, self.source.title)
        session.project = project_of(state.cwd) if state.cwd else None
        self.archive.make_public(identity)
        return session

    def _store_folded(self, state: State, folded: Folded, events: list[Event]) -> int:
        session = self._session(state)
        if session is None:
            return 0
        before = self.archive.key_and_folder(session.id)
        key = self.archive.put_session(session)
        self.archive.remove_events(folded.withdrawn)
        self.archive.put_turns(key, folded.turns)
        self._store_events(key, events, session, state, before)
        return len(events)

    def _store_events(
        self, key: int, events: list[Event], session: Session, state: State, before: tuple[int, str | None] | None
    ) -> None:
        """Store, count and index events. `before` has the session's key and folder, if it was stored before."""
        first = self.archive.put_events(key, events)
        self._record_files(key, first, events, session, before)
        self.archive.update_duplicate_of(session.id)
        self._free_large_records(state)
        self.indexer.add(first, key, events, self.source.name, session.project)

    def _record_files(
        self, key: int, first: int, events: list[Event], session: Session, before: tuple[int, str | None] | None
    ) -> None:
        """Record the files of new events; those of the whole session, if its folder or earlier events changed."""
        has_moved = before is not None and before[1] != session.cwd
        is_at_end = not events or events[0].seq + len(events) == session.event_count
        recorder = FileRecorder(self.archive, key, session.cwd)
        if has_moved or (not is_at_end and any(event.kind in TOOL_KINDS for event in events)):
            recorder.add_all()
        else:
            recorder.add(first, events)

    def _free_large_records(self, state: State) -> None:
        """Free the memory of large records that are stored. Those after a slash command may be folded again."""
        tentative = {record.id for record in state.command}
        for record in self._admission.large:
            if record.session == state.native_id and record.id not in tentative:
                record.text, record.arguments = "", None

    def _store_event_titles(self, entries: list[Entry]) -> None:
        """Store titles that refer to a record instead of a session. The record may be in another session."""
        for entry in entries:
            if isinstance(entry, SessionMetadata) and entry.leaf and entry.title:
                title = label(entry.title, MAX_TITLE)
                self.archive.put_event_title(event_id(self.source.name, entry.leaf), title, entry.title_rank)
