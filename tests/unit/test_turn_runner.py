"""Turns that are interrupted, archived or closed by another process while they run or commit."""

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import AgentFault, Cancelled, StoreFault
from recollect.live import sessions as live
from recollect.live.commits import CommittedSessions
from recollect.live.runners import AnswerText, ToolCall, ToolResult
from recollect.live.sessions import LiveSessions
from recollect.live.transcript_builder import MAX_TEXT
from recollect.realms.manifest import Backend
from recollect.store.live import Live
from tests.live_processes import ControlledTurn, new_session, open_sessions, runner_with_output, turn_request


@pytest.fixture(params=[Backend.SQLITE, Backend.JSONL])
def sessions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveSessions]:
    sessions = open_sessions(tmp_path, request.param, "one")
    yield sessions
    sessions.close()


@pytest.fixture
def session(sessions: LiveSessions) -> bytes:
    return sessions.create(new_session()).id


def roles_and_texts(sessions: LiveSessions, session: bytes) -> list[tuple[str, str]]:
    messages = [json.loads(body) for body in sessions.history(session, 0, 100)[1]]
    return [(message["role"], message["content"]) for message in messages]


def test_ctrl_c_during_a_commit_loses_nothing(
    sessions: LiveSessions, session: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come at any time, for example while a long answer is redacted."""
    bodies, calls = CommittedSessions.encode, iter([KeyboardInterrupt])

    def interrupt_once(*arguments: Any) -> list[bytes]:
        for error in calls:
            raise error
        return bodies(*arguments)

    monkeypatch.setattr(CommittedSessions, "encode", interrupt_once)
    with pytest.raises(Cancelled):
        sessions.run(session, turn_request("go", runner_with_output(AnswerText("a long answer"))))
    notice = ("system_notice", "The turn was interrupted.")
    assert roles_and_texts(sessions, session) == [("user", "go"), ("assistant", "a long answer"), notice]
    assert sessions.run(session, turn_request("again", runner_with_output(AnswerText("yes")))).turns == 2


def test_a_commit_that_reached_its_file_is_not_written_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = open_sessions(tmp_path, Backend.JSONL, "one")
    session = sessions.create(new_session()).id
    append, calls = Live.append, iter([KeyboardInterrupt])

    def interrupt_once(*arguments: Any) -> None:
        for error in calls:
            raise error
        append(*arguments)

    monkeypatch.setattr(Live, "append", interrupt_once)
    with pytest.raises(Cancelled):
        sessions.run(session, turn_request("go", runner_with_output(AnswerText("an answer"))))
    assert roles_and_texts(sessions, session) == [("user", "go"), ("assistant", "an answer")]
    sessions.close()


def test_an_answer_may_come_before_the_last_tool(sessions: LiveSessions, session: bytes) -> None:
    outputs = (AnswerText("I mended it."), ToolCall("1", "note", {"done": True}), ToolResult("1", "noted"))
    assert sessions.run(session, turn_request("go", runner_with_output(*outputs))).text == "I mended it."


def test_arguments_of_tools_count_as_text(sessions: LiveSessions, session: bytes) -> None:
    outputs = [ToolCall(str(number), "write", {"text": "x" * (MAX_TEXT // 4)}) for number in range(5)]
    with pytest.raises(AgentFault, match="more than"):
        sessions.run(session, turn_request("go", runner_with_output(*outputs)))


def test_messages_of_a_turn_are_stored_when_its_session_is_archived(sessions: LiveSessions, session: bytes) -> None:
    turn = ControlledTurn(sessions, session, "go")
    turn.say("so far")
    sessions.archive(session)
    turn.wait_for_end()
    notice = ("system_notice", "The session was archived while this turn ran.")
    assert roles_and_texts(sessions, session) == [("user", "go"), ("assistant", "so far"), notice]


class UncancellableTurn(ControlledTurn):
    """A turn that does not end when it is cancelled."""

    def _work(self, assignment):  # type: ignore[no-untyped-def]
        self._begun.set()
        while (word := self._words.get()) is not None:
            yield AnswerText(str(word))


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "STOP_PROGRAMS_S", 0.05)
    monkeypatch.setattr(live, "CANCEL_S", 0.1)


@pytest.mark.parametrize("end", ["interrupt", "archive"])
def test_a_cancelled_turn_that_does_not_end_is_closed_by_another_process(
    sessions: LiveSessions, session: bytes, short_waits: None, end: str
) -> None:
    turn = UncancellableTurn(sessions, session, "go")
    other = open_sessions(sessions.folder, sessions.backend, "other")
    getattr(other, end)(session)
    assert roles_and_texts(other, session)[0] == ("user", "go")
    assert roles_and_texts(other, session)[1][0] == "system_notice"
    if end == "interrupt":
        assert other.run(session, turn_request("again", runner_with_output(AnswerText("yes")))).turns == 2
    before = roles_and_texts(other, session)
    turn.release()
    assert isinstance(turn.error, Cancelled)
    assert roles_and_texts(other, session) == before, "the later end of the first turn does not overwrite it"
    other.close()


def test_an_unreadable_lock_does_not_make_a_process_dead(sessions: LiveSessions, session: bytes) -> None:
    """Without a free file descriptor, another process cannot check whether the process of a turn is alive."""
    turn = ControlledTurn(sessions, session, "go")
    other = open_sessions(sessions.folder, sessions.backend, "other")
    assert other.read(session)[1] is True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open("/", os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(StoreFault, match=r"Cannot find out|cannot be told"):
            other.read(session)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    turn.say("alive")
    assert turn.finish().text == "alive"
    other.close()
