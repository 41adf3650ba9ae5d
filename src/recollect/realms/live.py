"""Live sessions: created, run turn by turn, interrupted, read, archived. ARCHITECTURE.md draws their states.

Whoever wants to do something asks the database inside one transaction whether it may, and takes the right with it: one turn
of a session at a time, whichever process runs it. Nothing of a turn is seen by anybody before all of it is committed.
"""

import math
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import AgentFault, Cancelled, NotKept, RecollectError, StoreFault
from recollect.model import Usage
from recollect.realms.lease import Lease, is_alive
from recollect.realms.manifest import Backend
from recollect.realms.names import uuid7
from recollect.realms.streams import Listener, Streams
from recollect.realms.turn import Event, Turn, added, asked, notice, now_ms, usage_of
from recollect.redact import redact_all
from recollect.runners import Assignment, Cancel, Runner
from recollect.runners._process import began, stop_group
from recollect.store._database import file_at
from recollect.store.live import Live, LiveRow, Message, RunningRow, live_of
from recollect.store.transcripts import Transcripts

GONE_WITHIN_S = 5.0  # seconds in which an interrupted turn has ended
STEP_S = 0.01
BROKEN = {"interrupt": "The turn was interrupted.", "archive": "The session was archived while this turn ran."}
CRASHED = "The process that ran this turn ended without finishing it."


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
        self._files = Transcripts(folder) if backend is Backend.JSONL else None
        self._redact = redact
        self._on_commit = on_commit
        self._local = threading.local()
        self._opening = threading.Lock()
        self._lease: Lease | None = None
        self._leveled: tuple[int, int] | None = None  # the database that was last compared with the files

    # ---- opening and closing

    @contextmanager
    def opened(self) -> Iterator[Live]:
        """This thread's connection; a broken one is not kept."""
        live: Live | None = getattr(self._local, "live", None)
        if live is None or live.file != file_at(live.path):  # another file took its place
            live = self._local.live = Live(self.folder)
        self._level(live)
        try:
            yield live
        except StoreFault:
            self._local.live = None
            raise
        finally:
            live.stop_when(None)

    def _level(self, live: Live) -> None:
        """Where files are the truth, a database that is new here says what they do."""
        if self._files is None or self._leveled == live.file:
            return
        with self._opening:
            with live.transaction():
                self._files.level(live)
            self._leveled = live.file

    def lease(self) -> Lease:
        with self._opening:
            if self._lease is None:
                self._lease = Lease(self.folder, self.instance, self.surface)
            return self._lease

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
        with self.opened() as live, live.transaction():
            self._put(live, row, [])
        return row

    def _put(self, live: Live, row: LiveRow, messages: list[Message], *, durable: bool = False) -> None:
        """Commit a session with more messages: into its file first, where that is the truth."""
        bodies = [msgspec.json.encode(redact_all(message) if self._redact else message) for message in messages]
        if self._files is not None:
            row.messages += len(bodies)
            self._files.append(row, bodies, durable=durable)
            row.messages -= len(bodies)
        live.append(row, bodies)
        live.put(row)

    # ---- turns

    def run(self, session: bytes, order: Order) -> Ran:
        """Run one turn to its end. Raises `SessionBusy` at once where another one runs."""
        lease = self.lease()
        row, running = self._begin(session, order, lease.holder)
        cancel, end = Cancel(), order.ends_at()
        name = _name(session)

        def tell(event: Event) -> None:
            self.streams.tell(name, event)
            if order.tell is not None:
                order.tell(event)

        self.streams.begin(name)
        fault: RecollectError | None = AgentFault("The turn ended by a fault of the runner's own.")
        turn = Turn(name, order.prompt, running.turn, row.events, tell)
        try:
            lease.hold(running.token, cancel, lambda: order.is_unwanted() or time.monotonic() > end)
            fault = self._work(row, running, order, cancel, turn)
            if fault is not None and time.monotonic() > end:
                fault = AgentFault(f"The turn took longer than the {order.timeout_s:g} s that the realm's config allows.")
        finally:
            lease.let_go(running.token)
            row, fault = self._commit(row, running, order, turn, fault)
            self.streams.finish(name)
            self._on_commit()
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

    def _begin(self, session: bytes, order: Order, holder: str) -> tuple[LiveRow, RunningRow]:
        with self.opened() as live, live.transaction():
            self._settle(live, session)
            row = live.present(session)
            running = RunningRow(session, uuid7().bytes, holder, row.turns + 1, now_ms(), order.prompt)
            live.begin(running)
        return row, running

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
        )
        interrupted = Cancelled(BROKEN["interrupt"])
        try:
            with closing(order.runner(given)) as outputs:
                for output in outputs:
                    if cancel.is_set():
                        break
                    turn.take(output)
        except KeyboardInterrupt:  # somebody at a terminal has seen enough
            return interrupted
        except RecollectError as error:
            return interrupted if cancel.is_set() else error
        return interrupted if cancel.is_set() else None

    def _note_child(self, running: RunningRow, pid: int) -> None:
        """So that whoever closes this turn after a crash of ours can end what it started."""
        with self.opened() as live:
            live.put_child(running, f"{pid}:{began(pid)}")

    def _all_messages(self, row: LiveRow) -> list[Message]:
        with self.opened() as live:
            return [msgspec.json.decode(body) for body in live.messages(row.id, 0, row.messages)]

    def _commit(
        self, row: LiveRow, running: RunningRow, order: Order, turn: Turn, fault: RecollectError | None
    ) -> tuple[LiveRow, RecollectError | None]:
        """Commit what came of a turn, then tell of its end: what is told can be read."""
        kind = "interrupt" if isinstance(fault, Cancelled) else "error"
        messages = turn.messages() if fault is None else turn.broken_off(kind, str(fault))
        try:
            with self.opened() as live, live.transaction():
                if live.holds(running):
                    row = live.present(row.id)
                    self._advance(row, order, turn)
                    live.end(running)
                    self._put(live, row, messages)
                else:  # archived, or taken for crashed: what is committed stays as it is
                    fault = Cancelled(BROKEN["archive"])
        except StoreFault as reason:
            fault = reason
            with suppress(StoreFault), self.opened() as live:
                live.end(running)  # the session is usable again, once there is room on the disk, say
        match fault:
            case None:
                told = {"turns": row.turns, "tool_calls": turn.tool_calls, "stop_reason": turn.stop_reason}
                turn.emit("turn_completed", text=turn.text(), usage=turn.usage(), **told)
            case Cancelled():
                turn.emit("turn_interrupted", message=str(fault))
            case _:
                turn.emit("turn_failed", message=str(fault))
        return row, fault

    def _advance(self, row: LiveRow, order: Order, turn: Turn) -> None:
        """A session after one more turn."""
        row.updated_at = now_ms()
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
        with self.opened() as live:
            with live.transaction():
                self._settle(live, session)
                live.present(session)
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
        with self.opened() as live:
            with live.transaction(durable=True):
                self._settle(live, session)
                row = live.present(session)
                running = live.running(session)
                closing: list[Message] = []
                if running is not None:
                    closing = self._closed(row, running, "interrupt", BROKEN["archive"])
                    live.end(running)
                row.archived_at = row.updated_at = now_ms()
                self._put(live, row, closing, durable=True)
            if running is not None:
                self._retire(running)
        self.streams.end(_name(session))
        self._on_commit()
        return row

    def _retire(self, running: RunningRow) -> None:
        """Stop a turn here, if it runs here; another process sees by itself that it is no longer wanted."""
        if self._lease is not None:
            self._lease.cancel(running.token)

    def _settle(self, live: Live, session: bytes) -> None:
        """Close a turn that crashed, so that its session is usable again. To be called inside a transaction."""
        if self._files is not None:
            self._files.level_one(live, session)
        running = live.running(session)
        if running is None or is_alive(live, running.holder):
            return
        row = live.session(session)
        live.end(running)
        if row is None or row.archived_at is not None:
            return
        if row.turns < running.turn:  # else it was committed to its file, and only the database had no time left
            row.updated_at = now_ms()
            self._put(live, row, self._closed(row, running, "crash", CRASHED))
        pid, _, start = running.child.partition(":")
        if pid and start and began(int(pid)) == start:
            threading.Thread(target=stop_group, args=(int(pid),), daemon=True).start()

    def _closed(self, row: LiveRow, running: RunningRow, kind: str, text: str) -> list[Message]:
        row.turns += 1
        return [asked(running.prompt, running.began_at), notice(kind, text, now_ms())]

    # ---- reading

    def read(self, session: bytes) -> tuple[LiveRow, bool]:
        """A session, and whether a turn of it is running. Of an archived one, a realm in memory keeps a last view."""
        with self.opened() as live:
            self._look_after(live, session)
            row = live.session(session)
            if row is None or (row.archived_at is not None and self.backend is not Backend.MEMORY):
                row = live.present(session)
            return row, live.running(session) is not None

    def history(self, session: bytes, offset: int, limit: int) -> tuple[LiveRow, list[bytes]]:
        """A page of committed messages, as JSON."""
        with self.opened() as live:
            self._look_after(live, session)
            row = live.session(session) or live.present(session)
            if row.archived_at is not None and self.backend is Backend.MEMORY:
                raise NotKept("This realm is kept in memory only, and nothing of an archived session is.")
            return row, live.messages(session, offset, limit)

    def listed(self, labels: dict[str, str], offset: int, limit: int) -> list[tuple[LiveRow, bool]]:
        with self.opened() as live:
            for running in live.all_running():
                self._look_after(live, running.session)
            active = {running.session for running in live.all_running()}
            return [(row, row.id in active) for row in live.listed(labels, offset, limit)]

    def listen(self, session: bytes, heard: int | None, on_change: Callable[[], None]) -> Listener:
        """Hear the events of this session's turns that run in this process, from `heard` on where somebody comes back."""
        row, _ = self.read(session)
        return self.streams.listen(_name(session), on_change=on_change, heard=heard, committed=row.events)

    def like(self, beginning: str, limit: int) -> list[bytes]:
        """The sessions whose ids begin so, archived ones too."""
        with self.opened() as live:
            return live.like(beginning, limit)

    def _look_after(self, live: Live, session: bytes) -> None:
        """Close a turn that crashed, where there is one; a reader waits for nobody otherwise."""
        running = live.running(session)
        if running is not None and not is_alive(live, running.holder):
            with live.transaction():
                self._settle(live, session)


def _name(session: bytes) -> str:
    return str(uuid.UUID(bytes=session))


def has_live(folder: Path) -> bool:
    """Whether there ever was a live session in this realm."""
    return live_of(folder).exists()
