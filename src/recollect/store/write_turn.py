"""Waiting for the right to write a realm. A watcher writes for as long as it runs, and pauses for whoever waits."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from recollect.errors import StoreBusy
from recollect.store.lock import next_in_line

PAUSE_S = 0.05

Result = TypeVar("Result")


def write_in_turn(
    realm: Path, patience_s: float, write: Callable[[], Result], on_wait: Callable[[StoreBusy], None] = lambda busy: None
) -> Result:
    """Call `write` once no other process writes. `on_wait` is called once, before waiting.

    Raises `StoreBusy` when the other writer takes longer than `patience_s`.
    """
    try:
        return write()
    except StoreBusy as busy:
        on_wait(busy)
    until = time.monotonic() + patience_s
    with next_in_line(realm, until):
        while True:
            try:
                return write()
            except StoreBusy:
                if time.monotonic() > until or not realm.exists():  # nobody makes a deleted folder again
                    raise
                time.sleep(PAUSE_S)
