"""Keeps a realm up to date: when a log changes, what is new in it is read within a fraction of a second.

The kernel says which files changed; nothing is scanned while nothing happens. What lies among much else, as databases do, is
not worth watching all of that for: its date is asked for every second. Because such messages can be lost, and a
new agent may be installed at any time, everything is looked over now and then as well.
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
STEP_MS = 100  # between two looks at what the kernel reported: ten wake-ups a second take 0.06 % of a processor
TICK_MS = 1_000  # between two looks at the dates of what is polled
LOOK_OVER_S = 60  # seconds between two looks at everything
REST = 200  # times as long as such a look took: where there are very many logs, half a percent of one core at most
NEXT_S = 0.1  # seconds between two looks whether whoever wanted to write has done so
TAKE_OVER_S = 2.0  # seconds between two attempts to become the writer while another process is


class Observer:
    """Hears how watching goes."""

    def reading(self) -> None:
        """Log lines are read from now on."""

    def synced(self, report: SyncReport) -> None:
        """Something was read, or nothing was new."""

    def failed(self, fault: StoreFault) -> None:
        """Nothing can be read for now; it is tried again."""

    def distil_failed(self, fault: StoreFault) -> None:
        """What was read is kept, but nothing is made of it for now."""


def watch(
    realm: Path,
    settings: Settings,
    sources: tuple[Source, ...],
    env: Mapping[str, str],
    stop: threading.Event,
    observer: Observer,
) -> None:
    """Sync now and after every change, until told to stop.

    While another process writes, wait to take over from it; while the disk is full, wait for room. What was read is
    distilled by a thread beside this one, which rests while logs are being read.
    """
    with Background(realm, settings, env, stop, observer.distil_failed) as memory:
        told = memory.waking(observer.synced)
        while not stop.is_set():
            if is_held(realm, NEXT):  # somebody wants to write once; then it is our turn again
                stop.wait(NEXT_S)
                continue
            try:
                with Ingester(realm, settings, sources, env) as intake:
                    observer.reading()
                    with memory.resting():
                        report = intake.sync()
                    told(report)
                    _follow(intake, stop, told, memory)
            except StoreBusy:
                stop.wait(TAKE_OVER_S)
            except StoreFault as fault:
                observer.failed(fault)
                stop.wait(TAKE_OVER_S)


def _follow(intake: Ingester, stop: threading.Event, on_sync: Callable[[SyncReport], None], memory: "Background") -> None:
    """Read what changes, until told to stop or until somebody else wants to write."""
    while not stop.is_set():
        homes = _homes(intake)
        look_over_at = time.monotonic()  # at once: something may have been written while we settled in
        for changes in _changes(homes, stop):
            if stop.is_set() or is_held(intake.realm, NEXT):
                return
            began = time.monotonic()
            if began >= look_over_at:
                with memory.resting():
                    report = intake.sync()
                on_sync(report)
                now = time.monotonic()
                look_over_at = now + max(LOOK_OVER_S, (now - began) * REST)
                if _homes(intake) != homes:
                    break  # an agent was installed: watch its folder too
                continue
            if changes:
                with memory.resting():
                    report = intake.sync_changed(Path(path) for _, path in changes)
                on_sync(report)
            for found in (intake.sync_live(), intake.sync_polled()):
                if found is not None:
                    on_sync(found)


class Background(threading.Thread):
    """Distils when woken, in small steps, none of them while logs are being read."""

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
        self._work.set()  # an earlier process may have left something undone
        self._reading = threading.Lock()

    def __enter__(self) -> "Background":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_all.set()
        self._work.set()
        self.join()

    def waking(self, on_sync: Callable[[SyncReport], None]) -> Callable[[SyncReport], None]:
        """Tell of a sync, and distil what it read."""

        def told(report: SyncReport) -> None:
            on_sync(report)
            if report.files_read:
                self._work.set()

        return told

    def resting(self) -> threading.Lock:
        """Held while logs are read."""
        return self._reading

    def _should_stop(self) -> bool:
        """Asked between two steps: waits here while somebody reads logs."""
        with self._reading:
            return self._stop_all.is_set()

    def run(self) -> None:
        while not self._stop_all.is_set():
            self._work.wait()
            self._work.clear()
            try:
                done = self._distil()
            except OutOfDate:  # the first sync has not made the archive yet
                done = False
            except StoreFault as fault:
                self._on_fault(fault)
                done = False
            if not done and not self._stop_all.wait(TAKE_OVER_S):  # another process is at it, or the disk is full
                self._work.set()


def _changes(homes: list[Path], stop: threading.Event) -> Iterator[set[tuple[watchfiles.Change, str]]]:
    """What changed, when it changed; nothing once a second where nothing does."""
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


def _homes(intake: Ingester) -> list[Path]:
    """The folders that the kernel is to watch, with all that is in them."""
    formats = [format for source in intake.sources for format in source.formats if not format.is_polled]
    homes = {home for format in formats for home in format.homes(intake.env) if home.is_dir()}
    live = live_path(intake.realm).parent
    with suppress(OSError):  # a full disk, say
        live.mkdir(exist_ok=True, mode=0o700)  # so that the first session that is run here is noticed as any other is
        homes.add(live)
    return sorted(home for home in homes if not homes & set(home.parents))
