"""Live sessions in their states (absent, idle, running, archived), after any order of operations by two processes.

The model follows the contract; the sessions are real, in files of a temporary folder. Two `LiveSessions` stand for two
processes: each has its own lease, connections and threads. One that crashes loses only its lock.
"""

import itertools
import json
import shutil
import tempfile
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from msgspec import Struct

from recollect.errors import AgentFault, Cancelled, PersistenceDisabled, SessionBusy, SessionNotFound, StoreFault
from recollect.live.runners import AnswerText, Assignment, Output, ToolCall
from recollect.live.sessions import LiveSessions
from recollect.realms.manifest import Backend
from recollect.store.transcripts import transcript_path
from tests.live_processes import (
    TERMINAL,
    ControlledTurn,
    crash,
    new_session,
    open_sessions,
    runner_with_output,
    turn_request,
)

pytestmark = pytest.mark.process

PROCESSES = st.integers(0, 1)
PLACES = st.integers(0, 5)  # the place of a session among those that an operation applies to
MAX_PRESENT = 3  # sessions that are not archived at once: few, so that much happens to each
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
WORDS = st.sampled_from(["one ", "two\n", "grün", "\U0001f30d"])
HALVES = ['{"type":"mess', '{"type":"message","role":"user"}\n', "rubbish\n\n"]
LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)


def at(place: int, among: list[bytes]) -> bytes:
    return among[place % len(among)]


class Expected(Struct):
    """The expected state of a session."""

    labels: dict[str, str]
    messages: list[tuple[str, str]] = []
    turns: int = 0
    events: int = 0
    archived: bool = False
    running: ControlledTurn | None = None
    text: str = ""

    def prompt_message(self) -> tuple[str, str]:
        assert self.running is not None
        return ("user", self.running.prompt)

    def end_turn(self, *messages: tuple[str, str]) -> None:
        """Its turn ended with these messages."""
        self.messages = [*self.messages, self.prompt_message(), *messages]
        self.turns += 1
        self.running = None

    def end_with_notice(self, notice: str) -> None:
        self.end_turn(*([("assistant", self.text)] if self.text else []), ("system_notice", notice))


