"""Live sessions: created, run turn by turn, interrupted, read, archived. ARCHITECTURE.md draws their states.

Whoever wants to do something asks the database inside one transaction whether it may, and takes the right with it: one turn
of a session at a time, whichever process runs it. Nothing of a turn is seen by anybody before all of it is committed.
"""

import math
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import AgentFault, Cancelled, NotKept, RecollectError, StoreFault
from recollect.model import Usage
from recollect.realms.kept import Kept
from recollect.realms.lease import GONE_WITHIN_S, Lease
from recollect.realms.manifest import Backend
from recollect.realms.names import uuid7
from recollect.realms.streams import Listener, Streams
from recollect.realms.turn import Event, Turn, added, asked, bodies_of, notice, now_ms, usage_of
from recollect.redact import redact
from recollect.runners import Assignment, Cancel, Output, Runner
from recollect.runners._process import began, stop_strays
from recollect.store.live import LiveRow, Message, RunningRow

STEP_S = 0.01
INTERRUPTED = "The turn was interrupted."
ARCHIVED = "The session was archived while this turn ran."
TOO_LONG = "The turn took longer than the {seconds:g} s that the realm's config allows."
TAKEN_FOR_CRASHED = "This turn was taken for crashed, because its process did not answer for long; nothing of it was kept."
UNKEEPABLE = "What the agent did cannot be kept: it is nested too deeply."


class New(Struct, frozen=True, kw_only=True):
    """A session to be made."""

    labels: dict[str, str]
    runner: str
    command: list[str] | None
    folder: str
    generation: int


class Order(Struct, frozen=True, kw_only=True):
    """A turn to be run: by whom, and for whom."""

    prompt: str
    runner: Runner
    name: str  # of the runner, kept with the session for its next turns
    command: list[str] | None
    keeps: list[str] | None  # the command that is kept: not one that the realm's config has
    options: dict[str, Any]
    generation: int
    tell: Callable[[Event], None] | None = None
    is_unwanted: Callable[[], bool] = lambda: False
    timeout_s: float | None = None

    def ends_at(self) -> float:
        """When its time is up, by the steady clock."""
        return time.monotonic() + self.timeout_s if self.timeout_s is not None else math.inf


class Ran(Struct, frozen=True, kw_only=True):
    """What a finished turn came to."""

    session: bytes
    text: str
    usage: dict[str, Any]
    turns: int
    tool_calls: int
    stop_reason: str


