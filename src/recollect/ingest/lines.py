"""Reads a log of lines, starting at its cursor.

The read loop turns a batch of lines into entries, and stores the entries and the cursor. The transaction commits when due.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import msgspec

from recollect.ingest.admit import Excluded, remove_excluded
from recollect.ingest.commit import SessionUpdater
from recollect.ingest.discover import Log
from recollect.ingest.indexing import Indexer
from recollect.ingest.log_identity import CursorState, Relation, compare, edges, is_rotated, is_same_log
from recollect.ingest.report import OnProgress, SyncReport
from recollect.ingest.rewritten import ReadAgain
from recollect.ingest.tally import tally_of
from recollect.ingest.transaction import BatchTransaction
from recollect.model import Entry, Kind, Problem, Record, path_text, session_id
from recollect.redact import redact, redact_all
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, STORE_ERRORS, Line, Lines, WrongShape, describe_error
from recollect.sources.formats.jsonl import EXCERPT, OversizedLine, decode, first_values, is_torn, open_log, raw_lines
from recollect.store import Cursor, Writer

BATCH_BYTES = 4 << 20  # bytes of a log per batch: limits memory, and the work that a crash can lose
BATCH_LINES = 4_000
MAX_UNKNOWN_CHARACTERS = 2_000  # characters of a line of unknown shape that are stored
NO_STATE = msgspec.Raw(b"\xc0")  # nil in msgpack


def put_log_problem(archive: Writer, log: Log, reason: Exception, report: SyncReport) -> None:
    """Note that a log cannot be read further. Its stored events stay. The next sync after a change tries again."""
    path, stamp = path_text(log.path), log.stamp
    cursor = archive.cursor(path) or Cursor(path=path, source=log.source.name)
    archive.put_problems(log.source.name, [Problem(log.path, cursor.line + 1, describe_error(reason))])
    report.problems += 1
    archive.put_cursor(msgspec.structs.replace(cursor, size=stamp.size, mtime_ns=stamp.mtime_ns, inode=stamp.inode))


class LogReader:
    """A log of lines that has changed. The constructor identifies the log; `read` stores its new entries."""

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, log: Log, format: Lines) -> None:
        self.archive = archive
        self.settings = settings
        self.log = log
        self.path = path_text(log.path)
        self.source = log.source
        self.format = format
        self.updater = SessionUpdater(archive, indexer, settings, log)
        self.cursor = archive.cursor(self.path)
        self.source_state: Any = None
        self.cursor_state: CursorState | None = None  # None: the log is read from its start
        self._stream: BinaryIO | None = None
        if self.cursor is not None and self.cursor.state is not None:
            self._resume(self.cursor)
        if self.source_state is None:
            self.source_state = format.begin(log.path, first_values(log.path, format.shape))
        self.is_copy = self.source_state.copies_from is not None and self.cursor_state is None

    def _resume(self, cursor: Cursor) -> None:
        try:
            state = msgspec.msgpack.decode(cursor.state or b"", type=CursorState)
        except msgspec.DecodeError:
            return  # the log had another format
        rewritten = self.updater.rewritten
        if cursor.offset > 0 and is_same_log(self.log.path, self.log.stamp, cursor, state):
            self.cursor_state = state
            self.archive.drop_problems(cursor.path, after=cursor.line)  # the lines after the cursor are read again now
            self.updater.states = state.sessions
            self.source_state = msgspec.msgpack.decode(state.source_state, type=self.format.state)
            rewritten.set_previous(state.previous)
        else:
            rewritten.set_previous({**state.sessions, **state.previous})
            is_empty = self.log.stamp.size == 0
            rewritten.was_rotated = state.was_rotated or is_empty or is_rotated(self.log.path, cursor, state)

    def read(self, transaction: BatchTransaction, report: SyncReport, on_progress: OnProgress | None) -> None:
        """Store the new entries of the log. An error affects this log only."""
        if self.cursor_state is None and not self._start():
            return
        report.files_read += 1
        try:
            try:
                self._read(transaction, report, on_progress)
            except ReadAgain:
                self._restart()
                self._read(transaction, report, on_progress)
        except FileNotFoundError:
            return
        except Excluded as reason:
            self._remove_excluded(reason)
        except OSError as reason:
            report.unreadable.append(f"{self.path}: {describe_error(reason)}")
        except STORE_ERRORS as reason:
            put_log_problem(self.archive, self.log, reason, report)

    # ---- a log that is new, or differs from the one that the cursor describes

    def _start(self) -> bool:
        """Prepare to read from the first byte. Returns False if another copy of this log was read further."""
        session = session_id(self.source.name, self.source_state.session)
        if self.archive.is_forgotten(session):
            return self._starts_beside_forgotten()
        other = self.archive.cursor_of_session(session, other_than=self.path)
        if other is not None and not self._takes_over(other):
            self.archive.drop_problems(self.path)  # this log may have been read before the other one
            self._store_cursor(Cursor(path=self.path, source=self.source.name, tally={"noise: copy of another log": 1}))
            return False
        self._reset()
        return True

    def _starts_beside_forgotten(self) -> bool:
        """Whether to read the log of a forgotten session, because the archive has another session that it holds."""
        others = self.archive.sessions_at(self.path)
        unrelated = self._unrelated_name()
        if session_id(self.source.name, unrelated) in others:
            self.source_state.session = unrelated
        if others:
            self._reset()
            return True
        self._hide_cursor()
        return False

    def _hide_cursor(self) -> None:
        """Note that the log was read, without its path, because it only has forgotten records."""
        stamp = self.log.stamp
        self.archive.drop_problems(self.path)
        cursor = Cursor(path=self.path, source=self.source.name)
        cursor.size, cursor.mtime_ns, cursor.inode = stamp.size, stamp.mtime_ns, stamp.inode
        self.archive.put_hidden_cursor(cursor)

    def _reset(self) -> None:
        """Forget everything that this sync has read of the log."""
        self.updater.rewritten.restart()
        self.updater.rewritten.continues = self.source_state.continues
        self.archive.drop_problems(self.path)
        self.updater.states = {}
        self.cursor = Cursor(path=self.path, source=self.source.name)
        self.cursor_state = CursorState(source_state=NO_STATE, sessions=self.updater.states)

    def _restart(self) -> None:
        """Read from the first byte again, under the same session name."""
        name = self.source_state.session
        self.source_state = self.format.begin(self.log.path, first_values(self.log.path, self.format.shape))
        self.source_state.session = name
        self._reset()

    def _takes_over(self, other: Cursor) -> bool:
        """Whether this log, not the other one, becomes the log of the session that both have.

        The longer log wins. Unrelated logs are two sessions.
        """
        other_path = Path(other.path)
        self.archive.put_overlap(self.path, other.path)
        match compare(self.log.path, other_path, other):
            case Relation.LONGER:
                self.archive.drop_cursor(other.path)
                if other_path.exists():  # else this log may be rewritten, and lack some of its events
                    self.archive.move_sessions(other.path, self.path)
            case Relation.SAME:
                if other_path.exists():
                    return False
                self.archive.drop_cursor(other.path)
            case Relation.UNRELATED:
                self.source_state.session = self._unrelated_name()
        return True

    def _unrelated_name(self) -> str:
        """The native id of a session whose log names it like the session of another, unrelated log."""
        return f"{self.source_state.session}~{self.log.path.stem}"

    # ---- the read loop

    def _read(self, transaction: BatchTransaction, report: SyncReport, on_progress: OnProgress | None) -> None:
        cursor, state = self.cursor, self.cursor_state
        assert cursor is not None and state is not None
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self.format.shape)
        entries: list[Entry] = []
        batch_bytes = 0
        with open_log(self.log.path, cursor.offset) as stream:
            self._stream = stream if self.log.path.suffix != ".zst" else None
            for offset, raw, has_newline in self._lines(stream, cursor.offset):
                if not has_newline and is_torn(raw):
                    break
                cursor.line += not state.inside_line
                entries += self._entries_of_line(offset, cursor.line, raw, decoder)
                read_bytes = len(raw) + has_newline
                state.inside_line = not has_newline
                cursor.offset = offset + read_bytes
                cursor.crc = crc32(b"\n", crc32(raw, cursor.crc)) if has_newline else crc32(raw, cursor.crc)
                report.bytes += read_bytes
                report.lines += 1
                batch_bytes += read_bytes
                del raw  # a line may be large, and storing needs memory too
                if batch_bytes >= BATCH_BYTES or len(entries) >= BATCH_LINES:
                    transaction.commit_when_due(self._store(entries, report, finished=False))
                    entries, batch_bytes = [], 0
                    if on_progress:
                        on_progress(report)
            transaction.commit_when_due(self._store(entries, report, finished=True))
        if on_progress:
            on_progress(report)

    def _lines(self, stream: BinaryIO, offset: int) -> Iterator[tuple[int, bytes, bool]]:
        try:
            yield from raw_lines(stream, offset)
        except OversizedLine as reason:
            self.archive.put_problems(self.source.name, [Problem(self.log.path, 0, str(reason))])
        except MemoryError as reason:
            self.archive.put_problems(self.source.name, [Problem(self.log.path, 0, f"a line {describe_error(reason)}")])

    def _entries_of_line(self, offset: int, number: int, raw: bytes, decoder: "msgspec.json.Decoder[Any]") -> list[Entry]:
        """The entries of one physical line. A line that cannot be decoded becomes a problem; reading continues."""
        try:
            lines = decode(self.log.path, offset, number, raw, decoder)
            return [entry for line in lines for entry in self._entries(line)]
        except READ_ERRORS as reason:
            return [Problem(self.log.path, number, describe_error(reason), raw[:EXCERPT].decode("utf-8", "replace"))]

    def _entries(self, line: Line | Problem) -> Iterable[Entry]:
        if isinstance(line, Problem):
            return (line,)
        if isinstance(line.value, WrongShape):
            key = f"{self.source_state.session}@{line.offset}"
            text = line.raw[:MAX_UNKNOWN_CHARACTERS].decode("utf-8", "replace")
            return (Record(session=self.source_state.session, key=key, kind=Kind.UNKNOWN, text=text, line=line.number),)
        try:
            return list(self.format.read(line, self.source_state))
        except READ_ERRORS as reason:
            excerpt = line.raw[:EXCERPT].decode("utf-8", "replace")
            return (Problem(self.log.path, line.number, describe_error(reason), excerpt),)

    # ---- storing

    def _store(self, entries: list[Entry], report: SyncReport, *, finished: bool) -> int:
        """Store a batch and its cursor. Returns the number of new events.

        The cursor gets the present size and date of the file only after the last batch.
        """
        assert self.cursor is not None
        self.cursor.tally = dict(Counter(self.cursor.tally) + tally_of(entries))
        stamp = self.log.stamp
        size_and_date = (stamp.size, stamp.mtime_ns) if finished else (0, 0)
        with self.archive.undo_on(*STORE_ERRORS):
            events = self.updater.append(entries, self.source_state.session, report)
            if not self.updater.forgotten.is_all():
                self._store_cursor(self.cursor, *size_and_date)
            elif finished:  # the log is read from its start again when it grows
                self._hide_cursor()
        return events

    def _remove_excluded(self, reason: Excluded) -> None:
        """Remove everything of an excluded log except the fact that it was read."""
        remove_excluded(self.archive, session_id(self.source.name, self.source_state.session), self.path, reason)
        self.archive.drop_problems(self.path)
        self.cursor_state = None
        self._store_cursor(Cursor(path=self.path, source=self.source.name, tally={"noise: excluded log": 1}))

    def _redacted_source_state(self) -> bytes:
        """The encoded state of the source, without secrets. It may hold a prompt that is still queued."""
        packed = msgspec.msgpack.encode(self.source_state)
        text = packed.decode("utf-8", "replace")
        if not self.settings.redact or redact(text) == text:
            return packed
        return msgspec.msgpack.encode(redact_all(msgspec.to_builtins(self.source_state)))

    def _store_cursor(self, cursor: Cursor, size: int | None = None, mtime_ns: int | None = None) -> None:
        stamp = self.log.stamp
        cursor.size = stamp.size if size is None else size
        cursor.mtime_ns = stamp.mtime_ns if mtime_ns is None else mtime_ns
        cursor.inode = stamp.inode
        state, rewritten = self.cursor_state, self.updater.rewritten
        if state is not None:
            cursor.session = session_id(self.source.name, self.source_state.session)
            state.previous = rewritten.previous
            state.was_rotated = rewritten.was_rotated and cursor.offset == 0
            state.source_state = msgspec.Raw(self._redacted_source_state())
            state.edges = edges(self._stream, cursor.offset) if self._stream else 0
            cursor.state = msgspec.msgpack.encode(state)
        self.archive.put_cursor(cursor)
