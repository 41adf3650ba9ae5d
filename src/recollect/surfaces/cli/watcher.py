"""Runs the watcher, the process that reads new log lines while a server answers.

One watcher per realm is enough for all servers. The server that holds the watcher's lock starts it, and restarts it when
it ends. The other servers wait for the lock in a thread that sleeps in the kernel.
"""

import logging
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from recollect import SELF_COMMAND
from recollect.errors import StoreFault
from recollect.live import LiveRealm
from recollect.realms.manifest import Backend
from recollect.store.watcher_lock import WatcherLock

DELAYS_S = (0.1, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # seconds before each restart of a watcher that keeps ending
STEADY_S = 60.0  # seconds: a watcher that ran this long works, so the delays start over when it ends
LOCK_AGAIN_S = 60.0  # seconds before another attempt to open the lock: the disk may be full, or the folder read-only

log = logging.getLogger(__name__)


class WatcherProgress(Struct, frozen=True):
    """A line of JSON that the watcher writes to its server."""

    stopped: str = ""  # why it cannot read now


@contextmanager
def watching(realm: LiveRealm, *, is_enabled: bool) -> Iterator[None]:
    """Keep a realm up to date while the block runs. A realm in memory is left out: only this process sees it."""
    if not is_enabled or realm.backend is Backend.MEMORY:
        yield
        return
    supervisor = Supervisor(realm)
    supervisor.start()
    try:
        yield
    finally:
        supervisor.close()


class Supervisor(threading.Thread):
    """Waits for the watcher's lock, then keeps a watcher running."""

    def __init__(self, realm: LiveRealm) -> None:
        super().__init__(daemon=True, name="watcher")
        self._realm = realm
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._watcher: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Stop the watcher. A thread that waits for the lock ends with the process."""
        self._stopping.set()
        with self._starting:
            if self._watcher is not None and self._watcher.stdin is not None:
                self._watcher.stdin.close()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with WatcherLock(self._realm.folder) as lock:
                    self._realm.sync_fault = ""
                    self._keep_watching(lock)
            except (StoreFault, OSError) as fault:
                self._realm.sync_fault = str(fault)
                self._stopping.wait(LOCK_AGAIN_S)

    def _keep_watching(self, lock: WatcherLock) -> None:
        """Start a watcher, and restart it whenever it ends. Delays grow while no watcher lasts."""
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            ending = self._watch(lock)
            if self._stopping.is_set():
                return
            failures = 0 if time.monotonic() - began > STEADY_S else failures
            delay = DELAYS_S[min(failures, len(DELAYS_S) - 1)]
            failures += 1
            log.warning("The watcher of realm %s ended (%s); restart in %g s", self._realm.name, ending, delay)
            lock.set_stopped(f"the process that reads them ended ({ending}). Recollect restarts it.")
            self._stopping.wait(delay)

    def _watch(self, lock: WatcherLock) -> str:
        """Run one watcher to its end. Returns how it ended."""
        command = [*SELF_COMMAND, "watch", "--while-open", "--realm", self._realm.name]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        with self._starting:
            if self._stopping.is_set():
                return "stopped"
            try:
                # In its own session: Ctrl-C in the agent's terminal must not stop reading for all other servers.
                self._watcher = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True)
            except OSError as reason:
                return f"cannot be started: {reason.strerror}"
        with self._watcher as watcher:
            assert watcher.stdout is not None
            for line in watcher.stdout:
                if (progress := _progress(line)) is not None:
                    lock.set_stopped(progress.stopped)
        return _describe_exit(watcher.returncode)


def _progress(line: bytes) -> WatcherProgress | None:
    try:
        return msgspec.json.decode(line, type=WatcherProgress)
    except msgspec.DecodeError:  # other output
        return None


def _describe_exit(code: int) -> str:
    """An exit code or a signal in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
