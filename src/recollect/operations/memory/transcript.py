"""Writes a log as a conversation in exchanges, with a line on the tools. Reads the archive, never the log."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from recollect.display import DATA, code_span, in_parentheses, one_line, quote
from recollect.model import Kind
from recollect.shown_time import day
from recollect.store import EventRow, Reader, SessionRow

MAX_NAMES = 12  # tools, and files, that an exchange names
PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")  # of a tool
QUOTED = f"Lines that begin with `>` are {DATA}"


def transcript(reader: Reader, sessions: Sequence[SessionRow], first: int, last: int | None) -> str:
    """The conversation between two lines, inclusive."""
    parts = [_conversation(reader, session, first, last) for session in sessions]
    return "\n\n---\n\n".join(part for part in parts if part) or "Nothing was said in these lines."


def _conversation(reader: Reader, session: SessionRow, first: int, last: int | None) -> str:
    exchanges = []
    for turn in reader.turns(session.key):
        events = reader.events_of_turn(session.key, turn.ordinal)
        events = [event for event in events if event.line >= first and (last is None or event.line <= last)]
        if text := _exchange(turn.ordinal, events):
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
    parent_id = reader.parent(session.id)
    parent = reader.session(parent_id) if parent_id is not None else None
    if parent is not None:
        title = in_parentheses(parent.title)
        lines.append(f"# Sub-agent of: {in_parentheses(parent.native_id)} ({title}), {code_span(reader.address(parent))}")
    return lines


def _exchange(ordinal: int, events: Sequence[EventRow]) -> str:
    parts = [text for event in events if (text := _message(event))]
    tools = _tools(events)
    if not parts and not tools:
        return ""
    lines = f"*Lines {min(event.line for event in events)}-{max(event.line for event in events)}*"
    return "\n\n".join([f"## Exchange {ordinal}", lines, *parts, *([tools] if tools else [])])


def _message(event: EventRow) -> str:
    """The message of a user or an agent; empty for other events, which are not part of the conversation."""
    label = {Kind.USER_INPUT: "User", Kind.ASSISTANT_RESPONSE: "Assistant"}.get(event.kind)
    text = event.text().strip() if label else ""
    return f"**{label}:**\n{quote(text)}" if text else ""


def _tools(events: Sequence[EventRow]) -> str:
    """A line on which tools ran, how often, on which files, and how many failed."""
    calls = [event for event in events if event.kind is Kind.TOOL_CALL]
    if not calls:
        return ""
    counts = Counter(event.tool or "tool" for event in calls).most_common(MAX_NAMES)
    names = [f"{_tool(tool)} ×{count}" if count > 1 else _tool(tool) for tool, count in counts]
    failed = sum(event.has_failed() for event in events if event.kind is Kind.TOOL_RESPONSE)
    files = list(dict.fromkeys(name for event in calls if (name := _file(event))))[:MAX_NAMES]
    on_files = f"; on {', '.join(map(code_span, files))}" if files else ""
    return f"**Tools:** {', '.join(names)}{on_files}{f'; {failed} failed' if failed else ''}"


def _tool(name: str) -> str:
    """A tool's name. A name of several words is put into a code span, so that it does not look like our own text."""
    return name if PLAIN_NAME.fullmatch(name) else code_span(name)


def _file(event: EventRow) -> str:
    arguments = event.arguments()
    path = next((arguments[name] for name in ("file_path", "path", "filename") if isinstance(arguments.get(name), str)), "")
    return PurePath(path).name
