"""From live sessions to the archive: what is committed of them is read, folded, kept and indexed as any log is.

A turn does not wait for that; whoever reads the archive does, for a moment. The writer of a realm may be any process: where
another one has the right, that one does the work, because it looks for it (`watch`).
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from recollect.errors import ReadOnlyFolder, StoreBusy
from recollect.settings import Settings
from recollect.store import archive_of, file_at, is_database
from recollect.store.lock import is_held

WITHIN_S = 1.0  # seconds that a reader waits for what was committed before it asked; another process may be busy for long
OURS_S = 10.0  # the same where we do it ourselves: a moment, but for a machine that is very busy
STEP_S = 0.01
REST_S = 5.0  # seconds in which no reader waits again after one has waited in vain
SHARE = 2  # times as long as publishing took, it rests: many turns are published together, and cost a third of a core
CLOSING_S = 10.0  # seconds that a process gives to what it has committed, before it ends

log = logging.getLogger(__name__)


class Publisher:
    """Of one realm, for all threads of a process."""

    def __init__(self, folder: Path, settings: Settings, changes: Callable[[], int]) -> None:
        """`changes` grows with whatever is committed of live sessions, and is 0 where there never were any."""
        self._folder = folder
        self._settings = settings
        self._changes = changes
        self._known: tuple[object, int] = (None, -1)  # an archive's file, and up to which change it is level
        self._rest_until = 0.0
        self._work = threading.Event()
        self._pause = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._publishing = threading.Lock()

    def wake(self) -> None:
        """Something was committed: publish it behind the caller's back."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="publishing")
                self._thread.start()
        self._work.set()

    def catch_up(self, within_s: float = WITHIN_S) -> bool:
        """Wait until all that is committed now can be read in the archive; False where that took too long."""
        try:
            wanted = self._changes()
            return wanted == 0 or self._catch_up(wanted, within_s)
        except ReadOnlyFolder:  # what is in the archive is all that can be read
            return False
        except Exception as fault:  # noqa: BLE001 - what is in the archive can be read nevertheless
            log.warning("Live sessions could not be published: %s", fault or type(fault).__name__)
            return False

    def _catch_up(self, wanted: int, within_s: float) -> bool:
        until = time.monotonic() + (within_s if time.monotonic() > self._rest_until else 0)
        while not self._is_caught_up(wanted):
            if self._publishing.acquire(timeout=OURS_S):  # one of our threads does it for all, and is about to be done
                try:
                    if not self._is_caught_up(wanted):
                        self._publish(wanted)
                finally:
                    self._publishing.release()
            if self._is_caught_up(wanted):
                break
            if time.monotonic() >= until:
                self._rest_until = time.monotonic() + REST_S
                return False
            time.sleep(STEP_S)
        return True

    def _is_caught_up(self, wanted: int) -> bool:
        file, level = self._known
        return level >= wanted and file == file_at(archive_of(self._folder))

    def _publish(self, wanted: int) -> None:
        """Publish, unless another process does; and learn up to which change the archive is level now."""
        from recollect.ingest import publish  # heavy
        from recollect.ingest.live import level_of  # heavy, and not needed before the first live session

        known = level_of(self._folder)
        if not wanted <= known <= self._changes() and not is_held(self._folder):
            try:
                known = publish(self._folder, self._settings)
            except StoreBusy:
                known = level_of(self._folder)
        archive = archive_of(self._folder)
        is_ours = known <= self._changes()  # more than there are were counted by another database
        is_ours = is_ours and is_database(archive)  # which keeps it open: no other file can be taken for it
        self._known = file_at(archive), known if is_ours else -1

    def close(self) -> None:
        """Publish what is left, and stop."""
        with self._starting:
            thread, self._closing = self._thread, True
        self._work.set()
        self._pause.set()
        if thread is not None:
            self.catch_up(CLOSING_S)
            thread.join(CLOSING_S)

    def _run(self) -> None:
        from recollect.distil import distil

        while not self._closing:
            self._work.wait()
            self._work.clear()
            began = time.monotonic()
            self.catch_up(CLOSING_S)
            try:
                distil(self._folder, self._settings, {}, lambda: self._closing)
            except Exception as fault:  # noqa: BLE001 - the next turn is published nevertheless
                log.warning("What was said could not be distilled: %s", fault)
            self._pause.wait((time.monotonic() - began) * SHARE)
