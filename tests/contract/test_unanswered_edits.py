"""A call without a response: it was broken off, refused, or still waits. It changed no file, unless the log omits responses."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Person
from tests.logs import Claude, append, write
from tests.tallies import recorded_files

Rows = list[tuple[str, str, int | None, int | None]]
OLD, NEW = "deck = 1", "deck = 2\nrail = 3"


def rows(person: Person) -> Rows:
    return recorded_files(person.realm / "archive.db")


def edit(claude: Claude, call: str, file: str) -> dict[str, Any]:
    return claude.calls("Edit", call, file_path=f"/work/app/{file}", old_string=OLD, new_string=NEW)


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    """Edits of every outcome; the last one waits for a permission."""
    claude = Claude()
    return [
        claude.prompt("Add a rail to the deck"),
        edit(claude, "t1", "broken_off.py"),
        claude.interrupted(),
        claude.prompt("Go on"),
        edit(claude, "t2", "changed.py"),
        claude.result("t2", "The file /work/app/changed.py has been updated."),
        edit(claude, "t3", "refused.py"),
        claude.result("t3", "<tool_use_error>String to replace not found in file.</tool_use_error>", failed=True),
        edit(claude, "t4", "late.py"),
        edit(claude, "t5", "waits.py"),
        claude.result("t4", "The file /work/app/late.py has been updated."),
    ]


DONE: Rows = [("changed.py", "changed", 2, 1), ("late.py", "changed", 2, 1)]


def test_only_edits_that_succeeded_count(person: Person, lines: list[dict[str, Any]]) -> None:
    write(person.claude_log(Claude().session), lines)
    person.sync()
    assert rows(person) == DONE


def test_a_log_that_grows_line_by_line_ends_with_the_same_files(person: Person, lines: list[dict[str, Any]]) -> None:
    log = person.claude_log(Claude().session)
    seen = []
    for line in lines:
        append(log, line)
        person.sync()
        seen.append(rows(person))
    assert seen[-1] == DONE
    assert [("changed.py", "changed", 2, 1)] in seen  # before the response of the next one


def test_a_response_that_comes_much_later_counts(person: Person, lines: list[dict[str, Any]]) -> None:
    log = write(person.claude_log(Claude().session), lines)
    person.sync()
    claude = Claude(start=60)
    append(log, claude.result("t5", "The file /work/app/waits.py has been updated."))
    person.sync()
    assert rows(person) == [*DONE, ("waits.py", "changed", 2, 1)]


def pi_lines() -> Iterator[dict[str, Any]]:
    """A session of Pi in which an answer ended in an error, before any of its calls ran."""
    stamp = "2026-02-01T00:00:0{}.000Z"
    yield {
        "type": "session",
        "version": 3,
        "id": "5f0c1a2b-0000-4000-8000-000000000001",
        "timestamp": stamp.format(0),
        "cwd": "/work/app",
    }

    def message(number: int, **fields: Any) -> dict[str, Any]:
        identity, parent = f"0000000{number}", f"0000000{number - 1}" if number > 1 else None
        return {"type": "message", "id": identity, "parentId": parent, "timestamp": stamp.format(number), "message": fields}

    def call(identity: str, file: str) -> dict[str, Any]:
        return {
            "type": "toolCall",
            "id": identity,
            "name": "edit",
            "arguments": {"path": file, "oldText": OLD, "newText": NEW},
        }

    yield message(1, role="user", content=[{"type": "text", "text": "Add a rail"}])
    yield message(2, role="assistant", content=[call("c1", "never.py"), call("c2", "never_either.py")], stopReason="error")
    yield message(3, role="assistant", content=[call("c3", "done.py")], stopReason="toolUse")
    text = [{"type": "text", "text": "Successfully replaced text in done.py."}]
    yield message(4, role="toolResult", toolCallId="c3", toolName="edit", content=text, isError=False)
    yield message(5, role="assistant", content=[{"type": "text", "text": "Done."}], stopReason="stop")


@pytest.mark.parametrize("parts", [1, 6])
def test_calls_of_an_answer_that_ended_in_an_error_do_not_count(person: Person, parts: int) -> None:
    log = person.home / ".pi" / "agent" / "sessions" / "--work-app--" / "2026-02-01T00-00-00_5f0c1a2b.jsonl"
    log.parent.mkdir(parents=True)
    lines = [*pi_lines()]
    for start in range(0, len(lines), len(lines) // parts):
        append(log, *lines[start : start + len(lines) // parts])
        person.sync()
    assert rows(person) == [("done.py", "changed", 2, 1)]


def test_edits_count_in_logs_that_have_no_responses(person: Person) -> None:
    """Cursor's transcripts."""
    session = "7d3e5f60-1111-4222-8333-444444444444"
    folder = person.home / ".cursor" / "projects" / "work-app" / "agent-transcripts" / session
    call = {"type": "tool_use", "name": "Write", "input": {"path": "/work/app/notes.md", "contents": "one\ntwo\n"}}
    query = "<user_query>\nWrite two lines\n</user_query>"
    write(
        folder / f"{session}.jsonl",
        [
            {"role": "user", "message": {"content": [{"type": "text", "text": query}]}},
            {"role": "assistant", "message": {"content": [{"type": "text", "text": "I write."}, call]}},
            {"role": "assistant", "message": {"content": [{"type": "text", "text": "Written."}]}},
        ],
    )
    person.sync()
    assert [(path.rsplit("/", 1)[-1], *more) for path, *more in rows(person)] == [("notes.md", "created", 2, 0)]