class Lifecycle(RuleBasedStateMachine):
    backend = Backend.SQLITE

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="lifecycle-"))
        self.names = (f"process-{number}" for number in itertools.count())
        self.processes = [self._process(), self._process()]
        self.crashed: list[LiveSessions] = []
        self.zombies: list[tuple[bytes, ControlledTurn]] = []
        self.expected: dict[bytes, Expected] = {}
        self.prompts = (f"prompt {number}" for number in itertools.count())

    def _process(self) -> LiveSessions:
        return open_sessions(self.folder, self.backend, next(self.names))

    def teardown(self) -> None:
        for expected in self.expected.values():
            if expected.running is not None:
                expected.running.release()
        for _, zombie in self.zombies:
            zombie.release()
        for process in (*self.processes, *self.crashed):
            process.close()
        shutil.rmtree(self.folder)

    def _running(self) -> list[bytes]:
        return [session for session, expected in self.expected.items() if expected.running is not None]

    def _present(self) -> list[bytes]:
        return [session for session, expected in self.expected.items() if not expected.archived]

    def _turn(self, place: int) -> tuple[Expected, ControlledTurn]:
        """One of the running turns."""
        expected = self.expected[at(place, self._running())]
        assert expected.running is not None
        return expected, expected.running

    # ---- operations

    @precondition(lambda self: len(self._present()) < MAX_PRESENT)
    @rule(by=PROCESSES, labels=LABELS)
    def create(self, by: int, labels: dict[str, str]) -> None:
        self.expected[self.processes[by].create(new_session(**labels)).id] = Expected(labels)

    @precondition(lambda self: len(self._present()) > len(self._running()))
    @rule(place=PLACES, by=PROCESSES)
    def begin(self, place: int, by: int) -> None:
        session = at(place, [session for session in self._present() if session not in self._running()])
        expected = self.expected[session]
        expected.running, expected.text = ControlledTurn(self.processes[by], session, next(self.prompts)), ""

    @precondition(lambda self: self._running())
    @rule(place=PLACES, by=PROCESSES)
    def begin_another(self, place: int, by: int) -> None:
        """It is refused at once: the running turn ends only when the test ends it."""
        _, turn = self._turn(place)
        with pytest.raises(SessionBusy):
            self.processes[by].run(at(place, self._running()), turn_request("me too", None))
        assert turn.is_running()

    @precondition(lambda self: self._running())
    @rule(place=PLACES, text=WORDS)
    def say(self, place: int, text: str) -> None:
        expected, turn = self._turn(place)
        turn.say(text)
        expected.text += text

    @precondition(lambda self: self._running())
    @rule(place=PLACES)
    def finish(self, place: int) -> None:
        expected, turn = self._turn(place)
        ran = turn.finish()
        assert (ran.text, ran.turns) == (expected.text, expected.turns + 1)
        self._check_events(expected, turn, "turn_completed")
        expected.end_turn(("assistant", expected.text))

    @precondition(lambda self: self._running())
    @rule(place=PLACES)
    def fail(self, place: int) -> None:
        expected, turn = self._turn(place)
        assert isinstance(turn.fail("It broke."), AgentFault)
        self._check_events(expected, turn, "turn_failed")
        expected.end_with_notice("It broke.")

    @precondition(lambda self: self._running())
    @rule(place=PLACES, by=PROCESSES)
    def interrupt(self, place: int, by: int) -> None:
        expected, turn = self._turn(place)
        assert self.processes[by].interrupt(at(place, self._running())) is True
        turn.wait_for_end()
        assert isinstance(turn.error, Cancelled)
        self._check_events(expected, turn, "turn_interrupted")
        expected.end_with_notice("The turn was interrupted.")

    @precondition(lambda self: self._present())
    @rule(place=PLACES, by=PROCESSES)
    def interrupt_an_idle_session(self, place: int, by: int) -> None:
        session = at(place, self._present())
        if session not in self._running():
            assert self.processes[by].interrupt(session) is False

    @precondition(lambda self: self._present())
    @rule(place=PLACES, by=PROCESSES)
    def archive(self, place: int, by: int) -> None:
        session = at(place, self._present())
        expected = self.expected[session]
        self.processes[by].archive(session)
        expected.archived = True
        if (turn := expected.running) is not None:
            turn.wait_for_end()
            assert isinstance(turn.error, Cancelled)
            self._check_events(expected, turn, "turn_interrupted")
            expected.end_with_notice("The session was archived while this turn ran.")

    @precondition(lambda self: len(self._present()) < len(self.expected))
    @rule(by=PROCESSES)
    def use_an_archived_session(self, by: int) -> None:
        session = next(session for session, expected in self.expected.items() if expected.archived)
        process = self.processes[by]
        for what in (process.interrupt, process.archive, lambda one: process.run(one, turn_request("x", None))):
            with pytest.raises(SessionNotFound):
                what(session)

    @rule(by=PROCESSES)
    def crash(self, by: int) -> None:
        """The next process that reads the sessions closes its turns."""
        process = self.processes[by]
        if process._lease is None:
            return
        crash(process)
        self.crashed.append(process)
        self.processes[by] = self._process()
        for session, expected in self.expected.items():
            if (turn := expected.running) is not None and turn.sessions is process:
                self.zombies.append((session, turn))
                expected.events += len(turn.events)  # its events are not sent again
                expected.end_turn(("system_notice", "The process that ran this turn ended without finishing it."))

    @precondition(lambda self: self.zombies)
    @rule()
    def wake_a_zombie(self) -> None:
        """A turn that was marked as crashed cannot change its session any more."""
        _, turn = self.zombies.pop()
        turn.release()
        assert isinstance(turn.error, Cancelled)

    def _check_events(self, expected: Expected, turn: ControlledTurn, end: str) -> None:
        """Event numbers continue over all turns, and exactly one event of a turn is its end."""
        sequences = [event["sequence"] for event in turn.events]
        assert sequences == list(range(expected.events + 1, expected.events + 1 + len(sequences)))
        assert [event["type"] for event in turn.events if event["type"] in TERMINAL] == [end]
        assert (turn.events[0]["type"], turn.events[-1]["type"]) == ("turn_started", end)
        expected.events += len(sequences)

    # ---- invariants

    @invariant()
    def all_processes_agree(self) -> None:
        for process, (session, expected) in itertools.product(self.processes, self.expected.items()):
            if expected.archived and self.backend is not Backend.MEMORY:
                with pytest.raises(SessionNotFound):
                    process.read(session)
                continue
            row, is_active = process.read(session)
            assert (is_active, row.turns) == (expected.running is not None, expected.turns)
            assert row.messages == len(expected.messages)
            assert row.labels == expected.labels

    @invariant()
    def history_is_what_was_committed(self) -> None:
        for session, expected in self.expected.items():
            process = self.processes[len(expected.messages) % 2]
            if expected.archived and self.backend is Backend.MEMORY:
                with pytest.raises(PersistenceDisabled):
                    process.history(session, 0, 10)
                continue
            pages = [process.history(session, offset, 3)[1] for offset in range(0, len(expected.messages) + 1, 3)]
            messages = [json.loads(body) for page in pages for body in page]
            assert [(message["role"], message["content"]) for message in messages] == expected.messages
            assert process.history(session, len(messages), 10)[1] == []

    @invariant()
    def lists_have_all_sessions_that_are_not_archived(self) -> None:
        active = {key: one.running is not None for key, one in self.expected.items() if not one.archived}
        for process in self.processes:
            assert {row.id: is_active for row, is_active in process.list_sessions({}, 0, 1_000)} == active
            for labels in ({"a": "x"}, {"a": "x", "b": "y"}):
                matching = {key for key in active if labels.items() <= self.expected[key].labels.items()}
                assert {row.id for row, _ in process.list_sessions(labels, 0, 1_000)} == matching


