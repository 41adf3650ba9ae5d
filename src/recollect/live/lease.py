"""A process at work in a realm: its lease, its heart, and the turns that it runs.

The lease is a lock of the kernel's, which dies with its holder, and a beat that a holder which hangs no longer gives. Either
tells others that its turns have crashed. Beats count by the machine's steady clock, so that no change of date can end one.
A holder that runs no turn gives no beats: many servers that only answer questions cost nothing.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from recollect.errors import StoreFault
from recollect.live.runners import Cancel
from recollect.model import now_ms
from recollect.realms.leases import boot, lock_name, steady_ms
from recollect.realms.names import uuid7
from recollect.store.live import LeaseRow, Live, RunningRow, live_of
from recollect.store.lock import exclusive, is_held
from recollect.store.sqlite.database import file_at

BEAT_S = 5.0
LOOK_S = 0.2  # seconds between two looks whether another process wants a turn of ours to end
RETRY_S = 1.0  # seconds between two attempts to end a turn in a database that cannot be written
GONE_WITHIN_S = 5.0  # seconds in which a turn that is to end has ended

log = logging.getLogger(__name__)


class Lease(threading.Thread):
    """Held from the first turn, or from the start of a server, to the end of the process."""

    def __init__(self, realm: Path, instance: str, surface: str) -> None:
        super().__init__(daemon=True, name="heart")
        self.holder = str(uuid7())
        self.instance = instance
        self._row = LeaseRow(self.holder, instance, surface, os.getpid(), now_ms(), boot(), steady_ms())
        self._realm = realm
        self._lock = live_of(realm).parent / lock_name(self.holder)
        self._turns: dict[bytes, tuple[Cancel, Callable[[], bool]]] = {}
        self._left: list[RunningRow] = []  # turns that are over, though the database could not be told
        self._changed = threading.Condition()
        self._leaving = False
        self._closing = False
        self._stack = ExitStack()
        self._stack.enter_context(exclusive(self._lock.parent, self._lock.name))
        self._file = file_at(self._lock)
        try:
            with Live(realm) as live:
                _sweep(live)
                live.beat(self._row)
        except BaseException:
            self._stack.close()
            self._lock.unlink(missing_ok=True)
            raise
        self.start()

    def is_in_place(self) -> bool:
        """Whether others can still see it: somebody may have deleted the folder that its lock is in."""
        return file_at(self._lock) == self._file

    def beaten(self) -> LeaseRow:
        """The lease as of now."""
        row = self._row
        return LeaseRow(row.holder, row.instance, row.surface, row.pid, row.began_at, row.boot, steady_ms())

    def hold(self, token: bytes, cancel: Cancel, is_unwanted: Callable[[], bool]) -> None:
        """A turn of ours has begun: others may ask for its end, and so may whoever asked for it."""
        with self._changed:
            self._turns[token] = (cancel, is_unwanted)
            self._changed.notify_all()
            if self._leaving:
                _cancel_beside(cancel)

    def let_go(self, token: bytes) -> None:
        """A turn of ours is over, and what came of it is committed."""
        with self._changed:
            self._turns.pop(token, None)
            self._changed.notify_all()

    def end_later(self, turn: RunningRow) -> None:
        """Give a session free as soon as the database can be written again."""
        with self._changed:
            self._left.append(turn)
            self._changed.notify_all()

    def cancel(self, token: bytes) -> bool:
        """End a turn, if it is one of ours; nobody waits here for a program that takes its time."""
        with self._changed:
            turn = self._turns.get(token)
        if turn is not None:
            _cancel_beside(turn[0])
        return turn is not None

    def close(self) -> None:
        """Cancel what still runs, wait until it is committed, and give the lease back."""
        with self._changed:
            self._leaving = True
            for cancel, _ in self._turns.values():
                _cancel_beside(cancel)
            self._changed.wait_for(lambda: not self._turns, GONE_WITHIN_S)
            self._closing = True
            self._changed.notify_all()
        self.join()
        self._stack.close()
        self._lock.unlink(missing_ok=True)

    def run(self) -> None:
        beat_at = time.monotonic() + BEAT_S
        live: Live | None = None
        while self._wait(beat_at):
            is_due = time.monotonic() >= beat_at
            beat_at = time.monotonic() + BEAT_S if is_due else beat_at
            try:
                live = self._following(live)
                if live is not None:
                    self._tend(live, is_due=is_due)
            except StoreFault as fault:  # a full disk may have room again at the next beat
                log.warning("The lease could not be renewed: %s", fault)
        try:
            live = self._following(live)
            if live is not None:
                self._end_left(live)
                live.release(self.holder)
        except StoreFault as fault:
            log.warning("The lease could not be given back: %s", fault)
        if live is not None:
            live.close()

    def _following(self, live: Live | None) -> Live | None:
        """The database of the realm; None where it was deleted, and nobody has needed a new one yet."""
        file = file_at(live_of(self._realm))
        if live is not None and live.file == file:
            return live
        if live is not None:
            live.close()
        return Live(self._realm) if file is not None else None

    def _tend(self, live: Live, *, is_due: bool) -> None:
        """What a heart does at every look, and at some of them."""
        if is_due:
            live.beat(self.beaten())
        self._look(live)
        self._end_left(live)

    def _wait(self, beat_at: float) -> bool:
        """Until there is something to do: soon while turns run, else when one begins. False: nothing any more."""
        with self._changed:
            if not self._turns and not self._left:
                self._changed.wait_for(lambda: self._closing or self._turns or self._left)
                return not self._closing
            rest = max(0.0, min(beat_at - time.monotonic(), LOOK_S if self._turns else RETRY_S))
            self._changed.wait_for(lambda: self._closing, rest)
            return not self._closing

    def _look(self, live: Live) -> None:
        """End the turns that somebody wants to end, or has ended."""
        with self._changed:
            ours = dict(self._turns)
        if not ours:
            return
        wanted = live.wanted(self.holder)
        for token, (cancel, is_unwanted) in ours.items():
            if not cancel.is_set() and (token not in wanted or is_unwanted()):
                _cancel_beside(cancel)

    def _end_left(self, live: Live) -> None:
        with self._changed:
            left = list(self._left)
        for turn in left:
            live.end(turn)
        with self._changed:
            self._left = self._left[len(left) :]


def _cancel_beside(cancel: Cancel) -> None:
    """In a thread, if one is to be had: to end a program may take it longer than a beat."""
    try:
        threading.Thread(target=cancel.set, daemon=True).start()
    except RuntimeError:
        cancel.set()


def _sweep(live: Live) -> None:
    """Remove the leases of processes that are gone and left no turn behind; turns are closed by whoever meets them."""
    with live.transaction():
        waiting = {turn.holder for turn in live.all_running()}
        for lease in live.leases():
            if lease.holder not in waiting and not is_held(live.path.parent, lock_name(lease.holder)):
                live.release(lease.holder)
                (live.path.parent / lock_name(lease.holder)).unlink(missing_ok=True)
