"""The shapes of the history family's answers, for programs and for models."""

from typing import Any

from recollect.model import KINDS, SessionMode
from recollect.operations.history.envelope import schemas
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

_ANY = {"type": "object"}

SEARCH = schemas("search_sessions", _object(result_count=COUNT, limit=COUNT, truncated=FLAG, results=_array(_HIT)))
OPEN = schemas(
    "open",
    {
        "type": "object",
        "required": ["kind", "session", "traversal"],
        "properties": {
            "kind": {"enum": ["session", "turn", "event"]},
            **dict.fromkeys(("session", "turn", "event"), _ANY),
            **dict.fromkeys(("turns", "events"), _array(_ANY)),
            **dict.fromkeys(("summary", "content", "traversal"), _ANY),
        },
    },
)
LIST = schemas(
    "list_sessions",
    _object(result_count=COUNT, limit=COUNT, truncated=FLAG, sessions=_array(_LISTED), next_cursor=ID_OR_NULL),
)
