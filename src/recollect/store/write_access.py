"""Waits for write access to a realm. A watcher writes as long as it runs, and pauses for a process that waits."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from recollect.errors import StoreBusy
from recollect.store.lock import next_in_line

PAUSE_S = 0.05  # seconds between two attempts

Result = TypeVar("Result")


def write_when_free(
    realm: Path, timeout_s: float, write: Callable[[], Result], on_wait: Callable[[StoreBusy], None] = lambda busy: None
) -> Result:
    """Call `write` when no other process writes. `on_wait` is called once, before waiting.

    Raises `StoreBusy` if the other process writes longer than `timeout_s`.
    """
    try:
        return write()
    except StoreBusy as busy:
        on_wait(busy)
    until = time.monotonic() + timeout_s
    with next_in_line(realm, until):
        while True:
            try:
                return write()
            except StoreBusy:
                if time.monotonic() > until or not realm.exists():  # a deleted realm is not created again
                    raise
                time.sleep(PAUSE_S)
