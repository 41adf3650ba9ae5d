"""`search_event_previews` and the deprecated `search_events`: every event that contains a string."""

from collections.abc import Callable
from typing import Any

from recollect.errors import BadCursor, BadRequest
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.operations import cursors
from recollect.operations.caller import calling_sessions
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.ids import uuid_text
from recollect.operations.schema import arguments_of
from recollect.operations.trace import views
from recollect.operations.trace.envelope import Pagination, TraceAnswer
from recollect.operations.trace.requests import OTHER_CURSOR, EventSearch, SearchEventPreviews, SearchEvents
from recollect.operations.trace.session_lookup import find_session
from recollect.realms import WARNINGS, IndexCondition, Realm
from recollect.search import deadline_check
from recollect.search.substring import MatchPosition, NgramCoverage, SubstringMatch, find_substring
from recollect.store import EventRow, Reader

DEADLINE_MS = 5_000
NEXT = "Use get_event_details(session_id, event_index) for full payload"
BEHIND = 100_000  # events that the n-gram index lacks; more of them cause a warning

View = Callable[[EventRow, str], dict[str, Any]]  # (event, query) -> its part of the answer


def search_event_previews(realm: Realm, request: SearchEventPreviews, context: RequestContext) -> TraceAnswer:
    return _search(realm, "search_event_previews", request, request.query, [], context, _preview)


def search_events(realm: Realm, request: SearchEvents, context: RequestContext) -> TraceAnswer:
    warnings = ["search_events is deprecated; use search_event_previews, then get_event_details"]
    query, level = _query(request, warnings), _level(request, warnings)
    return _search(realm, "search_events", request, query, warnings, context, VIEWS[level])


def _query(request: SearchEvents, warnings: list[str]) -> str:
    """The query, which may have its old name."""
    if request.pattern is None:
        return arguments_of(SearchEvents)["query"].check(request.query or None)  # type: ignore[no-any-return]
    if request.query:
        raise BadRequest("pattern is the old name of query; give only one of them", field="pattern")
    warnings.append("pattern is deprecated; use query")
    return arguments_of(SearchEvents)["query"].check(request.pattern)  # type: ignore[no-any-return]


def _level(request: SearchEvents, warnings: list[str]) -> str:
    if request.include_full_payload is None:
        return request.detail_level or "preview"
    if request.detail_level is not None:
        raise BadRequest("give detail_level or the old include_full_payload, not both", field="include_full_payload")
    warnings.append("include_full_payload is deprecated; use detail_level")
    return "full" if request.include_full_payload else "preview"


def _preview(event: EventRow, query: str) -> dict[str, Any]:
    return {"preview": views.preview(event, query)}


def _compact(event: EventRow, query: str) -> dict[str, Any]:
    return {"compact": views.compact(event, query)}


def _payload(event: EventRow, _: str) -> dict[str, Any]:
    return {"payload": views.payload(event)}


VIEWS: dict[str, View] = {"preview": _preview, "compact": _compact, "full": _payload}


def _search(
    realm: Realm,
    tool: str,
    request: EventSearch,
    query: str,
    warnings: list[str],
    context: RequestContext,
    view: View,
) -> TraceAnswer:
    limit = _clamp_limit(request, warnings)
    is_late = start_deadline(realm, context, DEADLINE_MS)
    with realm.open_archive() as reader:
        reader.interrupt_when(is_late)
        provider = _provider(reader, request.provider)
        within = find_session(reader, request.session_id) if request.session_id is not None else None
        filters = {
            "query": query,
            "provider": provider,
            "event_type": request.event_type,
            "session": uuid_text(within.id) if within is not None else None,
        }
        after = _after(request.cursor, tool, filters)
        index_filters = Filters(
            kinds=views.EVENT_TYPES[request.event_type] if request.event_type else (),
            session=within.key if within is not None else None,
            source=provider,
            excluded_sessions=tuple(row.key for row in calling_sessions(reader, context.caller)) if within is None else (),
        )
        found = _find(realm, reader, query, index_filters, after, limit + 1, deadline_check(is_late), warnings)
        sessions = reader.sessions({match.event.session for match in found})
    page, has_more = found[:limit], len(found) > limit
    matches = [{**views.head(match.event, sessions[match.event.session]), **view(match.event, query)} for match in page]
    last = list(page[-1].position) if has_more else None
    pagination = Pagination(len(matches), cursors.encode(tool, filters, last) if last else None, has_more)
    return TraceAnswer({"matches": matches}, pagination, NEXT, warnings)


def _clamp_limit(request: EventSearch, warnings: list[str]) -> int:
    """The limit, lowered to its maximum."""
    maximum = int(arguments_of(type(request))["limit"].meta.le or request.limit)
    if request.limit > maximum:
        warnings.append(f"limit {request.limit} is above the maximum and was clamped to {maximum}")
    return min(request.limit, maximum)


def _provider(reader: Reader, value: Any) -> str | None:
    """The name of a source. A source without sessions finds nothing; one that does not exist is refused."""
    if value is None:
        return None
    name = value.strip().lower().replace("_", "-") if isinstance(value, str) else ""
    if reader.has_source(name):
        return name
    from recollect.sources import all_sources  # 140 ms of CPU, only needed for a source without sessions

    known = sorted(source.name for source in all_sources())
    if name not in known:
        raise BadRequest(f"provider must be one of: {', '.join(known)}", field="provider")
    return name


def _after(cursor: str | None, tool: str, filters: dict[str, Any]) -> MatchPosition | None:
    """The end of the previous page."""
    if cursor is None:
        return None
    position = cursors.decode(cursor, tool, filters)
    if position is None:
        raise BadCursor(OTHER_CURSOR)
    started, session, seq = position
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
    """Matches from the n-gram index; from a scan of all events if it cannot be read."""
    ngrams = realm.ngrams(reader)
    behind = reader.last_key() - ngrams.last_key
    warnings += realm.sync_warnings()
    if reader.last_key() == 0:
        warnings.append(WARNINGS[IndexCondition.EMPTY])
    elif behind > BEHIND:
        warnings.append(f"Search is still being prepared: {behind} events are scanned one by one")
    try:
        with engine_panics_as_errors():
            return find_substring(reader, ngrams, query, filters, after, limit, check)
    except IndexUnusable:
        realm.discard_ngram_index()
        return find_substring(reader, NgramCoverage(None, 0), query, filters, after, limit, check)
