"""The watcher's place: of all processes that could read new log lines, the one that holds this lock starts the watcher.

Waiting for the place costs nothing: the kernel wakes one of those who wait when its holder ends. The lock file says whether
reading has stopped, so that every process that answers questions can warn of it.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from recollect.store.lock import WATCHING, is_held, opened

LONGEST = 4_096  # bytes of the lock file that are read


class WatchState(Struct):
    """What the holder of the place says in the lock file."""

    pid: int
    stopped: str = ""  # why new log lines are not being read; empty while they are


class WatcherLock:
    """The place, from the moment it is ours until it is closed or this process ends."""

    def __init__(self, realm: Path) -> None:
        """Wait until the place is free, for as long as that takes."""
        self._handle = opened(realm, WATCHING)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            self.say("")
        except BaseException:
            self.close()
            raise

    def say(self, stopped: str) -> None:
        """Tell others why reading has stopped; an empty text says that it goes on."""
        state = msgspec.json.encode(WatchState(os.getpid(), stopped))
        with suppress(OSError):  # on a full disk nobody learns of it, but the place is ours
            os.pwrite(self._handle, state, 0)
            os.ftruncate(self._handle, len(state))

    def close(self) -> None:
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def why_stopped(realm: Path) -> str:
    """Why the watcher of a realm does not read new log lines; empty where it does, or where there is none."""
    try:
        with (realm / WATCHING).open("rb") as file:
            state = msgspec.json.decode(file.read(LONGEST), type=WatchState)
    except (OSError, msgspec.DecodeError):  # nobody watches, or the holder is writing right now
        return ""
    return state.stopped if state.stopped and is_held(realm, WATCHING) else ""
