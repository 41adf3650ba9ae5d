"""One log, read on from its cursor."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import msgspec

from recollect.ingest.commit import Excluded, Grouped, Keeper, leave_out
from recollect.ingest.discover import Log
from recollect.ingest.indexing import Indexer
from recollect.ingest.log_identity import Progress, Relation, compare, edges, is_rotated, is_same_log
from recollect.ingest.report import OnProgress, Report
from recollect.ingest.rewritten import StartOver
from recollect.ingest.tally import tally_of
from recollect.model import Entry, Kind, Problem, Record, path_text, session_id
from recollect.redact import redact, redact_all
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, STORE_ERRORS, Line, Lines, WrongShape, describe_error
from recollect.sources.formats.jsonl import EXCERPT, OversizedLine, decode, first_values, is_torn, open_log, raw_lines
from recollect.store import Cursor, Writer

BATCH_BYTES = 4 << 20  # of log per batch: bounds memory, and is what a crash costs at most
BATCH_LINES = 4_000


def refuse(archive: Writer, log: Log, reason: Exception, report: Report) -> None:
    """Name a log that cannot be read on. What was stored of it stays; it is tried again once it has changed."""
    path, stamp = path_text(log.path), log.stamp
    cursor = archive.cursor(path) or Cursor(path=path, source=log.source.name)
    archive.put_problems(log.source.name, [Problem(log.path, cursor.line + 1, describe_error(reason))])
    report.problems += 1
    archive.put_cursor(msgspec.structs.replace(cursor, size=stamp.size, mtime_ns=stamp.mtime_ns, inode=stamp.inode))


class LogReader:
    """A log of lines that has changed. Making one finds out whose it is; `read` takes in what is new."""

    def __init__(self, archive: Writer, indexer: Indexer, settings: Settings, log: Log, format: Lines) -> None:
        self.archive = archive
        self.settings = settings
        self.log = log
        self.source = log.source
        self.format = format
        self.keeper = Keeper(archive, indexer, settings, log)
        self.cursor = archive.cursor(path_text(log.path))
        self.memory: Any = None
        self.progress: Progress | None = None
        self._stream: BinaryIO | None = None
        if self.cursor is not None and self.cursor.state is not None:
            self._resume(self.cursor)
        if self.memory is None:
            self.memory = format.begin(log.path, first_values(log.path, format.shape))
        self.copies = self.memory.copies_from is not None and self.progress is None

    def _resume(self, cursor: Cursor) -> None:
        try:
            progress = msgspec.msgpack.decode(cursor.state or b"", type=Progress)
        except msgspec.DecodeError:
            return  # it was a log of another format
        retelling = self.keeper.retelling
        if cursor.offset > 0 and is_same_log(self.log.path, self.log.stamp, cursor, progress):
            self.progress = progress
            self.archive.drop_problems(cursor.path, after=cursor.line)  # of lines that are read now
            self.keeper.states = progress.sessions
            self.memory = msgspec.msgpack.decode(progress.memory, type=self.format.state)
            retelling.remember(progress.before)
        else:
            retelling.remember({**progress.sessions, **progress.before})
            retelling.moved_on = progress.moved_on or self.log.stamp.size == 0 or is_rotated(self.log.path, cursor, progress)

    def read(self, transaction: Grouped, report: Report, on_progress: OnProgress | None) -> None:
        if self.progress is None and not self._start_over():
            return
        report.files_read += 1
        try:
            try:
                self._read(transaction, report, on_progress)
            except StartOver:
                self._begin_again()
                self._read(transaction, report, on_progress)
        except FileNotFoundError:
            return
        except Excluded as reason:
            self._leave_out(reason)
        except OSError as reason:
            report.unreadable.append(f"{path_text(self.log.path)}: cannot be read: {reason.strerror or reason}")
        except STORE_ERRORS as reason:
            refuse(self.archive, self.log, reason, report)

    # ---- a log that is new here, or no longer the one we knew

    def _start_over(self) -> bool:
        """Prepare to read from the first byte. False: another copy of this log has been read further."""
        path = path_text(self.log.path)
        session = session_id(self.source.name, self.memory.session)
        other = self.archive.cursor_of(session, other_than=path)
        if other is not None and not self._takes_over(other):
            self.archive.drop_problems(path)  # it may have been read before the other one was
            self._store_cursor(Cursor(path=path, source=self.source.name, tally={"noise: copy of another log": 1}))
            return False
        self._read_from_start()
        return True

    def _read_from_start(self) -> None:
        path, retelling = path_text(self.log.path), self.keeper.retelling
        retelling.forget()
        retelling.continues = self.memory.continues
        self.archive.drop_problems(path)
        self.keeper.states = {}
        self.cursor = Cursor(path=path, source=self.source.name)
        self.progress = Progress(memory=msgspec.Raw(b"\xc0"), sessions=self.keeper.states)

    def _begin_again(self) -> None:
        """Read from the first byte once more; the session has the same name as before."""
        name = self.memory.session
        self.memory = self.format.begin(self.log.path, first_values(self.log.path, self.format.shape))
        self.memory.session = name
        self._read_from_start()

    def _takes_over(self, other: Cursor) -> bool:
        """The same session in two files. The longer one is the session; unrelated ones are two sessions."""
        there = Path(other.path)
        self.archive.put_shared(path_text(self.log.path), other.path)
        match compare(self.log.path, there, other):
            case Relation.LONGER:
                self.archive.drop_cursor(other.path)
                if there.exists():  # else it may be a rewritten one, which does not tell all
                    self.archive.move_sessions(other.path, path_text(self.log.path))
            case Relation.SAME:
                if there.exists():
                    return False
                self.archive.drop_cursor(other.path)
            case Relation.UNRELATED:
                self.memory.session += f"~{self.log.path.stem}"
        return True

    # ---- reading

    def _read(self, transaction: Grouped, report: Report, on_progress: OnProgress | None) -> None:
        cursor, progress = self.cursor, self.progress
        assert cursor is not None and progress is not None
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self.format.shape)
        entries: list[Entry] = []
        batch = 0
        with open_log(self.log.path, cursor.offset) as stream:
            self._stream = stream if self.log.path.suffix != ".zst" else None
            for offset, raw, whole in self._lines(stream, cursor.offset):
                if not whole and is_torn(raw):
                    break
                cursor.line += not progress.inside_line
                entries += self._said(offset, cursor.line, raw, decoder)
                taken = len(raw) + whole
                progress.inside_line = not whole
                cursor.offset = offset + taken
                cursor.crc = crc32(b"\n", crc32(raw, cursor.crc)) if whole else crc32(raw, cursor.crc)
                report.bytes += taken
                report.lines += 1
                batch += taken
                del raw  # it may be large, and storing needs memory of its own
                if batch >= BATCH_BYTES or len(entries) >= BATCH_LINES:
                    self._store(entries, transaction, report, finished=False)
                    entries, batch = [], 0
                    if on_progress:
                        on_progress(report)
            self._store(entries, transaction, report, finished=True)
        if on_progress:
            on_progress(report)

    def _lines(self, stream: BinaryIO, offset: int) -> Iterator[tuple[int, bytes, bool]]:
        try:
            yield from raw_lines(stream, offset)
        except OversizedLine as reason:
            self.archive.put_problems(self.source.name, [Problem(self.log.path, 0, str(reason))])
        except MemoryError as reason:
            self.archive.put_problems(self.source.name, [Problem(self.log.path, 0, f"a line {describe_error(reason)}")])

    def _said(self, offset: int, number: int, raw: bytes, decoder: "msgspec.json.Decoder[Any]") -> list[Entry]:
        """What one physical line says. One that cannot be decoded costs nothing but itself."""
        try:
            lines = decode(self.log.path, offset, number, raw, decoder)
            return [entry for line in lines for entry in self._entries(line)]
        except READ_ERRORS as reason:
            return [Problem(self.log.path, number, describe_error(reason), raw[:EXCERPT].decode("utf-8", "replace"))]

    def _entries(self, line: Line | Problem) -> Iterable[Entry]:
        if isinstance(line, Problem):
            return (line,)
        if isinstance(line.value, WrongShape):
            key = f"{self.memory.session}@{line.offset}"
            text = line.raw[:2_000].decode("utf-8", "replace")
            return (Record(session=self.memory.session, key=key, kind=Kind.UNKNOWN, text=text, line=line.number),)
        try:
            return list(self.format.read(line, self.memory))
        except READ_ERRORS as reason:
            excerpt = line.raw[:EXCERPT].decode("utf-8", "replace")
            return (Problem(self.log.path, line.number, describe_error(reason), excerpt),)

    # ---- storing

    def _store(self, entries: list[Entry], transaction: Grouped, report: Report, *, finished: bool) -> None:
        """A batch and its cursor. The cursor claims the file's present size only once all of it was read."""
        assert self.cursor is not None
        self.cursor.tally = dict(Counter(self.cursor.tally) + tally_of(entries))
        stamp = self.log.stamp
        size = (stamp.size, stamp.mtime_ns) if finished else (0, 0)
        with self.archive.undone_by(*STORE_ERRORS):
            events = self.keeper.keep(entries, self.memory.session, report)
            self._store_cursor(self.cursor, *size)
        transaction.add(events + 1)

    def _leave_out(self, reason: Excluded) -> None:
        """Keep nothing of an excluded log but that it was looked at."""
        path = path_text(self.log.path)
        leave_out(self.archive, session_id(self.source.name, self.memory.session), path, reason)
        self.archive.drop_problems(path)
        self.progress = None
        self._store_cursor(Cursor(path=path, source=self.source.name, tally={"noise: excluded log": 1}))

    def _memory_without_secrets(self) -> bytes:
        """The reader's memory as it is kept. It may hold a prompt that is still queued."""
        packed = msgspec.msgpack.encode(self.memory)
        text = packed.decode("utf-8", "replace")
        if not self.settings.redact or redact(text) == text:
            return packed
        return msgspec.msgpack.encode(redact_all(msgspec.to_builtins(self.memory)))

    def _store_cursor(self, cursor: Cursor, size: int | None = None, mtime_ns: int | None = None) -> None:
        stamp = self.log.stamp
        cursor.size = stamp.size if size is None else size
        cursor.mtime_ns = stamp.mtime_ns if mtime_ns is None else mtime_ns
        cursor.inode = stamp.inode
        if self.progress is not None:
            cursor.session = session_id(self.source.name, self.memory.session)
            self.progress.before = self.keeper.retelling.before
            self.progress.moved_on = self.keeper.retelling.moved_on and cursor.offset == 0
            self.progress.memory = msgspec.Raw(self._memory_without_secrets())
            self.progress.edges = edges(self._stream, cursor.offset) if self._stream else 0
            cursor.state = msgspec.msgpack.encode(self.progress)
        self.archive.put_cursor(cursor)
