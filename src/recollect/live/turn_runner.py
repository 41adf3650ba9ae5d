"""Runs one turn of a live session, from taking the session to committing it. docs/live-turn.md draws who calls whom."""

import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import AgentFault, Cancelled, RecollectError, SessionNotLoaded, StoreFault
from recollect.live.commits import ARCHIVED, INTERRUPTED, CommittedSessions
from recollect.live.event_sequence import EventSequence
from recollect.live.event_streams import EventStreams, StreamedTurn
from recollect.live.lease import Lease
from recollect.live.runners import ACP_SESSION, Assignment, Cancel, Output, Runner
from recollect.live.transcript_builder import Event, TranscriptBuilder, notice_message, sum_usage, user_message
from recollect.model import now_ms
from recollect.processes import start_time, stop_detached
from recollect.realms.names import uuid7
from recollect.store.live import LiveRow, Message, RunningRow

HISTORY_BATCH = 10  # messages per read; most runners need only a few
TOO_LONG = "The turn took longer than the {seconds:g} s that the realm's config allows."
CLOSED_AS_CRASHED = "Another process closed this turn as crashed: this one did not respond for too long. Nothing was stored."
TOO_DEEP = "The agent's output cannot be stored: it is nested too deeply."
RUNNER_FAILED = "The turn ended by an error in the runner itself."


class TurnRequest(Struct, frozen=True, kw_only=True):
    """A turn to run."""

    prompt: str
    runner: Runner
    runner_name: str  # stored with the session for its next turns
    command: list[str] | None
    stored_command: list[str] | None  # stored with the session; None if the command comes from the realm's config
    options: dict[str, Any]
    generation: int
    on_event: Callable[[Event], None] | None = None
    is_cancelled: Callable[[], bool] = lambda: False
    timeout_s: float | None = None
    earlier: Callable[[bytes, str], Iterable[Message]] = lambda session, native_id: ()
    """The messages of a session that the live session goes on with, newest first, if its agent knows it by this id."""
    context: str = ""  # what the agent must know before the prompt, if it cannot load the session
    must_load: bool = False  # fail, and store nothing, if the agent cannot load the session
    is_fresh: bool = False  # the agent begins a session of its own, even if it could load one

    def deadline(self) -> float:
        """When the turn must end, by the monotonic clock."""
        return time.monotonic() + self.timeout_s if self.timeout_s is not None else math.inf


class TurnResult(Struct, frozen=True, kw_only=True):
    """The result of a finished turn."""

    session: bytes
    text: str
    usage: dict[str, Any]
    turns: int
    tool_calls: int
    stop_reason: str
    has_context: bool  # the agent got the context, because it could not load the session


Outcome = tuple[LiveRow, RecollectError | None]  # the session after a turn, and why the turn failed if it did


