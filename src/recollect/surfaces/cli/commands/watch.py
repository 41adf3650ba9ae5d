"""recollect watch"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from recollect.errors import StoreFault
from recollect.ingest import SyncReport
from recollect.sources import all_sources
from recollect.store.watcher_lock import WatcherLock
from recollect.surfaces.cli.commands.sync import sentence
from recollect.surfaces.cli.finish_forgetting import finish_or_warn
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options
from recollect.surfaces.cli.render import say
from recollect.surfaces.cli.watcher import WatcherProgress
from recollect.watch import Observer, watch

POLL_S = 0.2  # seconds between two checks whether we hold the lock; signals are handled in between


@click.command("watch")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
@click.option("--while-open", is_flag=True, hidden=True, help="Stop when standard input closes.")
@realm_options
def command(quiet: bool, while_open: bool, **realm: object) -> None:
    """Read new log lines as agents write them.

    Syncs now, and again within a fraction of a second after every change. Stop with Ctrl-C.

    \b
    recollect watch
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    finish_or_warn(opened)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if while_open:  # the server that started this process holds the watcher's lock
        threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
        watch(opened.folder, opened.settings, all_sources(), os.environ, stop, _ServerObserver())
        return
    with _watcher_lock(opened.folder, stop):
        watch(opened.folder, opened.settings, all_sources(), os.environ, stop, _TerminalObserver(quiet=quiet))


def _stop_at_end_of_input(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()


@contextmanager
def _watcher_lock(realm: Path, stop: threading.Event) -> Iterator[None]:
    """Hold the watcher's lock. A thread waits for it, so that a signal can end the wait."""
    outcome: list[WatcherLock | StoreFault] = []
    thread = threading.Thread(target=lambda: outcome.append(_take_lock(realm)), daemon=True)
    thread.start()
    while not stop.is_set() and thread.is_alive():
        thread.join(POLL_S)
    if outcome and isinstance(outcome[0], StoreFault):
        raise outcome[0]
    yield  # the end of the process releases the lock


def _take_lock(realm: Path) -> WatcherLock | StoreFault:
    try:
        return WatcherLock(realm)
    except StoreFault as fault:
        return fault


class _TerminalObserver(Observer):
    """Prints what was read."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def synced(self, report: SyncReport) -> None:
        if not self._quiet and (report.files_read or report.unreadable):
            click.echo(sentence(report))

    def failed(self, fault: StoreFault) -> None:
        say(f"! {fault}", err=True)

    distil_failed = failed


class _ServerObserver(Observer):
    """Reports to the server that started this process: one line of JSON for every change."""

    def __init__(self) -> None:
        self._last: WatcherProgress | None = None

    def reading(self) -> None:
        self._send(WatcherProgress())

    def synced(self, report: SyncReport) -> None:
        self._send(WatcherProgress())

    def failed(self, fault: StoreFault) -> None:
        self._send(WatcherProgress(stopped=str(fault)))

    def _send(self, progress: WatcherProgress) -> None:
        if progress != self._last:
            self._last = progress
            sys.stdout.buffer.write(msgspec.json.encode(progress) + b"\n")
            sys.stdout.buffer.flush()
