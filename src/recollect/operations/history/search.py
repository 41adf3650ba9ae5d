"""`search_sessions`: events by words and by meaning, best first."""

from msgspec.structs import asdict, replace

from recollect.errors import BadRequest
from recollect.filters import FilterTerm
from recollect.index.filters import Filters
from recollect.live import LiveRealm
from recollect.model import DEFAULT_KINDS, KIND_CODE, now_ms
from recollect.operations.caller import calling_sessions
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.event_search import find_events
from recollect.operations.history import answers
from recollect.operations.history.envelope import HistoryAnswer, target_of
from recollect.operations.history.open import find_session, find_turn
from recollect.operations.history.requests import SearchSessions
from recollect.operations.ids import Id, Noun, parse_id
from recollect.operations.library.event_filters import FilteredQuery, read_filters
from recollect.search import Mode, deadline_check, parse
from recollect.store import Reader

DEADLINE_MS = 5_000
TARGETS = ((100_000, 750), (500_000, 1_500))  # (largest number of events, milliseconds), fixed by the contract
LARGE_TARGET_MS = 2_500
ONLY_FILTERS = "The query has filters, but no words to find. list_sessions lists sessions by time."


def search_sessions(
    realm: LiveRealm,
    request: SearchSessions,
    context: RequestContext,
    *,
    explain: bool = False,
    mode: Mode | None = None,
    terms: tuple[FilterTerm, ...] = (),
) -> HistoryAnswer:
    """Search events; the query may have filters.

    Only the command line has options: `explain` adds the parts of its score to each hit, `mode` is how to find, if not as
    the settings say, and `terms` are further filters.
    """
    within = _within(request)
    is_late = start_deadline(realm, context, DEADLINE_MS)
    check = deadline_check(is_late)
    with realm.open_archive() as reader:
        reader.interrupt_when(is_late)
        filters = _filters(reader, within, request)
        if within is None:
            calling = tuple(session.key for session in calling_sessions(reader, context.caller))
            filters = replace(filters, excluded_sessions=calling)
        asked = read_filters(realm, reader, request.query, filters, check, terms)
        query = parse(asked.text, now_ms())
        warnings = realm.warnings(reader)
        found = find_events(realm, reader, query, _limited(asked, request), asked.limit(request.n_hits), check, mode)
        if found.documents is None:
            warnings = realm.warnings(reader)
        warnings = [*warnings, *realm.semantic_warnings(), *asked.notes]
        warnings += [] if asked.text.strip() else [ONLY_FILTERS]
    hits = asked.of_tools(found.hits)
    results = [answers.hit_view(rank, hit, query) for rank, hit in enumerate(hits[: request.n_hits], 1)]
    if explain:
        results = [{**result, "why": answers.score_parts(hit)} for result, hit in zip(results, hits, strict=False)]
    is_cut = found.has_more or len(hits) > request.n_hits
    data = {"result_count": len(results), "limit": request.n_hits, "truncated": is_cut, "results": results}
    echo = {**asdict(request), "event_types": list(request.event_types or DEFAULT_KINDS)}
    return HistoryAnswer(echo, data, _target(request, found.documents or 0), warnings)


def _limited(asked: FilteredQuery, request: SearchSessions) -> Filters:
    """The filters of a query within the event types of the request: both must fit."""
    if request.event_types is None:
        return asked.filters
    allowed = [KIND_CODE[kind] for kind in request.event_types]
    kinds = tuple(kind for kind in asked.filters.kinds if kind in allowed)
    return replace(asked.filters, kinds=kinds) if kinds else replace(asked.filters, sessions=())


def _within(request: SearchSessions) -> Id | None:
    if request.within_id is None:
        return None
    within = parse_id(request.within_id, "within_id")
    if within.noun is Noun.EVENT:
        raise BadRequest("within_id accepts session and turn IDs, not event IDs", field="within_id")
    return within


def _filters(reader: Reader, within: Id | None, request: SearchSessions) -> Filters:
    """The filters of the request's arguments."""
    filters = Filters(kinds=tuple(KIND_CODE[kind] for kind in request.event_types or DEFAULT_KINDS))
    if within is None or request.within_id is None:
        return filters
    session = find_session(reader, within, request.within_id)
    has_types = request.event_types is not None  # with a session and event types, our own traffic is found too (rule 42)
    filters = replace(filters, include_own_traffic=has_types, session=session.key)
    if within.noun is Noun.SESSION:
        return filters
    return replace(filters, turn=find_turn(reader, session, within, request.within_id).ordinal)


def _target(request: SearchSessions, documents: int) -> int:
    if request.within_id is not None:
        return target_of("search_sessions", request.within_id)
    return next((target for events, target in TARGETS if documents <= events), LARGE_TARGET_MS)
