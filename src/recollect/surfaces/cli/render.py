"""Output for people: tables, highlighted matches, relative times, IDs to copy."""

import os
import re
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from recollect.display import escape_json, neutralise
from recollect.label import plural
from recollect.search import parse
from recollect.shown_time import FIELD, day, marked

KIND_STYLES = {
    "user_input": "bold green",
    "assistant_response": "cyan",
    "tool_call": "yellow",
    "tool_response": "magenta",
    "reasoning": "dim",
    "compaction": "blue",
    "system": "dim",
    "runtime": "dim",
    "unknown": "dim",
}
plain = neutralise  # text of a transcript, for a terminal
PIPED_WIDTH = 200  # columns of a pipe: wide enough that IDs and snippets stay on their lines


class SafeConsole(Console):
    """A console that neutralises all text it prints; styles stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))

    def on_broken_pipe(self) -> None:
        raise


def console(*, stderr: bool = False) -> Console:
    """Standard output (or standard error); plain and wide unless it is a terminal."""
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else int(os.environ.get("COLUMNS", PIPED_WIDTH))
    return SafeConsole(width=width, highlight=False, soft_wrap=False, emoji=False, stderr=stderr)


def say(text: str, *, err: bool = False) -> None:
    """Print a line for a person, neutralised."""
    click.echo(plain(text), err=err)


def print_json(text: str) -> None:
    """Print JSON. Control characters are escaped, because a person may read it in a terminal."""
    click.echo(escape_json(text))


def tilde(path: str) -> str:
    """A path with `~` for the home folder."""
    home = os.environ.get("HOME", "")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def ago(stamp: str | int | None, *, estimated: bool = False) -> str:
    """A relative time: 5 min ago, 3 h ago, 12 d ago, then the date. `~` marks an estimate."""
    if stamp is None:
        return "never"
    at = datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else stamp / 1000
    seconds = time.time() - at
    for limit, unit, size in ((90, "s", 1), (5_400, "min", 60), (129_600, "h", 3_600), (2_592_000, "d", 86_400)):
        if 0 <= seconds < limit:
            return marked(f"{int(seconds / size)} {unit} ago", estimated=estimated)
    return day(round(at * 1000), estimated=estimated)


def time_of(item: dict[str, Any], field: str) -> str:
    """The relative time in a field of an answer's item."""
    return ago(item[field], estimated=FIELD in item)


