"""The watcher's lock: only the process that holds it starts the watcher.

Waiting for it costs nothing: the kernel wakes one waiting process when the holder ends. The lock file states whether reading
has stopped, so that every process can warn about it.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from recollect.store.lock import WATCHING, is_held, open_lock_file

MAX_BYTES = 4_096  # of the lock file that are read


class WatchState(Struct):
    """The content of the lock file."""

    pid: int
    stopped: str = ""  # why new log lines are not being read; empty while they are


class WatcherLock:
    """The lock, held until it is closed or this process ends."""

    def __init__(self, realm: Path) -> None:
        """Wait until the lock is free, without a time limit."""
        self._handle = open_lock_file(realm, WATCHING)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            self.set_stopped("")
        except BaseException:
            self.close()
            raise

    def set_stopped(self, stopped: str) -> None:
        """Store why reading has stopped, for other processes. An empty text means that it has not."""
        state = msgspec.json.encode(WatchState(os.getpid(), stopped))
        with suppress(OSError):  # on a full disk the lock still holds, without the text
            os.pwrite(self._handle, state, 0)
            os.ftruncate(self._handle, len(state))

    def close(self) -> None:
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def why_stopped(realm: Path) -> str:
    """Why the watcher of a realm does not read new log lines; empty if it does, or if there is none."""
    try:
        with (realm / WATCHING).open("rb") as file:
            state = msgspec.json.decode(file.read(MAX_BYTES), type=WatchState)
    except (OSError, msgspec.DecodeError):  # there is no watcher, or it is writing the file now
        return ""
    return state.stopped if state.stopped and is_held(realm, WATCHING) else ""
