"""Live sessions: created, run turn by turn, interrupted, read, archived. ARCHITECTURE.md draws their states.

Each step checks in one transaction whether it is allowed, and reserves the session in the same transaction. So a session
runs one turn at a time across all processes. Messages of a turn become visible when all of them are committed.
"""

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.errors import PersistenceDisabled
from recollect.live.commits import CommittedSessions, stop_orphans
from recollect.live.event_sequence import remove_leftovers
from recollect.live.event_streams import EventStreams, Subscriber
from recollect.live.lease import CANCEL_S, Lease
from recollect.live.transcript_builder import usage_of
from recollect.live.turn_runner import TurnRequest, TurnResult, TurnRun
from recollect.model import Usage, now_ms
from recollect.realms.leases import is_alive
from recollect.realms.manifest import Backend
from recollect.realms.names import uuid7
from recollect.store.live import Live, LiveRow, RunningRow

STOP_PROGRAMS_S = 3.5  # seconds that the process of a cancelled turn has to stop its programs; then others stop them
POLL_S = 0.01


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be created."""

    labels: dict[str, str]
    runner: str
    command: list[str] | None
    folder: str
    generation: int
    continues: bytes | None = None  # the session that it goes on with
    runner_state: dict[str, Any] = {}


class LiveSessions:
    """The live sessions of one realm, for all threads of this process."""

    def __init__(
        self, folder: Path, backend: Backend, instance: str, *, redact: bool, on_commit: Callable[[], None]
    ) -> None:
        self.folder = folder
        self.backend = backend
        self.instance = instance
        self.surface = "process"
        self.streams = EventStreams()
        self._committed = CommittedSessions(folder, backend, redact=redact)
        self._on_commit = on_commit
        self._lease_lock = threading.Lock()
        self._lease: Lease | None = None

    # ---- opening and closing

    def lease(self) -> Lease:
        """The lease of this process, taken on first use and again if its folder was deleted."""
        with self._lease_lock:
            lease, lost = self._lease, None
            if lease is None or not lease.is_visible():
                lost, lease = lease, Lease(self.folder, self.instance, self.surface)
                self._recover_crashed()
            self._lease = lease
        if lost is not None:
            lost.close()
        return lease

    def _recover_crashed(self) -> None:
        """Close turns that crashed earlier: their programs may still be running."""
        with self._committed.connection() as live:
            for running in live.all_running():
                self._committed.recover_if_crashed(live, running.session)
            remove_leftovers(self.folder, {running.token for running in live.all_running()})

    def close(self) -> None:
        """Cancel running turns, wait until they are committed as interrupted, and release the lease."""
        with self._lease_lock:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.close()

    # ---- creating

    def create(self, new: NewSession) -> LiveRow:
        """Commit a session without turns."""
        at = now_ms()
        row = LiveRow(
            id=uuid7().bytes,
            created_at=at,
            updated_at=at,
            labels=new.labels,
            runner=new.runner,
            command=new.command,
            folder=new.folder,
            runner_state=new.runner_state,
            instance=self.instance,
            generation=new.generation,
            usage=usage_of(Usage()),
            continues=new.continues.hex() if new.continues is not None else None,
        )
        with self._committed.connection() as live, live.transaction():
            self._committed.commit(live, row, [])
        return row

    def discard(self, session: bytes) -> None:
        """Remove a session that never had a turn."""
        with self._committed.connection() as live, live.transaction():
            row = live.session(session)
            if row is not None and row.turns == 0 and live.running(session) is None:
                self._committed.remove(live, session)

    # ---- turns

    def run(self, session: bytes, request: TurnRequest) -> TurnResult:
        """Run one turn to its end. Raises `SessionBusy` at once if another one runs."""
        turn = TurnRun(self._committed, self.streams, self.lease(), session, request)
        try:
            return turn.run()
        finally:
            self._on_commit()

    def interrupt(self, session: bytes) -> bool:
        """Cancel the running turn and wait until it has ended; False if none runs."""
        with self._committed.connection() as live:
            with self._committed.session_transaction(live, session):
                running = live.running(session)
                if running is None or not live.cancel(session):
                    return False
            self._end_turn(live, running)
        return True

    def archive(self, session: bytes) -> LiveRow:
        """Commit that the session is archived, then end its running turn and commit the turn's messages."""
        with self._committed.connection() as live:
            with self._committed.session_transaction(live, session, durable=True) as row:
                running = live.running(session)
                row.archived_at = row.updated_at = max(now_ms(), row.updated_at)
                self._committed.commit(live, row, [], durable=True)
                live.cancel(session)
            if running is not None:
                self._end_turn(live, running)
        self.streams.end_session(_uuid_text(session))
        self._on_commit()
        return row

    def _end_turn(self, live: Live, running: RunningRow) -> None:
        """End a cancelled turn of any process, and wait for it. If its process hangs, close the turn here."""
        if self._lease is not None:
            self._lease.cancel(running.token)  # if it runs in this process; other processes poll for cancelled turns
        if not self._wait_until_ended(live, running, STOP_PROGRAMS_S):
            stop_orphans(live.running(running.session) or running)
        if not self._wait_until_ended(live, running, CANCEL_S - STOP_PROGRAMS_S):
            self._committed.close_interrupted(live, running)
            self._on_commit()

    def _wait_until_ended(self, live: Live, running: RunningRow, seconds: float) -> bool:
        """Wait for a turn to be committed; False if that takes too long."""
        deadline = time.monotonic() + seconds
        while live.is_current(running):
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        return True

    # ---- reading

    def read(self, session: bytes) -> tuple[LiveRow, bool]:
        """A session, and whether a turn of it runs. A realm in memory also returns an archived session."""
        with self._committed.connection() as live:
            self._committed.recover_if_crashed(live, session)
            with live.snapshot():
                row = live.session(session)
                if row is None or (row.archived_at is not None and self.backend is not Backend.MEMORY):
                    row = live.active_session(session)
                return row, _is_running(live, live.running(session))

    def history(self, session: bytes, offset: int, limit: int) -> tuple[LiveRow, list[bytes]]:
        """A page of committed messages, as JSON."""
        with self._committed.connection() as live:
            self._committed.recover_if_crashed(live, session)
            with live.snapshot():
                row = live.session(session) or live.active_session(session)
                if row.archived_at is not None and self.backend is Backend.MEMORY:
                    raise PersistenceDisabled("This realm is in memory only: the messages of an archived session are gone.")
                return row, live.messages(session, offset, limit)

    def list_sessions(self, labels: dict[str, str], offset: int, limit: int) -> list[tuple[LiveRow, bool]]:
        """A page of sessions with these labels, each with whether a turn of it runs."""
        with self._committed.connection() as live:
            for running in live.all_running():
                self._committed.recover_if_crashed(live, running.session)
            with live.snapshot():
                active = {running.session for running in live.all_running() if _is_running(live, running)}
                return [(row, row.id in active) for row in live.list_sessions(labels, offset, limit)]

    def changes(self) -> int:
        """The change counter, which every commit increases; 0 if there never was one."""
        return self._committed.changes()

    def subscribe(self, session: bytes, last_sequence: int | None, on_change: Callable[[], None]) -> Subscriber:
        """Subscribe to events of this session's turns in this process, from `last_sequence` on if the client reconnects."""
        row, _ = self.read(session)
        subscriber = self.streams.subscribe(
            _uuid_text(session), on_change=on_change, last_sequence=last_sequence, committed=row.events
        )
        if not self.is_open(session):  # it was archived in between
            subscriber.finish()
        return subscriber

    def is_open(self, session: bytes) -> bool:
        """Whether the session exists and is not archived."""
        with self._committed.connection() as live:
            row = live.session(session)
            return row is not None and row.archived_at is None

    def find_by_prefix(self, prefix: str, limit: int) -> list[bytes]:
        """Sessions whose ids begin with these hexadecimal digits, including archived ones."""
        with self._committed.connection() as live:
            return live.ids_with_prefix(prefix, limit)


def _is_running(live: Live, running: RunningRow | None) -> bool:
    """Whether a turn runs. In a read-only folder a crashed turn cannot be closed, so its lease decides."""
    return running is not None and (not live.is_read_only or is_alive(live, running.holder))


def _uuid_text(session: bytes) -> str:
    return str(uuid.UUID(bytes=session))
