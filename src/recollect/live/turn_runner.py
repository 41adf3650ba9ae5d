"""One turn of a live session, from its beginning to its commit. Nothing of it is seen before all of it is committed."""

import math
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import AgentFault, Cancelled, RecollectError, StoreFault
from recollect.live.commits import ARCHIVED, INTERRUPTED, CommittedSessions
from recollect.live.event_sequence import EventSequence
from recollect.live.event_streams import EventStreams, StreamedTurn
from recollect.live.lease import Lease
from recollect.live.runners import ACP_SESSION, Assignment, Cancel, Output, Runner
from recollect.live.transcript_builder import Event, TranscriptBuilder, added, asked, notice
from recollect.model import now_ms
from recollect.processes import began, stop_strays
from recollect.realms.names import uuid7
from recollect.store.live import LiveRow, Message, RunningRow

FEW = 10  # messages that are read at once
TOO_LONG = "The turn took longer than the {seconds:g} s that the realm's config allows."
TAKEN_FOR_CRASHED = "This turn was taken for crashed, because its process did not answer for long; nothing of it was kept."
UNKEEPABLE = "What the agent did cannot be kept: it is nested too deeply."


class TurnRequest(Struct, frozen=True, kw_only=True):
    """A turn to be run: by whom, and for whom."""

    prompt: str
    runner: Runner
    runner_name: str  # of the runner, kept with the session for its next turns
    command: list[str] | None
    stored_command: list[str] | None  # the command that is kept: not one that the realm's config has
    options: dict[str, Any]
    generation: int
    on_event: Callable[[Event], None] | None = None
    is_cancelled: Callable[[], bool] = lambda: False
    timeout_s: float | None = None

    def ends_at(self) -> float:
        """When its time is up, by the steady clock."""
        return time.monotonic() + self.timeout_s if self.timeout_s is not None else math.inf


class TurnResult(Struct, frozen=True, kw_only=True):
    """What a finished turn came to."""

    session: bytes
    text: str
    usage: dict[str, Any]
    turns: int
    tool_calls: int
    stop_reason: str


