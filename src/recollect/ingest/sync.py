"""One sync: find the logs that changed, continue each at its cursor, store and index the new events.

A batch of a log and the cursor after it are stored in one transaction. So each line is stored exactly once, even if the
process is killed. The index is committed after the archive, and can always catch up with it.
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
from recollect.ingest.discover import (
    UNRECOGNISED,
    Log,
    discover,
    discover_in,
    is_session_excluded,
    logs_at_paths,
    logs_of_files,
)
from recollect.ingest.file_changes import record_pending_files
from recollect.ingest.indexing import Indexer
from recollect.ingest.lines import LogReader, put_log_problem
from recollect.ingest.live import LiveReader
from recollect.ingest.log_identity import has_changed
from recollect.ingest.overlapping_logs import can_reread, forget_logs, may_have_shrunk, missing_paths, only_last_grew
from recollect.ingest.projects import project_folders
from recollect.ingest.report import OnProgress, SyncReport
from recollect.ingest.snapshots import SnapshotReader
from recollect.ingest.transaction import BatchTransaction
from recollect.model import Problem, path_text
from recollect.settings import Settings
from recollect.sources import READ_ERRORS, Lines, Snapshots, Source, Stamp, describe_error
from recollect.store import Writer, archive_path, file_identity
from recollect.store.live import Live, live_path
from recollect.store.lock import exclusive
from recollect.store.reserve import create_reserve, release_reserve
from recollect.store.sqlite.tombstones import hidden_path
from recollect.store.sqlite.writer import PUBLISHED

EXCLUSIONS_S = 300  # seconds between two checks of all sessions for new exclusions: there may be thousands
RECENT_NS = 86_400 * 10**9  # a day: logs that were written earlier are not polled every second


class Ingester:
    """A realm opened for writing, by one process at a time. It can sync many times."""

    def __init__(self, realm: Path, settings: Settings, sources: tuple[Source, ...], env: Mapping[str, str]) -> None:
        self.realm = realm
        self.settings = settings
        unknown = sorted({*settings.sources} - {source.name for source in sources})
        if unknown:
            path = settings.home / SETTINGS_FILE
            raise BadSettings(f"{path}: there is no source {unknown[0]!r}. `recollect sources` lists them.")
        self.sources = tuple(source for source in sources if not settings.sources or source.name in settings.sources)
        self.env = env
        self._polled: dict[Path, tuple[Log, Stamp]] = {}
        self._exclusions_at = 0.0
        self._from_start: set[str] = set()  # logs that this sync reads from their start
        self._groups: set[frozenset[str]] = set()  # overlapping logs that were known when the sync began
        self._live: Live | None = None
        self._lock = exclusive(realm)
        self._lock.__enter__()
        create_reserve(realm)
        try:
            self.archive = Writer(archive_path(realm))
            self.indexer = Indexer(realm, self.archive)
        except BaseException:
            self._unlock()
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
            self._unlock()

    def _unlock(self) -> None:
        if is_disk_full(self.realm):
            release_reserve(self.realm)
        self._lock.__exit__(None, None, None)

    def sync(self, paths: Iterable[Path] | None = None, on_progress: OnProgress | None = None) -> SyncReport:
        """Read new entries of all logs, or of the logs at `paths`."""
        record_pending_files(self.archive)
        if paths is not None:
            report = SyncReport()
            return self._sync(
                self._recognised(logs_at_paths(paths, self.sources, self.settings), report), on_progress, report
            )
        self.sync_live()
        self._forget_excluded()
        projects = self._projects()
        found = list(discover(self.sources, self.env, self.settings, projects))
        self._polled = {}
        self._poll(found)
        report = self._sync(found, on_progress)
        while report.events and (new := [folder for folder in self._projects() if folder not in projects]):
            found = list(discover_in(new, self.sources, self.settings))
            self._poll(found)
            self._sync(found, on_progress, report)
            projects += new
        return report

    def _projects(self) -> list[Path]:
        return project_folders(self.archive.folders(), self.sources, self.settings)

    def _poll(self, found: Iterable[Log | Problem]) -> None:
        """Poll the logs that need polling and were written recently."""
        recent = time.time_ns() - RECENT_NS
        logs = [log for log in found if isinstance(log, Log) and log.format.is_polled and log.stamp.mtime_ns > recent]
        self._polled |= {log.path: (log, log.stamp) for log in logs}

    def _forget_excluded(self) -> None:
        """Remove sessions that were excluded after they were read. Their logs have not changed."""
        if time.monotonic() < self._exclusions_at:
            return
        self._exclusions_at = time.monotonic() + EXCLUSIONS_S
        forget_markers()
        excluded = [
            (session, path)
            for session, cwd, path, project in self.archive.session_locations()
            if is_session_excluded(cwd, Path(path), project, self.settings)
        ]
        if excluded:
            with self.archive.transaction():
                for session, path in excluded:
                    self.archive.forget_session(session, path)

    def _recognised(self, found: Iterable[tuple[Path, Log | Problem]], report: SyncReport) -> Iterator[Log | Problem]:
        """Report the source of each named file, and the files that were not recognised."""
        logs: set[Path] = set()
        for path, item in found:
            if isinstance(item, Log):
                report.recognised[path_text(path)] = item.source.name
                if item.path not in logs:  # several files may be one log
                    logs.add(item.path)
                    yield item
            elif item.reason == UNRECOGNISED:
                report.unrecognised.append(path_text(item.path))
            else:
                yield item

    def sync_live(self) -> SyncReport | None:
        """Read new messages of the live sessions of this realm. Returns None if there are none."""
        live = self._live_sessions()
        if live is None:
            return None
        published, newest = int(self.archive.meta(PUBLISHED) or 0), live.change_count()
        if published == newest:
            return None
        report, began = SyncReport(), time.perf_counter()
        self.indexer.open()
        with BatchTransaction(self.archive, self.indexer) as transaction:
            rows = live.changed_after(published if published < newest else 0)  # a higher number: the database was replaced
            for row in (row for row in rows if not self.archive.is_forgotten(row.id)):
                LiveReader(self.archive, self.indexer, self.settings, live, row).read(transaction, report)
        self.indexer.commit(force=True)
        self._mark_duplicates({native_id for row in rows for native_id in row.native_ids})
        with self.archive.transaction():  # last: a reader of this number finds everything that it counts
            self.archive.put_meta(PUBLISHED, str(newest))
        report.seconds = time.perf_counter() - began
        return report

    def _mark_duplicates(self, native_ids: set[str]) -> None:
        """Mark turns in agents' own logs that live sessions also have. Those logs may have been read first."""
        with self.archive.transaction():
            is_changed = self.archive.mark_duplicate_turns(sorted(native_ids))
        if is_changed:
            self.indexer.reopen()
            self.indexer.commit(force=True)

    def _live_sessions(self) -> Live | None:
        """The live sessions. They stay open, because opening and closing them looks like a change to the watcher."""
        file = file_identity(live_path(self.realm))
        if self._live is not None and self._live.file != file:
            self._live.close()
            self._live = None
        if self._live is None and file is not None:
            self._live = Live(self.realm)
        return self._live

    def sync_changed(self, paths: Iterable[Path]) -> SyncReport:
        """Read new entries of the changed files that are logs in a home of a source."""
        return self._sync(logs_of_files(paths, self.sources, self.env, self.settings), None)

    def sync_polled(self) -> SyncReport | None:
        """Read new entries of the polled logs. Only the date of each file is checked."""
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

    def _sync(
        self, found: Iterable[Log | Problem], on_progress: OnProgress | None, report: SyncReport | None = None
    ) -> SyncReport:
        report = report or SyncReport()
        began = time.perf_counter()
        forget_markers()
        logs = self._with_overlapping(self._changed(found, report))
        report.bytes_total += sum(log.stamp.size for log in logs)
        if on_progress:
            on_progress(report)
        gc.disable()  # reading makes no reference cycles, and the collector would scan every batch for them
        try:
            self._read_all(logs, report, on_progress)
            if reread := self._read_out_of_order(logs):
                self._read_all(reread, report, on_progress)
        finally:
            gc.enable()
        self.indexer.commit(force=True)
        if report.events:
            self.archive.checkpoint()
        report.seconds += time.perf_counter() - began
        return report

    def _changed(self, found: Iterable[Log | Problem], report: SyncReport) -> list[Log]:
        known = self.archive.cursors()
        logs = []
        for item in found:
            if isinstance(item, Problem):
                report.unreadable.append(f"{path_text(item.path)}: {item.reason}")
                continue
            report.files += 1
            path = path_text(item.path)
            if has_changed(known.get(path) or known.get(hidden_path(path)), item.stamp):
                logs.append(item)
        return logs

    def _with_overlapping(self, logs: list[Log]) -> list[Log]:
        """These logs in reading order, with overlapping logs that must be read from their start again."""
        self._groups = {self.archive.overlap_group(path_text(log.path)) for log in logs}
        for group in self._groups:
            if len(group) > 1:
                logs = self._with_group(group, logs)
        self._from_start = {path_text(log.path) for log in logs if self.archive.cursor(path_text(log.path)) is None}
        return sorted(logs, key=lambda log: (log.stamp.mtime_ns, path_text(log.path)))

    def _with_group(self, group: frozenset[str], logs: list[Log]) -> list[Log]:
        others = [
            log for _, log in logs_at_paths(missing_paths(group, logs), self.sources, self.settings) if isinstance(log, Log)
        ]
        changed = [log for log in logs if path_text(log.path) in group]
        if len(changed) + len(others) < len(group) or not can_reread(self.archive, [*changed, *others]):
            return logs  # the archive has events that no log has any more: they must stay
        if only_last_grew(self.archive, changed, others):
            return logs
        forget_logs(self.archive, [*changed, *others])
        return [*logs, *others]

    def _read_out_of_order(self, logs: list[Log]) -> list[Log]:
        """Logs that this sync found to overlap with others. They must be read reread in reading order."""
        groups = {self.archive.overlap_group(path_text(log.path)) for log in logs} - self._groups
        unordered = [group for group in groups if len(group) > 1 and not group <= self._from_start]
        reread = self._with_overlapping([log for log in logs if any(path_text(log.path) in group for group in unordered)])
        return [log for log in reread if path_text(log.path) in self._from_start]

    def reread_all(self) -> SyncReport:
        """Read all logs from their start. Overlapping logs are read in reading order, not in the order of before."""
        found = list(discover(self.sources, self.env, self.settings, self._projects()))
        logs = {path_text(log.path): log for log in found if isinstance(log, Log)}
        complete = {path: log for path, log in logs.items() if can_reread(self.archive, [log])}
        cursors = [cursor for path in self.archive.cursors() if (cursor := self.archive.cursor(path)) is not None]
        self.archive.drop_cursors([cursor for cursor in cursors if may_have_shrunk(logs.get(cursor.path), cursor)])
        report = self.sync()
        groups = {self.archive.overlap_group(path) for path in complete}
        overlapping = [complete[path] for group in groups if len(group) > 1 and group <= complete.keys() for path in group]
        if overlapping:
            forget_logs(self.archive, overlapping)
            self._sync(overlapping, None, SyncReport())
        return report

    def _read_all(self, logs: list[Log], report: SyncReport, on_progress: OnProgress | None) -> None:
        """Read originals before copies, because a copy repeats records of its original."""
        if not logs:
            return
        copies: list[LogReader | SnapshotReader] = []
        self.indexer.open()
        with BatchTransaction(self.archive, self.indexer) as transaction:
            for log in logs:
                reader = _reader(self, log, report)
                if reader is not None and reader.is_copy:
                    copies.append(reader)
                elif reader is not None:
                    reader.read(transaction, report, on_progress)
            for reader in copies:
                reader.read(transaction, report, on_progress)