class TurnRun:
    """A turn that holds its session, and releases it however it ends."""

    def __init__(
        self, committed: CommittedSessions, streams: EventStreams, lease: Lease, session: bytes, request: TurnRequest
    ) -> None:
        """Raises `SessionBusy` at once if another turn runs."""
        self._committed = committed
        self._streams = streams
        self._lease = lease
        self._request = request
        self._name = str(uuid.UUID(bytes=session))
        self._cancel = Cancel()
        self._deadline = request.deadline()
        prompt = committed.redact(request.prompt)
        with committed.connection() as live, committed.session_transaction(live, session) as row:
            self._row = row
            self._running = RunningRow(session, uuid7().bytes, lease.holder, row.turns + 1, now_ms(), prompt)
            live.begin_turn(self._running)
            live.put_lease(lease.renewed())  # in the same transaction: no process may see the turn with a stale heartbeat

    def run(self) -> TurnResult:
        """Run the agent and commit its messages. Raises the error of a failed turn, after committing the turn."""
        fault: RecollectError | None = AgentFault(RUNNER_FAILED)
        with (
            closing(EventSequence(self._committed.folder, self._running.token)) as event_sequence,
            self._holding_session() as streamed,
        ):

            def send(event: Event) -> None:
                event_sequence.save(event["sequence"])
                self._streams.publish(self._name, event, streamed)
                self._notify_caller(event)

            sequence = max(self._row.events, self._streams.last_sequence(self._name))
            transcript = TranscriptBuilder(self._name, self._request.prompt, self._running.turn, sequence, send)
            try:
                fault = self._run_agent(transcript)
                if fault is not None and self._is_late():
                    fault = AgentFault(TOO_LONG.format(seconds=self._request.timeout_s))
            finally:
                row, fault = self._commit_despite_interrupt(transcript, fault)
        if fault is not None:
            fault.details.setdefault("session_id", self._name)
            raise fault
        return TurnResult(
            session=row.id,
            text=transcript.text(),
            usage=transcript.usage(),
            turns=row.turns,
            tool_calls=transcript.tool_calls,
            stop_reason=transcript.stop_reason,
            has_context=transcript.has_context(),
        )

    def _notify_caller(self, event: Event) -> None:
        """Send an event to the caller of the turn; cancel the turn if the caller has disconnected."""
        if self._request.on_event is not None:
            try:
                self._request.on_event(event)
            except BrokenPipeError:
                self._cancel.set()

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    @contextmanager
    def _holding_session(self) -> Iterator[StreamedTurn]:
        """Release the session at the end of the block, even if the turn or its clean-up fails."""
        streamed = self._streams.begin_turn(self._name)
        self._lease.add_turn(self._running.token, self._cancel, lambda: self._request.is_cancelled() or self._is_late())
        try:
            yield streamed
        finally:
            try:
                with self._committed.connection() as live:
                    live.end_turn(self._running)
            except StoreFault:
                self._lease.end_turn_later(self._running)
            self._lease.remove_turn(self._running.token)
            self._streams.finish_turn(self._name, streamed)

    # ---- running the agent

    def _run_agent(self, transcript: TranscriptBuilder) -> RecollectError | None:
        """Run the agent to its end; returns why it failed, if it did."""
        row, request = self._row, self._request
        assignment = Assignment(
            session=self._name,
            prompt=request.prompt,
            cancel=self._cancel,
            folder=Path(row.folder),
            command=tuple(request.command or ()),
            options=request.options,
            state=row.runner_state if row.runner == request.runner_name and not request.is_fresh else {},
            history=self._newest_messages,
            earlier=self._continued_messages,
            context=request.context,
            is_continuation=row.continues is not None,
            must_load=request.must_load,
            on_process_started=self._save_child,
            mark=self._running.token.hex(),
        )
        fault: RecollectError | None = None
        try:
            with closing(request.runner(assignment)) as outputs:
                self._consume(outputs, transcript)
        except KeyboardInterrupt:  # Ctrl-C cancels the turn
            self._cancel.set()
        except RecollectError as error:
            fault = error
        if self._cancel.is_set():
            stop_detached(assignment.mark)
            return Cancelled(INTERRUPTED)
        return fault

    def _consume(self, outputs: Iterator[Output], transcript: TranscriptBuilder) -> None:
        for output in outputs:
            if self._cancel.is_set():
                return
            transcript.add(output)

    def _save_child(self, pid: int) -> None:
        """Save a child process, so that other processes can end it if this one crashes."""
        with self._committed.connection() as live:
            live.put_child(self._running, f"{pid}:{start_time(pid)}")

    def _newest_messages(self) -> Iterator[Message]:
        """The committed messages, newest first, read in small batches as they are needed."""
        for end in range(self._row.messages, 0, -HISTORY_BATCH):
            with self._committed.connection() as live:
                bodies = live.messages(self._row.id, max(0, end - HISTORY_BATCH), min(end, HISTORY_BATCH))
            yield from map(msgspec.json.decode, reversed(bodies))

    def _continued_messages(self, native_id: str) -> Iterable[Message]:
        """The messages of the session that this one goes on with, if the agent has loaded that one."""
        continued = self._row.continues
        return self._request.earlier(bytes.fromhex(continued), native_id) if continued is not None else ()

    # ---- commit

    def _commit_despite_interrupt(self, transcript: TranscriptBuilder, fault: RecollectError | None) -> Outcome:
        """Commit even if Ctrl-C is pressed meanwhile; a second Ctrl-C is not caught."""
        try:
            return self._commit(transcript, fault)
        except KeyboardInterrupt:
            return self._commit(transcript, fault or Cancelled(INTERRUPTED))

    def _commit(self, transcript: TranscriptBuilder, fault: RecollectError | None) -> Outcome:
        """Commit the turn, then send its end: a client that sees the end can read the messages."""
        row = self._row
        try:
            if not isinstance(fault, SessionNotLoaded):  # nothing happened
                row, fault = self._commit_messages(transcript, fault)
        except StoreFault as reason:
            fault = reason
        match fault:
            case None:
                transcript.emit(
                    "turn_completed",
                    text=transcript.text(),
                    usage=transcript.usage(),
                    turns=row.turns,
                    tool_calls=transcript.tool_calls,
                    stop_reason=transcript.stop_reason,
                )
            case Cancelled():
                transcript.emit("turn_interrupted", message=str(fault))
            case _:
                transcript.emit("turn_failed", message=str(fault))
        return row, fault

    def _commit_messages(self, transcript: TranscriptBuilder, fault: RecollectError | None) -> Outcome:
        """Commit the turn if it still holds the session; as interrupted if it was cancelled meanwhile."""
        session = self._row.id
        while True:
            bodies, fault = self._encode(transcript, fault)  # outside the transaction: long texts block no other session
            with self._committed.connection() as live, live.transaction():
                self._committed.reload_from_file(live, session)
                row, running = live.session(session), live.running(session)
                if row is None or running is None or running.token != self._running.token:
                    return self._row, Cancelled(CLOSED_AS_CRASHED)
                if row.turns >= self._running.turn:  # the first attempt has written the session's file already
                    live.end_turn(self._running)
                    return row, fault
                reason = INTERRUPTED if row.archived_at is None else ARCHIVED
                can_commit = not running.cancelled and row.archived_at is None
                if can_commit or (isinstance(fault, Cancelled) and str(fault) == reason):
                    self._update_session(row, transcript)
                    live.end_turn(self._running)
                    self._committed.commit(live, row, bodies)
                    return row, fault
            fault = Cancelled(reason)

    def _encode(
        self, transcript: TranscriptBuilder, fault: RecollectError | None
    ) -> tuple[list[bytes], RecollectError | None]:
        kind = "interrupt" if isinstance(fault, Cancelled) else "error"
        try:
            messages = transcript.messages() if fault is None else transcript.failed_messages(kind, str(fault))
            return self._committed.encode(messages), fault
        except RecursionError:
            fault = fault or AgentFault(TOO_DEEP)
            messages = [user_message(transcript.prompt, transcript.began_at), notice_message(kind, str(fault), now_ms())]
            return self._committed.encode(messages), fault

    def _update_session(self, row: LiveRow, transcript: TranscriptBuilder) -> None:
        """Update the session's row with the results of this turn."""
        request = self._request
        row.updated_at = max(now_ms(), row.updated_at)  # never goes back, even if the clock does
        row.instance, row.generation = self._lease.instance, request.generation
        if request.runner_name != row.runner:
            row.runner_state = {}
        row.runner, row.command = request.runner_name, request.stored_command
        row.runner_state = row.runner_state if transcript.runner_state is None else transcript.runner_state
        native_id = row.runner_state.get(ACP_SESSION)
        if native_id is not None and native_id not in row.native_ids:
            row.native_ids = [*row.native_ids, native_id]
        row.turns += 1
        row.events = transcript.sequence + 1  # counts the event of its end, which is sent after the commit
        row.usage = sum_usage(row.usage, transcript.usage())
