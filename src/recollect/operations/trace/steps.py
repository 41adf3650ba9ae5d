"""Steps: a view over the events of a turn. A step is what an agent thought, what it said, and the tools it then used.

A second message begins a new step, and so does reasoning after anything else. What a tool gave back belongs to its call,
wherever it came.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from recollect.model import Kind, Usage
from recollect.store import EventRow


class Status(StrEnum):
    FAILED = "failed"
    IN_PROGRESS = "in_progress"
    DONE = "done"


class TurnOutcome(StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"


class ToolUse(Struct):
    """A call and what came of it. A log may hold either without the other."""

    call: EventRow | None
    result: EventRow | None

    def name(self) -> str:
        told = (event.tool for event in (self.call, self.result) if event is not None and event.tool)
        return next(told, "tool")

    def status(self) -> Status:
        if self.result is None:
            return Status.IN_PROGRESS
        return Status.FAILED if self.result.has_failed() else Status.DONE

    def duration_ms(self) -> int | None:
        if self.call is None or self.result is None:
            return None
        return max(0, self.result.at - self.call.at)


class Step(Struct):
    reasoning: list[EventRow] = []
    message: EventRow | None = None
    tools: list[ToolUse] = []
    usage: Usage = Usage()

    def has_content(self) -> bool:
        return self.message is not None or bool(self.tools)

    def failed(self) -> int:
        return sum(tool.status() is Status.FAILED for tool in self.tools)

    def status(self) -> Status:
        found = {tool.status() for tool in self.tools}
        return next((status for status in (Status.FAILED, Status.IN_PROGRESS) if status in found), Status.DONE)


def results_of(events: Iterable[EventRow]) -> dict[int, EventRow]:
    """What answers each call of a session, by the call's place in it."""
    return {event.answers: event for event in events if event.kind is Kind.TOOL_RESPONSE and event.answers is not None}


def steps_of(events: Sequence[EventRow], results: Mapping[int, EventRow]) -> list[Step]:
    """The steps of a turn. `results` answer calls; of the session, because an answer may come in a later turn."""
    steps: list[Step] = []
    spent = Usage()  # before the first step
    for event in events:
        if _begins(event, steps[-1] if steps else None):
            steps.append(Step(reasoning=[], tools=[]))
        spent += event.tokens() or Usage()
        if steps:
            _take(steps[-1], event, results)
            steps[-1].usage, spent = steps[-1].usage + spent, Usage()
    return steps


def _begins(event: EventRow, step: Step | None) -> bool:
    match event.kind:
        case Kind.REASONING:
            return step is None or step.has_content()
        case Kind.ASSISTANT_RESPONSE:
            return step is None or step.message is not None
        case Kind.TOOL_CALL:
            return step is None
        case Kind.TOOL_RESPONSE:
            return step is None and event.answers is None
        case _:
            return False


def _take(step: Step, event: EventRow, results: Mapping[int, EventRow]) -> None:
    match event.kind:
        case Kind.REASONING:
            step.reasoning.append(event)
        case Kind.ASSISTANT_RESPONSE:
            step.message = event
        case Kind.TOOL_CALL:
            step.tools.append(ToolUse(event, results.get(event.seq)))
        case Kind.TOOL_RESPONSE if event.answers is None:
            step.tools.append(ToolUse(None, event))


def outcome(steps: Iterable[Step]) -> TurnOutcome:
    tools = [tool for step in steps for tool in step.tools]
    failed = sum(tool.status() is Status.FAILED for tool in tools)
    if not failed:
        return TurnOutcome.SUCCESS
    return TurnOutcome.FAILED if failed == len(tools) else TurnOutcome.PARTIAL


def key_actions(steps: Sequence[Step]) -> list[str]:
    """What stands out about a turn, in a line each."""
    tools = [tool for step in steps for tool in step.tools]
    failed = sum(tool.status() is Status.FAILED for tool in tools)
    incomplete = sum(any(tool.status() is Status.IN_PROGRESS for tool in step.tools) for step in steps)
    used = ", ".join(dict.fromkeys(tool.name() for tool in tools))
    lines = (
        (tools, f"Used tools: {used}"),
        (failed, f"{failed} of {len(tools)} tool executions failed"),
        (incomplete, f"{incomplete} step(s) incomplete"),
    )
    return [line for applies, line in lines if applies]
