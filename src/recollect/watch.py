"""Keeps a realm up to date: when a log changes, it is read within a fraction of a second.

The kernel reports which files changed, so nothing is scanned while nothing happens. Databases lie in folders with many other
files, so their dates are polled every second instead. Kernel messages can be lost, and a new agent can be installed at any
time, so all logs are checked now and then, too.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import watchfiles

from recollect.distil import distil
from recollect.errors import StoreBusy, StoreFault
from recollect.ingest import Ingester, SyncReport
from recollect.settings import Settings
from recollect.sources import Source
from recollect.store import OutOfDate
from recollect.store.live import live_path
from recollect.store.lock import NEXT, is_held

SETTLE_MS = 150  # changes within this time are read together
STEP_MS = 100  # between two checks of what the kernel reported: ten a second take 0.06 % of a processor
TICK_MS = 1_000  # between two checks of the dates of polled logs
FULL_SYNC_S = 60  # seconds between two syncs of all logs
FULL_SYNC_PAUSE = 200  # times as long as the last full sync took: with many logs, 0.5 % of one core at most
NEXT_S = 0.1  # seconds between two checks whether the process that wants to write has finished
TAKE_OVER_S = 2.0  # seconds between two attempts to become the writer while another process is


class Observer:
    """Callbacks of the watcher. They do nothing by default."""

    def reading(self) -> None:
        """The watcher reads log lines from now on."""

    def synced(self, report: SyncReport) -> None:
        """A sync ended, whether anything was new or not."""

    def failed(self, fault: StoreFault) -> None:
        """Logs cannot be read for now. The watcher tries again."""

    def distil_failed(self, fault: StoreFault) -> None:
        """What was read is stored, but cannot be distilled for now."""


def watch(
    realm: Path,
    settings: Settings,
    sources: tuple[Source, ...],
    env: Mapping[str, str],
    stop: threading.Event,
    observer: Observer,
) -> None:
    """Sync now and after every change, until `stop` is set.

    While another process writes, or the disk is full, it waits and tries again. A second thread distils what was read. It
    pauses while logs are read.
    """
    with DistilThread(realm, settings, env, stop, observer.distil_failed) as distilling:
        on_sync = distilling.waking(observer.synced)
        while not stop.is_set():
            if is_held(realm, NEXT):  # another process wants to write; the watcher continues after it
                stop.wait(NEXT_S)
                continue
            try:
                with Ingester(realm, settings, sources, env) as ingester:
                    observer.reading()
                    with distilling.paused():
                        report = ingester.sync()
                    on_sync(report)
                    _follow(ingester, stop, on_sync, distilling)
            except StoreBusy:
                stop.wait(TAKE_OVER_S)
            except StoreFault as fault:
                observer.failed(fault)
                stop.wait(TAKE_OVER_S)


def _follow(
    ingester: Ingester, stop: threading.Event, on_sync: Callable[[SyncReport], None], distilling: "DistilThread"
) -> None:
    """Read what changes, until `stop` is set or another process wants to write."""
    while not stop.is_set():
        homes = _homes(ingester)
        full_sync_at = time.monotonic()  # at once: logs may have changed before the kernel watched them
        for changes in _changes(homes, stop):
            if stop.is_set() or is_held(ingester.realm, NEXT):
                return
            began = time.monotonic()
            if began >= full_sync_at:
                with distilling.paused():
                    report = ingester.sync()
                on_sync(report)
                now = time.monotonic()
                full_sync_at = now + max(FULL_SYNC_S, (now - began) * FULL_SYNC_PAUSE)
                if _homes(ingester) != homes:
                    break  # an agent was installed: watch its folder too
                continue
            if changes:
                with distilling.paused():
                    report = ingester.sync_changed(Path(path) for _, path in changes)
                on_sync(report)
            for found in (ingester.sync_live(), ingester.sync_polled()):
                if found is not None:
                    on_sync(found)


class DistilThread(threading.Thread):
    """Distils when woken, in small steps, and pauses while logs are read."""

    def __init__(
        self,
        realm: Path,
        settings: Settings,
        env: Mapping[str, str],
        stop: threading.Event,
        on_fault: Callable[[StoreFault], None],
    ) -> None:
        super().__init__(daemon=True)
        self._distil = partial(distil, realm, settings, env, self._should_stop)
        self._stop_all = stop
        self._on_fault = on_fault
        self._work = threading.Event()
        self._work.set()  # an earlier process may have left something to do
        self._reading = threading.Lock()

    def __enter__(self) -> "DistilThread":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_all.set()
        self._work.set()
        self.join()

    def waking(self, on_sync: Callable[[SyncReport], None]) -> Callable[[SyncReport], None]:
        """A callback that passes a report on, and wakes this thread if the sync read anything."""

        def wake(report: SyncReport) -> None:
            on_sync(report)
            if report.files_read:
                self._work.set()

        return wake

    def paused(self) -> threading.Lock:
        """The lock to hold while logs are read."""
        return self._reading

    def _should_stop(self) -> bool:
        """Called between two steps. It blocks while logs are read."""
        with self._reading:
            return self._stop_all.is_set()

    def run(self) -> None:
        while not self._stop_all.is_set():
            self._work.wait()
            self._work.clear()
            try:
                done = self._distil()
            except OutOfDate:  # the first sync has not created the archive yet
                done = False
            except StoreFault as fault:
                self._on_fault(fault)
                done = False
            if not done and not self._stop_all.wait(TAKE_OVER_S):  # another process distils, or the disk is full
                self._work.set()


def _changes(homes: list[Path], stop: threading.Event) -> Iterator[set[tuple[watchfiles.Change, str]]]:
    """Sets of changes as they happen; an empty set every second if nothing happens."""
    while not homes and not stop.wait(TICK_MS / 1000):
        yield set()
    yield from watchfiles.watch(
        *homes,
        watch_filter=None,
        stop_event=stop,
        debounce=SETTLE_MS,
        step=STEP_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
    )


def _homes(ingester: Ingester) -> list[Path]:
    """The folders that the kernel watches, with everything in them."""
    formats = [format for source in ingester.sources for format in source.formats if not format.is_polled]
    homes = {home for format in formats for home in format.homes(ingester.env) if home.is_dir()}
    live = live_path(ingester.realm).parent
    with suppress(OSError):  # such as a full disk
        live.mkdir(exist_ok=True, mode=0o700)  # so that the first live session is noticed
        homes.add(live)
    return sorted(home for home in homes if not homes & set(home.parents))
