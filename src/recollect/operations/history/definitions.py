"""What the history tools say of themselves, to a model that has to choose between them."""

from typing import Any

from recollect.model import KINDS, SEARCHABLE, SessionMode
from recollect.operations.history.envelope import schemas
from recollect.operations.operation import Route
from recollect.shown_time import FIELD

ID = {"type": "string"}
ID_OR_NULL = {"type": ["string", "null"]}
TIME = {"type": "string", "format": "date-time"}
COUNT = {"type": "integer", "minimum": 0}
FLAG = {"type": "boolean"}
TEXT = {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _shape(**properties: Any) -> dict[str, Any]:
    """An object inside another one: what may be in it."""
    return {"type": "object", "properties": properties}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_NAME = {"id": ID, "title": TEXT, "source": TEXT}
_HEAD = {**_NAME, "started_at": TIME, "updated_at": TIME, FIELD: FLAG, "completed": FLAG}
_HIT = _object(
    rank={"type": "integer", "minimum": 1},
    score={"type": "number", "minimum": 0, "maximum": 1},
    id=ID,
    event=_shape(id=ID, type={"enum": list(KINDS)}, timestamp=TIME, estimated_time=FLAG, ordinal=COUNT, terminal=FLAG),
    turn=_shape(id=ID, ordinal=COUNT, completed=FLAG, event_count=COUNT),
    session=_shape(**_HEAD),
    snippet=_shape(text=TEXT, truncated=FLAG),
    open=_shape(event_id=ID, turn_id=ID, session_id=ID),
)
_LISTED = _object(
    rank=COUNT,
    id=ID,
    session=_shape(
        **_HEAD,
        turn_count=COUNT,
        event_count=COUNT,
        mode={"enum": list(SessionMode)},
        session_slug=TEXT,
        session_summary=TEXT,
    ),
    open=_shape(session_id=ID),
)

SEARCH: dict[str, Any] = {
    "name": "search_sessions",
    "title": "Search past agent sessions",
    "description": (
        "Search the history of previous sessions: find, look up, read and recall a previous session, a past "
        "conversation, old chats, chat history, conversation history, session history, transcripts and logs of every "
        "AI agent on this machine. A memory of what the user or an agent said: what we did, discussed or decided "
        "yesterday, last week or last time, how we solved a bug or error before, prior work. Use it first when "
        "earlier work could help. Write the words you expect in the text; identifiers, paths and error codes match "
        'whole and in parts, a "double-quoted part" literally. Hits are handles of about 150 tokens. Next: `open` a '
        "hit's event_id for the full text, its turn_id or session_id for more; or search again with within_id. By "
        "date: list_sessions."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What to look for, 1 to 4096 characters. Example: ClickHouse schema migration failure",
            },
            "within_id": {
                "type": ["string", "null"],
                "description": "A session or turn id from an earlier answer: search only inside it. Default: everywhere "
                "but in the session that asks.",
            },
            "event_types": {
                "type": ["array", "null"],
                "items": {"type": "string", "enum": list(SEARCHABLE)},
                "minItems": 1,
                "description": "Which kinds of events to search. Default: user_input, assistant_response, tool_response. "
                "Add tool_call to find commands by their arguments, reasoning for the agent's thinking.",
            },
            "n_hits": {
                "type": ["integer", "null"],
                "minimum": 1,
                "maximum": 50,
                "description": "How many hits, 1 to 50. Default 10.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    **schemas("search_sessions", _object(result_count=COUNT, limit=COUNT, truncated=FLAG, results=_array(_HIT))),
    "routes": (Route(http="GET /search"),),
}

OPEN: dict[str, Any] = {
    "name": "open",
    "title": "Open a session, turn or event",
    "description": (
        "Show more about an id that search_sessions, list_sessions or open returned. A session id gives a short "
        "summary per turn (about 150 tokens a turn); a turn id every event in one line (about 80 tokens an event); an "
        "event id its full text, however long. Go from small to large: the event, then its turn for the context, a "
        "whole session only when its course matters. `traversal` has the ids of neighbours and parents."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "id": {
                "type": "string",
                "description": "An id exactly as returned: session:…, turn:… or event:…",
            }
        },
        "required": ["id"],
        "additionalProperties": False,
    },
    **schemas(
        "open",
        {
            "type": "object",
            "required": ["kind", "session", "traversal"],
            "properties": {
                "kind": {"enum": ["session", "turn", "event"]},
                "session": {"type": "object"},
                "turn": {"type": "object"},
                "event": {"type": "object"},
                "turns": _array({"type": "object"}),
                "events": _array({"type": "object"}),
                "summary": {"type": "object"},
                "content": {"type": "object"},
                "traversal": {"type": "object"},
            },
        },
    ),
    "routes": (Route(http="GET /open/{id}"),),
}

LIST: dict[str, Any] = {
    "name": "list_sessions",
    "title": "List sessions by time",
    "description": (
        "List the sessions of a time range, newest first: titles and metadata, about 120 tokens each, no transcript "
        "text. Use it for 'what did I work on yesterday'; by content use search_sessions. Next: `open` a listed "
        "session_id."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "start_datetime": {
                "type": "string",
                "description": "Inclusive start, ISO 8601 with an offset or Z. Example: 2026-04-30T09:00:00-04:00",
            },
            "end_datetime": {"type": "string", "description": "Exclusive end, ISO 8601 with an offset or Z."},
            "limit": {
                "type": ["integer", "null"],
                "minimum": 1,
                "maximum": 50,
                "description": "How many sessions, 1 to 50. Default 20.",
            },
            "cursor": {
                "type": ["string", "null"],
                "description": "next_cursor of the previous page; window, mode and sort must be the same.",
            },
            "mode": {
                "type": ["string", "null"],
                "enum": [*SessionMode, None],
                "description": "Only sessions of this kind of work. Default: all.",
            },
            "sort": {
                "type": ["string", "null"],
                "enum": ["desc", "asc", None],
                "description": "desc: newest first (default); asc: oldest first.",
            },
        },
        "required": ["start_datetime", "end_datetime"],
        "additionalProperties": False,
    },
    **schemas(
        "list_sessions",
        _object(result_count=COUNT, limit=COUNT, truncated=FLAG, sessions=_array(_LISTED), next_cursor=ID_OR_NULL),
    ),
    "routes": (Route(http="GET /history"),),
}