class LiveSessions:
    """The live sessions of one realm, for all threads of this process."""

    def __init__(
        self, folder: Path, backend: Backend, instance: str, *, redact: bool, on_commit: Callable[[], None]
    ) -> None:
        self.folder = folder
        self.backend = backend
        self.instance = instance
        self.surface = "process"
        self.streams = Streams()
        self._kept = Kept(folder, backend, redact=redact)
        self._redact = redact
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
            self._lease = lease
        if lost is not None:
            lost.close()
        return lease

    def close(self) -> None:
        """Cancel what runs here, wait for it to be committed as interrupted, and give the lease back."""
        with self._opening:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.close()

    # ---- creating

    def create(self, new: New) -> LiveRow:
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

    def run(self, session: bytes, order: Order) -> Ran:
        """Run one turn to its end. Raises `SessionBusy` at once where another one runs."""
        lease = self.lease()
        row, running = self._begin(session, order, lease)
        cancel, end = Cancel(), order.ends_at()
        name = _name(session)

        def tell(event: Event) -> None:
            self.streams.tell(name, event)
            if order.tell is not None:
                try:
                    order.tell(event)
                except BrokenPipeError:  # whoever asked for the turn has gone
                    cancel.set()

        with self._held(lease, running, cancel, lambda: order.is_unwanted() or time.monotonic() > end):
            turn = Turn(name, order.prompt, running.turn, max(row.events, self.streams.last(name)), tell)
            fault: RecollectError | None = AgentFault("The turn ended by a fault of the runner's own.")
            try:
                fault = self._work(row, running, order, cancel, turn)
                if fault is not None and time.monotonic() > end:
                    fault = AgentFault(TOO_LONG.format(seconds=order.timeout_s))
            finally:
                row, fault = self._commit(row, running, order, turn, fault)
        if fault is not None:
            fault.details.setdefault("session_id", name)
            raise fault
        return Ran(
            session=session,
            text=turn.text(),
            usage=turn.usage(),
            turns=row.turns,
            tool_calls=turn.tool_calls,
            stop_reason=turn.stop_reason,
        )

    def _begin(self, session: bytes, order: Order, lease: Lease) -> tuple[LiveRow, RunningRow]:
        prompt = redact(order.prompt) if self._redact else order.prompt
        with self._kept.opened() as live, self._kept.settled(live, session) as row:
            running = RunningRow(session, uuid7().bytes, lease.holder, row.turns + 1, now_ms(), prompt)
            live.begin(running)
            live.beat(lease.beaten())  # nobody may see a turn whose holder seems to be gone
        return row, running

    @contextmanager
    def _held(self, lease: Lease, running: RunningRow, cancel: Cancel, is_unwanted: Callable[[], bool]) -> Iterator[None]:
        """However a turn ends, and whatever fails then, its session is free afterwards."""
        name = _name(running.session)
        self.streams.begin(name)
        lease.hold(running.token, cancel, is_unwanted)
        try:
            yield
        finally:
            try:
                with self._kept.opened() as live:
                    live.end(running)
            except StoreFault:
                lease.end_later(running)
            lease.let_go(running.token)
            self.streams.finish(name)
            self._on_commit()

    def _work(self, row: LiveRow, running: RunningRow, order: Order, cancel: Cancel, turn: Turn) -> RecollectError | None:
        """Let the runner do its work; what went wrong, if anything did."""
        given = Assignment(
            session=_name(row.id),
            prompt=order.prompt,
            cancel=cancel,
            folder=Path(row.folder),
            command=tuple(order.command or ()),
            options=order.options,
            state=row.kept if row.runner == order.name else {},
            history=lambda: self._all_messages(row),
            started=lambda pid: self._note_child(running, pid),
            mark=running.token.hex(),
        )
        fault: RecollectError | None = None
        try:
            with closing(order.runner(given)) as outputs:
                self._take(outputs, cancel, turn)
        except KeyboardInterrupt:  # somebody at a terminal has seen enough
            cancel.set()
        except RecollectError as error:
            fault = error
        if cancel.is_set():
            stop_strays(given.mark)
            return Cancelled(INTERRUPTED)
        return fault

    def _take(self, outputs: Iterator[Output], cancel: Cancel, turn: Turn) -> None:
        for output in outputs:
            if cancel.is_set():
                return
            turn.take(output)

    def _note_child(self, running: RunningRow, pid: int) -> None:
        """So that whoever closes this turn after a crash of ours can end what it started."""
        with self._kept.opened() as live:
            live.put_child(running, f"{pid}:{began(pid)}")

    def _all_messages(self, row: LiveRow) -> list[Message]:
        with self._kept.opened() as live:
            return [msgspec.json.decode(body) for body in live.messages(row.id, 0, row.messages)]

    def _commit(
        self, row: LiveRow, running: RunningRow, order: Order, turn: Turn, fault: RecollectError | None
    ) -> tuple[LiveRow, RecollectError | None]:
        """Commit what came of a turn, then tell of its end: what is told can be read."""
        try:
            row, fault = self._conclude(row, running, order, turn, fault)
        except StoreFault as reason:
            fault = reason
        match fault:
            case None:
                told = {"turns": row.turns, "tool_calls": turn.tool_calls, "stop_reason": turn.stop_reason}
                turn.emit("turn_completed", text=turn.text(), usage=turn.usage(), **told)
            case Cancelled():
                turn.emit("turn_interrupted", message=str(fault))
            case _:
                turn.emit("turn_failed", message=str(fault))
        return row, fault

    def _conclude(
        self, row: LiveRow, running: RunningRow, order: Order, turn: Turn, fault: RecollectError | None
    ) -> tuple[LiveRow, RecollectError | None]:
        """Commit a turn if it is still the one that runs; as interrupted, if anybody was told that it would be."""
        while True:
            bodies, fault = self._bodies(turn, fault)  # outside: other sessions wait for no long text of this one
            with self._kept.opened() as live, live.transaction():
                self._kept.level_one(live, row.id)
                now, held = live.session(row.id), live.running(row.id)
                if now is None or now.archived_at is not None:
                    return row, Cancelled(ARCHIVED)
                if held is None or held.token != running.token:
                    return row, Cancelled(TAKEN_FOR_CRASHED)
                if not held.cancelled or isinstance(fault, Cancelled):
                    self._advance(now, order, turn)
                    live.end(running)
                    self._kept.put(live, now, bodies)
                    return now, fault
            fault = Cancelled(INTERRUPTED)

    def _bodies(self, turn: Turn, fault: RecollectError | None) -> tuple[list[bytes], RecollectError | None]:
        kind = "interrupt" if isinstance(fault, Cancelled) else "error"
        try:
            messages = turn.messages() if fault is None else turn.broken_off(kind, str(fault))
            return bodies_of(messages, redact=self._redact), fault
        except RecursionError:
            fault = fault or AgentFault(UNKEEPABLE)
            messages = [asked(turn.prompt, turn.began_at), notice(kind, str(fault), now_ms())]
            return bodies_of(messages, redact=self._redact), fault

    def _advance(self, row: LiveRow, order: Order, turn: Turn) -> None:
        """A session after one more turn."""
        row.updated_at = max(now_ms(), row.updated_at)  # it never goes back, even where the clock does
        row.instance, row.generation = self.instance, order.generation
        if order.name != row.runner:
            row.kept = {}
        row.runner, row.command = order.name, order.keeps
        row.kept = row.kept if turn.kept is None else turn.kept
        row.turns += 1
        row.events = turn.sequence + 1  # with the one that will tell of its end
        row.usage = added(row.usage, turn.usage())

    # ---- turns that ended otherwise

    def interrupt(self, session: bytes) -> bool:
        """End the running turn, and wait until it has; False where none runs."""
        with self._kept.opened() as live:
            with self._kept.settled(live, session):
                running = live.running(session)
                if running is None or not live.cancel(session):
                    return False
            self._retire(running)
            until = time.monotonic() + GONE_WITHIN_S
            while live.holds(running) and time.monotonic() < until:
                time.sleep(STEP_S)
        return True

    def archive(self, session: bytes) -> LiveRow:
        """Commit the verdict, with the end of a turn that runs; only then let go of what runs."""
        with self._kept.opened() as live:
            with self._kept.settled(live, session, durable=True) as row:
                running = live.running(session)
                last: list[bytes] = []
                if running is not None:
                    last = self._kept.closed(row, running, "interrupt", ARCHIVED)
                    live.end(running)
                row.archived_at = row.updated_at = max(now_ms(), row.updated_at)
                self._kept.put(live, row, last, durable=True)
            if running is not None:
                self._retire(running)
        self.streams.end(_name(session))
        self._on_commit()
        return row

    def _retire(self, running: RunningRow) -> None:
        """Stop a turn here, if it runs here; another process sees by itself that it is no longer wanted."""
        if self._lease is not None:
            self._lease.cancel(running.token)

    # ---- reading

    def read(self, session: bytes) -> tuple[LiveRow, bool]:
        """A session, and whether a turn of it is running. Of an archived one, a realm in memory keeps a last view."""
        with self._kept.opened() as live:
            self._kept.look_after(live, session)
            with live.snapshot():
                row = live.session(session)
                if row is None or (row.archived_at is not None and self.backend is not Backend.MEMORY):
                    row = live.present(session)
                return row, live.running(session) is not None

    def history(self, session: bytes, offset: int, limit: int) -> tuple[LiveRow, list[bytes]]:
        """A page of committed messages, as JSON."""
        with self._kept.opened() as live:
            self._kept.look_after(live, session)
            with live.snapshot():
                row = live.session(session) or live.present(session)
                if row.archived_at is not None and self.backend is Backend.MEMORY:
                    raise NotKept("This realm is kept in memory only, and nothing of an archived session is.")
                return row, live.messages(session, offset, limit)

    def listed(self, labels: dict[str, str], offset: int, limit: int) -> list[tuple[LiveRow, bool]]:
        with self._kept.opened() as live:
            for running in live.all_running():
                self._kept.look_after(live, running.session)
            with live.snapshot():
                active = {running.session for running in live.all_running()}
                return [(row, row.id in active) for row in live.listed(labels, offset, limit)]

    def changes(self) -> int:
        """Grows with whatever is committed here; 0 where nothing ever was."""
        return self._kept.changes()

    def listen(self, session: bytes, heard: int | None, on_change: Callable[[], None]) -> Listener:
        """Hear the events of this session's turns that run in this process, from `heard` on where somebody comes back."""
        row, _ = self.read(session)
        return self.streams.listen(_name(session), on_change=on_change, heard=heard, committed=row.events)

    def like(self, beginning: str, limit: int) -> list[bytes]:
        """The sessions whose ids begin so, archived ones too."""
        with self._kept.opened() as live:
            return live.like(beginning, limit)


def _name(session: bytes) -> str:
    return str(uuid.UUID(bytes=session))
