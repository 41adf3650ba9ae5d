"""The updates of an ACP agent are translated to the outputs of a turn."""

from typing import Any

import pytest

from recollect.live.runners import AnswerText, Output, ReasoningText, ToolCall, ToolResult
from recollect.live.runners.acp_updates import UpdateTranslator


def outputs_of(*updates: dict[str, Any]) -> list[Output]:
    """The outputs for the updates of a turn."""
    reading = UpdateTranslator()
    return [output for update in updates for output in reading.translate(update)] + list(reading.end())


def call(status: str | None = None, text: str | None = None, number: str = "1", **more: Any) -> dict[str, Any]:
    content = {} if text is None else {"content": [{"type": "content", "content": {"type": "text", "text": text}}]}
    state = {} if status is None else {"status": status}
    return {"sessionUpdate": "tool_call_update", "toolCallId": number, "title": "Run", **state, **content, **more}


def chunk(text: str, kind: str = "message") -> dict[str, Any]:
    return {"sessionUpdate": f"agent_{kind}_chunk", "content": {"type": "text", "text": text}}


def plan(**entries: str) -> dict[str, Any]:
    rows = [{"content": name, "status": status, "priority": "high"} for name, status in entries.items()]
    return {"sessionUpdate": "plan", "entries": rows}


def test_a_plan_is_emitted_completely_whenever_it_changes() -> None:
    assert outputs_of(
        plan(look="pending", mend="pending"),
        chunk("hm", "thought"),
        plan(look="in_progress", mend="pending"),
        plan(look="in_progress", mend="pending"),
        call("completed", "there it is"),
        plan(look="completed", mend="in_progress"),
    ) == [
        ReasoningText("Plan:\n[ ] look\n[ ] mend\n"),
        ReasoningText("hm"),
        ReasoningText("\nPlan:\n[-] look\n[ ] mend\n"),
        ToolCall("1", "Run"),
        ToolResult("1", "there it is"),
        ReasoningText("Plan:\n[x] look\n[-] mend\n"),
    ]


def shell(status: str | None = None, **meta: Any) -> dict[str, Any]:
    """An update of a command as codex-acp 2.6.0 sends it: in `_meta`, with the agent's own terminal."""
    update = {"toolCallId": "1", "_meta": {name: {"terminal_id": "1", **value} for name, value in meta.items()}}
    if "terminal_info" not in meta:
        return {"sessionUpdate": "tool_call_update", **update} | ({"status": status} if status else {})
    content = [{"type": "terminal", "terminalId": "1"}]
    start = {"sessionUpdate": "tool_call", "title": "ls", "kind": "execute", "status": "in_progress", "content": content}
    return {**start, "rawInput": {"command": "ls", "cwd": "/"}, **update}


LISTED = ToolCall("1", "ls", {"command": "ls", "cwd": "/"})
SHELL = shell(terminal_info={"cwd": "/"})
ENDED = {"signal": None}
SHELLS: dict[str, tuple[list[dict[str, Any]], list[Output]]] = {
    "output and end together": (
        [shell("failed", terminal_output_delta={"data": "x\n"}, terminal_exit={"exit_code": 3, **ENDED}), chunk("so")],
        [ToolResult("1", "x\n", is_error=True, exit_code=3), AnswerText("so")],
    ),
    "output in pieces": (
        [
            shell(terminal_output_delta={"data": "x"}),
            shell(terminal_output_delta={"data": "y"}),
            shell("completed", terminal_exit={"exit_code": 0, **ENDED}),
        ],
        [ToolResult("1", "xy", exit_code=0)],
    ),
    "output as a whole": (
        [
            shell(terminal_output={"data": "x"}),
            shell(terminal_output={"data": "xyz"}),
            shell("completed", terminal_exit={"exit_code": 0, **ENDED}),
        ],
        [ToolResult("1", "xyz", exit_code=0)],
    ),
    "no output": ([shell("completed", terminal_exit={"exit_code": 0, **ENDED})], [ToolResult("1", "", exit_code=0)]),
    "ended by a signal": (
        [shell("failed", terminal_output_delta={"data": "x"}, terminal_exit={"exit_code": None, "signal": "SIGKILL"})],
        [ToolResult("1", "x", is_error=True)],
    ),
    "never ended": ([shell(terminal_output_delta={"data": "x"})], [ToolResult("1", "x")]),
    "junk beside the protocol": (
        [shell("completed", terminal_exit={"exit_code": 10**30}) | {"rawOutput": "x"}],
        [ToolResult("1", "x")],
    ),
}


@pytest.mark.parametrize(("updates", "outputs"), SHELLS.values(), ids=SHELLS)
def test_the_output_of_the_agents_own_terminal_is_emitted(updates: list[dict[str, Any]], outputs: list[Output]) -> None:
    assert outputs_of(SHELL, *updates) == [LISTED, *outputs]


FIRST, OUT = ToolCall("1", "Run"), ToolResult("1", "out")
CALLS: dict[str, tuple[list[dict[str, Any]], list[Output]]] = {
    "completed, then its output": ([call("completed"), call(text="out")], [FIRST, OUT]),
    "completed, then its raw output": ([call("completed"), call(rawOutput="out")], [FIRST, OUT]),
    "failed, then its output": ([call("failed"), call(text="out")], [FIRST, ToolResult("1", "out", is_error=True)]),
    "completed without output": ([call("completed"), chunk("so")], [FIRST, ToolResult("1", ""), AnswerText("so")]),
    "completed without output at the end": ([call("completed")], [FIRST, ToolResult("1", "")]),
    "one after another": (
        [call("completed"), call("completed", "two", "2")],
        [FIRST, ToolResult("1", ""), ToolCall("2", "Run"), ToolResult("2", "two")],
    ),
    "output before it is completed": ([call("in_progress", "out"), call("completed")], [FIRST, OUT]),
    "output that grows": ([call("in_progress", "o"), call("in_progress", "out"), call("completed")], [FIRST, OUT]),
    "more output afterwards": (
        [call("completed", "out"), chunk("so"), call(text="out and more")],
        [FIRST, OUT, AnswerText("so"), ToolResult("1", "out and more")],
    ),
    "the same in another form": ([call("completed", "out"), call("completed", rawOutput={"text": "out"})], [FIRST, OUT]),
    "the same again": (
        [call("completed", "out"), call("completed", "out"), call("in_progress"), call(text="")],
        [FIRST, OUT],
    ),
    "never completed": ([call("in_progress", "out")], [FIRST, OUT]),
    "never completed, nothing given": ([call("in_progress")], [FIRST]),
}


@pytest.mark.parametrize(("updates", "outputs"), CALLS.values(), ids=CALLS)
def test_the_result_of_a_call_is_emitted_whenever_it_comes(updates: list[dict[str, Any]], outputs: list[Output]) -> None:
    assert outputs_of(*updates) == outputs


def test_a_call_is_emitted_with_all_its_arguments() -> None:
    """OpenCode 1.18 sends the folder first; the command comes when it runs."""
    begun = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash", "status": "pending", "rawInput": {"cwd": "/"}}
    runs = call("in_progress", rawInput={"command": "ls", "cwd": "/"})
    assert outputs_of(begun, runs, call("completed", "a.txt")) == [
        ToolCall("1", "Run", {"command": "ls", "cwd": "/"}),
        ToolResult("1", "a.txt"),
    ]
    assert outputs_of(begun) == [ToolCall("1", "bash", {"cwd": "/"})]
