"""Output for people: matching events, one event, a session step by step, its analysis."""

import re
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from recollect.surfaces.cli.render import console, plain, time_of

TYPE_STYLES = {
    "user": "bold green",
    "message": "cyan",
    "reasoning": "dim",
    "tool_call": "yellow",
    "tool_result": "magenta",
    "token_usage": "dim",
    "notification": "dim",
}
STATUS_STYLES = {"failed": "red", "partial": "yellow", "in_progress": "yellow", "done": "green", "success": "green"}
NEXT_LEVEL = {"summary": "turns", "turns": "steps", "steps": "full"}
Answer = dict[str, Any]


def matches(answer: Answer, query: str) -> None:
    out = console()
    for match in answer["data"]["matches"]:
        out.print(_head(match))
        text = Text("   " + _one_line(match["preview"]))
        text.highlight_regex(re.compile(re.escape(_one_line(query)), re.IGNORECASE), "bold yellow")
        out.print(text)
    if not answer["data"]["matches"]:
        out.print(f"No event contains {query!r}.", markup=False)
        return
    out.print("[dim]Full text: recollect trace event SESSION INDEX[/]")
    if answer["pagination"]["has_more"]:
        out.print(f"[dim]More: --cursor {answer['pagination']['next_cursor']}[/]", soft_wrap=True)


def event(answer: Answer) -> None:
    out = console()
    data = answer["data"]
    out.print(_head(data))
    payload = dict(data["payload"])
    text = payload.pop("text", None) or payload.pop("output", None)
    for name, value in payload.items():
        encoded = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        out.print(Text(f"{name}: {plain(encoded)}", "dim"), soft_wrap=True)
    if text:
        out.print(Text(plain(text)), soft_wrap=True)


def session(answer: Answer) -> None:
    out = console()
    data = answer["data"]
    stats = data["stats"]
    counts = f"{stats['total_turns']} turns, {stats['total_steps']} steps, {stats['total_tool_calls']} tool calls"
    failed = f", {stats['failed_tool_calls']} failed" if stats["failed_tool_calls"] else ""
    details = f"  {data['provider']}, {counts}{failed}, {time_of(data, 'end_time')}"
    out.print(Text.assemble((plain(data["title"]), "bold"), (details, "dim")))
    out.print(f"[blue]{data['session_id']}[/]")
    for turn in data["turns"]:
        _turn(out, turn)
    if level := NEXT_LEVEL.get(data["detail_level"]):
        out.print(f"[dim]More detail: recollect trace session {data['session_id']} --level {level}[/]", soft_wrap=True)


def _turn(out: Console, turn: dict[str, Any]) -> None:
    outcome = turn.get("outcome", "")
    head = (f"{turn['turn_index']:>3} ", "dim"), (_one_line(turn["user_message"]), "bold green")
    out.print(Text.assemble(*head, (f"  {turn['step_count']} steps ", "dim"), (outcome, STATUS_STYLES.get(outcome, ""))))
    for step in turn.get("steps", ()):
        _step(out, step)
    if turn.get("steps_left_out"):
        out.print(f"      [dim]{turn['steps_left_out']} steps are not shown[/]")


def _step(out: Console, step: dict[str, Any]) -> None:
    if "summary" in step:
        failed = (f"  {step['failed_tools']} failed" if step["failed_tools"] else "", "red")
        out.print(Text.assemble((f"    {step['step_index']:>2} ", "dim"), _one_line(step["summary"]), failed))
        reasoning = step.get("reasoning")
    else:
        status = (step["status"], STATUS_STYLES[step["status"]])
        out.print(Text.assemble((f"    {step['step_index']:>2} ", "dim"), status))
        reasoning = step["reasoning"]
    if reasoning:
        out.print(Text(_indented(reasoning), "dim"), soft_wrap=True)
    if step.get("message"):
        out.print(Text(_indented(step["message"])), soft_wrap=True)
    for tool in step.get("tools", ()):
        arguments = msgspec.json.encode(tool["arguments"] or {}).decode()
        out.print(Text(f"       {plain(tool['name'])} {plain(arguments)}", "yellow"), soft_wrap=True)
        if tool["output"]:
            out.print(Text(_indented(tool["output"]), STATUS_STYLES["failed"] if tool["status"] == "failed" else "dim"))


def analysis(answer: Answer) -> None:
    out = console()
    data = answer["data"]
    out.print(f"Score [bold]{data['score']}[/] of 100  [blue]{data['session_id']}[/]")
    for insight in data["insights"]:
        kind = (f"{insight['kind']:<11}", STATUS_STYLES["failed" if insight["kind"] == "failure" else "partial"])
        out.print(Text.assemble((f"turn {insight['turn_index']:>3}  ", "dim"), kind, plain(insight["message"])))
    if not data["insights"]:
        out.print("No failures, loops or slow steps.")
    else:
        out.print(f"[dim]More detail: recollect trace session {data['session_id']} --level steps[/]", soft_wrap=True)


def _head(event: dict[str, Any]) -> Text:
    return Text.assemble(
        (event["session_id"], "blue"),
        (f" {event['event_index']} ", "bold"),
        (event["event_type"], TYPE_STYLES[event["event_type"]]),
        (f"  {time_of(event, 'timestamp')}", "dim"),
    )


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _indented(text: str) -> str:
    return "\n".join(f"       {line}" for line in plain(text).splitlines())
