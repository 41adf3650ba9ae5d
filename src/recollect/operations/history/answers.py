"""Sessions, turns, events and search hits in the history family's shapes."""

import re
from typing import Any

from recollect.label import call_text
from recollect.model import Kind, timestamp
from recollect.operations.ids import event_ref, session_ref, turn_ref
from recollect.search import ParsedQuery, SearchHit, shown_text
from recollect.shown_time import estimate_field
from recollect.snippet import snippet
from recollect.store import EventRow, SessionRow, TurnRow

MAX_PREVIEW = 200  # characters: enough to tell two prompts apart in a list
MAX_SLUG = 120  # characters
MAX_SUMMARY = 240  # characters
MODEL_KINDS = {Kind.ASSISTANT_RESPONSE, Kind.REASONING}  # written by a model
TOOL_KINDS = {Kind.TOOL_CALL, Kind.TOOL_RESPONSE}
MAIN_ARGUMENTS = (  # names of arguments that sum up a call, the most useful first
    "command", "cmd", "file_path", "filePath", "absolute_path", "path", "file", "pattern", "query", "url", "prompt", "input",
)  # fmt: skip


def main_argument(arguments: dict[str, Any]) -> str | None:
    """The argument that sums up a call, if it has one."""
    return next((arguments[name] for name in MAIN_ARGUMENTS if isinstance(arguments.get(name), str)), None)


def hit_view(rank: int, hit: SearchHit, query: ParsedQuery) -> dict[str, Any]:
    event, turn, session = hit.event, hit.turn, hit.session
    ids = {
        "event_id": event_ref(event.id),
        "turn_id": turn_ref(session.id, turn.ordinal),
        "session_id": session_ref(session.id),
    }
    text, truncated = snippet(hit.text, query.word_groups())
    return {
        "rank": rank,
        "score": hit.score,
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


def score_parts(hit: SearchHit) -> dict[str, float]:
    """The parts of a hit's score, largest first. Their sum becomes the score."""
    return {name: round(part, 3) for name, part in sorted(hit.parts.items(), key=lambda item: -item[1])}


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


def listed_session(rank: int, session: SessionRow) -> dict[str, Any]:
    reference = session_ref(session.id)
    labels = {"mode": session.mode, "session_slug": slug(session), "session_summary": summary(session)}
    return {
        "rank": rank,
        "id": reference,
        "session": {**session_full(session), **labels},
        "open": {"session_id": reference},
    }


def slug(session: SessionRow) -> str:
    return re.sub(r"[\W_]+", "-", session.title.lower()).strip("-")[:MAX_SLUG].strip("-") or session.id.hex()[:8]


def summary(session: SessionRow) -> str:
    """The session in one line, from its metadata only."""
    turns = f"{session.turn_count} turn{'s' if session.turn_count != 1 else ''}"
    project = f" in {session.project}" if session.project else ""
    tail = f" ({turns}{project})"[:MAX_SUMMARY]
    return session.title[: MAX_SUMMARY - len(tail)] + tail


def preview(event: EventRow | None) -> dict[str, Any] | None:
    if event is None:
        return None
    text, truncated = short_text(event)
    return {"event_id": event_ref(event.id), "text": text, "truncated": truncated}


def short_text(event: EventRow) -> tuple[str, bool]:
    """The beginning of an event's text, and whether it is cut."""
    if event.kind is not Kind.TOOL_CALL:
        return event.preview(MAX_PREVIEW)
    arguments = event.arguments()
    text = main_argument(arguments) or call_text(event.tool, arguments)
    return text[:MAX_PREVIEW], len(text) > MAX_PREVIEW


def turn_head(turn: TurnRow, terminal: EventRow | None) -> dict[str, Any]:
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
    has_answer = terminal is not None and terminal.kind is Kind.ASSISTANT_RESPONSE and turn.stop == "answer"
    return {
        "user_input": preview(prompt),
        "final_response": preview(terminal) if has_answer else None,
        "tools_called": turn.tools,
        "event_types": turn.kinds,
    }


def turn_summary(turn: TurnRow, session: bytes, events: dict[int, EventRow]) -> dict[str, Any]:
    prompt = events.get(turn.prompt) if turn.prompt is not None else None
    terminal = events.get(turn.terminal) if turn.terminal is not None else None
    reference = turn_ref(session, turn.ordinal)
    head = turn_head(turn, terminal)
    opens = {"turn_id": reference, "terminal_event_id": head["terminal_event_id"]}
    return {"id": reference, **head, **turn_gist(turn, prompt, terminal), "open": opens}


def event_summary(event: EventRow, turn: TurnRow) -> dict[str, Any]:
    text, truncated = short_text(event)
    return {
        "id": event_ref(event.id),
        "ordinal": turn.position_of(event.seq),
        "type": event.kind,
        "timestamp": timestamp(event.at),
        **estimate_field(event.estimated),
        "terminal": event.seq == turn.terminal,
        "tool_name": event.tool if event.kind in TOOL_KINDS else None,
        "model": event.model if event.kind in MODEL_KINDS else None,
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
        "model": event.model if event.kind in MODEL_KINDS else None,
        "originating_model": event.model if event.kind in MODEL_KINDS | TOOL_KINDS else None,
        "tool_name": event.tool if event.kind in TOOL_KINDS else None,
    }


def content(event: EventRow) -> dict[str, Any]:
    """The full content of an event, however large."""
    text = {"text": shown_text(event), "truncated": False}
    if event.kind is Kind.TOOL_CALL:
        return {"format": "tool_call", "tool_name": event.tool, "arguments": event.arguments(), **text}
    if event.kind is Kind.TOOL_RESPONSE:
        return {"format": "tool_response", "tool_name": event.tool, "exit_code": event.exit_code, **text}
    return {"format": "text", **text}
