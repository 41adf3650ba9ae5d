"""The parts of a brief: how a budget is divided, how texts are quoted and cut, and how plans are read."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.continuation.plans import read_plan
from recollect.continuation.quotation import list_lines, quote_text, quote_within
from recollect.continuation.token_budget import Claim, count_tokens, divide
from recollect.model import Kind
from recollect.store import EventRow

CLAIMS = st.lists(st.builds(Claim, need=st.integers(0, 5_000), share=st.integers(1, 30)), max_size=12)


@given(budget=st.integers(-100, 20_000), claims=CLAIMS)
def test_no_block_gets_more_than_it_needs_and_all_together_not_more_than_there_is(budget: int, claims: list[Claim]) -> None:
    given_lengths = divide(budget, claims)
    assert all(0 <= length <= claim.need for length, claim in zip(given_lengths, claims, strict=True))
    assert sum(given_lengths) <= max(0, budget)


def test_what_a_small_block_does_not_need_goes_to_the_others() -> None:
    assert divide(100, [Claim(10, 50), Claim(500, 25), Claim(500, 25)]) == [10, 45, 45]


@given(text=st.text(max_size=3_000), length=st.integers(0, 2_000))
def test_a_quotation_keeps_its_length_and_marks_every_line(text: str, length: int) -> None:
    quoted = quote_within(text, length)
    assert len(quoted) <= max(length, 1)
    own = [line for line in quoted.split("\n") if line and not line.startswith(">")]
    assert all(line.endswith("characters left out]") for line in own)
    assert len(own) <= 1


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    quoted = quote_within("first line\n" + "middle of it\n" * 400 + "last line", 400)
    assert quoted.startswith("> first line\n> middle") and quoted.endswith("> last line")
    assert "characters left out]" in quoted


@pytest.mark.parametrize("tag", ["system-reminder", "/system-reminder", "function_calls", "environment_context", "user"])
def test_a_tag_of_agents_cannot_end_a_quotation(tag: str) -> None:
    assert quote_text(f"a <{tag}> b") == f"> a &lt;{tag}> b"
    assert list_lines([f"a <{tag}> b"]) == [f"> - a &lt;{tag}> b"]


def test_code_stays_as_it_is() -> None:
    assert quote_text("Vec<String> and <div>") == "> Vec<String> and <div>"


def test_tokens_are_counted_in_fours() -> None:
    assert [count_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]


# ---- plans


def call(seq: int, tool: str, **arguments: object) -> EventRow:
    return event(seq, Kind.TOOL_CALL, msgspec.json.encode(arguments).decode(), tool)


def event(seq: int, kind: Kind, body: str, tool: str | None = None, answers: int | None = None) -> EventRow:
    return EventRow(
        key=seq, id=bytes([seq]), session=1, turn=1, seq=seq, kind=kind, at=0, line=0, failed=False, own=False,
        estimated=False, tool=tool, model=None, answers=answers, exit_code=None, usage=None, body=body,
    )  # fmt: skip


PLANS = {
    "Claude Code": [
        call(1, "TodoWrite", todos=[{"content": "sow", "status": "completed"}, {"content": "reap", "status": "pending"}])
    ],
    "Codex": [
        call(1, "update_plan", plan=[{"step": "sow", "status": "completed"}, {"step": "reap", "status": "in_progress"}])
    ],
    "a checklist": [call(1, "update_todo", todos="- [x] sow\n- [ ] reap")],
    "tasks one by one": [
        call(1, "TaskCreate", subject="sow"),
        event(2, Kind.TOOL_RESPONSE, "Task #1 created: sow", answers=1),
        call(3, "TaskCreate", subject="reap"),
        event(4, Kind.TOOL_RESPONSE, "Task #2 created: reap", answers=3),
        call(5, "TaskUpdate", taskId="1", status="completed"),
    ],
    "a live session": [event(1, Kind.REASONING, "hm\nPlan:\n[x] sow\n[-] reap\n")],
}


@pytest.mark.parametrize("agent", PLANS)
def test_a_plan_is_read_with_what_is_done(agent: str) -> None:
    assert [(step.text, step.is_done()) for step in read_plan(PLANS[agent])] == [("sow", True), ("reap", False)]


def test_the_newest_plan_counts() -> None:
    first = call(1, "TodoWrite", todos=[{"content": "sow", "status": "pending"}])
    second = call(2, "TodoWrite", todos=[{"content": "reap", "status": "pending"}])
    assert [step.text for step in read_plan([first, second])] == ["reap"]
