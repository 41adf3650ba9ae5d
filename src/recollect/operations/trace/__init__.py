"""The trace family: event previews, event details, a session at four depths, and what went wrong in it.

Answers are wrapped, too large a limit is clamped with a warning, and a session may be named by the beginning of its id.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from recollect.errors import AmbiguousId, BadCursor, BadDetailLevel, BadId, BadRequest, NotFound, OutOfRange
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.operations import cursors
from recollect.operations.arguments import Arguments, check_names, flag
from recollect.operations.caller import calling_sessions
from recollect.operations.ids import uuid_text
from recollect.operations.operation import Family, Operation, RequestContext, open_reader
from recollect.operations.trace import views
from recollect.operations.trace.analysis import insights, score
from recollect.operations.trace.definitions import ANALYZE, EVENT, EVENTS, PREVIEWS, SESSION
from recollect.operations.trace.envelope import Answer, Pagination, wrapped
from recollect.operations.trace.session_details import Level, SessionTrace, details
from recollect.realms import WARNINGS, IndexCondition, Realm
from recollect.search import deadline_check
from recollect.search.substring import MatchPosition, NgramCoverage, SubstringMatch, find_substring
from recollect.store import EventRow, Reader, SessionRow

LONGEST_QUERY = 4_096  # characters
PREVIEWS_LIMIT, EVENTS_LIMIT = (10, 50), (5, 20)  # by default, at most
SEARCH_MS, READ_MS = 5_000, 10_000  # deadlines
SHOWN_MATCHES = 20  # ids of an ambiguous prefix that are named
UUID_DASHES = (8, 13, 18, 23)
NAMED = re.compile(r"[0-9A-Za-z-]+")
CAMEL = {"".join(part.title() for part in name.split("_")): name for name in views.EVENT_TYPES}
SEARCH_LEVELS = ("preview", "compact", "full")
OLD_NAMES = ("pattern", "include_full_payload")
NEXT = "Use get_event_details(session_id, event_index) for full payload"
DEEPER = "Use get_session_details with detail_level=turns, steps or full for more; get_event_details for one event"
BEHIND = 100_000  # events that the n-gram index does not know, which are worth a warning


# ---- checking what came


def _query(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadRequest("query must be a non-empty string", field="query")
    if len(value) > LONGEST_QUERY:
        raise BadRequest(f"query must be at most {LONGEST_QUERY} characters", field="query")
    return value


def _limit(value: Any, bounds: tuple[int, int], warnings: list[str]) -> int:
    default, most = bounds
    if value is None:
        return default
    if type(value) is not int or value < 1:
        raise BadRequest(f"limit must be an integer from 1 to {most}", field="limit")
    if value > most:
        warnings.append(f"limit {value} is above the maximum and was clamped to {most}")
    return min(value, most)


def _event_type(value: Any) -> str | None:
    if value is None:
        return None
    name = CAMEL.get(value, value) if isinstance(value, str) else None
    if name not in views.EVENT_TYPES:
        allowed = list(views.EVENT_TYPES)
        raise BadRequest(f"event_type must be one of: {', '.join(allowed)}", field="event_type", allowed=allowed)
    return name


def _provider(reader: Reader, value: Any) -> str | None:
    """A source by its name. One that has no sessions here is asked for in vain, one that there is not is refused."""
    if value is None:
        return None
    name = value.strip().lower().replace("_", "-") if isinstance(value, str) else ""
    if reader.has_source(name):
        return name
    from recollect.sources import all_sources  # some forty modules, which nobody else needs to answer

    known = sorted(source.name for source in all_sources())
    if name not in known:
        raise BadRequest(f"provider must be one of: {', '.join(known)}", field="provider")
    return name


def _level(value: Any, allowed: tuple[str, ...]) -> str:
    if value is None:
        return allowed[0]
    if not isinstance(value, str) or value not in allowed:
        raise BadDetailLevel(f"detail_level must be one of: {', '.join(allowed)}", allowed=list(allowed))
    return value


# ---- finding a session by the beginning of its id


def session_named(reader: Reader, given: Any) -> SessionRow:
    """The one session whose UUID is this, or begins with it."""
    if given is None:
        raise BadRequest("session_id is required: a session UUID or a prefix of one", field="session_id")
    if not isinstance(given, str) or NAMED.fullmatch(given) is None:
        raise BadId("session_id must be a session UUID or a prefix of one, without wildcards or blanks")
    bounds = _bounds(given.lower())
    found, count = reader.sessions_named(*bounds, SHOWN_MATCHES) if bounds else ([], 0)
    if count > 1:
        message = f"Session ID prefix '{given}' matches {count} sessions. Provide more characters."
        raise AmbiguousId(message, prefix=given, matches=[uuid_text(one) for one in found])
    session = reader.session(found[0]) if found else None
    if session is None:
        raise NotFound(f"No session with ID or prefix '{given}'")
    return session


def _bounds(prefix: str) -> tuple[bytes, bytes] | None:
    """The first and the last id with a prefix; None where no id can have it."""
    dashed = all((letter == "-") == (place in UUID_DASHES) for place, letter in enumerate(prefix))
    digits = prefix.replace("-", "")
    if not dashed or len(digits) > 32 or any(digit not in "0123456789abcdef" for digit in digits):
        return None
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


# ---- search_event_previews and search_events


def search_event_previews(realm: Realm, arguments: Any, context: RequestContext) -> Answer:
    check_names(arguments, PREVIEWS["input_schema"]["properties"])
    return _search(realm, "search_event_previews", arguments, PREVIEWS_LIMIT, [], context, _preview)


def search_events(realm: Realm, arguments: Any, context: RequestContext) -> Answer:
    check_names(arguments, (*EVENTS["input_schema"]["properties"], *OLD_NAMES))
    warnings = ["search_events is deprecated; use search_event_previews, then get_event_details"]
    given = _renamed(arguments, warnings)
    show = {"preview": _preview, "compact": _compact, "full": _payload}[_level(given.get("detail_level"), SEARCH_LEVELS)]
    return _search(realm, "search_events", given, EVENTS_LIMIT, warnings, context, show)


def _renamed(arguments: Arguments, warnings: list[str]) -> Arguments:
    """The arguments under their present names."""
    given = {name: value for name, value in arguments.items() if value is not None or name not in OLD_NAMES}
    if "pattern" in given:
        if given.get("query") is not None:
            raise BadRequest("pattern is the old name of query; give only one of them", field="pattern")
        given["query"] = given.pop("pattern")
        warnings.append("pattern is deprecated; use query")
    if "include_full_payload" in given:
        if given.get("detail_level") is not None:
            raise BadRequest("give detail_level or the old include_full_payload, not both", field="include_full_payload")
        is_full = flag(given.pop("include_full_payload"), "include_full_payload")
        given["detail_level"] = "full" if is_full else "preview"
        warnings.append("include_full_payload is deprecated; use detail_level")
    return given


def _preview(event: EventRow, query: str) -> dict[str, Any]:
    return {"preview": views.preview(event, query)}


def _compact(event: EventRow, query: str) -> dict[str, Any]:
    return {"compact": views.compact(event, query)}


def _payload(event: EventRow, _: str) -> dict[str, Any]:
    return {"payload": views.payload(event)}


def _search(
    realm: Realm,
    tool: str,
    given: Arguments,
    bounds: tuple[int, int],
    warnings: list[str],
    context: RequestContext,
    show: Callable[[EventRow, str], dict[str, Any]],
) -> Answer:
    query = _query(given.get("query"))
    limit = _limit(given.get("limit"), bounds, warnings)
    kind = _event_type(given.get("event_type"))
    late = context.past_deadline(realm.deadline_ms(SEARCH_MS))
    check = deadline_check(late)
    check()
    with realm.open_archive() as reader:
        reader.stop_when(late)
        provider = _provider(reader, given.get("provider"))
        within = session_named(reader, given["session_id"]) if given.get("session_id") is not None else None
        filters = {
            "query": query,
            "provider": provider,
            "event_type": kind,
            "session": uuid_text(within.id) if within is not None else None,
        }
        after = _after(given.get("cursor"), tool, filters)
        passing = Filters(
            kinds=views.EVENT_TYPES[kind] if kind else (),
            session=within.key if within is not None else None,
            source=provider,
            excluded_sessions=tuple(one.key for one in calling_sessions(reader, context.caller)) if within is None else (),
        )
        found = _find(realm, reader, query, passing, after, limit + 1, check, warnings)
        sessions = reader.sessions({match.event.session for match in found})
    shown, more = found[:limit], len(found) > limit
    matches = [{**views.head(one.event, sessions[one.event.session]), **show(one.event, query)} for one in shown]
    place = list(shown[-1].position) if more else None
    page = Pagination(len(matches), cursors.encode(tool, filters, place) if place else None, more)
    return Answer({"matches": matches}, page, NEXT, warnings)


def _after(cursor: Any, tool: str, filters: dict[str, Any]) -> MatchPosition | None:
    if cursor is None:
        return None
    place = cursors.decode(cursor, tool, filters) if isinstance(cursor, str) else None
    if place is None:
        raise BadCursor("cursor is not one of this tool with these filters; leave it out to begin anew")
    started, session, seq = place
    return started, session, seq


def _find(
    realm: Realm,
    reader: Reader,
    query: str,
    filters: Filters,
    after: MatchPosition | None,
    limit: int,
    check: Callable[[], None],
    warnings: list[str],
) -> list[SubstringMatch]:
    """Matches by the n-gram index; if it cannot be read, by scanning all events."""
    known = realm.ngrams(reader)
    behind = reader.last_key() - known.last_key
    warnings += realm.sync_warnings()
    if reader.last_key() == 0:
        warnings.append(WARNINGS[IndexCondition.EMPTY])
    elif behind > BEHIND:
        warnings.append(f"Search is still being prepared: {behind} events are looked through one by one")
    try:
        with engine_panics_as_errors():
            return find_substring(reader, known, query, filters, after, limit, check)
    except IndexUnusable:
        realm.discard_ngram_index()
        return find_substring(reader, NgramCoverage(None, 0), query, filters, after, limit, check)


# ---- details


def get_event_details(realm: Realm, arguments: Any, context: RequestContext) -> Answer:
    check_names(arguments, EVENT["input_schema"]["properties"])
    index = arguments.get("event_index")
    if type(index) is not int:
        raise BadRequest("event_index must be an integer from 0", field="event_index")
    with open_reader(realm, context, READ_MS) as reader:
        session = session_named(reader, arguments.get("session_id"))
        event = reader.event_at(session.key, index) if 0 <= index < session.event_count else None
    if event is None:
        last = session.event_count - 1
        raise OutOfRange(f"event_index must be from 0 to {last}, not {index}", event_index=index, max_index=last)
    return Answer({**views.head(event, session), "payload": views.payload(event)})


def get_session_details(realm: Realm, arguments: Any, context: RequestContext) -> Answer:
    check_names(arguments, SESSION["input_schema"]["properties"])
    level = Level(_level(arguments.get("detail_level"), tuple(Level)))
    reasoning = flag(arguments.get("include_reasoning"), "include_reasoning")
    warnings = realm.sync_warnings()
    if reasoning and level is not Level.TURNS:
        warnings.append(f"include_reasoning only counts with detail_level=turns and was ignored at {level}")
    with open_reader(realm, context, READ_MS) as reader:
        trace = SessionTrace(reader, session_named(reader, arguments.get("session_id")))
        return details(trace, level, include_reasoning=reasoning, warnings=warnings, hint=DEEPER)


def analyze_session(realm: Realm, arguments: Any, context: RequestContext) -> Answer:
    check_names(arguments, ANALYZE["input_schema"]["properties"])
    with open_reader(realm, context, READ_MS) as reader:
        trace = SessionTrace(reader, session_named(reader, arguments.get("session_id")))
    found = insights(trace.steps)
    data = {
        "session_id": uuid_text(trace.session.id),
        "score": score(found),
        "insights": [_insight(asdict(one)) for one in found],
    }
    return Answer(data, hint=NEXT)


def _insight(fields: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in fields.items() if name != "details"}, **fields["details"]}


FAMILY = Family(
    operations=(
        Operation(run=wrapped("search_event_previews", search_event_previews), **PREVIEWS),
        Operation(run=wrapped("get_event_details", get_event_details), **EVENT),
        Operation(run=wrapped("get_session_details", get_session_details), **SESSION),
        Operation(run=wrapped("analyze_session", analyze_session), **ANALYZE),
        Operation(run=wrapped("search_events", search_events), **EVENTS),
    ),
    guide="For an exact string, also inside words, and for the course of a session: search_event_previews, then "
    "get_event_details or get_session_details; analyze_session for what went wrong.",
)
