"""Stored things in the history family's shapes."""

import re
from typing import Any

from recollect.assemble import call_text
from recollect.model import Kind, timestamp
from recollect.operations.ids import event_ref, session_ref, turn_ref
from recollect.search import ParsedQuery, SearchHit, shown_text
from recollect.shown_time import estimate_field
from recollect.snippet import snippet
from recollect.store import EventRow, SessionRow, TurnRow

PREVIEW = 200  # characters: enough to tell two prompts apart in a list
SLUG = 120
SUMMARY = 240
SPEAKS = {Kind.ASSISTANT_RESPONSE, Kind.REASONING}
TOOL_SIDE = {Kind.TOOL_CALL, Kind.TOOL_RESPONSE}
TELLING = (
    "command", "cmd", "file_path", "filePath", "absolute_path", "path", "file", "pattern", "query", "url", "prompt", "input",
)  # fmt: skip


def telling_of(arguments: dict[str, Any]) -> str | None:
    """The argument that sums up a call, if it has one."""
    return next((arguments[name] for name in TELLING if isinstance(arguments.get(name), str)), None)


def hit(rank: int, found: SearchHit, asked: ParsedQuery) -> dict[str, Any]:
    event, turn, session = found.event, found.turn, found.session
    ids = {
        "event_id": event_ref(event.id),
        "turn_id": turn_ref(session.id, turn.ordinal),
        "session_id": session_ref(session.id),
    }
    text, truncated = snippet(found.text, asked.word_groups())
    return {
        "rank": rank,
        "score": found.score,
        "id": ids["event_id"],
        "event": {
            "id": ids["event_id"],
            "type": event.kind,
            "timestamp": timestamp(event.at),
            **estimate_field(event.estimated),
            "ordinal": turn.position_of(event.seq),
            "terminal": event.seq == turn.terminal,
        },
        "turn": {
            "id": ids["turn_id"],
            "ordinal": turn.ordinal,
            "completed": turn.terminal is not None,
            "event_count": turn.event_count,
        },
        "session": session_head(session),
        "snippet": {"text": text, "truncated": truncated},
        "open": ids,
    }


def why(found: SearchHit) -> dict[str, float]:
    """What a score is made of, largest first. The parts add up, and their sum becomes the score."""
    return {name: round(worth, 3) for name, worth in sorted(found.parts.items(), key=lambda part: -part[1])}


def session_head(session: SessionRow) -> dict[str, Any]:
    return {
        **session_name(session),
        "started_at": timestamp(session.started_at),
        "updated_at": timestamp(session.updated_at),
        **estimate_field(session.estimated),
        "completed": bool(session.completed),
    }


def session_name(session: SessionRow) -> dict[str, Any]:
    return {"id": session_ref(session.id), "title": session.title, "source": session.source}


def session_full(session: SessionRow) -> dict[str, Any]:
    return {**session_head(session), "turn_count": session.turn_count, "event_count": session.event_count}


def listed(rank: int, session: SessionRow) -> dict[str, Any]:
    reference = session_ref(session.id)
    labels = {"mode": session.mode, "session_slug": slug(session), "session_summary": summary(session)}
    return {
        "rank": rank,
        "id": reference,
        "session": {**session_full(session), **labels},
        "open": {"session_id": reference},
    }


def slug(session: SessionRow) -> str:
    return re.sub(r"[\W_]+", "-", session.title.lower()).strip("-")[:SLUG].strip("-") or session.id.hex()[:8]


def summary(session: SessionRow) -> str:
    """One line on what the session was, made of its metadata only."""
    turns = f"{session.turn_count} turn{'s' if session.turn_count != 1 else ''}"
    place = f" in {session.project}" if session.project else ""
    tail = f" ({turns}{place})"[:SUMMARY]
    return session.title[: SUMMARY - len(tail)] + tail


def preview(event: EventRow | None) -> dict[str, Any] | None:
    if event is None:
        return None
    text, truncated = short(event)
    return {"event_id": event_ref(event.id), "text": text, "truncated": truncated}


def short(event: EventRow) -> tuple[str, bool]:
    """The beginning of an event, and whether that is not all."""
    if event.kind is not Kind.TOOL_CALL:
        return event.preview(PREVIEW)
    arguments = event.arguments()
    telling = telling_of(arguments)
    text = telling or call_text(event.tool, arguments)
    return text[:PREVIEW], len(text) > PREVIEW


def turn_head(turn: TurnRow, session: bytes, terminal: EventRow | None) -> dict[str, Any]:
    return {
        "ordinal": turn.ordinal,
        "completed": turn.terminal is not None,
        "terminal_event_id": terminal and event_ref(terminal.id),
        "event_count": turn.event_count,
        "started_at": timestamp(turn.started_at),
        "updated_at": timestamp(turn.updated_at),
        **estimate_field(turn.estimated),
    }


def turn_gist(turn: TurnRow, prompt: EventRow | None, terminal: EventRow | None) -> dict[str, Any]:
    answered = terminal is not None and terminal.kind is Kind.ASSISTANT_RESPONSE and turn.stop == "answer"
    return {
        "user_input": preview(prompt),
        "final_response": preview(terminal) if answered else None,
        "tools_called": turn.tools,
        "event_types": turn.kinds,
    }


def turn_summary(turn: TurnRow, session: bytes, events: dict[int, EventRow]) -> dict[str, Any]:
    prompt = events.get(turn.prompt) if turn.prompt is not None else None
    terminal = events.get(turn.terminal) if turn.terminal is not None else None
    reference = turn_ref(session, turn.ordinal)
    head = turn_head(turn, session, terminal)
    opens = {"turn_id": reference, "terminal_event_id": head["terminal_event_id"]}
    return {"id": reference, **head, **turn_gist(turn, prompt, terminal), "open": opens}


def event_summary(event: EventRow, turn: TurnRow) -> dict[str, Any]:
    text, truncated = short(event)
    return {
        "id": event_ref(event.id),
        "ordinal": turn.position_of(event.seq),
        "type": event.kind,
        "timestamp": timestamp(event.at),
        **estimate_field(event.estimated),
        "terminal": event.seq == turn.terminal,
        "tool_name": event.tool if event.kind in TOOL_SIDE else None,
        "model": event.model if event.kind in SPEAKS else None,
        "summary": text,
        "truncated": truncated,
    }


def event_full(event: EventRow, turn: TurnRow, session: bytes) -> dict[str, Any]:
    return {
        "id": event_ref(event.id),
        "session_id": session_ref(session),
        "turn_id": turn_ref(session, turn.ordinal),
        "ordinal": turn.position_of(event.seq),
        "type": event.kind,
        "timestamp": timestamp(event.at),
        **estimate_field(event.estimated),
        "terminal": event.seq == turn.terminal,
        "model": event.model if event.kind in SPEAKS else None,
        "originating_model": event.model if event.kind in SPEAKS | TOOL_SIDE else None,
        "tool_name": event.tool if event.kind in TOOL_SIDE else None,
    }


def content(event: EventRow) -> dict[str, Any]:
    """The whole of an event, however large."""
    text = shown_text(event)
    if event.kind is Kind.TOOL_CALL:
        called = {"tool_name": event.tool, "arguments": event.arguments()}
        return {"format": "tool_call", **called, "text": text, "truncated": False}
    if event.kind is Kind.TOOL_RESPONSE:
        came_back = {"tool_name": event.tool, "exit_code": event.exit_code}
        return {"format": "tool_response", **came_back, "text": text, "truncated": False}
    return {"format": "text", "text": text, "truncated": False}