def size(count: float) -> str:
    """A number of bytes in a readable unit."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "KB") else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def draw_search(answer: dict[str, Any]) -> None:
    out = console()
    data, request = answer["data"], answer["request"]
    for hit in data["results"]:
        session, event = hit["session"], hit["event"]
        head = Text.assemble(
            (f"{hit['rank']:>2} ", "dim"),
            (plain(session["title"]), "bold"),
            ("  ", ""),
            (event["type"], KIND_STYLES[event["type"]]),
            (f"  {session['source']}, turn {hit['turn']['ordinal']}, {time_of(event, 'timestamp')}", "dim"),
        )
        out.print(head)
        out.print(Text("   ").append_text(_highlight(hit["snippet"]["text"], request["query"])))
        out.print(f"   [blue]{hit['id']}[/]")
        if "why" in hit:
            parts = " + ".join(f"{name} {points:.1f}" for name, points in hit["why"].items())
            out.print(f"   [dim]score {hit['score']:.3f} = {parts}[/]")
        out.print()
    count = data["result_count"]
    if not count:
        out.print(f"Nothing found for {request['query']!r} in {', '.join(request['event_types'])}.", markup=False)
        return
    hint = " (more with -n 50)" if data["truncated"] else ""
    elapsed_ms = answer["performance"]["elapsed_ms"]
    out.print(f"[dim]{count} hit{'s' if count != 1 else ''} in {elapsed_ms:.1f} ms{hint}. Open one: recollect open ID[/]")


def _highlight(text: str, query: str) -> Text:
    """The text with the words of the query highlighted."""
    stems = {word for group in parse(query).word_groups() for word in group}
    highlighted = Text(plain(text))
    if stems:
        pattern = "|".join(sorted(map(re.escape, stems), key=len, reverse=True))
        highlighted.highlight_regex(re.compile(rf"(?:{pattern})\w*", re.IGNORECASE), "bold yellow")
    return highlighted


def draw_list(answer: dict[str, Any]) -> None:
    out = console()
    for item in answer["data"]["sessions"]:
        session = item["session"]
        state = "" if session["completed"] else ", not completed"
        counts = f"{plural(session['turn_count'], 'turn')}, {plural(session['event_count'], 'event')}"
        details = f"  {session['source']}, {counts}, {session['mode']}{state}"
        when = f"{time_of(session, 'updated_at'):>11}  "
        out.print(Text.assemble((when, "dim"), (plain(session["title"]), "bold"), (details, "dim")))
        out.print(f"             [blue]{item['id']}[/]", soft_wrap=True)
    if answer["data"]["next_cursor"]:
        out.print(f"[dim]More: --cursor {answer['data']['next_cursor']}[/]", soft_wrap=True)
    if not answer["data"]["sessions"]:
        out.print("No sessions in this period.")


def draw_open(answer: dict[str, Any]) -> None:
    {"session": _draw_session, "turn": _draw_turn, "event": _draw_event}[answer["data"]["kind"]](answer["data"])


def _draw_session(data: dict[str, Any]) -> None:
    out = console()
    session, traversal = data["session"], data["traversal"]
    out.print(Text(plain(session["title"]), "bold"))
    state = "completed" if session["completed"] else "not completed"
    counts = f"{plural(session['turn_count'], 'turn')}, {plural(session['event_count'], 'event')}"
    out.print(f"[dim]{session['source']}, {counts}, {state}, {time_of(session, 'updated_at')}[/]")
    for name in ("parent_session_id", "previous_session_id", "next_session_id"):
        if traversal[name]:
            out.print(f"[dim]{name.removesuffix('_session_id')}:[/] [blue]{traversal[name]}[/]")
    for child in traversal["child_session_ids"]:
        out.print(f"[dim]child:[/] [blue]{child}[/]")
    for turn in data["turns"]:
        out.print()
        tools = f", {', '.join(turn['tools_called'])}" if turn["tools_called"] else ""
        events = plural(turn["event_count"], "event")
        out.print(f"[dim]turn {turn['ordinal']}, {events}{escape(plain(tools))}[/]  [blue]{turn['id']}[/]")
        for name, style in (("user_input", "bold green"), ("final_response", "cyan")):
            if turn[name]:
                out.print(Text("  " + _line(turn[name]["text"], turn[name]["truncated"]), style))


def _draw_turn(data: dict[str, Any]) -> None:
    out = console()
    turn, traversal = data["turn"], data["traversal"]
    position = f"[dim]turn {turn['ordinal']}, {time_of(turn, 'updated_at')}[/]"
    out.print(Text(plain(data["session"]["title"]), "bold"), position)
    for name in ("session_id", "previous_turn_id", "next_turn_id"):
        if traversal[name]:
            out.print(f"[dim]{name.removesuffix('_id')}:[/] [blue]{traversal[name]}[/]")
    for event in data["events"]:
        tool = f" {event['tool_name']}" if event["tool_name"] else ""
        end = " ■" if event["terminal"] else ""
        out.print()
        kind = f"[{KIND_STYLES[event['type']]}]{event['type']}{escape(plain(tool))}{end}[/]"
        out.print(f"[dim]{event['ordinal']:>3}[/] {kind}  [blue]{event['id']}[/]")
        if event["summary"].strip():
            out.print(Text("    " + _line(event["summary"], event["truncated"])))


def _draw_event(data: dict[str, Any]) -> None:
    out = console()
    event, content = data["event"], data["content"]
    tool = escape(plain(f" {event['tool_name']}")) if event["tool_name"] else ""
    model = escape(plain(f", {event['originating_model']}")) if event["originating_model"] else ""
    code = f", exit code {content['exit_code']}" if content.get("exit_code") is not None else ""
    out.print(Text(plain(data["session"]["title"]), "bold"))
    kind = f"[{KIND_STYLES[event['type']]}]{event['type']}{tool}[/]"
    out.print(f"{kind}[dim]{model}{code}, {marked(event['timestamp'], estimated=FIELD in event)}[/]")
    for name in ("turn_id", "previous_event_id", "next_event_id"):
        if data["traversal"][name]:
            out.print(f"[dim]{name.removesuffix('_id')}:[/] [blue]{data['traversal'][name]}[/]")
    out.print()
    out.print(Text(plain(content["text"])), soft_wrap=True)


def _line(text: str, truncated: bool) -> str:
    return plain(" ".join(text.split())) + ("…" if truncated else "")
