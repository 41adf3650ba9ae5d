"""The lease of a process that runs turns in a realm: a lock, a heartbeat, and the turns it runs.

The kernel releases the lock when the process dies; a process that hangs stops its heartbeat. Other processes take either
as a crash of its turns. Heartbeats use the monotonic clock, so that a change of date cannot end a lease.
A process that runs no turn sends no heartbeats: servers that only answer queries cost nothing.
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
from recollect.realms.leases import boot_id, lock_name, monotonic_ms
from recollect.realms.names import uuid7
from recollect.store.live import LeaseRow, Live, RunningRow, live_path
from recollect.store.lock import exclusive, is_held
from recollect.store.sqlite.database import file_identity

HEARTBEAT_S = 5.0
POLL_S = 0.2  # seconds between two checks whether another process has cancelled one of our turns
RETRY_S = 1.0  # seconds between two attempts to end a turn in a database that cannot be written
CANCEL_S = 5.0  # seconds in which a cancelled turn has ended

log = logging.getLogger(__name__)


class Lease(threading.Thread):
    """Held from the first turn, or from the start of a server, until the process ends."""

    def __init__(self, realm: Path, instance: str, surface: str) -> None:
        super().__init__(daemon=True, name="lease")
        self.holder = str(uuid7())
        self.instance = instance
        self._row = LeaseRow(self.holder, instance, surface, os.getpid(), now_ms(), boot_id(), monotonic_ms())
        self._realm = realm
        self._lock = live_path(realm).parent / lock_name(self.holder)
        self._turns: dict[bytes, tuple[Cancel, Callable[[], bool]]] = {}
        self._unended: list[RunningRow] = []  # finished turns that the database still lists as running
        self._changed = threading.Condition()
        self._is_stopping = False
        self._is_closing = False
        self._stack = ExitStack()
        self._stack.enter_context(exclusive(self._lock.parent, self._lock.name))
        self._file = file_identity(self._lock)
        try:
            with Live(realm) as live:
                _remove_dead_leases(live)
                live.put_lease(self._row)
        except BaseException:
            self._stack.close()
            self._lock.unlink(missing_ok=True)
            raise
        self.start()

    def is_visible(self) -> bool:
        """Whether other processes can see the lock: its folder may have been deleted."""
        return file_identity(self._lock) == self._file

    def renewed(self) -> LeaseRow:
        """The lease with a heartbeat of now."""
        row = self._row
        return LeaseRow(row.holder, row.instance, row.surface, row.pid, row.began_at, row.boot, monotonic_ms())

    def add_turn(self, token: bytes, cancel: Cancel, is_cancelled: Callable[[], bool]) -> None:
        """Watch a turn of this process: another process may cancel it, and its caller may by `is_cancelled`."""
        with self._changed:
            self._turns[token] = (cancel, is_cancelled)
            self._changed.notify_all()
            if self._is_stopping:
                _cancel_in_thread(cancel)

    def remove_turn(self, token: bytes) -> None:
        """Stop watching a turn: it has ended and is committed."""
        with self._changed:
            self._turns.pop(token, None)
            self._changed.notify_all()

    def end_turn_later(self, turn: RunningRow) -> None:
        """End a turn in the database as soon as the database can be written again."""
        with self._changed:
            self._unended.append(turn)
            self._changed.notify_all()

    def cancel(self, token: bytes) -> bool:
        """Cancel a turn of this process without waiting for its program to end; False if it runs elsewhere."""
        with self._changed:
            turn = self._turns.get(token)
        if turn is not None:
            _cancel_in_thread(turn[0])
        return turn is not None

    def close(self) -> None:
        """Cancel running turns, wait until they are committed, and release the lease."""
        with self._changed:
            self._is_stopping = True
            for cancel, _ in self._turns.values():
                _cancel_in_thread(cancel)
            self._changed.wait_for(lambda: not self._turns, CANCEL_S)
            self._is_closing = True
            self._changed.notify_all()
        self.join()
        self._stack.close()
        self._lock.unlink(missing_ok=True)

    def run(self) -> None:
        next_heartbeat = time.monotonic() + HEARTBEAT_S
        live: Live | None = None
        while self._wait(next_heartbeat):
            is_due = time.monotonic() >= next_heartbeat
            next_heartbeat = time.monotonic() + HEARTBEAT_S if is_due else next_heartbeat
            try:
                live = self._connection(live)
                if live is not None:
                    self._renew(live, is_due=is_due)
            except StoreFault as fault:  # a full disk may have room again at the next heartbeat
                log.warning("The lease could not be renewed: %s", fault)
        try:
            live = self._connection(live)
            if live is not None:
                self._end_turns(live)
                live.release(self.holder)
        except StoreFault as fault:
            log.warning("The lease could not be released: %s", fault)
        if live is not None:
            live.close()

    def _connection(self, live: Live | None) -> Live | None:
        """A connection to the realm's database; None while the database does not exist, because it was deleted."""
        file = file_identity(live_path(self._realm))
        if live is not None and live.file == file:
            return live
        if live is not None:
            live.close()
        return Live(self._realm) if file is not None else None

    def _renew(self, live: Live, *, is_due: bool) -> None:
        if is_due:
            live.put_lease(self.renewed())
        self._cancel_requested(live)
        self._end_turns(live)

    def _wait(self, next_heartbeat: float) -> bool:
        """Wait for the next check while turns run, else for the next turn; False if the lease is closing."""
        with self._changed:
            if not self._turns and not self._unended:
                self._changed.wait_for(lambda: self._is_closing or self._turns or self._unended)
                return not self._is_closing
            pause = max(0.0, min(next_heartbeat - time.monotonic(), POLL_S if self._turns else RETRY_S))
            self._changed.wait_for(lambda: self._is_closing, pause)
            return not self._is_closing

    def _cancel_requested(self, live: Live) -> None:
        """Cancel the turns that another process or their caller wants cancelled."""
        with self._changed:
            turns = dict(self._turns)
        if not turns:
            return
        uncancelled = live.uncancelled_turns(self.holder)
        for token, (cancel, is_cancelled) in turns.items():
            if not cancel.is_set() and (token not in uncancelled or is_cancelled()):
                _cancel_in_thread(cancel)

    def _end_turns(self, live: Live) -> None:
        with self._changed:
            turns = list(self._unended)
        for turn in turns:
            live.end_turn(turn)
        with self._changed:
            self._unended = self._unended[len(turns) :]


def _cancel_in_thread(cancel: Cancel) -> None:
    """Cancel in a thread, if one can be started: stopping a program may take longer than a heartbeat."""
    try:
        threading.Thread(target=cancel.set, daemon=True).start()
    except RuntimeError:
        cancel.set()


def _remove_dead_leases(live: Live) -> None:
    """Remove leases of dead processes that have no running turn; crashed turns are closed on their session's next use."""
    with live.transaction():
        holders = {turn.holder for turn in live.all_running()}
        for lease in live.leases():
            if lease.holder not in holders and not is_held(live.path.parent, lock_name(lease.holder)):
                live.release(lease.holder)
                (live.path.parent / lock_name(lease.holder)).unlink(missing_ok=True)
