"""Steps 1 to 4 in one pass: what agents wrote since the last time is read, folded, kept and indexed.

A log is read from where its cursor stands, in batches. A batch goes into the archive together with the cursor that
vouches for it, in one transaction, so that a process killed at any moment has read each line exactly once. The index
follows after the commit and can always be brought level again.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import msgspec
from msgspec import Struct

from recollect.assemble import TITLE, State, fold, label, session_of
from recollect.errors import BadSettings
from recollect.ingest.discover import Log, among, discover, first_values, is_excluded, named
from recollect.ingest.indexing import Indexer
from recollect.ingest.logfile import Progress, Relation, changed, compare, edges, is_same_log
from recollect.model import KIND_CODE, About, Entry, Kind, Noise, Problem, Record, event_id, path_text, session_id
from recollect.project import project_of
from recollect.redact import redact, redact_all
from recollect.settings import FILE, Settings
from recollect.sources import Misfit, Source
from recollect.sources._jsonl import OversizedLine, decode, is_torn, open_log, raw_lines
from recollect.store import Cursor, Writer, archive_of
from recollect.store.lock import exclusive

BATCH_BYTES = 4 << 20  # of log per batch: bounds memory, and is what a crash costs at most
BATCH_LINES = 4_000
COMMIT_EVENTS = 20_000  # events per transaction over many small files


class Report(Struct, kw_only=True):
    """What a sync did. `bytes` and `lines` are what was read, not what there is."""

    files: int = 0
    files_read: int = 0
    bytes: int = 0
    bytes_total: int = 0
    lines: int = 0
    events: int = 0
    sessions: int = 0
    problems: int = 0
    seconds: float = 0.0
    unreadable: list[str] = []


OnProgress = Callable[[Report], None]


class Intake:
    """The realm opened for writing. One per realm at a time; it may sync as often as it likes."""

    def __init__(self, realm: Path, settings: Settings, sources: tuple[Source, ...], env: Mapping[str, str]) -> None:
        self.settings = settings
        unknown = sorted({*settings.sources} - {source.name for source in sources})
        if unknown:
            raise BadSettings(f"{settings.home / FILE}: there is no source {unknown[0]!r}; `recollect sources` names them.")
        self.sources = tuple(source for source in sources if not settings.sources or source.name in settings.sources)
        self.env = env
        self._lock = exclusive(realm)
        self._lock.__enter__()
        try:
            self.archive = Writer(archive_of(realm))
            self.indexer = Indexer(realm, self.archive)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def __enter__(self) -> "Intake":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.indexer.close()
            self.archive.close()
        finally:
            self._lock.__exit__(None, None, None)

    def sync(self, paths: Iterable[Path] | None = None, on_progress: OnProgress | None = None) -> Report:
        """Read what is new in all logs, or in those among `paths`, wherever they lie."""
        if paths is None:
            return self._sync(discover(self.sources, self.env, self.settings), on_progress)
        return self._sync(named(paths, self.sources, self.settings), on_progress)

    def sync_changed(self, paths: Iterable[Path]) -> Report:
        """Read what is new in these files, as far as they are logs in the homes of our sources."""
        return self._sync(among(paths, self.sources, self.env, self.settings), None)

    def _sync(self, found: Iterable[Log | Problem], on_progress: OnProgress | None) -> Report:
        report = Report()
        began = time.perf_counter()
        logs = self._changed(found, report)
        report.bytes_total = sum(log.stat.st_size for log in logs)
        if on_progress:
            on_progress(report)
        self._read_all(logs, report, on_progress)
        self.indexer.commit(force=True)
        if report.events:
            self.archive.checkpoint()
        report.seconds = time.perf_counter() - began
        return report

    def _changed(self, found: Iterable[Log | Problem], report: Report) -> list[Log]:
        known = self.archive.cursors()
        logs = []
        for item in found:
            if isinstance(item, Problem):
                report.unreadable.append(f"{path_text(item.path)}: {item.reason}")
                continue
            report.files += 1
            if changed(known.get(path_text(item.path)), item.stat):
                logs.append(item)
        return sorted(logs, key=lambda log: (log.stat.st_mtime_ns, path_text(log.path)))

    def _read_all(self, logs: list[Log], report: Report, on_progress: OnProgress | None) -> None:
        """Originals before copies: what a copy repeats must be known by the time it is read."""
        if not logs:
            return
        copies: list[LogReader] = []
        self.indexer.open()
        with Grouped(self.archive, self.indexer) as transaction:
            for log in logs:
                reader = _reader(self, log, report)
                if reader is not None and reader.copies:
                    copies.append(reader)
                elif reader is not None:
                    reader.read(transaction, report, on_progress)
            for reader in copies:
                reader.read(transaction, report, on_progress)


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
        if self.events >= COMMIT_EVENTS:
            self._open.__exit__(None, None, None)
            self.events = 0
            self.indexer.commit()
            self._begin()


def _reader(intake: Intake, log: Log, report: Report) -> "LogReader | None":
    try:
        return LogReader(intake, log)
    except FileNotFoundError:
        return None  # gone since it was listed; what was read of it before stays
    except OSError as reason:
        report.unreadable.append(f"{path_text(log.path)}: cannot be read: {reason.strerror or reason}")
        return None


class LogReader:
    """One log, read on from its cursor."""

    def __init__(self, intake: Intake, log: Log) -> None:
        self.archive = intake.archive
        self.indexer = intake.indexer
        self.settings = intake.settings
        self.log = log
        self.source = log.source
        self.cursor = self.archive.cursor(path_text(log.path))
        self.memory: Any = None
        self.progress: Progress | None = None
        self._counts: Counter[str] = Counter()
        self._allowed: set[str | None] = set()
        self._stream: BinaryIO | None = None
        if self.cursor is not None and self.cursor.state is not None and self.cursor.offset > 0:
            self._resume(self.cursor)
        if self.memory is None:
            self.memory = self.source.begin(log.path, first_values(log.path, self.source))
        self.copies = self.memory.copies_from is not None and self.progress is None

    def _resume(self, cursor: Cursor) -> None:
        progress = msgspec.msgpack.decode(cursor.state or b"", type=Progress)
        if is_same_log(self.log.path, self.log.stat, cursor, progress):
            self.progress = progress
            self.memory = msgspec.msgpack.decode(progress.memory, type=self.source.memory)

    def read(self, transaction: Grouped, report: Report, on_progress: OnProgress | None) -> None:
        if self.progress is None and not self._start_over():
            return
        report.files_read += 1
        try:
            self._read(transaction, report, on_progress)
        except FileNotFoundError:
            return
        except Excluded:
            self._leave_out()
        except OSError as reason:
            report.unreadable.append(f"{path_text(self.log.path)}: cannot be read: {reason.strerror or reason}")

    # ---- a log that is new here, or no longer the one we knew

    def _start_over(self) -> bool:
        """Prepare to read from the first byte. False: another copy of this log has been read further."""
        path = path_text(self.log.path)
        session = session_id(self.source.name, self.memory.session)
        other = self.archive.cursor_of(session, other_than=path)
        if other is not None and not self._takes_over(other):
            self._store_cursor(Cursor(path=path, source=self.source.name, tally={"noise: copy of another log": 1}))
            return False
        if self.memory.session.partition("~")[2] == "":
            self.archive.empty_session(session)
        self.archive.drop_problems(path)
        self.cursor = Cursor(path=path, source=self.source.name)
        self.progress = Progress(memory=msgspec.Raw(b"\xc0"))
        return True

    def _takes_over(self, other: Cursor) -> bool:
        """The same session in two files. The longer one is the session; unrelated ones are two sessions."""
        there = Path(other.path)
        match compare(self.log.path, there, other):
            case Relation.LONGER:
                self.archive.drop_cursor(other.path)
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
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(self.source.shape)
        entries: list[Entry] = []
        batch = 0
        with open_log(self.log.path, cursor.offset) as stream:
            self._stream = stream if self.log.path.suffix != ".zst" else None
            for offset, raw, whole in self._lines(stream, cursor.offset):
                if not whole and is_torn(raw):
                    break
                cursor.line += not progress.inside_line
                entries += self._entries(offset, cursor.line, raw, decoder)
                taken = len(raw) + whole
                progress.inside_line = not whole
                cursor.offset = offset + taken
                cursor.crc = crc32(b"\n", crc32(raw, cursor.crc)) if whole else crc32(raw, cursor.crc)
                report.bytes += taken
                report.lines += 1
                batch += taken
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

    def _entries(self, offset: int, number: int, raw: bytes, decoder: Any) -> Iterable[Entry]:
        for line in decode(self.log.path, offset, number, raw, decoder):
            if isinstance(line, Problem):
                yield line
            elif isinstance(line.value, Misfit):
                key = f"{self.memory.session}@{line.offset}"
                text = line.raw[:2_000].decode("utf-8", "replace")
                yield Record(session=self.memory.session, key=key, kind=Kind.UNKNOWN, text=text, line=number)
            else:
                yield from self.source.read(line, self.memory)

    # ---- storing

    def _store(self, entries: list[Entry], transaction: Grouped, report: Report, *, finished: bool) -> None:
        """A batch and its cursor. The cursor claims the file's present size only once all of it was read."""
        assert self.cursor is not None
        self._check_exclusion(entries)
        if self.settings.redact:
            entries = [self._without_secrets(entry) for entry in entries]
        problems = [entry for entry in entries if isinstance(entry, Problem)]
        self.archive.put_problems(self.source.name, problems)
        report.problems += len(problems)
        events = 0
        for native_id, said in self._by_session(entries).items():
            events += self._store_session(native_id, said, report)
        self._store_titles(entries)
        self._tally(entries)
        stat = self.log.stat
        size = (stat.st_size, stat.st_mtime_ns) if finished else (0, 0)
        self._store_cursor(self.cursor, *size)
        report.events += events
        transaction.add(events + 1)

    def _check_exclusion(self, entries: list[Entry]) -> None:
        """Look once at every working folder that a log names, before anything of it is kept."""
        folders = {entry.cwd for entry in entries if isinstance(entry, Record | About)} - self._allowed
        for cwd in folders:
            project = project_of(cwd) if cwd else None
            if is_excluded(cwd, self.log.path, project, self.settings):
                raise Excluded
        self._allowed |= folders

    def _leave_out(self) -> None:
        """Keep nothing of an excluded log but that it was looked at."""
        path = path_text(self.log.path)
        self.archive.empty_session(session_id(self.source.name, self.memory.session))
        self.archive.drop_problems(path)
        self.progress = None
        self._store_cursor(Cursor(path=path, source=self.source.name, tally={"noise: excluded log": 1}))

    def _without_secrets(self, entry: Entry) -> Entry:
        counts = self._counts
        if isinstance(entry, Record):
            entry.text = redact(entry.text, counts)
            if entry.arguments:
                entry.arguments = self._arguments_without_secrets(entry.arguments)
        elif isinstance(entry, About):
            entry.title = redact(entry.title or "", counts)
        elif isinstance(entry, Problem):
            return msgspec.structs.replace(entry, excerpt=redact(entry.excerpt, counts))
        if counts and isinstance(entry, Record):
            state = self._state(entry.session)
            state.redactions = dict(counts + Counter(state.redactions))
        counts.clear()
        return entry

    def _arguments_without_secrets(self, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            redacted: dict[str, Any] = redact_all(arguments, self._counts)
        except RecursionError:  # nested hundreds deep: as one text it is no less readable
            return {"input": redact(msgspec.json.encode(arguments).decode(), self._counts)}
        return redacted

    def _by_session(self, entries: list[Entry]) -> dict[str, list[Record | About]]:
        """The records of each session that this batch adds to. What the archive has already is left out."""
        records = [entry for entry in entries if isinstance(entry, Record)]
        for record in records:
            record.id = event_id(self.source.name, record.key)
        known = self.archive.known([record.id for record in records])
        sessions: dict[str, list[Record | About]] = {}
        seen: set[bytes] = set()
        for entry in entries:
            if isinstance(entry, Record):
                if entry.id in seen or (entry.id in known and self._is_repeated(entry, known[entry.id])):
                    continue
                seen.add(entry.id)
                sessions.setdefault(entry.session, []).append(entry)
            elif isinstance(entry, About) and entry.leaf is None:
                sessions.setdefault(entry.session, []).append(entry)
        return sessions

    def _is_repeated(self, record: Record, owner: bytes) -> bool:
        """Whether a known id means the same event again: in its own session always, elsewhere if it says the same."""
        if owner == session_id(self.source.name, record.session):
            return True
        kind, body = self.archive.content(record.id)
        if kind == KIND_CODE[record.kind] and (record.kind is Kind.TOOL_CALL or body == record.text):
            return True
        record.key = f"{record.session}/{record.key}"
        record.id = event_id(self.source.name, record.key)
        return record.id in self.archive.known([record.id])

    def _state(self, native_id: str) -> State:
        assert self.progress is not None
        return self.progress.sessions.setdefault(native_id, State(native_id=native_id))

    def _forget_state(self, native_id: str) -> None:
        assert self.progress is not None
        del self.progress.sessions[native_id]

    def _store_session(self, native_id: str, said: list[Record | About], report: Report) -> int:
        state = self._state(native_id)
        if state.event_count and native_id != self.memory.session and self._has_moved(native_id):
            self._forget_state(native_id)
            state = self._state(native_id)
        was_empty = state.event_count == 0
        made = fold(state, said, self.log.stat.st_mtime_ns // 1_000_000)
        identity = session_id(self.source.name, native_id)
        if state.parent:
            self.archive.put_link(identity, session_id(self.source.name, state.parent), state.parent_call)
        if state.turn is None:
            return 0
        session = session_of(state, self.source.name, path_text(self.log.path), self.source.title)
        session.project = project_of(state.cwd) if state.cwd else None
        key = self.archive.put_session(session)
        self.archive.remove_events(made.withdrawn)
        first = self.archive.put_events(key, made.events)
        self.archive.put_turns(key, made.turns)
        self.indexer.add(first, key, made.events, self.source.name, session.project)
        report.sessions += was_empty
        return len(made.events)

    def _has_moved(self, native_id: str) -> bool:
        """Whether a sub-agent that this log told of has since got a log of its own."""
        return self.archive.path_of(session_id(self.source.name, native_id)) != path_text(self.log.path)

    def _store_titles(self, entries: list[Entry]) -> None:
        """Titles that name a record instead of a session: the record may be in another one."""
        for entry in entries:
            if isinstance(entry, About) and entry.leaf and entry.title:
                title = label(entry.title, TITLE)
                self.archive.put_title(event_id(self.source.name, entry.leaf), title, entry.title_rank)

    def _tally(self, entries: list[Entry]) -> None:
        assert self.cursor is not None
        tally = Counter(self.cursor.tally)
        for entry in entries:
            match entry:
                case Record(kind=kind):
                    tally[str(kind)] += 1
                case Noise(kind=kind):
                    tally[f"noise: {kind}"] += 1
                case Problem():
                    tally["problem"] += 1
                case About():
                    tally["about"] += 1
        self.cursor.tally = dict(tally)

    def _memory_without_secrets(self) -> bytes:
        """The reader's memory as it is kept. It may hold a prompt that is still queued."""
        packed = msgspec.msgpack.encode(self.memory)
        text = packed.decode("utf-8", "replace")
        if not self.settings.redact or redact(text, Counter()) == text:
            return packed
        return msgspec.msgpack.encode(redact_all(msgspec.to_builtins(self.memory), Counter()))

    def _store_cursor(self, cursor: Cursor, size: int | None = None, mtime_ns: int | None = None) -> None:
        stat = self.log.stat
        cursor.size = stat.st_size if size is None else size
        cursor.mtime_ns = stat.st_mtime_ns if mtime_ns is None else mtime_ns
        cursor.inode = stat.st_ino
        if self.progress is not None:
            cursor.session = session_id(self.source.name, self.memory.session)
            self.progress.memory = msgspec.Raw(self._memory_without_secrets())
            self.progress.edges = edges(self._stream, cursor.offset) if self._stream else 0
            cursor.state = msgspec.msgpack.encode(self.progress)
        self.archive.put_cursor(cursor)


class Excluded(Exception):
    """The person asked us not to read this log."""


def sync(
    realm: Path,
    settings: Settings,
    sources: tuple[Source, ...],
    env: Mapping[str, str],
    paths: Iterable[Path] | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """One pass over all logs, or over those among `paths`."""
    with Intake(realm, settings, sources, env) as intake:
        return intake.sync(paths, on_progress)
