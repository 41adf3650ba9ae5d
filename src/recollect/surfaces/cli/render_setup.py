"""Output of `recollect setup`: the plan, the result and the undoing, for people and as JSON."""

import json
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from rich.text import Text

from recollect.setup import Agent, Checked, FilePlan, ProgramCommand, SetupPlan, SetupProblem, UndoneFile
from recollect.setup.changes import Added, Base, HookAdded, HookReplaced, Replaced
from recollect.setup.editing import path_text
from recollect.surfaces.cli.render import console, say, tilde

ACTIONS = {
    "create": ("create", "green"),
    "change": ("change", "yellow"),
    "none": ("ready", "dim"),
    "keep": ("keep", "dim"),
}
NARROWEST = 20  # columns of a list of sentences, however narrow the terminal is
KEPT = "it differs from ours, so it stays as it is"
OUTCOMES = {
    "restored": "as it was before setup",
    "deleted": "deleted; setup had created it",
    "edited": "changed since setup, so only our parts were removed",
    "kept": "changed since setup, so it stays",
    "unchanged": "nothing of ours in it",
}
FUTURE_OUTCOMES = {
    **OUTCOMES,
    "restored": "back to what it was before setup",
    "deleted": "delete; setup created it",
    "edited": "changed since setup, so only our parts go",
}
CHECKS = {"connected": ("connected", "green"), "listed": ("registered", "green"), "failed": ("not connected", "red")}


def draw_plan(plan: SetupPlan, program: ProgramCommand, *, in_full: bool) -> None:
    """What will change, by agent. `in_full`: also the content."""
    out = console()
    out.print(
        f"Agents will run: {tilde(program.words[0])} {' '.join([*program.words[1:], 'mcp'])}", soft_wrap=True, markup=False
    )
    shown: set[str] = set()
    for agent in plan.agents:
        files = sorted(
            (file for file in plan.files if agent.name in file.agents), key=lambda file: file.position(agent.name)
        )
        problems = [problem for problem in plan.problems if agent.name in problem.agents]
        is_ready = not problems and all(file.action == "none" for file in files)
        out.print(Text.assemble("\n", (agent.title, "bold"), ("  already set up" if is_ready else "", "dim")))
        for problem in problems:
            out.print(Text(f"  ! {_problem_in_words(problem)} It stays as it is.", "red"), soft_wrap=True)
        for file in files if not is_ready else ():
            _draw_file(file, in_full=in_full and str(file.target) not in shown)
            shown.add(str(file.target))


def _draw_file(file: FilePlan, *, in_full: bool) -> None:
    out = console()
    word, style = ACTIONS[file.action]
    detail = (
        f": {', '.join(filter(None, file.labels))}" if any(file.labels) else f": {KEPT}" if file.action == "keep" else ""
    )
    path = str(file.path)
    linked = f" (a link to {tilde(str(file.target))})" if file.path.is_symlink() else ""
    out.print(Text.assemble("  ", (f"{word:<6}", style), f"  {tilde(path)}{linked}", (detail, "dim")), soft_wrap=True)
    for line in _content(file) if in_full else ():
        out.print(Text(f"            {line}", "dim"), soft_wrap=True)


def _content(file: FilePlan) -> list[str]:
    lines = []
    for change in file.changes:
        at = path_text(change.path)
        match change:
            case Added() | Base():
                lines.append(f"+ {at} = {json.dumps(change.value, ensure_ascii=False)}")
            case Replaced():
                lines.append(f"- {at} = {change.before}")
                lines.append(f"+ {at} = {json.dumps(change.value, ensure_ascii=False)}")
            case HookAdded():
                lines.append(f"+ {at}: recollect hook {change.event}")
            case HookReplaced():
                lines.append(f"- {at}: {change.before}")
                lines.append(f"+ {at}: {change.value}")
    return lines


def _problem_in_words(problem: SetupProblem) -> str:
    return f"{tilde(str(problem.path))} {problem.reason.rstrip('.')}."


def draw_problems(problems: Sequence[SetupProblem], titles: Mapping[str, str]) -> None:
    """The files that were left alone, on standard error."""
    for problem in problems:
        names = ", ".join(dict.fromkeys(titles[agent] for agent in problem.agents))
        say(
            f"! {_problem_in_words(problem)} It stays as it is, and {names} is not set up. Repair it, then run this again.",
            err=True,
        )


def draw_checks(checks: Sequence[Checked], titles: Mapping[str, str]) -> None:
    """What the agents say about the server."""
    out = console()
    width = max((len(titles[check.agent]) for check in checks), default=0)
    for check in checks:
        word, style = CHECKS.get(check.outcome, ("not checked", "yellow"))
        detail = f"  ({check.command})" if check.outcome in ("connected", "listed") else f"  {check.command}: {check.detail}"
        out.print(Text.assemble(f"  {titles[check.agent]:<{width}}  ", (word, style), (detail, "dim")), soft_wrap=True)


def draw_to_do(steps: Sequence[str], *, later: bool) -> None:
    """What is left for the person."""
    out = console()
    out.print(Text("\nThen do by hand:" if later else "\nLeft to do by hand:", "bold"))
    for step in steps:
        lines = wrap(step, max(out.width - 4, NARROWEST), break_long_words=False, break_on_hyphens=False)
        out.print(Text("\n    ".join([f"  - {lines[0]}", *lines[1:]])), soft_wrap=True)


def draw_undone(files: Sequence[UndoneFile], *, later: bool) -> None:
    """What happened to each file, or will happen."""
    out = console()
    for file in files:
        is_failed = file.outcome == "failed"
        words = (
            f"{file.reason.rstrip('.')}, so it stays as it is"
            if is_failed
            else (FUTURE_OUTCOMES if later else OUTCOMES)[file.outcome]
        )
        line = Text.assemble("  ", tilde(str(file.path)), (f": {words}", "red" if is_failed else "dim"))
        out.print(line, soft_wrap=True)


# ---- JSON


def plan_as_object(
    plan: SetupPlan, program: ProgramCommand, checks: Sequence[Checked], to_do: Sequence[str], agents: Sequence[Agent]
) -> dict[str, Any]:
    return {
        "program": list(program.words),
        "agents": [_agent_as_object(agent, plan, checks) for agent in agents],
        "to_do": list(to_do),
    }


def _agent_as_object(agent: Agent, plan: SetupPlan, checks: Sequence[Checked]) -> dict[str, Any]:
    problems = [problem for problem in plan.problems if agent.name in problem.agents]
    check = next((check for check in checks if check.agent == agent.name), None)
    return {
        "agent": agent.name,
        "title": agent.title,
        "files": [_file_as_object(file) for file in plan.files if agent.name in file.agents],
        "problems": [{"path": str(problem.path), "reason": problem.reason} for problem in problems],
        "check": check and {"command": check.command, "outcome": check.outcome, "detail": check.detail},
    }


def _file_as_object(file: FilePlan) -> dict[str, Any]:
    return {"path": str(file.path), "action": file.action, "changes": _content(file)}


def undone_as_object(files: Sequence[UndoneFile]) -> list[dict[str, Any]]:
    return [
        {"path": str(file.path), "agents": list(file.agents), "outcome": file.outcome, "reason": file.reason or None}
        for file in files
    ]
