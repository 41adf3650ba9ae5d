"""What can be requested of the trace family."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from recollect.errors import BadCursor, BadDetailLevel, BadId, BadRequest
from recollect.operations.ids import PREFIX_OR_UUID
from recollect.operations.schema import Request
from recollect.operations.trace.session_details import Level
from recollect.operations.trace.views import EVENT_TYPES

CAMEL_CASE = {"".join(part.title() for part in name.split("_")): name for name in EVENT_TYPES}  # accepted, too
SEARCH_LEVELS = ("preview", "compact", "full")


class TraceRequest(Request):
    too_long: ClassVar[str] = "{name} must be at most {max_length} characters"


def _event_type(value: Any, field: str) -> str:
    name = CAMEL_CASE.get(value, value) if isinstance(value, str) else None
    if name not in EVENT_TYPES:
        allowed = list(EVENT_TYPES)
        raise BadRequest(f"{field} must be one of: {', '.join(allowed)}", field=field, allowed=allowed)
    return str(name)


def _level(value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise BadDetailLevel(f"detail_level must be one of: {', '.join(allowed)}", allowed=list(allowed))
    return value


def _session_level(value: Any, _: str) -> Level:
    return Level(_level(value, tuple(Level)))


def _search_level(value: Any, _: str) -> str:
    return _level(value, SEARCH_LEVELS)


def _session(value: Any, field: str) -> str:
    if value is None:
        raise BadRequest(f"{field} is required: a session UUID or a prefix of one", field=field)
    if not isinstance(value, str) or PREFIX_OR_UUID.fullmatch(value) is None:
        raise BadId(f"{field} must be a session UUID or a prefix of one, without wildcards or blanks")
    return value


def _cursor(value: Any, _: str) -> str:
    if not isinstance(value, str):
        raise BadCursor(OTHER_CURSOR)
    return value


OTHER_CURSOR = "cursor does not belong to this tool with these filters; leave it out for the first page"
_SESSION = Meta(description="Session UUID or a prefix of it, from 1 character; must be unique.", extra={"parse": _session})
_QUERY = Meta(
    pattern=r"\S",
    max_length=4_096,
    description="Substring to find, in any case; also inside words (serName).",
    extra={"expected": "query must be a non-empty string"},
)
_LIMIT = "Matches per page: integer, default {default}, maximum {le} (more is clamped). "


class EventSearch(TraceRequest):
    query: Annotated[str, _QUERY]
    limit: Annotated[int, Meta(ge=1, le=50, description=_LIMIT + "About 0.5 KB each.", extra={"clamps": True})] = 10
    cursor: Annotated[
        str | None,
        Meta(description="next_cursor of the page before, same filters. Default: first page.", extra={"parse": _cursor}),
    ] = None
    provider: Annotated[
        str | None,
        Meta(
            description="Only this agent: claude-code, codex, … Default: all.",
            extra={"parse": lambda value, _: value},  # the names that exist are known when the archive is open
        ),
    ] = None
    event_type: Annotated[
        str | None,
        Meta(
            description="Only this type. Default: all.",
            extra={"parse": _event_type},
            extra_json_schema={"enum": list(EVENT_TYPES)},
        ),
    ] = None
    session_id: Annotated[
        str | None,
        Meta(description="Only this session: UUID or unique prefix. Default: all.", extra={"parse": _session}),
    ] = None


class SearchEventPreviews(EventSearch):
    """Trace layer 1: every event that contains an exact string (code, path, error text), newest session first. Unlike
    search_sessions it does not rank and finds parts of words. Next: get_event_details for a whole event,
    get_session_details for its session."""


class SearchEvents(EventSearch):
    """Deprecated, to be removed on 2027-06-30: use search_event_previews for breadth, then get_event_details for depth;
    this tool mixes both."""

    is_closed: ClassVar[bool] = False  # some clients check, and would refuse the old names

    query: Annotated[str, _QUERY] = ""
    limit: Annotated[
        int, Meta(ge=1, le=20, description=_LIMIT + "1 KB each as preview, 5-10 KB as full.", extra={"clamps": True})
    ] = 5
    detail_level: Annotated[
        Literal["preview", "compact", "full"] | None,
        Meta(
            description="preview: 300 characters; compact: key fields, 2 KB; full: whole payload. Default preview.",
            extra={"parse": _search_level},
            extra_json_schema={"default": "preview"},
        ),
    ] = None
    pattern: Annotated[str | None, Meta(description="The old name of query.", extra={"is_hidden": True})] = None
    include_full_payload: Annotated[
        bool | None, Meta(description="The old name of detail_level=full.", extra={"is_hidden": True})
    ] = None


class GetEventDetails(TraceRequest):
    """Trace layer 2: the whole, uncut payload of one event that search_event_previews found. 1 to 5 KB, large tool outputs
    more."""

    session_id: Annotated[str, _SESSION]
    event_index: Annotated[
        int,
        Meta(
            description="Place of the event in its session, from 0.",
            extra={"expected": "event_index must be an integer from 0"},
            extra_json_schema={"minimum": 0},  # a number below it is out of range, which is another error
        ),
    ]


class GetSessionDetails(TraceRequest):
    """Trace layer 3: the course of one session as turns and steps. Begin with summary, go deeper only where needed.
    analyze_session tells what went wrong in it; search_event_previews with session_id finds places in it."""

    session_id: Annotated[str, _SESSION]
    detail_level: Annotated[
        Level,
        Meta(
            description="summary 5-10 KB: prompts and counts; turns 15-30 KB: a line per step, outcome; steps 50-100 KB: "
            "everything, reasoning and output cut to 500 characters; full: unbounded. Default {default}.",
            extra={"parse": _session_level},
        ),
    ] = Level.SUMMARY
    include_reasoning: Annotated[
        bool,
        Meta(
            description="Add the agent's thinking to steps. Only with detail_level=turns, else ignored. Default false; "
            "adds up to 10 KB per turn."
        ),
    ] = False


class AnalyzeSession(TraceRequest):
    """Trace: failed tools, loops (the same tools three turns running), bottlenecks (a tool over 10 s) of one session, and
    a score from 0 to 100. 1 to 5 KB. Next: get_session_details, or get_event_details with an event index."""

    session_id: Annotated[str, _SESSION]
