"""From entries to the archive: secrets out, copies out, folded, stored, and handed to the index."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from recollect.assemble import Folded, State, fold, known_of, learn, session_of
from recollect.ingest.discover import Log, is_session_excluded
from recollect.ingest.indexing import LARGE, Indexer
from recollect.ingest.redaction import EntryRedactor, text_of
from recollect.ingest.report import Report
from recollect.ingest.rewritten import NAMESAKE, Retelling, StartOver, says
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
from recollect.title import TITLE, label

PRIVATE = "do not index this chat"  # said anywhere in a session, in any case: nothing of it is kept
PART = 4 << 20  # characters of a text that are looked at in one piece: what is copied of it is small
COMMIT_EVENTS = 20_000  # events per transaction over many small files
COMMIT_SECONDS = 1.0  # a sync that is killed loses no more work than this; a commit waits for no disk


class Excluded(Exception):
    """The person asked us not to read what is in this folder or project."""


class Private(Excluded):
    """The person said in the session itself that it is not to be kept, nor what its sub-agents did."""


def leave_out(archive: Writer, session: bytes, path: str, reason: Excluded) -> None:
    """Keep nothing of a session, nor of what was kept of it before."""
    if isinstance(reason, Private):
        archive.make_private(session)
    else:
        archive.forget(session, path)


class Grouped:
    """One transaction over many batches. It is committed when it has grown large, and the index after it."""

    def __init__(self, archive: Writer, indexer: Indexer) -> None:
        self.archive = archive
        self.indexer = indexer
        self.events = 0
        self._open: Any = None

    def __enter__(self) -> "Grouped":
        self._begin()
        return self

    def _begin(self) -> None:
        self._commit_at = time.monotonic() + COMMIT_SECONDS
        self._open = self.archive.transaction()
        self._open.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            self._open.__exit__(*error)
        finally:
            if error[0] is not None:
                self.indexer.abandon()
                self.archive.remember()

    def add(self, events: int) -> None:
        self.events += events
        if self.events >= COMMIT_EVENTS or time.monotonic() >= self._commit_at or self.indexer.is_full():
            self._open.__exit__(None, None, None)
            self.events = 0
            self.indexer.commit()
            self._begin()


class Keeper:
    """Keeps what one log says. `states` are the folds under way, by the native ids of its sessions."""

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, log: Log) -> None:
        self.archive = archive
        self.indexer = indexer
        self.settings = settings
        self.log = log
        self.source = log.source
        self.states: dict[str, State] = {}
        self.retelling = Retelling(archive, log.source.name, path_text(log.path))
        self._allowed: set[str | None] = set()
        self._owners: set[bytes] = set()
        self._large: list[Record] = []  # of the batch under way
        self._redactor = EntryRedactor()

    def keep(self, entries: list[Entry], own: str, report: Report) -> int:
        """Store a batch of the log of session `own`; how many events that made."""
        entries = list(separate_context(entries))
        first: dict[str, Record] = {}
        self._admit(entries, report)
        self._identify(entries)
        for record in reversed([entry for entry in entries if isinstance(entry, Record)]):
            first[record.session] = record
        for native_id, opening in first.items():
            self.retelling.open(native_id, own, self.states, opening)
        sessions = self._by_session(entries, self._is_repeated)
        events = sum(self._store_more(native_id, said, own, report) for native_id, said in sessions.items())
        self._store_titles(entries)
        report.events += events
        return events

    def replace(self, entries: list[Entry], report: Report) -> int:
        """Make sessions what these entries say, all of them; how many events had to be written for that."""
        self.states = {}
        entries = list(separate_context(entries))
        self._admit(entries, report)
        self._identify(entries)
        sessions = self._by_session(entries, self._is_copied)
        events = sum(self._store_whole(native_id, said, report) for native_id, said in sessions.items())
        self._store_titles(entries)
        report.events += events
        return events

    def _admit(self, entries: list[Entry], report: Report) -> None:
        """Secrets out, problems noted. Raises `Excluded` where the person does not want the log to be read."""
        self._check_exclusion(entries)
        for parent in {entry.parent for entry in entries if isinstance(entry, SessionMetadata)}:
            if parent and self.archive.is_private(session_id(self.source.name, parent)):
                raise Private
        told = [text_of(entry) for entry in entries]
        if any(map(_is_private, told)):
            raise Private
        pairs = zip(entries, told, strict=True)
        self._large = [entry for entry, text in pairs if len(text) > LARGE and isinstance(entry, Record)]
        if self.settings.redact:
            for session, counts in self._redactor.redact(entries, told):
                self._count_redactions(session, counts)
        problems = [entry for entry in entries if isinstance(entry, Problem)]
        self.archive.put_problems(self.source.name, problems)
        report.problems += len(problems)

    def _check_exclusion(self, entries: list[Entry]) -> None:
        """Look once at every working folder that a log names, before anything of it is kept."""
        folders = {entry.cwd for entry in entries if isinstance(entry, Record | SessionMetadata)} - self._allowed
        for cwd in folders:
            project = project_of(cwd) if cwd else None
            if is_session_excluded(cwd, self.log.path, project, self.settings):
                raise Excluded
        self._allowed |= folders

    def _count_redactions(self, session: str, counts: Counter[str]) -> None:
        redactions = self._state(session).redactions
        for rule, count in counts.items():
            redactions[rule] = redactions.get(rule, 0) + count

    def _identify(self, entries: list[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, Record):
                entry.id = event_id(self.source.name, entry.key)

    def _by_session(
        self, entries: list[Entry], is_repeated: Callable[[Record, bytes, int], bool]
    ) -> dict[str, list[Record | SessionMetadata]]:
        """The records of each session that this batch tells of. What the archive has already is left out."""
        known = self.archive.known([entry.id for entry in entries if isinstance(entry, Record)])
        sessions: dict[str, list[Record | SessionMetadata]] = {}
        seen: set[bytes] = set()
        for entry in entries:
            if isinstance(entry, Record):
                if entry.id in known and is_repeated(entry, *known[entry.id]):
                    continue
                if entry.id in seen:
                    continue
                seen.add(entry.id)
                sessions.setdefault(entry.session, []).append(entry)
            elif isinstance(entry, SessionMetadata) and entry.leaf is None:
                sessions.setdefault(entry.session, []).append(entry)
        return sessions

    def _is_repeated(self, record: Record, owner: bytes, seq: int) -> bool:
        """Whether a known id means the same event again, and nothing that the log tells anew."""
        if owner != session_id(self.source.name, record.session):
            self._note_shared(owner)
            if says(record, *self.archive.content(record.id)):
                return True
            known = self._rename(record)
            return known is not None and self._is_repeated(record, *known)
        if self.retelling.is_repeated(record, seq, self._state(record.session)):
            return True
        if seq >= self.retelling.base(record.session):
            return False
        known = self._rename(record)
        return known is not None and self._is_repeated(record, *known)

    def _note_shared(self, owner: bytes) -> None:
        """Another log has told a record of this one already, so the order in which the two are read matters."""
        if owner not in self._owners:
            self._owners.add(owner)
            self.archive.put_shared(path_text(self.log.path), self.archive.path_of(owner) or path_text(self.log.path))

    def _is_copied(self, record: Record, owner: bytes, seq: int) -> bool:
        """Whether a record is another session's. A namesake that says something else gets an id of its own."""
        if owner == session_id(self.source.name, record.session):
            return False
        if says(record, *self.archive.content(record.id)):
            return True
        known = self._rename(record)
        return known is not None and known[0] != session_id(self.source.name, record.session)

    def _rename(self, record: Record) -> tuple[bytes, int] | None:
        """Give a namesake an id of its own; in which session that one is known, and where."""
        self.archive.put_problems(self.source.name, [Problem(self.log.path, record.line, NAMESAKE, record.key)])
        record.key = f"{record.session}/{record.key}"
        record.id = event_id(self.source.name, record.key)
        return self.archive.known([record.id]).get(record.id)

    def _state(self, native_id: str) -> State:
        return self.states.setdefault(native_id, State(native_id=native_id))

    def _store_more(self, native_id: str, said: list[Record | SessionMetadata], own: str, report: Report) -> int:
        """Add to a session what its log said since the last time."""
        state = self._state(native_id)
        if state.event_count and native_id != own and self._has_moved(native_id):
            del self.states[native_id]
            state = self._state(native_id)
        if native_id in self.retelling.active:
            return self._store_again(native_id, said, own, report)
        was_empty = state.event_count == 0
        made = self._fold(state, said)
        report.sessions += was_empty and state.turn is not None
        return self._store_folded(state, made, made.events)

    def _fold(self, state: State, said: list[Record | SessionMetadata]) -> Folded:
        """Fold a batch. Turns that an agent ran for a live session are found there, and not here as well."""
        made = fold(state, said, self._age())
        live = self.archive.live_turn_starts(state.native_id) if self.source.name != LIVE_SOURCE else ()
        if live:
            duplicates = {turn.ordinal for turn in made.turns if is_duplicate(turn.started_at, live)}
            for event in made.events:
                event.own = event.own or event.turn in duplicates
        return made

    def _store_folded(self, state: State, made: Folded, events: list[Event]) -> int:
        session = self._session(state)
        if session is None:
            return 0
        key = self.archive.put_session(session)
        self.archive.remove_events(made.withdrawn)
        self.archive.put_turns(key, made.turns)
        self._put_events(key, events, session, state)
        return len(events)

    def _store_again(self, native_id: str, said: list[Record | SessionMetadata], own: str, report: Report) -> int:
        """Compare what a log tells again with what the archive has, and replace it from the first change on."""
        identity, state = session_id(self.source.name, native_id), self._state(native_id)
        was_open = bool(state.command)
        made = self._fold(state, said)
        change = self.retelling.first_change(native_id, made.events, state)
        if change is None and not self.retelling.is_complete(native_id, state):
            return 0  # nothing new was said, and what is not told again yet stays
        if change is not None and self.retelling.is_damaged(native_id, made.events[change], said):
            self.states[native_id] = self.retelling.go_on(native_id)
            news = self._news(said)
            return self._store_more(native_id, news, own, report)
        self.retelling.end(native_id)
        if change is not None and was_open:
            self.archive.cut_session(identity, self.retelling.base(native_id))
            raise StartOver
        if change is not None:
            self.archive.cut_session(identity, made.events[change].seq)
        else:
            self.archive.reset_title(identity)
        made.withdrawn = []
        stored = self._store_folded(state, made, made.events[change:] if change is not None else [])
        self.archive.name_again(identity)
        return stored

    def _news(self, said: list[Record | SessionMetadata]) -> list[Record | SessionMetadata]:
        """Without the records that the archive has."""
        known = self.archive.known([record.id for record in said if isinstance(record, Record)])
        return [
            entry
            for entry in said
            if isinstance(entry, SessionMetadata) or entry.id not in known or not self._is_repeated(entry, *known[entry.id])
        ]

    def _store_whole(self, native_id: str, said: list[Record | SessionMetadata], report: Report) -> int:
        """Make a session what its log says now, by writing no more than the difference."""
        identity = session_id(self.source.name, native_id)
        stored = self.archive.stored(identity)
        self._date([record for record in said if isinstance(record, Record)], stored)
        state = self._state(native_id)
        made = self._fold(state, said)
        session = self._session(state)
        if session is None:
            self._store_about(state)
            return 0
        if self._is_lesser(session):
            return 0
        report.sessions += not stored
        key = self.archive.put_session(session)
        changed = made.events
        if stored:
            changed = [event for event in made.events if self.archive.row(key, event) != stored.pop(event.id, None)]
        self.archive.remove_events([*stored, *(event.id for event in changed)])
        self.archive.replace_turns(key, made.turns)
        self._put_events(key, changed, session, state)
        return len(changed)

    def _date(self, records: list[Record], stored: dict[bytes, EventCells]) -> None:
        """Of a log without a clock, what is known happened when it was first seen, and what is new just now."""
        if any(record.at is not None for record in records):
            return
        for record in records:
            record.at = stored[record.id].at if record.id in stored else self._age()
            record.estimated = True

    def _session(self, state: State) -> Session | None:
        """The session as it is now; None while nothing was said in it, only of it."""
        identity = session_id(self.source.name, state.native_id)
        if state.parent:
            self.archive.put_link(identity, session_id(self.source.name, state.parent), state.parent_call)
        if state.turn is None:
            return None
        for told in self.archive.told(identity, other_than=path_text(self.log.path)):
            learn(state, told)
        session = session_of(state, self.source.name, path_text(self.log.path), self.source.title)
        session.project = project_of(state.cwd) if state.cwd else None
        self.archive.make_public(identity)
        return session

    def _store_about(self, state: State) -> None:
        """Keep what a log says of a session that another log tells: its title, its folder."""
        about = known_of(state)
        project = project_of(state.cwd) if state.cwd else None
        self.archive.put_about(session_id(self.source.name, state.native_id), path_text(self.log.path), about, project)

    def _is_lesser(self, session: Session) -> bool:
        """Whether another log has told more of the same session: it may be kept in two places."""
        there = self.archive.path_and_size(session.id)
        return there is not None and there[0] != session.path and there[1] > session.event_count

    def _put_events(self, key: int, events: list[Event], session: Session, state: State) -> None:
        first = self.archive.put_events(key, events)
        self.archive.note_duplicate(session.id)
        self._release(state)
        self.indexer.add(first, key, events, self.source.name, session.project)

    def _release(self, state: State) -> None:
        """Free the memory of large records that are stored. Those behind a slash command may have to be folded again."""
        tentative = {record.id for record in state.command}
        for record in self._large:
            if record.session == state.native_id and record.id not in tentative:
                record.text, record.arguments = "", None

    def _age(self) -> int:
        """When the log was last written, in milliseconds: the time of records that have none."""
        return self.log.stamp.mtime_ns // 1_000_000

    def _has_moved(self, native_id: str) -> bool:
        """Whether a sub-agent that this log told of has since got a log of its own."""
        there = self.archive.path_and_size(session_id(self.source.name, native_id))
        return there is None or there[0] != path_text(self.log.path)

    def _store_titles(self, entries: list[Entry]) -> None:
        """Titles that name a record instead of a session: the record may be in another one."""
        for entry in entries:
            if isinstance(entry, SessionMetadata) and entry.leaf and entry.title:
                title = label(entry.title, TITLE)
                self.archive.put_title(event_id(self.source.name, entry.leaf), title, entry.title_rank)


def _is_private(text: str) -> bool:
    """Whether a text says that its session is not to be kept. A long one is looked at in parts that overlap."""
    return any(PRIVATE in text[start : start + PART].lower() for start in range(0, len(text), PART - len(PRIVATE)))
