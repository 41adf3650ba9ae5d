"""One log that is rewritten as it grows: a document, or a database. Read session by session; what changed is kept."""

from collections import Counter

import msgspec
from msgspec import Struct

from recollect.ingest.commit import Excluded, Grouped, Keeper, leave_out
from recollect.ingest.discover import Log
from recollect.ingest.indexing import Indexer
from recollect.ingest.report import OnProgress, Report
from recollect.ingest.tally import UNDATED, tally_of
from recollect.model import Entry, Problem, Record, path_text, session_id
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, STORE_ERRORS, Snapshots, Stamp, Unreadable, describe_error
from recollect.sources.formats.jsonl import EXCERPT
from recollect.sources.formats.source import UNNAMED
from recollect.store import Cursor, Writer


class Kept(Struct, array_like=True):
    """One session as it was when last read: what tells that it has changed, and what it consisted of."""

    mark: str
    tally: dict[str, int]


class Snapshot(Struct, kw_only=True):
    """What the cursor of such a log carries."""

    kept: dict[str, Kept] = {}


class SnapshotReader:
    """A document or a database that has changed."""

    copies = False

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, log: Log, format: Snapshots) -> None:
        self.archive = archive
        self.log = log
        self.format = format
        self.source = log.source
        self.keeper = Keeper(archive, indexer, settings, log)
        self.known = self._known(archive.cursor(path_text(log.path)))
        self.kept: dict[str, Kept] = {}

    def _known(self, cursor: Cursor | None) -> dict[str, Kept]:
        if cursor is None or cursor.state is None:
            return {}
        try:
            return msgspec.msgpack.decode(cursor.state, type=Snapshot).kept
        except msgspec.DecodeError:
            return {}  # it was a log of another format

    def read(self, transaction: Grouped, report: Report, on_progress: OnProgress | None) -> None:
        report.files_read += 1
        for path in (self.log.path, *self.format.parts(self.log.path)):
            self.archive.drop_problems(path_text(path))
        try:
            for session, mark, entries in self.format.read_sessions(self.log.path, self._is_known):
                self._take(session, mark, entries, transaction, report)
        except FileNotFoundError:
            return
        except Unreadable as reason:
            self._refuse(reason, report)
            return
        except READ_ERRORS as reason:
            self._refuse(Unreadable(describe_error(reason)), report)
            return
        except OSError as reason:
            report.unreadable.append(f"{path_text(self.log.path)}: cannot be read: {reason.strerror or reason}")
            return
        self._store_cursor(self.kept, self.log.stamp, read=self.log.stamp.size)
        if on_progress:
            on_progress(report)

    def _is_known(self, session: str, mark: str) -> bool:
        kept = self.known.get(session)
        if kept is None or kept.mark != mark or session == UNNAMED:
            return False
        self.kept[session] = kept
        return True

    # ---- what is new of it

    def _take(self, session: str, mark: str, entries: list[Entry], transaction: Grouped, report: Report) -> None:
        self._replace_parts()
        tally = dict(tally_of(entries))
        report.bytes += sum(len(entry.text) for entry in entries if isinstance(entry, Record))
        try:
            with self.archive.undone_by(*STORE_ERRORS):
                events = self.keeper.replace(entries, report)
        except STORE_ERRORS as reason:
            problem = Problem(self.log.path, 0, describe_error(reason), session[:EXCERPT])
            self.archive.put_problems(self.source.name, [problem])
            report.problems += 1
            entries = [problem]
            events, tally = 0, dict(tally_of(entries))
        except Excluded as reason:
            leave_out(self.archive, session_id(self.source.name, session), path_text(self.log.path), reason)
            events, tally = 0, {"noise: excluded session": 1}
        whole = not any(isinstance(entry, Problem) for entry in entries)  # else it is to be read, and named, again
        if session == UNNAMED and session in self.kept:  # each piece of a log may have such entries
            tally = dict(Counter(self.kept[session].tally) + Counter(tally))
        self.kept[session] = Kept(mark if whole else "", tally)
        report.lines += len(entries)
        transaction.add(events + 1)

    def _replace_parts(self) -> None:
        """Forget the sessions of files that were logs of their own while this log was missing, and are parts of it now."""
        for part in self.format.parts(self.log.path):
            cursor = None if self.format.is_log(part) else self.archive.cursor(path_text(part))
            if cursor is None:
                continue
            for session in self._known(cursor):
                self.archive.forget(session_id(self.source.name, session), path_text(part))
            self.archive.drop_cursor(path_text(part))

    def _refuse(self, reason: Unreadable, report: Report) -> None:
        """Name what cannot be read; what was read of it before stays. It is tried again when that can be of use."""
        problem = Problem(self.log.path, reason.line, reason.reason, reason.excerpt)
        self.archive.put_problems(self.source.name, [problem])
        report.problems += 1
        self._store_cursor({**self.known, **self.kept}, self.log.stamp if reason.permanent else Stamp(0, 0, 0))

    def _store_cursor(self, kept: dict[str, Kept], stamp: Stamp, *, read: int = 0) -> None:
        tally = sum((Counter(one.tally) for one in kept.values()), Counter[str]())
        cursor = Cursor(
            path=path_text(self.log.path),
            source=self.source.name,
            size=stamp.size,
            mtime_ns=stamp.mtime_ns,
            inode=stamp.inode,
            offset=read,
            line=tally.total() - tally[UNDATED],
            state=msgspec.msgpack.encode(Snapshot(kept=kept)),
            tally=dict(tally),
        )
        self.archive.put_cursor(cursor)
