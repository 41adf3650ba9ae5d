"""Waiting for the right to write a realm. A watcher writes for as long as it runs, and lets go for whoever waits."""

import time
from collections.abc import Callable
from typing import TypeVar

from recollect.errors import StoreBusy
from recollect.live import LiveRealm
from recollect.store.lock import next_in_line

PAUSE_S = 0.05

Result = TypeVar("Result")


def in_write_turn(
    realm: LiveRealm, seconds: float, write: Callable[[], Result], on_wait: Callable[[StoreBusy], None] = lambda busy: None
) -> Result:
    """Write, after whoever writes now. `on_wait` is called once, if that takes a wait; `Busy` after so many seconds."""
    try:
        return write()
    except StoreBusy as busy:
        on_wait(busy)
    until = time.monotonic() + seconds
    with next_in_line(realm.folder, until):
        while True:
            try:
                return write()
            except StoreBusy:
                if time.monotonic() > until or not realm.folder.exists():  # nobody makes a deleted folder again
                    raise
                time.sleep(PAUSE_S)
