"""Steps 1 to 4 in one pass: what agents wrote since the last time is read, folded, kept and indexed.

A log is read from where its cursor stands, in batches. A batch goes into the archive together with the cursor that
vouches for it, in one transaction, so that a process killed at any moment has read each line exactly once. The index
follows after the commit and can always be brought level again.
"""

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from recollect.disk import is_disk_full
from recollect.errors import BadSettings
from recollect.exclusion import forget_markers
from recollect.folders import SETTINGS_FILE
from recollect.ingest.commit import Grouped
from recollect.ingest.discover import UNKNOWN, Log, among, discover, discover_in, is_session_excluded, named
from recollect.ingest.indexing import Indexer
from recollect.ingest.lines import LogReader, refuse
from recollect.ingest.live import LiveReader
from recollect.ingest.log_identity import changed
from recollect.ingest.projects import project_folders
from recollect.ingest.report import OnProgress, Report
from recollect.ingest.shared_logs import can_start_over, missing, reads_on, start_over, tells_less
from recollect.ingest.snapshots import SnapshotReader
from recollect.model import Problem, path_text
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, Lines, Snapshots, Source, Stamp
from recollect.store import Writer, archive_of, file_at
from recollect.store.live import Live, live_of
from recollect.store.lock import exclusive
from recollect.store.reserve import give_back, set_aside
from recollect.store.sqlite.writer import PUBLISHED

EXCLUSIONS_S = 300  # seconds between two looks for new markers in all folders: there may be thousands
RECENT_NS = 86_400 * 10**9  # a day: what has been at rest for longer is not asked for every second

__all__ = ["Ingester", "OnProgress", "Report", "publish", "sync"]


