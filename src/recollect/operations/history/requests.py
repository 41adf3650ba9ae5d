"""What can be requested of the history family."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from recollect.errors import BadEventType, BadRequest
from recollect.model import SEARCHABLE, Kind, SessionMode
from recollect.operations.schema import Request
from recollect.operations.times import timestamp_us


class HistoryRequest(Request):
    publishes_null: ClassVar[bool] = True
    publishes_defaults: ClassVar[bool] = False
    too_long: ClassVar[str] = "{name} must be at most {max_length} characters"


def _event_types(value: Any, field: str) -> list[Kind]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise BadRequest(f"{field} must be a non-empty array of strings", field=field)
    for word in value:
        if word not in SEARCHABLE:
            raise BadEventType(f"unsupported event type: {word}", field=field, supported=list(SEARCHABLE))
    return [kind for kind in SEARCHABLE if kind in value]


class SearchSessions(HistoryRequest):
    """Search the history of previous sessions: find, look up, read and recall a previous session, a past conversation, old
    chats, chat history, conversation history, session history, transcripts and logs of every AI agent on this machine. A
    memory of what the user or an agent said: what we did, discussed or decided yesterday, last week or last time, how we
    solved a bug or error before, prior work. Use it first when earlier work could help. Write the words you expect in the
    text; identifiers, paths and error codes match whole and in parts, a "double-quoted part" literally. Hits are handles
    of about 150 tokens. Next: `open` a hit's event_id for the full text, its turn_id or session_id for more; or search
    again with within_id. By date: list_sessions."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4_096,  # characters, the contract's
            description="What to look for, {min_length} to {max_length} characters. "
            "Example: ClickHouse schema migration failure. It may have filters: agent:codex project:api since:7d file:*.go",
            extra={"strip": True},
        ),
    ]
    within_id: Annotated[
        str | None,
        Meta(
            description="A session or turn id from an earlier answer: search only inside it. Default: everywhere but in the "
            "session that asks."
        ),
    ] = None
    event_types: Annotated[
        list[Kind] | None,
        Meta(
            description="Which kinds of events to search. Default: user_input, assistant_response, tool_response. "
            "Add tool_call to find commands by their arguments, reasoning for the agent's thinking.",
            extra={"parse": _event_types},
            extra_json_schema={"items": {"type": "string", "enum": list(SEARCHABLE)}, "minItems": 1},
        ),
    ] = None
    n_hits: Annotated[int, Meta(ge=1, le=50, description="How many hits, {ge} to {le}. Default {default}.")] = 10


class Open(HistoryRequest):
    """Show more about an id that search_sessions, list_sessions or open returned. A session id gives a short summary per
    turn (about 150 tokens a turn); a turn id every event in one line (about 80 tokens an event); an event id its full
    text, however long. Go from small to large: the event, then its turn for the context, a whole session only when its
    course matters. `traversal` has the ids of neighbours and parents."""

    id: Annotated[
        str,
        Meta(
            pattern=r"\S",
            description="An id exactly as returned: session:…, turn:… or event:…",
        ),
    ]


class ListSessions(HistoryRequest):
    """List the sessions of a time range, newest first: titles and metadata, about 120 tokens each, no transcript text. Use
    it for 'what did I work on yesterday'; by content use search_sessions. Next: `open` a listed session_id."""

    start_datetime: Annotated[
        int,
        Meta(
            description="Inclusive start, ISO 8601 with an offset or Z. Example: 2026-04-30T09:00:00-04:00",
            extra={"parse": timestamp_us},
            extra_json_schema={"type": "string"},
        ),
    ]
    end_datetime: Annotated[
        int,
        Meta(
            description="Exclusive end, ISO 8601 with an offset or Z.",
            extra={"parse": timestamp_us},
            extra_json_schema={"type": "string"},
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=50, description="How many sessions, {ge} to {le}. Default {default}.")] = 20
    cursor: Annotated[
        str | None,
        Meta(
            description="next_cursor of the previous page; window, mode and sort must be the same.",
            extra={"expected": "cursor does not belong to this window, mode and sort"},
        ),
    ] = None
    mode: Annotated[SessionMode | None, Meta(description="Only sessions of this kind of work. Default: all.")] = None
    sort: Annotated[Literal["desc", "asc"], Meta(description="desc: newest first (default); asc: oldest first.")] = "desc"
