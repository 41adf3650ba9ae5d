"""Reads a log that is rewritten as it grows: a document or a database. A changed session is read completely."""

from collections import Counter

import msgspec
from msgspec import Struct

from recollect.ingest.admit import Excluded, remove_excluded
from recollect.ingest.commit import SessionUpdater
from recollect.ingest.discover import Log
from recollect.ingest.indexing import Indexer
from recollect.ingest.report import OnProgress, SyncReport
from recollect.ingest.tally import UNDATED, tally_of
from recollect.ingest.transaction import BatchTransaction
from recollect.model import Entry, Problem, Record, path_text, session_id
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, STORE_ERRORS, Snapshots, Stamp, Unreadable, describe_error
from recollect.sources.formats.jsonl import EXCERPT
from recollect.sources.formats.source import UNNAMED
from recollect.store import Cursor, Writer


class SessionSnapshot(Struct, array_like=True):
    """The state of a session when it was last read."""

    mark: str  # changes whenever the session changes
    tally: dict[str, int]


class SnapshotState(Struct, kw_only=True, rename={"sessions": "kept"}):
    """The state in the cursor of a document or database. The stored field name is that of older versions."""

    sessions: dict[str, SessionSnapshot] = {}


class SnapshotReader:
    """A document or a database that has changed."""

    is_copy = False

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, log: Log, format: Snapshots) -> None:
        self.archive = archive
        self.log = log
        self.format = format
        self.source = log.source
        self.updater = SessionUpdater(archive, indexer, settings, log)
        self.path = path_text(log.path)
        self.known = self._snapshots(archive.cursor(self.path))
        self.read_sessions: dict[str, SessionSnapshot] = {}

    def _snapshots(self, cursor: Cursor | None) -> dict[str, SessionSnapshot]:
        if cursor is None or cursor.state is None:
            return {}
        try:
            return msgspec.msgpack.decode(cursor.state, type=SnapshotState).sessions
        except msgspec.DecodeError:
            return {}  # the log had another format

    def read(self, transaction: BatchTransaction, report: SyncReport, on_progress: OnProgress | None) -> None:
        """Store the sessions of the log that have changed."""
        report.files_read += 1
        for path in (self.log.path, *self.format.parts(self.log.path)):
            self.archive.drop_problems(path_text(path))
        try:
            for session, mark, entries in self.format.read_sessions(self.log.path, self._is_known):
                transaction.commit_when_due(self._store(session, mark, entries, report))
        except FileNotFoundError:
            return
        except Unreadable as reason:
            self._put_problem(reason, report)
            return
        except READ_ERRORS as reason:
            self._put_problem(Unreadable(describe_error(reason)), report)
            return
        except OSError as reason:
            report.unreadable.append(f"{self.path}: {describe_error(reason)}")
            return
        self._store_cursor(self.read_sessions, self.log.stamp, bytes_read=self.log.stamp.size)
        if on_progress:
            on_progress(report)

    def _is_known(self, session: str, mark: str) -> bool:
        """Whether a session has not changed since it was last read."""
        if session != UNNAMED and self.updater.forgotten.is_forgotten(session):
            self.updater.forgotten.has_removed = True
            return True
        known = self.known.get(session)
        if known is None or known.mark != mark or session == UNNAMED:
            return False
        self.read_sessions[session] = known
        return True

    # ---- a session that has changed

    def _store(self, session: str, mark: str, entries: list[Entry], report: SyncReport) -> int:
        """Replace a session by these entries. Returns the number of events that were written."""
        self._replace_parts()
        tally = dict(tally_of(entries))
        report.bytes += sum(len(entry.text) for entry in entries if isinstance(entry, Record))
        try:
            with self.archive.undo_on(*STORE_ERRORS):
                events = self.updater.replace(entries, report)
        except STORE_ERRORS as reason:
            problem = Problem(self.log.path, 0, describe_error(reason), session[:EXCERPT])
            self.archive.put_problems(self.source.name, [problem])
            report.problems += 1
            entries = [problem]
            events, tally = 0, dict(tally_of(entries))
        except Excluded as reason:
            remove_excluded(self.archive, session_id(self.source.name, session), self.path, reason)
            events, tally = 0, {"noise: excluded session": 1}
        has_problems = any(isinstance(entry, Problem) for entry in entries)
        if session == UNNAMED and session in self.read_sessions:  # each part of a log may have such entries
            tally = dict(Counter(self.read_sessions[session].tally) + Counter(tally))
        # A session with problems gets an empty mark, so the next sync reads it again.
        self.read_sessions[session] = SessionSnapshot("" if has_problems else mark, tally)
        report.lines += len(entries)
        return events

    def _replace_parts(self) -> None:
        """Forget the sessions of files that are parts of this log now, but were logs while this log was missing."""
        for part in self.format.parts(self.log.path):
            cursor = None if self.format.is_log(part) else self.archive.cursor(path_text(part))
            if cursor is None:
                continue
            for session in self._snapshots(cursor):
                self.archive.forget_session(session_id(self.source.name, session), path_text(part))
            self.archive.drop_cursor(path_text(part))

    def _put_problem(self, reason: Unreadable, report: SyncReport) -> None:
        """Note that the log cannot be read. Its stored sessions stay. A temporary error is tried again."""
        problem = Problem(self.log.path, reason.line, reason.reason, reason.excerpt)
        self.archive.put_problems(self.source.name, [problem])
        report.problems += 1
        self._store_cursor({**self.known, **self.read_sessions}, self.log.stamp if reason.permanent else Stamp(0, 0, 0))

    def _store_cursor(self, sessions: dict[str, SessionSnapshot], stamp: Stamp, *, bytes_read: int = 0) -> None:
        tally = sum((Counter(session.tally) for session in sessions.values()), Counter[str]())
        is_hidden = self.updater.forgotten.is_all()
        put_cursor = self.archive.put_hidden_cursor if is_hidden else self.archive.put_cursor
        cursor = Cursor(
            path=self.path,
            source=self.source.name,
            size=stamp.size,
            mtime_ns=stamp.mtime_ns,
            inode=stamp.inode,
            offset=bytes_read,
            line=tally.total() - tally[UNDATED],
            state=msgspec.msgpack.encode(SnapshotState(sessions=sessions)),
            tally=dict(tally),
        )
        put_cursor(cursor)