class TurnRun:
    """A turn that has the right to run, and gives it back however it ends."""

    def __init__(
        self, kept: CommittedSessions, streams: EventStreams, lease: Lease, session: bytes, order: TurnRequest
    ) -> None:
        """Raises `SessionBusy` at once where another one runs."""
        self._kept = kept
        self._streams = streams
        self._lease = lease
        self._order = order
        self._name = str(uuid.UUID(bytes=session))
        self._cancel = Cancel()
        self._ends_at = order.ends_at()
        prompt = kept.without_secrets(order.prompt)
        with kept.opened() as live, kept.settled(live, session) as row:
            self._row = row
            self._running = RunningRow(session, uuid7().bytes, lease.holder, row.turns + 1, now_ms(), prompt)
            live.begin(self._running)
            live.beat(lease.beaten())  # nobody may see a turn whose holder seems to be gone

    def to_end(self) -> TurnResult:
        """Let the runner do its work, and commit what came of it."""
        fault: RecollectError | None = AgentFault("The turn ended by a fault of the runner's own.")
        with closing(EventSequence(self._kept.folder, self._running.token)) as count, self._held() as told:

            def tell(event: Event) -> None:
                count.put(event["sequence"])
                self._streams.publish(self._name, event, told)
                self._tell(event)

            sequence = max(self._row.events, self._streams.last(self._name))
            turn = TranscriptBuilder(self._name, self._order.prompt, self._running.turn, sequence, tell)
            try:
                fault = self._work(turn)
                if fault is not None and self._is_late():
                    fault = AgentFault(TOO_LONG.format(seconds=self._order.timeout_s))
            finally:
                row, fault = self._commit_surely(turn, fault)
        if fault is not None:
            fault.details.setdefault("session_id", self._name)
            raise fault
        return TurnResult(
            session=row.id,
            text=turn.text(),
            usage=turn.usage(),
            turns=row.turns,
            tool_calls=turn.tool_calls,
            stop_reason=turn.stop_reason,
        )

    def _tell(self, event: Event) -> None:
        """Tell whoever asked for the turn."""
        if self._order.on_event is not None:
            try:
                self._order.on_event(event)
            except BrokenPipeError:  # whoever asked for the turn has gone
                self._cancel.set()

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends_at

    @contextmanager
    def _held(self) -> Iterator[StreamedTurn]:
        """However a turn ends, and whatever fails then, its session is free afterwards."""
        told = self._streams.begin(self._name)
        self._lease.hold(self._running.token, self._cancel, lambda: self._order.is_cancelled() or self._is_late())
        try:
            yield told
        finally:
            try:
                with self._kept.opened() as live:
                    live.end(self._running)
            except StoreFault:
                self._lease.end_later(self._running)
            self._lease.let_go(self._running.token)
            self._streams.finish(self._name, told)

    # ---- work

    def _work(self, turn: TranscriptBuilder) -> RecollectError | None:
        """Let the runner do its work; what went wrong, if anything did."""
        row, order = self._row, self._order
        given = Assignment(
            session=self._name,
            prompt=order.prompt,
            cancel=self._cancel,
            folder=Path(row.folder),
            command=tuple(order.command or ()),
            options=order.options,
            state=row.kept if row.runner == order.runner_name else {},
            history=self._newest_messages,
            started=self._note_child,
            mark=self._running.token.hex(),
        )
        fault: RecollectError | None = None
        try:
            with closing(order.runner(given)) as outputs:
                self._take(outputs, turn)
        except KeyboardInterrupt:  # somebody at a terminal has seen enough
            self._cancel.set()
        except RecollectError as error:
            fault = error
        if self._cancel.is_set():
            stop_strays(given.mark)
            return Cancelled(INTERRUPTED)
        return fault

    def _take(self, outputs: Iterator[Output], turn: TranscriptBuilder) -> None:
        for output in outputs:
            if self._cancel.is_set():
                return
            turn.take(output)

    def _note_child(self, pid: int) -> None:
        """So that whoever closes this turn after a crash of ours can end what it started."""
        with self._kept.opened() as live:
            live.put_child(self._running, f"{pid}:{began(pid)}")

    def _newest_messages(self) -> Iterator[Message]:
        """Read as they are wanted: mostly a few are enough."""
        for end in range(self._row.messages, 0, -FEW):
            with self._kept.opened() as live:
                bodies = live.messages(self._row.id, max(0, end - FEW), min(end, FEW))
            yield from map(msgspec.json.decode, reversed(bodies))

    # ---- commit

    def _commit_surely(self, turn: TranscriptBuilder, fault: RecollectError | None) -> tuple[LiveRow, RecollectError | None]:
        """Commit, also where somebody at a terminal has seen enough meanwhile: they are not heard a second time."""
        try:
            return self._commit(turn, fault)
        except KeyboardInterrupt:
            return self._commit(turn, fault or Cancelled(INTERRUPTED))

    def _commit(self, turn: TranscriptBuilder, fault: RecollectError | None) -> tuple[LiveRow, RecollectError | None]:
        """Commit what came of a turn, then tell of its end: what is told can be read."""
        row = self._row
        try:
            row, fault = self._conclude(turn, fault)
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

    def _conclude(self, turn: TranscriptBuilder, fault: RecollectError | None) -> tuple[LiveRow, RecollectError | None]:
        """Commit a turn if it is still the one that runs; as interrupted, if anybody was told that it would be."""
        session = self._row.id
        while True:
            bodies, fault = self._bodies(turn, fault)  # outside: other sessions wait for no long text of this one
            with self._kept.opened() as live, live.transaction():
                self._kept.level_one(live, session)
                row, held = live.session(session), live.running(session)
                if row is None or held is None or held.token != self._running.token:
                    return self._row, Cancelled(TAKEN_FOR_CRASHED)
                if row.turns >= self._running.turn:  # our first attempt came as far as its file
                    live.end(self._running)
                    return row, fault
                reason = INTERRUPTED if row.archived_at is None else ARCHIVED
                is_wanted = not held.cancelled and row.archived_at is None
                if is_wanted or (isinstance(fault, Cancelled) and str(fault) == reason):
                    self._advance(row, turn)
                    live.end(self._running)
                    self._kept.put(live, row, bodies)
                    return row, fault
            fault = Cancelled(reason)

    def _bodies(self, turn: TranscriptBuilder, fault: RecollectError | None) -> tuple[list[bytes], RecollectError | None]:
        kind = "interrupt" if isinstance(fault, Cancelled) else "error"
        try:
            messages = turn.messages() if fault is None else turn.broken_off(kind, str(fault))
            return self._kept.bodies(messages), fault
        except RecursionError:
            fault = fault or AgentFault(UNKEEPABLE)
            return self._kept.bodies([asked(turn.prompt, turn.began_at), notice(kind, str(fault), now_ms())]), fault

    def _advance(self, row: LiveRow, turn: TranscriptBuilder) -> None:
        """A session after one more turn."""
        order = self._order
        row.updated_at = max(now_ms(), row.updated_at)  # it never goes back, even where the clock does
        row.instance, row.generation = self._lease.instance, order.generation
        if order.runner_name != row.runner:
            row.kept = {}
        row.runner, row.command = order.runner_name, order.stored_command
        row.kept = row.kept if turn.kept is None else turn.kept
        native_id = row.kept.get(ACP_SESSION)
        if native_id is not None and native_id not in row.native_ids:
            row.native_ids = [*row.native_ids, native_id]
        row.turns += 1
        row.events = turn.sequence + 1  # with the one that will tell of its end
        row.usage = added(row.usage, turn.usage())
