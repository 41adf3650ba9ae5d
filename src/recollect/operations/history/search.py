"""`search_sessions`: events by words and by meaning, best first."""

from collections.abc import Callable

from msgspec.structs import asdict, replace

from recollect.errors import BadRequest
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.model import DEFAULT_KINDS, KIND_CODE, now_ms
from recollect.operations.caller import calling_sessions
from recollect.operations.context import RequestContext
from recollect.operations.history import answers
from recollect.operations.history.envelope import HistoryAnswer, target_of
from recollect.operations.history.open import session_named, turn_named
from recollect.operations.history.requests import SearchSessions
from recollect.operations.ids import Id, Noun, parse_id
from recollect.realms import Realm
from recollect.search import ParsedQuery, SearchHit, deadline_check, parse, search
from recollect.store import Reader

DEADLINE_MS = 5_000
TARGETS = ((100_000, 750), (500_000, 1_500))  # up to so many events, so many milliseconds: the contract's
LARGE_TARGET_MS = 2_500


def search_sessions(
    realm: Realm,
    request: SearchSessions,
    context: RequestContext,
    *,
    filters: Filters = Filters(),  # noqa: B008
    explain: bool = False,
) -> HistoryAnswer:
    """`filters` are those that only the command line has; `explain` adds to each hit what its score is made of."""
    within = _within(request)
    late = context.past_deadline(realm.deadline_ms(DEADLINE_MS))
    check = deadline_check(late)
    check()
    with realm.open_archive() as reader:
        reader.interrupt_when(late)
        filters = _add_filters(filters, reader, within, request)
        if within is None:
            calling = tuple(session.key for session in calling_sessions(reader, context.caller))
            filters = replace(filters, excluded_sessions=calling)
        query = parse(request.query, now_ms())
        warnings = realm.warnings(reader)
        found, has_more, visible = _find(realm, reader, query, filters, request.n_hits, check)
        if visible is None:
            warnings = realm.warnings(reader)
        warnings = [*warnings, *realm.semantic_warnings()]
    results = [answers.hit(rank, one, query) for rank, one in enumerate(found, 1)]
    if explain:
        results = [{**hit, "why": answers.why(one)} for hit, one in zip(results, found, strict=True)]
    data = {"result_count": len(results), "limit": request.n_hits, "truncated": has_more, "results": results}
    echo = {**asdict(request), "event_types": list(request.event_types or DEFAULT_KINDS)}
    return HistoryAnswer(echo, data, _target(request, visible or 0), warnings)


def _within(request: SearchSessions) -> Id | None:
    if request.within_id is None:
        return None
    within = parse_id(request.within_id, "within_id")
    if within.noun is Noun.EVENT:
        raise BadRequest("within_id accepts session and turn IDs, not event IDs", field="within_id")
    return within


def _add_filters(filters: Filters, reader: Reader, within: Id | None, request: SearchSessions) -> Filters:
    """The filters of the request, added to those given."""
    kinds = tuple(KIND_CODE[kind] for kind in request.event_types or DEFAULT_KINDS)
    filters = replace(filters, kinds=kinds)
    if within is None or request.within_id is None:
        return filters
    session = session_named(reader, within, request.within_id)
    is_named = request.event_types is not None  # named together with a session, our own traffic is found too (rule 42)
    filters = replace(filters, include_own_traffic=is_named, session=session.key)
    if within.noun is Noun.SESSION:
        return filters
    return replace(filters, turn=turn_named(reader, session, within, request.within_id).ordinal)


def _find(
    realm: Realm, reader: Reader, query: ParsedQuery, filters: Filters, limit: int, check: Callable[[], None]
) -> tuple[list[SearchHit], bool, int | None]:
    """The hits, whether there are more, and among how many documents; None for these if the index failed."""
    mode = realm.settings.search.mode
    for _ in range(2):  # an index that was rebuilt under us is opened again
        index = realm.text_index(reader)
        if index is None:
            break
        try:
            with engine_panics_as_errors():
                found, has_more = realm.semantic.hybrid_search(
                    "events",
                    mode if query.plain_words else "text",
                    lambda meaning: search(reader, index, meaning, query, filters, limit, check, mode),  # noqa: B023
                )
                return found, has_more, index.snapshot().document_count()
        except IndexUnusable:
            realm.close_text_index()
    return [], False, None


def _target(request: SearchSessions, visible: int) -> int:
    if request.within_id is not None:
        return target_of("search_sessions", request.within_id)
    return next((target for events, target in TARGETS if visible <= events), LARGE_TARGET_MS)
