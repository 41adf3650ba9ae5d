"""Publishes live sessions: copies what was committed into the archive and indexes it, as ingest does with logs.

A turn does not wait for this. A reader of the archive waits briefly for everything committed before its request.
Any process may write the archive: if another one holds the lock, that one publishes.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from recollect.distil import distil
from recollect.errors import ReadOnlyFolder, StoreBusy
from recollect.settings import Settings
from recollect.store import archive_path, file_identity, is_database
from recollect.store.lock import is_held

WAIT_S = 1.0  # seconds that a reader waits for another process to publish, which may be busy for a long time
LOCK_WAIT_S = 10.0  # seconds that it waits for a thread of this process; only an overloaded machine needs them
POLL_S = 0.01
NO_WAIT_S = 5.0  # seconds without any waiting after a wait has timed out
REST_FACTOR = 2  # sleep twice as long as the last run took: publishing uses at most a third of a core
CLOSE_S = 10.0  # seconds that closing waits for the last commits to be published

log = logging.getLogger(__name__)


class Publisher:
    """Publishes one realm's live sessions, for all threads of a process."""

    def __init__(self, folder: Path, settings: Settings, changes: Callable[[], int]) -> None:
        """`changes` returns the change counter of live sessions; 0 if there never were any."""
        self._folder = folder
        self._settings = settings
        self._changes = changes
        self._published: tuple[object, int] = (None, -1)  # an archive's file, and the last change it has
        self._no_wait_until = 0.0
        self._has_work = threading.Event()
        self._stop_resting = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        self._publish_lock = threading.Lock()

    def wake(self) -> None:
        """Publish and distil in the background: something was committed."""
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="publisher")
                self._thread.start()
        self._has_work.set()

    def catch_up(self, wait_s: float = WAIT_S) -> bool:
        """Wait until the archive has everything committed before this call; False if that takes too long."""
        try:
            target = self._changes()
            return target == 0 or self._wait_for(target, wait_s)
        except ReadOnlyFolder:  # the archive can be read nevertheless
            return False
        except Exception as fault:  # noqa: BLE001 - the archive can be read nevertheless
            log.warning("Live sessions could not be published: %s", fault or type(fault).__name__)
            return False

    def _wait_for(self, target: int, wait_s: float) -> bool:
        now = time.monotonic()
        deadline = now + (wait_s if now > self._no_wait_until else 0)
        while not self._publish(target):
            if time.monotonic() >= deadline:
                self._no_wait_until = time.monotonic() + NO_WAIT_S
                return False
            time.sleep(POLL_S)
        return True

    def _publish(self, target: int) -> bool:
        """Publish in one thread of this process at a time; True once the archive has this change."""
        if self._is_published(target):
            return True
        if not self._publish_lock.acquire(timeout=LOCK_WAIT_S):
            return False
        try:
            if not self._is_published(target):  # another thread may have done it while we waited
                self._publish_unless_locked(target)
        finally:
            self._publish_lock.release()
        return self._is_published(target)

    def _is_published(self, target: int) -> bool:
        file, published = self._published
        return published >= target and file == file_identity(archive_path(self._folder))

    def _publish_unless_locked(self, target: int) -> None:
        """Publish, unless another process holds the lock. Remembers the last change that the archive has."""
        from recollect.ingest import publish  # 150 ms of CPU to import; not needed without live sessions
        from recollect.ingest.live import published_change

        published = published_change(self._folder)
        if not target <= published <= self._changes() and not is_held(self._folder):
            try:
                published = publish(self._folder, self._settings)
            except StoreBusy:
                published = published_change(self._folder)
        archive = archive_path(self._folder)
        is_ours = published <= self._changes()  # a higher number was counted by another live database
        is_ours = is_ours and is_database(archive)  # also keeps the file open, so that its inode is not reused
        self._published = file_identity(archive), published if is_ours else -1

    def close(self) -> None:
        """Publish the last commits, and stop the thread."""
        with self._start_lock:
            thread, self._is_closing = self._thread, True
        self._has_work.set()
        self._stop_resting.set()
        if thread is not None:
            self.catch_up(CLOSE_S)
            thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._is_closing:
            self._has_work.wait()
            self._has_work.clear()
            began = time.monotonic()
            self.catch_up(CLOSE_S)
            try:
                distil(self._folder, self._settings, {}, lambda: self._is_closing)
            except Exception as fault:  # noqa: BLE001 - the next turn is published nevertheless
                log.warning("New turns could not be distilled: %s", fault)
            self._stop_resting.wait((time.monotonic() - began) * REST_FACTOR)
