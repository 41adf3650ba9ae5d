"""What the trace tools say of themselves, to a model that has to choose between them."""

from typing import Any

from recollect.operations.trace.session_details import Level
from recollect.operations.trace.views import EVENT_TYPES

_SESSION = {"type": "string", "description": "Session UUID or a prefix of it, from 1 character; must be unique."}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _limit(default: int, most: int, size: str) -> dict[str, Any]:
    described = f"Matches per page: integer, default {default}, maximum {most} (more is clamped). {size}"
    return {"type": "integer", "default": default, "minimum": 1, "maximum": most, "description": described}


def _filters(default: int, most: int, size: str) -> dict[str, Any]:
    return {
        "query": {"type": "string", "description": "Substring to find, in any case; also inside words (serName)."},
        "limit": _limit(default, most, size),
        "cursor": {"type": "string", "description": "next_cursor of the page before, same filters. Default: first page."},
        "provider": {"type": "string", "description": "Only this agent: claude-code, codex, … Default: all."},
        "event_type": {"type": "string", "enum": list(EVENT_TYPES), "description": "Only this type. Default: all."},
        "session_id": {"type": "string", "description": "Only this session: UUID or unique prefix. Default: all."},
    }


PREVIEWS: dict[str, Any] = {
    "name": "search_event_previews",
    "title": "Find a string in events (trace, layer 1)",
    "description": (
        "Trace layer 1: every event that contains an exact string (code, path, error text), newest session first. Unlike "
        "search_sessions it does not rank and finds parts of words. Next: get_event_details for a whole event, "
        "get_session_details for its session."
    ),
    "input_schema": _object(["query"], **_filters(10, 50, "About 0.5 KB each.")),
}
EVENT: dict[str, Any] = {
    "name": "get_event_details",
    "title": "One event in full (trace, layer 2)",
    "description": "Trace layer 2: the whole, uncut payload of one event that search_event_previews found. 1 to 5 KB, "
    "large tool outputs more.",
    "input_schema": _object(
        ["session_id", "event_index"],
        session_id=_SESSION,
        event_index={"type": "integer", "minimum": 0, "description": "Place of the event in its session, from 0."},
    ),
}
SESSION: dict[str, Any] = {
    "name": "get_session_details",
    "title": "A session at four depths (trace, layer 3)",
    "description": "Trace layer 3: the course of one session as turns and steps. Begin with summary, go deeper only where "
    "needed. analyze_session tells what went wrong in it; search_event_previews with session_id finds places in it.",
    "input_schema": _object(
        ["session_id"],
        session_id=_SESSION,
        detail_level={
            "type": "string",
            "enum": list(Level),
            "default": Level.SUMMARY,
            "description": "summary 5-10 KB: prompts and counts; turns 15-30 KB: a line per step, outcome; steps 50-100 KB: "
            "everything, reasoning and output cut to 500 characters; full: unbounded. Default summary.",
        },
        include_reasoning={
            "type": "boolean",
            "default": False,
            "description": "Add the agent's thinking to steps. Only with detail_level=turns, else ignored. Default false; "
            "adds up to 10 KB per turn.",
        },
    ),
}
ANALYZE: dict[str, Any] = {
    "name": "analyze_session",
    "title": "What went wrong in a session (trace)",
    "description": "Trace: failed tools, loops (the same tools three turns running), bottlenecks (a tool over 10 s) of one "
    "session, and a score from 0 to 100. 1 to 5 KB. Next: get_session_details, or get_event_details with an event index.",
    "input_schema": _object(["session_id"], session_id=_SESSION),
}
EVENTS: dict[str, Any] = {
    "name": "search_events",
    "title": "Find a string in events (deprecated)",
    "description": "Deprecated, to be removed on 2027-06-30: use search_event_previews for breadth, then get_event_details "
    "for depth; this tool mixes both.",
    "input_schema": {
        "type": "object",
        "properties": {
            **_filters(5, 20, "1 KB each as preview, 5-10 KB as full."),
            "detail_level": {
                "type": "string",
                "enum": ["preview", "compact", "full"],
                "default": "preview",
                "description": "preview: 300 characters; compact: key fields, 2 KB; full: whole payload. Default preview.",
            },
        },
        "required": [],  # query, or what it was once called: some clients check, and would refuse the old name
    },
}
