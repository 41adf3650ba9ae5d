"""Reading logs while a server answers is the work of another process, the watcher, so that answers never wait for it.

One watcher per realm is enough, whatever the number of servers: the server that holds the watcher's place starts it, and
starts it again when it ends. All other servers wait for the place in a thread that sleeps in the kernel.
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

from recollect import OURS
from recollect.errors import StoreFault
from recollect.live import LiveRealm
from recollect.realms.manifest import Backend
from recollect.store.watcher_lock import WatcherLock

DELAYS_S = (0.1, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # before each new start of a watcher that ends again and again
STEADY_S = 60.0  # a watcher that ran for so long counts as working: when it ends, the next one starts at once
PLACE_AGAIN_S = 60.0  # before a lock that cannot be opened is tried again: the disk may be full, or the folder read-only

log = logging.getLogger(__name__)


class Progress(Struct, frozen=True):
    """A line that the watcher writes to its server."""

    stopped: str = ""  # why it cannot read for now


@contextmanager
def watching(realm: LiveRealm, *, is_wanted: bool) -> Iterator[None]:
    """Keep a realm level with the logs of this machine for as long as the block lasts; not one that only we can see."""
    if not is_wanted or realm.backend is Backend.MEMORY:
        yield
        return
    supervisor = Supervisor(realm)
    supervisor.start()
    try:
        yield
    finally:
        supervisor.close()


class Supervisor(threading.Thread):
    """Waits for the watcher's place, then keeps a watcher running."""

    def __init__(self, realm: LiveRealm) -> None:
        super().__init__(daemon=True, name="watcher")
        self._realm = realm
        self._stop_all = threading.Event()
        self._starting = threading.Lock()
        self._watcher: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the watcher. A thread that waits for the place ends with the process."""
        self._stop_all.set()
        with self._starting:
            if self._watcher is not None and self._watcher.stdin is not None:
                self._watcher.stdin.close()

    def run(self) -> None:
        while not self._stop_all.is_set():
            try:
                with WatcherLock(self._realm.folder) as place:
                    self._realm.sync_fault = ""
                    self._keep_watching(place)
            except (StoreFault, OSError) as fault:
                self._realm.sync_fault = str(fault)
                self._stop_all.wait(PLACE_AGAIN_S)

    def _keep_watching(self, place: WatcherLock) -> None:
        """Start a watcher, and another one whenever it ends; ever more slowly while none of them lasts."""
        failures = 0
        while not self._stop_all.is_set():
            began = time.monotonic()
            ended = self._watch(place)
            if self._stop_all.is_set():
                return
            failures = 0 if time.monotonic() - began > STEADY_S else failures
            delay = DELAYS_S[min(failures, len(DELAYS_S) - 1)]
            failures += 1
            log.warning("The watcher of realm %s ended (%s); the next one starts in %g s", self._realm.name, ended, delay)
            place.set_stopped(f"the process that reads them ended ({ended}); Recollect starts it again.")
            self._stop_all.wait(delay)

    def _watch(self, place: WatcherLock) -> str:
        """Run one watcher to its end; how it ended."""
        command = [*OURS, "watch", "--while-open", "--realm", self._realm.name]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        with self._starting:
            if self._stop_all.is_set():
                return "not wanted"
            try:
                # In a session of its own: a terminal that stops the agent must not stop reading for all other windows.
                self._watcher = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, start_new_session=True)
            except OSError as reason:
                return f"it cannot be started: {reason.strerror}"
        with self._watcher as watcher:
            assert watcher.stdout is not None
            for line in watcher.stdout:
                if (progress := _progress(line)) is not None:
                    place.set_stopped(progress.stopped)
        return _ending(watcher.returncode)


def _progress(line: bytes) -> Progress | None:
    try:
        return msgspec.json.decode(line, type=Progress)
    except msgspec.DecodeError:  # something else that was printed
        return None


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