class JsonlLifecycle(Lifecycle):
    """With JSONL files, the database may be lost while nothing runs, and a line may be half-written at any time."""

    backend = Backend.JSONL

    @precondition(lambda self: not self._running())
    @rule()
    def lose_the_database(self) -> None:
        for path in (self.folder / "live").glob("live.db*"):
            path.unlink()

    @precondition(lambda self: not self._running())
    @rule()
    def lose_the_folder(self) -> None:
        shutil.rmtree(self.folder / "live", ignore_errors=True)

    @precondition(lambda self: self.expected)
    @rule(place=PLACES, line=st.sampled_from(HALVES))
    def write_half_a_turn(self, place: int, line: str) -> None:
        with transcript_path(self.folder, at(place, list(self.expected))).open("a") as file:
            file.write(line)


class MemoryLifecycle(Lifecycle):
    backend = Backend.MEMORY


@pytest.mark.parametrize(("machine", "examples"), [(Lifecycle, 55), (JsonlLifecycle, 55), (MemoryLifecycle, 20)])
def test_a_session_has_the_state_that_its_operations_led_to(machine: type[Lifecycle], examples: int) -> None:
    """M5..M11, M14..M17, M19..M25."""
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None))


# ---- concurrent processes, and output that cannot be stored


@pytest.fixture(params=[Backend.SQLITE, Backend.JSONL])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[LiveSessions, LiveSessions]]:
    """Two processes in one realm."""
    both = open_sessions(tmp_path, request.param, "one"), open_sessions(tmp_path, request.param, "other")
    yield both
    for process in both:
        process.close()


Pair = tuple[LiveSessions, LiveSessions]


def roles_and_texts(process: LiveSessions, session: bytes) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in map(json.loads, process.history(session, 0, 1_000)[1])]


def test_an_interrupt_that_reports_success_did_interrupt_the_turn(pair: Pair) -> None:
    """Whether the end of the turn or the interrupt comes first."""
    one, other = pair
    session = one.create(new_session()).id
    for _ in range(40):
        turn = ControlledTurn(one, session, "go")
        with ThreadPoolExecutor(1) as beside:
            interrupt = beside.submit(other.interrupt, session)
            turn.release()
            assert interrupt.result() is isinstance(turn.error, Cancelled)


