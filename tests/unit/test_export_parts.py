"""What all documents share: steps, redaction with a receipt, one-line calls, and JSONL."""

import json
import tracemalloc
from collections.abc import Iterator
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from recollect.export import DocumentRequest, FormatName, Receipt, SessionContent, write_document
from recollect.export.call_summary import call_outcome, call_summary, shown_arguments
from recollect.export.facts import facts_of, price_text
from recollect.export.length_limits import LengthLimits, cut_text
from recollect.export.steps import LOOK_AHEAD, TranscriptStep, join_calls
from recollect.library_answers import Cost, LibraryEvent, LibrarySession
from tests.library_content import SESSION, Events, content, document

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_parallel_calls_get_their_own_responses() -> None:
    events = Events()
    first = events.add("tool_call", tool="Read", arguments={})
    second = events.add("tool_call", tool="Bash", arguments={})
    events.add("tool_response", "of the second", answers=second.sequence)
    events.add("tool_response", "of the first", answers=first.sequence)
    events.add("tool_response", "of nothing", answers=None)
    steps = list(join_calls(events.all))
    assert [step.event.sequence for step in steps] == [0, 1, 4]
    assert [step.output.text for step in steps if step.output] == ["of the first", "of the second", "of nothing"]


def test_a_call_without_a_response_waits_for_a_bounded_number_of_events() -> None:
    events = Events()
    events.add("tool_call", tool="Bash", arguments={})
    source = iter(events.add("reasoning", "thinking") for _ in range(1_000_000))
    steps = join_calls([*events.all, *(next(source) for _ in range(LOOK_AHEAD))])
    assert next(steps).response is None
    assert len(list(steps)) == LOOK_AHEAD


def test_every_event_is_in_one_step() -> None:
    random = Random(1)
    for _ in range(200):
        events, calls = Events(), list[int]()
        for _ in range(random.randrange(200)):
            if calls and random.random() < 0.4:
                events.add("tool_response", answers=calls.pop(random.randrange(len(calls))))
            elif random.random() < 0.6:
                calls.append(events.add("tool_call", arguments={}).sequence)
            else:
                events.turn += random.random() < 0.1
                events.add("assistant_response")
        steps = list(join_calls(events.all))
        joined = [event.sequence for step in steps for event in (step.event, step.response) if event is not None]
        assert sorted(joined) == list(range(len(events.all)))
        assert [step.event.sequence for step in steps] == sorted(step.event.sequence for step in steps)


@pytest.mark.parametrize("format", ["html", "markdown", "jsonl"])
def test_secrets_are_redacted_again_and_counted(format: str) -> None:
    events = Events()
    events.add("user_input", f"my token is {SECRET}")
    events.add("assistant_response", "it was [REDACTED:github-token]")
    events.call("Bash", f"TOKEN={SECRET}", command=f"curl -H 'Authorization: token {SECRET}' x")
    events.call("Edit", "done", diff=f"--- a\n+++ a\n@@\n+{SECRET}\n", file_path="a", new_string=SECRET, old_string="")
    text, receipt = document(format, content(events.all, title=f"use {SECRET}", note=SECRET))  # type: ignore[arg-type]
    assert SECRET not in text
    assert sum(receipt.redacted_when_stored.values()) == 1
    assert sum(receipt.redacted_now.values()) == 4
    assert receipt.view()["redacted_now"] == dict(receipt.redacted_now)
    assert any("5 secrets redacted, 4 of them in this export" in line for line in receipt.sentences())


def test_jsonl_is_whole_and_can_be_read_back() -> None:
    events = Events()
    events.add("user_input", "long " * 100_000 + "\x1b[31m\u202e\u2028\x00")
    events.call("Bash", "x" * 500_000, command="ls", number=1, list=[1, {"a": None}])
    events.add("runtime", "tokens")
    text, receipt = document("jsonl", content(events.all))
    first, *lines = text.splitlines()
    assert json.loads(first)["type"] == "session"
    assert msgspec.json.decode(first, type=LibrarySession) == content(events.all).session
    assert [msgspec.json.decode(line, type=LibraryEvent) for line in lines] == events.all
    assert receipt.events == len(events.all)
    assert receipt.texts_shortened == 0
    assert not set("\x1b\u202e\u2028") & set(text)