class Ingester:
    """The realm opened for writing. One per realm at a time; it may sync as often as it likes."""

    def __init__(self, realm: Path, settings: Settings, sources: tuple[Source, ...], env: Mapping[str, str]) -> None:
        self.realm = realm
        self.settings = settings
        unknown = sorted({*settings.sources} - {source.name for source in sources})
        if unknown:
            path = settings.home / SETTINGS_FILE
            raise BadSettings(f"{path}: there is no source {unknown[0]!r}; `recollect sources` lists them.")
        self.sources = tuple(source for source in sources if not settings.sources or source.name in settings.sources)
        self.env = env
        self._polled: dict[Path, tuple[Log, Stamp]] = {}
        self._exclusions_at = 0.0
        self._from_start: set[str] = set()  # logs that this sync reads from their first byte
        self._groups: set[frozenset[str]] = set()  # of logs that were known to tell the same when it began
        self._live: Live | None = None
        self._lock = exclusive(realm)
        self._lock.__enter__()
        set_aside(realm)
        try:
            self.archive = Writer(archive_of(realm))
            self.indexer = Indexer(realm, self.archive)
        except BaseException:
            self._leave()
            raise

    def __enter__(self) -> "Ingester":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.indexer.close()
            self.archive.close()
            if self._live is not None:
                self._live.close()
        finally:
            self._leave()

    def _leave(self) -> None:
        if is_disk_full(self.realm):
            give_back(self.realm)
        self._lock.__exit__(None, None, None)

    def sync(self, paths: Iterable[Path] | None = None, on_progress: OnProgress | None = None) -> Report:
        """Read what is new in all logs, or in those among `paths`, wherever they lie."""
        if paths is not None:
            report = Report()
            return self._sync(self._recognised(named(paths, self.sources, self.settings), report), on_progress, report)
        self.sync_live()
        self._forget_excluded()
        projects = self._projects()
        found = list(discover(self.sources, self.env, self.settings, projects))
        self._polled = {}
        self._poll(found)
        report = self._sync(found, on_progress)
        while report.events and (news := [folder for folder in self._projects() if folder not in projects]):
            found = list(discover_in(news, self.sources, self.settings))
            self._poll(found)
            self._sync(found, on_progress, report)
            projects += news
        return report

    def _projects(self) -> list[Path]:
        return project_folders(self.archive.folders(), self.sources, self.settings)

    def _poll(self, found: Iterable[Log | Problem]) -> None:
        """Look at these logs every second from now on, as far as they are polled and were written of late."""
        recent = time.time_ns() - RECENT_NS
        logs = [log for log in found if isinstance(log, Log) and log.format.is_polled and log.stamp.mtime_ns > recent]
        self._polled |= {log.path: (log, log.stamp) for log in logs}

    def _forget_excluded(self) -> None:
        """Keep nothing of sessions that were excluded since they were read, though their logs are as they were."""
        if time.monotonic() < self._exclusions_at:
            return
        self._exclusions_at = time.monotonic() + EXCLUSIONS_S
        forget_markers()
        excluded = [
            (session, path)
            for session, cwd, path, project in self.archive.places()
            if is_session_excluded(cwd, Path(path), project, self.settings)
        ]
        if excluded:
            with self.archive.transaction():
                for session, path in excluded:
                    self.archive.forget(session, path)

    def _recognised(self, found: Iterable[tuple[Path, Log | Problem]], report: Report) -> Iterator[Log | Problem]:
        """Take down what each named file was taken for, and which are of no agent that we know."""
        logs: set[Path] = set()
        for path, item in found:
            if isinstance(item, Log):
                report.recognised[path_text(path)] = item.source.name
                if item.path not in logs:  # several files may be one log
                    logs.add(item.path)
                    yield item
            elif item.reason == UNKNOWN:
                report.unrecognised.append(path_text(item.path))
            else:
                yield item

    def sync_live(self) -> Report | None:
        """Read what was committed of this realm's live sessions since the last time; None where nothing was."""
        live = self._live_sessions()
        if live is None:
            return None
        known, newest = int(self.archive.meta(PUBLISHED) or 0), live.changes()
        if known == newest:
            return None
        report, began = Report(), time.perf_counter()
        self.indexer.open()
        with Grouped(self.archive, self.indexer) as transaction:
            rows = live.changed_after(known if known < newest else 0)  # more: another database took its place
            for row in rows:
                LiveReader(self.archive, self.indexer, self.settings, live, row).read(transaction, report)
        self.indexer.commit(force=True)
        self._mark_duplicates({native_id for row in rows for native_id in row.native_ids})
        with self.archive.transaction():  # last: whoever reads that we are level finds everything, too
            self.archive.put_meta(PUBLISHED, str(newest))
        report.seconds = time.perf_counter() - began
        return report

    def _mark_duplicates(self, native_ids: set[str]) -> None:
        """Leave the logs of agents that ran our turns out of what is found, as far as they were read first."""
        with self.archive.transaction():
            is_changed = self.archive.mark_duplicate_turns(sorted(native_ids))
        if is_changed:
            self.indexer.reopen()
            self.indexer.commit(force=True)

    def _live_sessions(self) -> Live | None:
        """Opened once: to open and close it again would look like a change to whoever watches its folder, as we do."""
        now = file_at(live_of(self.realm))
        if self._live is not None and self._live.file != now:
            self._live.close()
            self._live = None
        if self._live is None and now is not None:
            self._live = Live(self.realm)
        return self._live

    def sync_changed(self, paths: Iterable[Path]) -> Report:
        """Read what is new in these files, as far as they are logs in the homes of our sources."""
        return self._sync(among(paths, self.sources, self.env, self.settings), None)

    def sync_polled(self) -> Report | None:
        """Read what is new in the polled logs that the last sync found at work. Asks the disk for a date or two of each."""
        changed = []
        for path, (log, stamp) in self._polled.items():
            try:
                now = log.format.stamp(path)
            except OSError:
                continue
            if now != stamp:
                changed.append(msgspec.structs.replace(log, stamp=now))
        self._polled.update({log.path: (log, log.stamp) for log in changed})
        return self._sync(changed, None) if changed else None

    def _sync(self, found: Iterable[Log | Problem], on_progress: OnProgress | None, report: Report | None = None) -> Report:
        report = report or Report()
        began = time.perf_counter()
        forget_markers()
        logs = self._together(self._changed(found, report))
        report.bytes_total += sum(log.stamp.size for log in logs)
        if on_progress:
            on_progress(report)
        gc.disable()  # reading makes no cycles, and the collector would walk every batch in search of them
        try:
            self._read_all(logs, report, on_progress)
            if again := self._out_of_order(logs):
                self._read_all(again, report, on_progress)
        finally:
            gc.enable()
        self.indexer.commit(force=True)
        if report.events:
            self.archive.checkpoint()
        report.seconds += time.perf_counter() - began
        return report

    def _changed(self, found: Iterable[Log | Problem], report: Report) -> list[Log]:
        known = self.archive.cursors()
        logs = []
        for item in found:
            if isinstance(item, Problem):
                report.unreadable.append(f"{path_text(item.path)}: {item.reason}")
                continue
            report.files += 1
            if changed(known.get(path_text(item.path)), item.stamp):
                logs.append(item)
        return logs

    def _together(self, logs: list[Log]) -> list[Log]:
        """These logs in reading order, with those that tell the same and have to be read from their start again."""
        self._groups = {self.archive.group_of(path_text(log.path)) for log in logs}
        for group in self._groups:
            if len(group) > 1:
                logs = self._with_group(group, logs)
        self._from_start = {path_text(log.path) for log in logs if self.archive.cursor(path_text(log.path)) is None}
        return sorted(logs, key=lambda log: (log.stamp.mtime_ns, path_text(log.path)))

    def _with_group(self, group: frozenset[str], logs: list[Log]) -> list[Log]:
        others = [log for _, log in named(missing(group, logs), self.sources, self.settings) if isinstance(log, Log)]
        changed = [log for log in logs if path_text(log.path) in group]
        if len(changed) + len(others) < len(group) or not can_start_over(self.archive, [*changed, *others]):
            return logs  # the archive has what a log no longer tells: nothing of it may go
        if reads_on(self.archive, changed, others):
            return logs
        start_over(self.archive, [*changed, *others])
        return [*logs, *others]

    def _out_of_order(self, logs: list[Log]) -> list[Log]:
        """Logs that were found to tell the same as others, which had been read before them."""
        groups = {self.archive.group_of(path_text(log.path)) for log in logs} - self._groups
        late = [group for group in groups if len(group) > 1 and not group <= self._from_start]
        again = self._together([log for log in logs if any(path_text(log.path) in group for group in late)])
        return [log for log in again if path_text(log.path) in self._from_start]

    def read_again(self) -> Report:
        """Read all logs from their start. Logs that tell the same are read in one order, whichever was read first."""
        found = list(discover(self.sources, self.env, self.settings, self._projects()))
        logs = {path_text(log.path): log for log in found if isinstance(log, Log)}
        whole = {path: log for path, log in logs.items() if can_start_over(self.archive, [log])}
        cursors = [cursor for path in self.archive.cursors() if (cursor := self.archive.cursor(path)) is not None]
        self.archive.drop_cursors([cursor for cursor in cursors if tells_less(logs.get(cursor.path), cursor)])
        report = self.sync()
        groups = {self.archive.group_of(path) for path in whole}
        again = [whole[path] for group in groups if len(group) > 1 and group <= whole.keys() for path in group]
        if again:
            start_over(self.archive, again)
            self._sync(again, None, Report())
        return report

    def _read_all(self, logs: list[Log], report: Report, on_progress: OnProgress | None) -> None:
        """Originals before copies: what a copy repeats must be known by the time it is read."""
        if not logs:
            return
        copies: list[LogReader | SnapshotReader] = []
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


