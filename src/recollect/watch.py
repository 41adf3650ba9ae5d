"""Keeps a realm up to date: a changed log is read within a fraction of a second.

The kernel reports changed files, so nothing is scanned while no file changes. Databases are in folders with many other
files, so their dates are polled every second instead. All logs are also checked regularly, because reports of the kernel can
be lost and a new agent can be installed at any time.
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
STEP_MS = 100  # between two checks of the kernel's reports: ten per second take 0.06 % of a processor
TICK_MS = 1_000  # between two checks of the dates of polled logs
FULL_SYNC_S = 60  # seconds between two syncs of all logs
FULL_SYNC_PAUSE = 200  # pause after a full sync, in multiples of its duration: it uses at most 0.5 % of one core
NEXT_S = 0.1  # seconds between two checks whether the process that waits to write has finished
TAKE_OVER_S = 2.0  # seconds between two attempts to become the writer while another process writes


class Observer:
    """Callbacks of the watcher. They do nothing by default."""

    def reading(self) -> None:
        """The watcher reads log lines from now on."""

    def synced(self, report: SyncReport) -> None:
        """A sync ended. It may have read nothing new."""

    def failed(self, fault: StoreFault) -> None:
        """Logs cannot be read at the moment. The watcher tries again."""

    def distil_failed(self, fault: StoreFault) -> None:
        """New events are stored, but cannot be distilled at the moment."""


def watch(
    realm: Path,
    settings: Settings,
    sources: tuple[Source, ...],
    env: Mapping[str, str],
    stop: threading.Event,
    observer: Observer,
) -> None:
    """Sync now and after every change, until `stop` is set.

    While another process writes, or the disk is full, the watcher waits and tries again. A second thread distils new
    events. It pauses while logs are read.
    """
    with DistilThread(realm, settings, env, stop, observer.distil_failed) as distilling:
        on_sync = distilling.waking(observer.synced)
        while not stop.is_set():
            if is_held(realm, NEXT):  # another process waits to write; the watcher continues after it
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
    """Read changes until `stop` is set or another process waits to write."""
    while not stop.is_set():
        homes = _homes(ingester)
        full_sync_at = time.monotonic()  # at once, because logs may have changed before the kernel watched them
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
            for new in (ingester.sync_live(), ingester.sync_polled()):
                if new is not None:
                    on_sync(new)


class DistilThread(threading.Thread):
    """Distils new events when woken, in small steps. It pauses while logs are read."""

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
        self._work.set()  # an earlier process may have left undistilled events
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
        """Whether to stop. It is called between two steps, and blocks while logs are read."""
        with self._reading:
            return self._stop_all.is_set()

    def run(self) -> None:
        while not self._stop_all.is_set():
            self._work.wait()
            self._work.clear()
            try:
                is_done = self._distil()
            except OutOfDate:  # the first sync has not created the archive yet
                is_done = False
            except StoreFault as fault:
                self._on_fault(fault)
                is_done = False
            if not is_done and not self._stop_all.wait(TAKE_OVER_S):  # another process distils, or the disk is full
                self._work.set()


def _changes(homes: list[Path], stop: threading.Event) -> Iterator[set[tuple[watchfiles.Change, str]]]:
    """Sets of changes when they happen, and an empty set every second without changes."""
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
    """The folders that the kernel watches, with all their subfolders."""
    formats = [format for source in ingester.sources for format in source.formats if not format.is_polled]
    homes = {home for format in formats for home in format.homes(ingester.env) if home.is_dir()}
    live = live_path(ingester.realm).parent
    with suppress(OSError):  # such as a full disk
        live.mkdir(exist_ok=True, mode=0o700)  # so that the first live session is noticed
        homes.add(live)
    return sorted(home for home in homes if not homes & set(home.parents))
