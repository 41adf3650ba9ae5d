"""Reads the plan of an agent from its tool calls: the steps that it wrote down, and which of them are done."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from recollect.model import Kind
from recollect.store import EventRow

PLANNING_TOOL = re.compile(r"todo|plan|task", re.IGNORECASE)
STEP_NAMES = ("content", "step", "title", "description", "text", "subject", "task")  # of the words of a step
DONE = frozenset(("completed", "complete", "done", "cancelled", "canceled", "deleted", "x"))
CHECKBOX = re.compile(r"^\s*(?:[-*]\s*)?\[([ xX~-])\]\s+(\S.*)$", re.MULTILINE)
PLAN_HEAD = "Plan:\n"  # begins a plan in a live session's reasoning
TASK_NUMBER = re.compile(r"#(\d+)")
MAX_STEPS = 60  # steps of one plan that are read


class PlanStep(Struct):
    """A step of a plan. Agents have their own words for its status."""

    text: str
    status: str

    def is_done(self) -> bool:
        return self.status.lower() in DONE


class AgentPlan(Struct, frozen=True):
    """A plan, and the turn in which it was last written."""

    turn: int
    steps: list[PlanStep]


def is_planning(tool: str | None) -> bool:
    """Whether a tool may write a plan."""
    return tool is not None and PLANNING_TOOL.search(tool) is not None


def read_plan(events: Iterable[EventRow]) -> list[PlanStep]:
    """The last plan in these events: the newest list of steps, or the tasks that were created one by one."""
    plan: list[PlanStep] = []
    tasks: dict[str, PlanStep] = {}
    created: dict[int, PlanStep] = {}  # tasks without a number yet, by the place of their call
    for event in events:
        if event.kind is Kind.TOOL_CALL and is_planning(event.tool):
            arguments = event.arguments()
            plan = _steps(arguments) or plan
            if (task := _created_task(arguments)) is not None:
                created[event.seq] = task
            elif (updated := tasks.get(str(arguments.get("taskId")))) is not None:
                updated.status = str(arguments.get("status") or updated.status)
        elif event.kind is Kind.TOOL_RESPONSE and event.answers in created:
            number = TASK_NUMBER.search(event.preview(200)[0])
            tasks[number[1] if number else f"seq {event.seq}"] = created.pop(event.answers)
        elif event.kind is Kind.REASONING and PLAN_HEAD in (text := event.text()):
            plan = _checkboxes(text[text.rindex(PLAN_HEAD) :]) or plan
    return plan or list(tasks.values())[:MAX_STEPS]


def _steps(arguments: dict[str, Any]) -> list[PlanStep]:
    """The steps in the arguments of a call: a list of objects with a status, or a checklist in Markdown."""
    for value in arguments.values():
        if isinstance(value, list) and (steps := [step for item in value if (step := _step(item)) is not None]):
            return steps[:MAX_STEPS]
        if isinstance(value, str) and (steps := _checkboxes(value)):
            return steps
    return []


def _step(item: Any) -> PlanStep | None:
    if not isinstance(item, dict) or not isinstance(item.get("status"), str):
        return None
    words = next((item[name] for name in STEP_NAMES if isinstance(item.get(name), str) and item[name].strip()), None)
    return PlanStep(words, item["status"]) if words is not None else None


def _checkboxes(text: str) -> list[PlanStep]:
    marks = {" ": "pending", "x": "completed", "-": "in_progress", "~": "in_progress"}
    return [PlanStep(words, marks[mark.lower()]) for mark, words in CHECKBOX.findall(text)[:MAX_STEPS]]


def _created_task(arguments: dict[str, Any]) -> PlanStep | None:
    """A task that a call creates by itself: it has a subject and no number yet."""
    subject = arguments.get("subject")
    is_new = isinstance(subject, str) and "taskId" not in arguments
    return PlanStep(str(subject), "pending") if is_new else None
