"""The input of a runner, and its output."""

from collections.abc import Generator
from pathlib import Path

import pytest

from recollect.errors import RecollectError
from recollect.live import LiveRealm
from recollect.live.runners import AnswerText, Assignment, Cancel, Output, ToolCall, ToolResult
from recollect.live.runners.process import describe_exit, failure_message
from recollect.operations.sessions.runners import recall
from recollect.realms.manifest import Backend
from tests.conftest import Person
from tests.live_processes import new_session, open_sessions, runner_with_output, turn_request


def recall_outputs(person: Person, prompt: str, cancel: Cancel) -> Generator[Output, None, None]:
    assignment = Assignment(session="1", prompt=prompt, cancel=cancel, folder=person.home)
    return recall(LiveRealm(person.settings(), "main"), assignment)


def test_recall_ends_when_it_is_cancelled(person: Person) -> None:
    cancel = Cancel()
    outputs = recall_outputs(person, "where is the anchor", cancel)
    assert isinstance(next(outputs), ToolCall)
    cancel.set()
    with pytest.raises(RecollectError):
        next(outputs)


def test_recall_answers_a_prompt_that_is_not_a_question(person: Person) -> None:
    call, result, answer = recall_outputs(person, "?", Cancel())
    assert isinstance(call, ToolCall)
    assert result == ToolResult("recall-1", "nothing found")
    assert answer == AnswerText("A question has at least 2 characters.")


@pytest.mark.parametrize(
    ("code", "stderr", "message"),
    [
        (3, "", "'agent' exited with code 3."),
        (-9, " \n", "'agent' was ended by signal 9."),
        (1, "at first\nno \x1b[31mluck\x07\n\n", "'agent' exited with code 1: no [31mluck"),
    ],
)
def test_a_failed_program_is_described_by_a_printable_sentence(code: int, stderr: str, message: str) -> None:
    assert failure_message("agent", describe_exit(code), stderr) == message


@pytest.mark.parametrize("turns", [0, 1, 5, 12])
def test_a_runner_gets_the_history_newest_first(tmp_path: Path, turns: int) -> None:
    history: list[str] = []

    def remember(assignment: Assignment) -> Generator[Output, None, None]:
        history.extend(message["content"] for message in assignment.history())
        yield from ()

    sessions = open_sessions(tmp_path, Backend.SQLITE, "one")
    session = sessions.create(new_session()).id
    for turn in range(turns):
        sessions.run(session, turn_request(f"prompt {turn}", runner_with_output()))
    sessions.run(session, turn_request("now", remember))
    sessions.close()
    assert history == [text for turn in reversed(range(turns)) for text in ("", f"prompt {turn}")]
