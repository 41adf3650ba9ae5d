"""A session, a turn or an event for people: what it belongs to, and below it what it consists of."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from recollect.display import one_line
from recollect.label import plural
from recollect.shown_amounts import duration_text, tokens_text
from recollect.shown_time import FIELD, marked
from recollect.surfaces.cli.local_times import clock, local_day, local_minute
from recollect.surfaces.cli.render import KIND_STYLES, plain, tilde
from recollect.surfaces.cli.session_rows import Session, session_line
from recollect.surfaces.cli.short_forms import Shorten

INDENT = "    "
PROMPT_LINES, ANSWER_LINES, EVENT_LINES = 2, 3, 2  # lines of a terminal that each gets
MAX_TOOLS = 6  # names of a turn's tools
MAX_CHILDREN = 10


def draw_open(out: Console, opened: Mapping[str, Any], library: Mapping[str, Any], shorten: Shorten) -> None:
    """Print what was opened. `opened` is the answer of `open`, `library` that of `library/session`."""
    session = library["session"]
    out.print(Text(one_line(session["title"]), "bold"), soft_wrap=True)
    out.print(session_line(session, out.width, shorten), soft_wrap=True)
    {"session": _draw_session, "turn": _draw_turn, "event": _draw_event}[opened["kind"]](out, opened, library, shorten)


def _draw_session(out: Console, opened: Mapping[str, Any], library: Mapping[str, Any], shorten: Shorten) -> None:
    for line in _facts(library["session"]):
        out.print(Text(line, "dim"), soft_wrap=True)
    _draw_links(out, opened["traversal"], ("parent_session_id", "previous_session_id", "next_session_id"), shorten)
    children = opened["traversal"]["child_session_ids"]
    if children:
        listed = ", ".join(map(shorten, children[:MAX_CHILDREN]))
        more = f" and {len(children) - MAX_CHILDREN:,} more" if len(children) > MAX_CHILDREN else ""
        out.print(Text.assemble((f"{plural(len(children), 'sub-agent')}: ", "dim"), (listed, "blue"), (more, "dim")))
    turns = {turn["number"]: turn for turn in library["turns"]}
    day = ""
    for turn in opened["turns"]:
        out.print()
        if (started := local_day(turn["started_at"])) != day and len(opened["turns"]) > 1:
            day = started
            out.print(Text(day, "bold underline" if out.is_terminal else ""))
        out.print(_turn_head(turn, turns.get(turn["ordinal"]), shorten), soft_wrap=True)
        for name, style, lines in (("user_input", "bold green", PROMPT_LINES), ("final_response", "cyan", ANSWER_LINES)):
            if turn[name]:
                text = f"{one_line(turn[name]['text'])}{'…' if turn[name]['truncated'] else ''}"
                out.print(fitted(out, Text(text, style), lines), soft_wrap=True)


def _facts(session: Session) -> list[str]:
    """What is known about a session beside its row, in two or three lines."""
    times = f"{local_minute(session['started_at'], estimated=session['estimated_time'])}"
    active = f", {duration_text(session['active_s'])} of work" if session["active_s"] else ""
    counts = [plural(session["turns"], "turn"), plural(session["events"], "event")]
    counts += [plural(session["errors"], "failed call")] if session["errors"] else []
    counts += [plural(session["files_changed"], "changed file")] if session["files_changed"] else []
    place = [tilde(session["folder"])] if session["folder"] else []
    place += [f"branch {session['branch']}"] if session["branch"] else []
    lines = [f"{', '.join(counts)}, began {times}{active}", ", ".join(place)]
    lines += [f"labels: {', '.join(session['labels'])}"] if session["labels"] else []
    lines += [f"note: {session['note']}"] if session["note"] else []
    return [one_line(line) for line in lines if line]


def _turn_head(turn: Mapping[str, Any], counted: Mapping[str, Any] | None, shorten: Shorten) -> Text:
    """A turn in one aligned row: ID, time, tokens, events, tools."""
    total = counted["tokens"]["total"] if counted else 0
    tools = turn["tools_called"]
    named = ", ".join(tools[:MAX_TOOLS]) + (f" +{len(tools) - MAX_TOOLS}" if len(tools) > MAX_TOOLS else "")
    return Text.assemble(
        (f"{shorten(turn['id']):<12}", "blue"),
        (f"  {marked(clock(turn['started_at']), estimated=FIELD in turn):>6}", "dim"),
        f"  {tokens_text(total) if total else '–':>5}",
        (f"  {plural(turn['event_count'], 'event'):>12}", "dim"),
        (f"  {one_line(named)}", "yellow"),
    )


def _draw_turn(out: Console, opened: Mapping[str, Any], library: Mapping[str, Any], shorten: Shorten) -> None:
    turn, traversal = opened["turn"], opened["traversal"]
    counted = next((known for known in library["turns"] if known["number"] == turn["ordinal"]), None)
    total = counted["tokens"]["total"] if counted else 0
    started = local_minute(turn["started_at"], estimated=FIELD in turn)
    parts = [f"turn {turn['ordinal']} of {library['session']['turns']}", started]
    parts += [plural(turn["event_count"], "event"), *([f"{tokens_text(total)} tokens"] if total else [])]
    out.print(Text(", ".join(parts), "dim"))
    _draw_links(out, traversal, ("previous_turn_id", "next_turn_id"), shorten)
    out.print()
    for event in opened["events"]:
        tool = f" {one_line(event['tool_name'])}" if event["tool_name"] else ""
        line = Text.assemble(
            (shorten(event["id"]), "blue"), " ", (f"{event['type']}{tool}", KIND_STYLES[event["type"]]), " "
        )
        line.append(f"{one_line(event['summary'])}{'…' if event['truncated'] else ''}")
        out.print(fitted(out, line, EVENT_LINES, indent=""), soft_wrap=True)


def _draw_event(out: Console, opened: Mapping[str, Any], library: Mapping[str, Any], shorten: Shorten) -> None:
    event, content, traversal = opened["event"], opened["content"], opened["traversal"]
    tool = f" {one_line(event['tool_name'])}" if event["tool_name"] else ""
    parts = [local_minute(event["timestamp"], estimated=FIELD in event)]
    parts += [one_line(event["originating_model"])] if event["originating_model"] else []
    parts += [f"exit code {content['exit_code']}"] if content.get("exit_code") is not None else []
    kind = (f"{event['type']}{tool}", KIND_STYLES[event["type"]])
    out.print(Text.assemble((shorten(event["id"]), "blue"), " ", kind, (f" {', '.join(parts)}", "dim")), soft_wrap=True)
    _draw_links(out, traversal, ("turn_id", "previous_event_id", "next_event_id"), shorten)
    out.print()
    out.print(Text(plain(content["text"])), soft_wrap=True)


def _draw_links(out: Console, traversal: Mapping[str, Any], names: Sequence[str], shorten: Shorten) -> None:
    """Print the IDs of what is beside and above, in one line."""
    line = Text()
    for name in names:
        if traversal[name]:
            word = name.removesuffix("_id").removesuffix("_session").removesuffix("_turn").removesuffix("_event")
            line.append_text(Text.assemble("  " if line else "", (f"{word} ", "dim"), (shorten(traversal[name]), "blue")))
    if line:
        out.print(line, soft_wrap=True)


def fitted(out: Console, text: Text, lines: int, indent: str = INDENT) -> Text:
    """The text in a number of lines of a terminal, each indented; uncut in one line for a pipe."""
    if not out.is_terminal:
        return Text(indent).append_text(text)
    wrapped = text.wrap(out, out.width - len(indent))
    shown = list(wrapped[:lines])
    if len(wrapped) > lines:
        shown[-1].truncate(out.width - len(indent) - 1)
        shown[-1].rstrip()
        shown[-1].append("…")
    return Text("\n").join(Text(indent).append_text(line) for line in shown)