def test_a_reader_sees_a_consistent_snapshot_of_a_session(pair: Pair) -> None:
    """M16, M19. The two messages of a turn appear together, with the new counts."""
    one, other = pair
    session = one.create(new_session()).id

    def write() -> None:
        for _ in range(300):
            one.run(session, turn_request("go", runner_with_output(AnswerText("done"))))

    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(write)
        while not writing.done():
            row, messages = other.history(session, 0, 1_000)
            assert (len(messages), row.messages) == (2 * row.turns, 2 * row.turns)
            for row, _ in (other.read(session), *other.list_sessions({}, 0, 1)):
                assert row.messages == 2 * row.turns
        writing.result()
    assert other.read(session)[0].turns == 300


def test_a_process_that_exits_normally_leaves_no_crash(pair: Pair) -> None:
    one, other = pair
    session = one.create(new_session()).id
    turn = ControlledTurn(one, session, "go")
    turn.say("half")
    one.close()
    assert roles_and_texts(other, session) == [
        ("user", "go"),
        ("assistant", "half"),
        ("system_notice", "The turn was interrupted."),
    ]
    turn.wait_for_end()


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def test_output_that_cannot_be_stored_is_an_agent_error_and_the_session_stays_usable(pair: Pair) -> None:
    one, other = pair
    session = one.create(new_session()).id
    with pytest.raises(AgentFault, match="nested too deeply"):
        one.run(session, turn_request("go", runner_with_output(ToolCall("1", "tool", deep(900)))))
    assert [role for role, _ in roles_and_texts(other, session)] == ["user", "system_notice"]
    assert other.run(session, turn_request("again", runner_with_output(AnswerText("fine")))).text == "fine"


def test_half_a_surrogate_pair_is_stored_as_a_question_mark(pair: Pair) -> None:
    one, other = pair
    session = one.create(new_session()).id
    one.run(session, turn_request("go", runner_with_output(AnswerText("a\ud83db"))))
    assert roles_and_texts(other, session)[-1] == ("assistant", "a?b")


def test_a_session_is_usable_after_its_runner_raised(pair: Pair) -> None:
    one, other = pair
    session = one.create(new_session()).id

    def broken(assignment: Assignment) -> Generator[Output, None, None]:
        yield AnswerText("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        one.run(session, turn_request("go", broken))
    assert [role for role, _ in roles_and_texts(other, session)] == ["user", "assistant", "system_notice"]
    assert other.run(session, turn_request("again", runner_with_output(AnswerText("fine")))).turns == 2


def test_a_secret_in_a_prompt_is_not_on_the_disk_while_its_turn_runs(pair: Pair) -> None:
    one, other = pair
    session = one.create(new_session()).id
    turn = ControlledTurn(one, session, f"use {SECRET}")
    stored = b"".join(path.read_bytes() for path in one.folder.rglob("*") if path.is_file())
    assert SECRET.encode() not in stored
    turn.finish()
    assert SECRET not in str(roles_and_texts(other, session))


def test_a_session_is_usable_after_a_failed_commit(tmp_path: Path) -> None:
    """Earlier commits are unchanged, and event numbers continue for subscribers."""
    one, other = open_sessions(tmp_path, Backend.JSONL, "one"), open_sessions(tmp_path, Backend.JSONL, "other")
    session = one.create(new_session()).id
    one.run(session, turn_request("first", runner_with_output(AnswerText("done"))))
    turn, path = ControlledTurn(one, session, "second"), transcript_path(tmp_path, session)
    path.rename(tmp_path / "aside")
    path.mkdir()  # works like a disk that refuses the write
    turn.release()
    assert isinstance(turn.error, StoreFault)
    assert turn.events[-1]["type"] == "turn_failed"
    path.rmdir()
    (tmp_path / "aside").rename(path)
    assert roles_and_texts(other, session) == [("user", "first"), ("assistant", "done")]
    third = ControlledTurn(one, session, "third")
    assert third.events[0]["sequence"] == turn.events[-1]["sequence"] + 1
    third.finish()
    for process in (one, other):
        process.close()
