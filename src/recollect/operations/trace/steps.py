"""Groups the events of a turn into steps. A step is reasoning, then a message, then the tools that the agent used.

A second message begins a new step, and so does reasoning after a message or a tool. The result of a tool belongs to its
call, even if it comes in a later step.
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
    """A tool call and its result. A log may have either without the other."""

    call: EventRow | None
    result: EventRow | None

    def name(self) -> str:
        names = (event.tool for event in (self.call, self.result) if event is not None and event.tool)
        return next(names, "tool")

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

    def count_failed(self) -> int:
        return sum(tool.status() is Status.FAILED for tool in self.tools)

    def status(self) -> Status:
        statuses = {tool.status() for tool in self.tools}
        return next((status for status in (Status.FAILED, Status.IN_PROGRESS) if status in statuses), Status.DONE)


def results_of(events: Iterable[EventRow]) -> dict[int, EventRow]:
    """The result of each call of a session, by the call's sequence number."""
    return {event.answers: event for event in events if event.kind is Kind.TOOL_RESPONSE and event.answers is not None}


def steps_of(events: Sequence[EventRow], results: Mapping[int, EventRow]) -> list[Step]:
    """The steps of a turn. `results` are those of the whole session, because a result may come in a later turn."""
    steps: list[Step] = []
    usage = Usage()  # not yet counted in a step: tokens before the first step
    for event in events:
        if _begins_step(event, steps[-1] if steps else None):
            steps.append(Step(reasoning=[], tools=[]))
        usage += event.tokens() or Usage()
        if steps:
            _add_event(steps[-1], event, results)
            steps[-1].usage, usage = steps[-1].usage + usage, Usage()
    return steps


def _begins_step(event: EventRow, step: Step | None) -> bool:
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


def _add_event(step: Step, event: EventRow, results: Mapping[int, EventRow]) -> None:
    match event.kind:
        case Kind.REASONING:
            step.reasoning.append(event)
        case Kind.ASSISTANT_RESPONSE:
            step.message = event
        case Kind.TOOL_CALL:
            step.tools.append(ToolUse(event, results.get(event.seq)))
        case Kind.TOOL_RESPONSE if event.answers is None:
            step.tools.append(ToolUse(None, event))


def outcome(steps: Sequence[Step]) -> TurnOutcome:
    """Whether all, some or none of a turn's tools succeeded."""
    failed = count_failed(steps)
    if not failed:
        return TurnOutcome.SUCCESS
    return TurnOutcome.FAILED if failed == len(tools_of(steps)) else TurnOutcome.PARTIAL


def tools_of(steps: Iterable[Step]) -> list[ToolUse]:
    return [tool for step in steps for tool in step.tools]


def count_failed(steps: Iterable[Step]) -> int:
    """How many tool uses of these steps failed."""
    return sum(step.count_failed() for step in steps)


def key_actions(steps: Sequence[Step]) -> list[str]:
    """One line each on the tools that a turn used, failed tools, and incomplete steps."""
    tools = tools_of(steps)
    failed = count_failed(steps)
    incomplete = sum(any(tool.status() is Status.IN_PROGRESS for tool in step.tools) for step in steps)
    used = ", ".join(dict.fromkeys(tool.name() for tool in tools))
    lines = (
        (tools, f"Used tools: {used}"),
        (failed, f"{failed} of {len(tools)} tool executions failed"),
        (incomplete, f"{incomplete} step(s) incomplete"),
    )
    return [line for applies, line in lines if applies]
