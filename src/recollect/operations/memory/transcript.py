"""A log as a conversation: who said what, in exchanges, with the tools summed up. From the archive, never from the file."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from recollect.display import DATA, code_span, in_parentheses, one_line, quote
from recollect.model import Kind
from recollect.shown_time import day
from recollect.store import EventRow, Reader, SessionRow

NAMED = 12  # tools of an exchange that are named
PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")  # of a tool
QUOTED = f"Lines that begin with `>` are {DATA}"


def transcript(reader: Reader, sessions: Sequence[SessionRow], first: int, last: int | None) -> str:
    """Everything said between two lines, inclusive."""
    told = [_conversation(reader, session, first, last) for session in sessions]
    return "\n\n---\n\n".join(part for part in told if part) or "Nothing was said in these lines."


def _conversation(reader: Reader, session: SessionRow, first: int, last: int | None) -> str:
    exchanges = []
    for turn in reader.turns(session.key):
        events = reader.events_of_turn(session.key, turn.ordinal)
        said = [event for event in events if event.line >= first and (last is None or event.line <= last)]
        if text := _exchange(turn.ordinal, said):
            exchanges.append(text)
    if not exchanges:
        return ""
    return "\n".join(_head(reader, session)) + f"\n\n{QUOTED}\n\n" + "\n\n---\n\n".join(exchanges)


def _head(reader: Reader, session: SessionRow) -> list[str]:
    lines = [
        f"# Conversation: {one_line(session.native_id)}",
        f"# Project: {one_line(session.project or 'none')}",
        f"# Date: {day(session.started_at, estimated=session.estimated)}",
    ]
    parent = reader.parent(session.id)
    above = reader.session(parent) if parent is not None else None
    if above is not None:
        title = in_parentheses(above.title)
        lines.append(f"# Sub-agent of: {in_parentheses(above.native_id)} ({title}), {code_span(reader.address(above))}")
    return lines


def _exchange(ordinal: int, events: Sequence[EventRow]) -> str:
    parts = [text for event in events if (text := _spoken(event))]
    tools = _tools(events)
    if not parts and not tools:
        return ""
    lines = f"*Lines {min(event.line for event in events)}-{max(event.line for event in events)}*"
    return "\n\n".join([f"## Exchange {ordinal}", lines, *parts, *([tools] if tools else [])])


def _spoken(event: EventRow) -> str:
    """What a person or an agent said; all else is not part of the conversation."""
    label = {Kind.USER_INPUT: "User", Kind.ASSISTANT_RESPONSE: "Assistant"}.get(event.kind)
    text = event.text().strip() if label else ""
    return f"**{label}:**\n{quote(text)}" if text else ""


def _tools(events: Sequence[EventRow]) -> str:
    """Which tools ran, how often, on what, and how many of them failed."""
    calls = [event for event in events if event.kind is Kind.TOOL_CALL]
    if not calls:
        return ""
    counted = Counter(event.tool or "tool" for event in calls)
    named = [f"{_tool(tool)} ×{count}" if count > 1 else _tool(tool) for tool, count in counted.most_common(NAMED)]
    failed = sum(event.has_failed() for event in events if event.kind is Kind.TOOL_RESPONSE)
    files = list(dict.fromkeys(name for event in calls if (name := _file(event))))[:NAMED]
    more = f"; on {', '.join(map(code_span, files))}" if files else ""
    return f"**Tools:** {', '.join(named)}{more}{f'; {failed} failed' if failed else ''}"


def _tool(name: str) -> str:
    """A tool's name. One that is more than a word stands in a code span, so that it cannot pass for our own text."""
    return name if PLAIN_NAME.fullmatch(name) else code_span(name)


def _file(event: EventRow) -> str:
    arguments = event.arguments()
    path = next((arguments[name] for name in ("file_path", "path", "filename") if isinstance(arguments.get(name), str)), "")
    return PurePath(path).name
