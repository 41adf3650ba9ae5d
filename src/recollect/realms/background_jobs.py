"""Background jobs of a realm: `recollect` commands that repair its index or distil its memory."""

import os
import subprocess
from pathlib import Path

from recollect import SELF_COMMAND
from recollect.store.lock import is_held


class BackgroundJobs:
    """Starts at most one process per lock, and none while any process holds the lock."""

    def __init__(self, folder: Path, realm: str, state_folder: Path) -> None:
        self._folder = folder
        self._realm = realm
        self._state_folder = state_folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}  # by the lock that each holds

    def start(self, lock: str, *command: str) -> None:
        """Start a command, unless it is running already or the folder cannot be written."""
        job = self._processes.get(lock)
        is_running = is_held(self._folder, lock) or (job is not None and job.poll() is None)
        if is_running or not os.access(self._folder, os.W_OK):
            return
        null = subprocess.DEVNULL
        self._processes[lock] = subprocess.Popen(
            [*SELF_COMMAND, *command, "--quiet", "--realm", self._realm],
            env={**os.environ, "RECOLLECT_HOME": str(self._state_folder)},
            stdin=null,
            stdout=null,
            stderr=null,
        )

    def wait(self, lock: str) -> None:
        """Wait until the job that this process started has ended."""
        if lock in self._processes:
            self._processes[lock].wait()
