"""The schemas of the history family's answers, for programs and for models."""

from recollect.model import KINDS, SessionMode
from recollect.operations.history.envelope import schemas
from recollect.operations.json_schema import (
    COUNT,
    FLAG,
    OBJECT,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    array_of,
    object_of,
    optional_object,
    with_optional,
)
from recollect.shown_time import FIELD

_HEAD = {"id": TEXT, "title": TEXT, "source": TEXT, "started_at": TIME, "updated_at": TIME, FIELD: FLAG, "completed": FLAG}
_EVENT = optional_object(
    id=TEXT, type={"enum": list(KINDS)}, timestamp=TIME, estimated_time=FLAG, ordinal=COUNT, terminal=FLAG
)
_HIT = object_of(
    rank={"type": "integer", "minimum": 1},
    score={"type": "number", "minimum": 0, "maximum": 1},
    id=TEXT,
    event=_EVENT,
    turn=optional_object(id=TEXT, ordinal=COUNT, completed=FLAG, event_count=COUNT),
    session=optional_object(**_HEAD),
    snippet=optional_object(text=TEXT, truncated=FLAG),
    open=optional_object(event_id=TEXT, turn_id=TEXT, session_id=TEXT),
)
_SESSION = optional_object(
    **_HEAD,
    turn_count=COUNT,
    event_count=COUNT,
    mode={"enum": list(SessionMode)},
    session_slug=TEXT,
    session_summary=TEXT,
)
_LISTED = object_of(rank=COUNT, id=TEXT, session=_SESSION, open=optional_object(session_id=TEXT))

SEARCH = schemas("search_sessions", object_of(result_count=COUNT, limit=COUNT, truncated=FLAG, results=array_of(_HIT)))
OPEN = schemas(
    "open",
    with_optional(
        object_of(kind={"enum": ["session", "turn", "event"]}, session=OBJECT, traversal=OBJECT),
        **dict.fromkeys(("turn", "event", "summary", "content"), OBJECT),
        **dict.fromkeys(("turns", "events"), array_of(OBJECT)),
    ),
)
LIST = schemas(
    "list_sessions",
    object_of(result_count=COUNT, limit=COUNT, truncated=FLAG, sessions=array_of(_LISTED), next_cursor=TEXT_OR_NULL),
)
