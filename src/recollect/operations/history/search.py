"""`search_sessions`: events by words and by meaning, best first."""

from msgspec.structs import asdict, replace

from recollect.errors import BadRequest
from recollect.index.filters import Filters
from recollect.model import DEFAULT_KINDS, KIND_CODE, now_ms
from recollect.operations.caller import calling_sessions
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.event_search import find_events
from recollect.operations.history import answers
from recollect.operations.history.envelope import HistoryAnswer, target_of
from recollect.operations.history.open import find_session, find_turn
from recollect.operations.history.requests import SearchSessions
from recollect.operations.ids import Id, Noun, parse_id
from recollect.realms import Realm
from recollect.search import deadline_check, parse
from recollect.store import Reader

DEADLINE_MS = 5_000
TARGETS = ((100_000, 750), (500_000, 1_500))  # (largest number of events, milliseconds), fixed by the contract
LARGE_TARGET_MS = 2_500


def search_sessions(
    realm: Realm,
    request: SearchSessions,
    context: RequestContext,
    *,
    filters: Filters = Filters(),  # noqa: B008
    explain: bool = False,
) -> HistoryAnswer:
    """Search events. `filters` come from the command line only; `explain` adds the parts of its score to each hit."""
    within = _within(request)
    is_late = start_deadline(realm, context, DEADLINE_MS)
    with realm.open_archive() as reader:
        reader.interrupt_when(is_late)
        filters = _add_filters(filters, reader, within, request)
        if within is None:
            calling = tuple(session.key for session in calling_sessions(reader, context.caller))
            filters = replace(filters, excluded_sessions=calling)
        query = parse(request.query, now_ms())
        warnings = realm.warnings(reader)
        found = find_events(realm, reader, query, filters, request.n_hits, deadline_check(is_late))
        if found.documents is None:
            warnings = realm.warnings(reader)
        warnings = [*warnings, *realm.semantic_warnings()]
    results = [answers.hit_view(rank, hit, query) for rank, hit in enumerate(found.hits, 1)]
    if explain:
        results = [{**result, "why": answers.score_parts(hit)} for result, hit in zip(results, found.hits, strict=True)]
    data = {"result_count": len(results), "limit": request.n_hits, "truncated": found.has_more, "results": results}
    echo = {**asdict(request), "event_types": list(request.event_types or DEFAULT_KINDS)}
    return HistoryAnswer(echo, data, _target(request, found.documents or 0), warnings)


def _within(request: SearchSessions) -> Id | None:
    if request.within_id is None:
        return None
    within = parse_id(request.within_id, "within_id")
    if within.noun is Noun.EVENT:
        raise BadRequest("within_id accepts session and turn IDs, not event IDs", field="within_id")
    return within


def _add_filters(filters: Filters, reader: Reader, within: Id | None, request: SearchSessions) -> Filters:
    """These filters, with those of the request added."""
    kinds = tuple(KIND_CODE[kind] for kind in request.event_types or DEFAULT_KINDS)
    filters = replace(filters, kinds=kinds)
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
