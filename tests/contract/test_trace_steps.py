"""Steps, outcomes of turns, and the insights of analyze_session (A33, A34, A41)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.trace_archive import CIRCLES, DEPTHS, NEARLY, NETS, RIGGING, SCRIPTS, SIGNALS, STORM, TIDE, serve_archive
from tests.contract.trace_client import Answer, Trace

pytestmark = pytest.mark.process

StepTuple = tuple[str | None, str | None, list[tuple[str, str, str | None]], str]  # reasoning, message, tools, status


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


# ---- steps


def step_tuple(step: Answer) -> StepTuple:
    tools = [(tool["name"], tool["status"], tool["output"]) for tool in step["tools"]]
    return step["reasoning"], step["message"], tools, step["status"]


def bash(status: str, output: str | None) -> tuple[str, str, str | None]:
    return "Bash", status, output


STEPS: dict[str, list[StepTuple]] = {
    RIGGING: [("A1", "A2", [bash("done", "A3")], "done"), (None, "A4", [], "done")],
    "thought after words": [(None, "B1", [], "done"), ("B2", "B3", [], "done")],
    "thought after a tool": [(None, None, [bash("done", "C1")], "done"), ("C2", "C3", [], "done")],
    "thoughts in a row": [("D1\n\nD2", "D3", [], "done")],
    "side by side": [(None, "E4", [bash("done", "E1"), ("Read", "failed", "E2"), ("Grep", "done", "E3")], "failed")],
    "answered later": [(None, "F1", [bash("done", "F2")], "done")],
    "and now": [(None, "G1", [], "done")],
    "failed beside unfinished": [(None, None, [bash("in_progress", None), bash("failed", "H2")], "failed")],
    "done beside unfinished": [(None, None, [bash("in_progress", None), bash("done", "I2")], "in_progress")],
    "an answer to nobody": [(None, "J2", [("tool", "done", "J1")], "done")],
    "silence": [],
}


@pytest.mark.parametrize("level", ["steps", "full"])
def test_a_step_is_reasoning_then_text_then_tools(trace: Trace, level: str) -> None:
    """A second message begins a step, and so does reasoning after anything else; results are with their calls."""
    turns = trace.details(RIGGING, level)["turns"]
    assert {turn["user_message"]: [step_tuple(step) for step in turn["steps"]] for turn in turns} == STEPS
    for turn in turns:
        assert [step["step_index"] for step in turn["steps"]] == [*range(turn["step_count"])]


def test_every_level_counts_the_same_steps(trace: Trace) -> None:
    counts = [len(steps) for steps in STEPS.values()]
    for level in ("summary", "turns", "steps", "full"):
        session = trace.details(RIGGING, level)
        assert [turn["step_count"] for turn in session["turns"]] == counts
        assert session["stats"]["total_steps"] == sum(counts)


def test_a_tool_has_the_indexes_of_its_call_and_its_result(trace: Trace) -> None:
    for turn in trace.details(RIGGING, "full")["turns"]:
        for step in turn["steps"]:
            for tool in step["tools"]:
                call, result = tool["call_index"], tool["result_index"]
                if call is not None:
                    assert trace.event(RIGGING, call)["payload"]["arguments"] == tool["arguments"]
                if result is not None:
                    payload = trace.event(RIGGING, result)["payload"]
                    assert (payload["output"], payload["call_index"]) == (tool["output"], call)
                assert (tool["status"] == "in_progress") is (result is None)


def test_tokens_are_counted_in_the_step_that_used_them(trace: Trace) -> None:
    """Every answer of this log uses 115 tokens."""
    spent = [[step["tokens"] for step in turn["steps"]] for turn in trace.details(RIGGING, "turns")["turns"]]
    assert spent == [[345, 115], [115, 230], [115, 230], [345], [460], [230], [115], [230], [230], [115], []]
    (turn,) = trace.details(DEPTHS, "turns")["turns"]
    assert [step["tokens"] for step in turn["steps"]] == [turn["stats"]["tokens"]] == [1_050]


def test_a_tool_that_ended_with_a_code_has_failed(trace: Trace) -> None:
    (turn,) = trace.details(DEPTHS, "steps")["turns"]
    ended = [(tool["name"], tool["status"], tool["exit_code"]) for step in turn["steps"] for tool in step["tools"]]
    assert ended == [("exec_command", "failed", 101), ("apply_patch", "done", 0)]


# ---- outcomes


def test_the_outcome_of_a_turn_is_the_outcome_of_its_tools(trace: Trace) -> None:
    """A33: success without a failed tool, partial with some failed, failed with only failed tools."""
    for level in ("turns", "steps", "full"):
        outcomes = [turn["outcome"] for turn in trace.details(NETS, level)["turns"]]
        assert outcomes == ["success", "success", "partial", "failed", "success", "partial"]
    assert [turn["outcome"] for turn in trace.details(SIGNALS, "turns")["turns"]] == ["success"]


def test_key_actions_are_the_sentences_of_the_contract(trace: Trace) -> None:
    """A34."""
    assert [turn["key_actions"] for turn in trace.details(NETS, "turns")["turns"]] == [
        [],
        ["Used tools: Bash, Grep"],
        ["Used tools: Read, Bash", "1 of 2 tool executions failed"],
        ["Used tools: Bash", "2 of 2 tool executions failed"],
        ["Used tools: Bash", "1 step(s) incomplete"],
        ["Used tools: Bash, Grep", "1 of 3 tool executions failed", "1 step(s) incomplete"],
    ]


def test_a_step_in_a_line_counts_its_tools(trace: Trace) -> None:
    lines = [turn["steps"] for turn in trace.details(NETS, "turns")["turns"]]
    assert [[(step["tool_calls"], step["failed_tools"]) for step in steps] for steps in lines] == [
        [(0, 0)], [(3, 0)], [(2, 1)], [(2, 2)], [(1, 0)], [(3, 1)],
    ]  # fmt: skip
    assert "Bash: mend" in lines[1][0]["summary"] and "Grep: hole" in lines[1][0]["summary"]
    assert "failed" in lines[2][0]["summary"]
    assert lines[0][0]["summary"] == "Mended by hand."


# ---- analyze_session


def analysis(trace: Trace, title: str) -> Any:
    answer = trace.data("analyze_session", session_id=trace.ids[title])
    assert answer.keys() == {"session_id", "score", "insights"}
    assert answer["session_id"] == trace.ids[title]
    assert type(answer["score"]) is int and 0 <= answer["score"] <= 100
    turns = [insight["turn_index"] for insight in answer["insights"]]
    assert turns == sorted(turns)
    return answer


def insights_of(trace: Trace, title: str) -> list[tuple[str, int]]:
    return [(insight["kind"], insight["turn_index"]) for insight in analysis(trace, title)["insights"]]


def test_failures_are_reported_in_their_turns(trace: Trace) -> None:
    assert insights_of(trace, NETS) == [("failure", 2), ("failure", 3), ("failure", 5)]
    assert insights_of(trace, DEPTHS) == [("failure", 0)]


def test_the_same_tools_in_three_consecutive_turns_are_a_loop(trace: Trace) -> None:
    """Two turns are not a loop, and five are one loop."""
    assert insights_of(trace, CIRCLES) == [("loop", 4), ("loop", 8)]


def test_other_tools_another_order_or_a_pause_are_not_a_loop(trace: Trace) -> None:
    assert analysis(trace, NEARLY) == {"session_id": trace.ids[NEARLY], "score": 100, "insights": []}


def test_a_tool_over_ten_seconds_is_a_bottleneck(trace: Trace) -> None:
    """Twelve seconds count, and so do ten and a millisecond; exactly ten do not, and a call without an end does not."""
    assert insights_of(trace, TIDE) == [("bottleneck", 0), ("bottleneck", 2)]
    slow = analysis(trace, TIDE)["insights"]
    assert [(insight["tool"], insight["duration_ms"]) for insight in slow] == [("Sluice", 12_000), ("Gate", 10_001)]


def test_events_of_insights_can_be_opened(trace: Trace) -> None:
    for title in (NETS, TIDE, DEPTHS):
        for insight in analysis(trace, title)["insights"]:
            places = insight.get("event_indexes") or [insight["event_index"]]
            events = [trace.event(title, place) for place in places]
            assert {event["event_type"] for event in events} <= {"tool_call", "tool_result"}
            if insight["kind"] == "failure":
                assert all(event["payload"]["is_error"] for event in events)


def test_a_session_without_insight_scores_a_hundred_and_any_other_less(trace: Trace) -> None:
    scores = {title: analysis(trace, title)["score"] for title in trace.ids}
    assert {title for title, score in scores.items() if score == 100} == {
        title for title in trace.ids if not insights_of(trace, title)
    }
    assert scores[SCRIPTS] == 100
    assert 0 < scores[NETS] < 100
    assert scores[STORM] == 0, "a score is never negative"
