"""A process at work in a realm: its lease, its heart, and the turns that it runs.

The lease is a lock of the kernel's, which dies with its holder, and a beat that a holder which hangs no longer gives. Either
tells others that its turns have crashed. Beats count by the machine's steady clock, so that no change of date can end one.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from recollect.errors import StoreFault
from recollect.realms.names import uuid7
from recollect.runners import Cancel
from recollect.store.live import LeaseRow, Live, live_of
from recollect.store.lock import exclusive, is_held

BEAT_S = 5.0
STALE_S = 30.0  # without a beat, a holder counts as gone
LOOK_S = 0.2  # seconds between two looks whether another process wants a turn of ours to end
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

log = logging.getLogger(__name__)


def is_alive(live: Live, holder: str) -> bool:
    """Whether the process that this lease was given to is still there and at work."""
    lease = live.lease(holder)
    if lease is None or not is_held(live.path.parent, _lock(holder)):
        return False
    return lease.boot == boot() and steady_ms() - lease.beat < STALE_S * 1000


def boot() -> str:
    """Which start of the machine this is; empty where the system does not say."""
    try:
        return BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _lock(holder: str) -> str:
    return f"{holder}.lease"


class Lease(threading.Thread):
    """Held from the first turn, or from the start of a server, to the end of the process."""

    def __init__(self, realm: Path, instance: str, surface: str) -> None:
        super().__init__(daemon=True, name="heart")
        self.holder = str(uuid7())
        self._row = LeaseRow(self.holder, instance, surface, os.getpid(), time.time_ns() // 1_000_000, boot(), steady_ms())
        self._realm = realm
        self._turns: dict[bytes, tuple[Cancel, Callable[[], bool]]] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._stack = ExitStack()
        self._stack.enter_context(exclusive(live_of(realm).parent, _lock(self.holder)))
        try:
            with Live(realm) as live:
                _sweep(live)
                live.beat(self._row)
        except BaseException:
            self._stack.close()
            raise
        self.start()

    def hold(self, token: bytes, cancel: Cancel, is_unwanted: Callable[[], bool]) -> None:
        """A turn of ours has begun: others may ask for its end, and so may whoever asked for it."""
        with self._changed:
            self._turns[token] = (cancel, is_unwanted)
            self._changed.notify_all()

    def let_go(self, token: bytes) -> None:
        with self._changed:
            self._turns.pop(token, None)

    def cancel(self, token: bytes) -> bool:
        """End a turn at once, if it is one of ours."""
        with self._changed:
            turn = self._turns.get(token)
        if turn is not None:
            turn[0].set()
        return turn is not None

    def close(self) -> None:
        """Cancel what still runs, and give the lease back."""
        with self._changed:
            self._closing = True
            turns = list(self._turns.values())
            self._changed.notify_all()
        for cancel, _ in turns:
            cancel.set()
        self.join()
        self._stack.close()
        (live_of(self._realm).parent / _lock(self.holder)).unlink(missing_ok=True)

    def run(self) -> None:
        beat_at = time.monotonic() + BEAT_S
        with Live(self._realm) as live:
            while self._wait(beat_at):
                try:
                    if time.monotonic() >= beat_at:
                        beat_at = time.monotonic() + BEAT_S
                        live.beat(self._beaten())
                    self._look(live)
                except StoreFault as fault:  # a full disk may have room again at the next beat
                    log.warning("The lease could not be renewed: %s", fault)
            try:
                live.release(self.holder)
            except StoreFault as fault:
                log.warning("The lease could not be given back: %s", fault)

    def _wait(self, beat_at: float) -> bool:
        """Until there is something to do: soon while turns run, else at the next beat. False: nothing any more."""
        with self._changed:
            rest = max(0.0, beat_at - time.monotonic())
            if self._turns:
                rest = min(rest, LOOK_S)
                self._changed.wait_for(lambda: self._closing, rest)
            else:
                self._changed.wait_for(lambda: self._closing or self._turns, rest)
            return not self._closing

    def _beaten(self) -> LeaseRow:
        row = self._row
        return LeaseRow(row.holder, row.instance, row.surface, row.pid, row.began_at, row.boot, steady_ms())

    def _look(self, live: Live) -> None:
        """End the turns that somebody wants to end, or has ended."""
        with self._changed:
            ours = dict(self._turns)
        if not ours:
            return
        wanted = live.wanted(self.holder)
        for token, (cancel, is_unwanted) in ours.items():
            if token not in wanted or is_unwanted():  # in a thread: to end a program may take it longer than a beat
                threading.Thread(target=cancel.set, daemon=True).start()


def _sweep(live: Live) -> None:
    """Remove the leases of processes that are gone and left no turn behind; turns are closed by whoever meets them."""
    with live.transaction():
        waiting = {turn.holder for turn in live.all_running()}
        for lease in live.leases():
            if lease.holder not in waiting and not is_held(live.path.parent, _lock(lease.holder)):
                live.release(lease.holder)
                (live.path.parent / _lock(lease.holder)).unlink(missing_ok=True)


def is_anybody_here(realm: Path) -> bool:
    """Whether some process has a lease in this realm."""
    locks = live_of(realm).parent.glob(_lock("*"))
    return any(is_held(path.parent, path.name) for path in locks)