def _reader(ingester: Ingester, log: Log, report: SyncReport) -> LogReader | SnapshotReader | None:
    try:
        match log.format:
            case Lines() as format:
                return LogReader(ingester.archive, ingester.indexer, ingester.settings, log, format)
            case Snapshots() as format:
                return SnapshotReader(ingester.archive, ingester.indexer, ingester.settings, log, format)
            case unknown:
                raise TypeError(f"{log.source.name}: {type(unknown).__name__} is neither Lines, Document nor Database")
    except FileNotFoundError:
        return None  # deleted since it was listed; its stored sessions stay
    except READ_ERRORS as reason:
        put_log_problem(ingester.archive, log, reason, report)
        return None
    except OSError as reason:
        report.unreadable.append(f"{path_text(log.path)}: {describe_error(reason)}")
        return None


def publish(realm: Path, settings: Settings) -> int:
    """Read new live messages into the archive. Returns the last change that the archive then has. Raises `StoreBusy`."""
    with Ingester(
        realm, msgspec.structs.replace(settings, sources=()), (), {}
    ) as ingester:  # without sources it reads no logs
        ingester.sync_live()
        record_pending_files(ingester.archive, parts=1)  # a caller waits; a realm of live sessions may never be synced
        return int(ingester.archive.meta(PUBLISHED) or 0)


def sync(
    realm: Path,
    settings: Settings,
    sources: tuple[Source, ...],
    env: Mapping[str, str],
    paths: Iterable[Path] | None = None,
    on_progress: OnProgress | None = None,
) -> SyncReport:
    """One sync of all logs, or of the logs at `paths`."""
    with Ingester(realm, settings, sources, env) as ingester:
        return ingester.sync(paths, on_progress)