def _reader(intake: Ingester, log: Log, report: Report) -> LogReader | SnapshotReader | None:
    try:
        match log.format:
            case Lines() as format:
                return LogReader(intake.archive, intake.indexer, intake.settings, log, format)
            case Snapshots() as format:
                return SnapshotReader(intake.archive, intake.indexer, intake.settings, log, format)
            case unknown:
                raise TypeError(f"{log.source.name}: {type(unknown).__name__} is neither Lines, Document nor Database")
    except FileNotFoundError:
        return None  # gone since it was listed; what was read of it before stays
    except READ_ERRORS as reason:
        refuse(intake.archive, log, reason, report)
        return None
    except OSError as reason:
        report.unreadable.append(f"{path_text(log.path)}: cannot be read: {reason.strerror or reason}")
        return None


def publish(realm: Path, settings: Settings) -> int:
    """Bring the archive level with the live sessions; up to which change of them it is then. Raises `Busy`."""
    with Ingester(realm, msgspec.structs.replace(settings, sources=()), (), {}) as intake:  # of logs, it reads none
        intake.sync_live()
        return int(intake.archive.meta(PUBLISHED) or 0)


def sync(
    realm: Path,
    settings: Settings,
    sources: tuple[Source, ...],
    env: Mapping[str, str],
    paths: Iterable[Path] | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """One pass over all logs, or over those among `paths`."""
    with Ingester(realm, settings, sources, env) as intake:
        return intake.sync(paths, on_progress)