@pytest.mark.parametrize(
    "tool, arguments, summary",
    [
        ("Bash", {"command": "ls -l", "description": "List"}, "ls -l"),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, "cat a.py"),
        ("shell", {"command": ["git", "status"]}, "git status"),
        ("Read", {"file_path": "/work/cli/src/a.py", "limit": 3}, "src/a.py"),
        ("Grep", {"pattern": "def x", "output_mode": "count"}, "def x"),
        ("odd", {"x": 1, "y": "words"}, "words"),
        ("odd", {"x": 1}, '{"x":1}'),
        ("none", {}, ""),
        ("Bash", {"command": "one\ntwo"}, "one two"),
    ],
)
def test_a_call_in_one_line(tool: str, arguments: dict[str, object], summary: str) -> None:
    call = Events().add("tool_call", tool=tool, arguments=arguments)
    assert call_summary(TranscriptStep(call), "/work/cli") == summary


def test_a_diff_is_summarised_by_its_files() -> None:
    diff = "--- /work/cli/a.py\n+++ /work/cli/a.py\n@@\n-a\n+b\n+c\n--- /work/cli/b.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
    step = TranscriptStep(Events().add("tool_call", tool="apply_patch", arguments={"input": "…"}, diff=diff))
    assert call_summary(step, "/work/cli") == "a.py, b.py"
    assert call_outcome(step) == ["+2 −2", "no result"]
    assert shown_arguments(step) == ""


def test_arguments_are_shown_if_the_line_does_not_have_them_all() -> None:
    events = Events()
    assert shown_arguments(TranscriptStep(events.add("tool_call", arguments={"command": "ls"}))) == ""
    assert shown_arguments(TranscriptStep(events.add("tool_call", arguments={"command": "a\nb"}))) == "a\nb"
    more = TranscriptStep(events.add("tool_call", arguments={"command": "ls", "timeout": 5}))
    assert shown_arguments(more) == "command: ls\ntimeout: 5"


def test_failures_are_said() -> None:
    events = Events()
    step = TranscriptStep(events.add("tool_call", arguments={}))
    step.response = events.add("tool_response", "no", exit_code=2, failed=True, duration_ms=100)
    assert call_outcome(step) == ["exit 2", "0.1 s"]
    step.response = events.add("tool_response", "no", failed=True)
    assert call_outcome(step) == ["failed"]


def test_a_cost_says_how_it_is_known() -> None:
    assert price_text(Cost(usd=0.42, source="recorded")) == "$0.42 recorded"
    assert price_text(Cost(usd=12.5, source="estimated", unpriced_tokens=2_000)) == (
        "$12.50 estimated, without 2.0k tokens of unknown price"
    )
    assert price_text(Cost()) is None


def test_the_facts_leave_out_what_is_unknown() -> None:
    names = [name for name, _ in facts_of(SESSION)]
    assert names == [
        "Agent",
        "Project",
        "Folder",
        "Branch",
        "Model",
        "Time",
        "Turns",
        "Tokens",
        "Cost",
        "State",
        "ID",
        "Agent's ID",
    ]


def test_the_limits_are_none_while_everything_fits() -> None:
    limits = LengthLimits([("tool_response", 500)] * 100, 1_000_000)
    assert limits.limit("tool_response") is None


def test_answers_keep_more_than_outputs() -> None:
    sizes = [("assistant_response", 20_000), ("tool_response", 20_000)] * 500
    limits = LengthLimits(sizes, 1_000_000)
    answer, output = limits.limit("assistant_response"), limits.limit("tool_response")
    assert answer is not None
    assert output is not None
    assert answer > 5 * output


def test_a_cut_text_has_its_beginning_and_its_end() -> None:
    cut = cut_text("first\n" + "x\n" * 1_000 + "last", 100, tail=0.3)
    assert cut.head.startswith("first")
    assert cut.tail.endswith("last")
    assert len(cut.head) + len(cut.tail) + cut.left_out == len("first\n" + "x\n" * 1_000 + "last")


@pytest.mark.parametrize("format", ["html", "markdown", "jsonl"])
def test_the_memory_that_a_document_takes_does_not_grow_with_its_events(format: FormatName) -> None:
    output = "a line of output\n" * 600
    document(format, content([Events().add("tool_response", output)]))  # what is loaded once
    few, many = (_peak(format, count, output) for count in (30, 150))
    assert many < few + 2 * len(output)


def _peak(format: FormatName, count: int, output: str) -> int:
    """The most memory that a document with so many outputs takes while it is written."""

    def batches() -> Iterator[list[LibraryEvent]]:
        for number in range(count):
            yield [replace(Events().add("tool_response", f"{number} {output}"), sequence=number)]

    sizes = [("tool_response", len(output))] * count
    whole = SessionContent(session=replace(SESSION, events=count), events=batches(), sizes=sizes)
    receipt = Receipt()
    tracemalloc.start()
    for _ in write_document(DocumentRequest(format=format), [whole.session], lambda _: whole, receipt):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert receipt.events == count
    return peak
