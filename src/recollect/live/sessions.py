"""Live sessions: created, run turn by turn, interrupted, read, archived. ARCHITECTURE.md draws their states.

Whoever wants to do something asks the database inside one transaction whether it may, and takes the right with it: one turn
of a session at a time, whichever process runs it. Nothing of a turn is seen by anybody before all of it is committed.
"""

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from recollect.errors import PersistenceDisabled
from recollect.live.commits import CommittedSessions, end_orphans
from recollect.live.event_sequence import sweep
from recollect.live.event_streams import EventStreams, Subscriber
from recollect.live.lease import GONE_WITHIN_S, Lease
from recollect.live.transcript_builder import usage_of
from recollect.live.turn_runner import TurnRequest, TurnResult, TurnRun
from recollect.model import Usage, now_ms
from recollect.realms.leases import is_alive
from recollect.realms.manifest import Backend
from recollect.realms.names import uuid7
from recollect.store.live import Live, LiveRow, RunningRow

PROGRAMS_S = 3.5  # seconds that whoever runs a turn has to end its programs; then others do
STEP_S = 0.01


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be made."""

    labels: dict[str, str]
    runner: str
    command: list[str] | None
    folder: str
    generation: int


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
        self._kept = CommittedSessions(folder, backend, redact=redact)
        self._on_commit = on_commit
        self._opening = threading.Lock()
        self._lease: Lease | None = None

    # ---- opening and closing

    def lease(self) -> Lease:
        """What says that this process is at work here."""
        with self._opening:
            lease, lost = self._lease, None
            if lease is None or not lease.is_in_place():
                lost, lease = lease, Lease(self.folder, self.instance, self.surface)
                self._clear_up()
            self._lease = lease
        if lost is not None:
            lost.close()
        return lease

    def _clear_up(self) -> None:
        """Close what crashed before we came: its programs may still be running."""
        with self._kept.opened() as live:
            for running in live.all_running():
                self._kept.look_after(live, running.session)
            sweep(self.folder, {running.token for running in live.all_running()})

    def close(self) -> None:
        """Cancel what runs here, wait for it to be committed as interrupted, and give the lease back."""
        with self._opening:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.close()

    # ---- creating

    def create(self, new: NewSession) -> LiveRow:
        """Register a session; nothing runs yet."""
        at = now_ms()
        row = LiveRow(
            id=uuid7().bytes,
            created_at=at,
            updated_at=at,
            labels=new.labels,
            runner=new.runner,
            command=new.command,
            folder=new.folder,
            kept={},
            instance=self.instance,
            generation=new.generation,
            usage=usage_of(Usage()),
        )
        with self._kept.opened() as live, live.transaction():
            self._kept.put(live, row, [])
        return row

    # ---- turns

    def run(self, session: bytes, order: TurnRequest) -> TurnResult:
        """Run one turn to its end. Raises `SessionBusy` at once where another one runs."""
        run = TurnRun(self._kept, self.streams, self.lease(), session, order)
        try:
            return run.to_end()
        finally:
            self._on_commit()

    def interrupt(self, session: bytes) -> bool:
        """End the running turn, and wait until it has; False where none runs."""
        with self._kept.opened() as live:
            with self._kept.settled(live, session):
                running = live.running(session)
                if running is None or not live.cancel(session):
                    return False
            self._end(live, running)
        return True

    def archive(self, session: bytes) -> LiveRow:
        """Commit the verdict, and only then end a turn that runs: what it came to is kept, too."""
        with self._kept.opened() as live:
            with self._kept.settled(live, session, durable=True) as row:
                running = live.running(session)
                row.archived_at = row.updated_at = max(now_ms(), row.updated_at)
                self._kept.put(live, row, [], durable=True)
                live.cancel(session)
            if running is not None:
                self._end(live, running)
        self.streams.end(_name(session))
        self._on_commit()
        return row

    def _end(self, live: Live, running: RunningRow) -> None:
        """End a turn that runs, wherever it does, and wait for it. Its process may be stopped, or hang: then we do it."""
        if self._lease is not None:
            self._lease.cancel(running.token)  # if it is ours; another process sees by itself that it is not wanted
        if not self._is_over(live, running, PROGRAMS_S):
            end_orphans(live.running(running.session) or running)
        if not self._is_over(live, running, GONE_WITHIN_S - PROGRAMS_S):
            self._kept.take_over(live, running)
            self._on_commit()

    def _is_over(self, live: Live, running: RunningRow, seconds: float) -> bool:
        """Wait for a turn to be committed; False where that takes too long."""
        until = time.monotonic() + seconds
        while live.holds(running):
            if time.monotonic() > until:
                return False
            time.sleep(STEP_S)
        return True

    # ---- reading

    def read(self, session: bytes) -> tuple[LiveRow, bool]:
        """A session, and whether a turn of it is running. Of an archived one, a realm in memory keeps a last view."""
        with self._kept.opened() as live:
            self._kept.look_after(live, session)
            with live.snapshot():
                row = live.session(session)
                if row is None or (row.archived_at is not None and self.backend is not Backend.MEMORY):
                    row = live.present(session)
                return row, _is_running(live, live.running(session))

    def history(self, session: bytes, offset: int, limit: int) -> tuple[LiveRow, list[bytes]]:
        """A page of committed messages, as JSON."""
        with self._kept.opened() as live:
            self._kept.look_after(live, session)
            with live.snapshot():
                row = live.session(session) or live.present(session)
                if row.archived_at is not None and self.backend is Backend.MEMORY:
                    raise PersistenceDisabled("This realm is kept in memory only, and nothing of an archived session is.")
                return row, live.messages(session, offset, limit)

    def list_sessions(self, labels: dict[str, str], offset: int, limit: int) -> list[tuple[LiveRow, bool]]:
        with self._kept.opened() as live:
            for running in live.all_running():
                self._kept.look_after(live, running.session)
            with live.snapshot():
                active = {running.session for running in live.all_running() if _is_running(live, running)}
                return [(row, row.id in active) for row in live.listed(labels, offset, limit)]

    def changes(self) -> int:
        """Grows with whatever is committed here; 0 where nothing ever was."""
        return self._kept.changes()

    def subscribe(self, session: bytes, last_sequence: int | None, on_change: Callable[[], None]) -> Subscriber:
        """Hear the events of this session's turns that run in this process, from `heard` on where somebody comes back."""
        row, _ = self.read(session)
        listener = self.streams.subscribe(
            _name(session), on_change=on_change, last_sequence=last_sequence, committed=row.events
        )
        if not self.is_present(session):  # it was archived in between
            listener.end()
        return listener

    def is_present(self, session: bytes) -> bool:
        """Whether there may be turns of this session in the future."""
        with self._kept.opened() as live:
            row = live.session(session)
            return row is not None and row.archived_at is None

    def find_by_prefix(self, beginning: str, limit: int) -> list[bytes]:
        """The sessions whose ids begin so, archived ones too."""
        with self._kept.opened() as live:
            return live.like(beginning, limit)


def _is_running(live: Live, running: RunningRow | None) -> bool:
    """Whether a turn runs. In a folder that cannot be written, one that crashed stays there."""
    return running is not None and (not live.is_read_only or is_alive(live, running.holder))


def _name(session: bytes) -> str:
    return str(uuid.UUID(bytes=session))
