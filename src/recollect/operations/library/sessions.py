"""`library/sessions`: a page of sessions by filters, with facets on request."""

from collections import Counter
from typing import Any

from recollect.library_answers import FacetValue
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext
from recollect.operations.library.answers import SessionPage
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.cost_order import session_costs
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import ListLibrarySessions
from recollect.store import SessionRow
from recollect.store.sqlite.library_queries import FACETS, PageOrder, PageStart
from recollect.store.sqlite.session_filter import SessionFilter

NAME = "library_sessions"
MAX_FACET_VALUES = 100  # more than a person reads

Place = tuple[SessionRow, Any]  # a session, and the value that it is sorted by


def list_sessions(realm: LiveRealm, request: ListLibrarySessions, context: RequestContext) -> LibraryAnswer:
    fingerprint = request.fingerprint()
    position = read_position(NAME, fingerprint, request.cursor)
    with open_library(realm, context) as library:
        filters, warnings = library.session_filter(request)
        start = _start(library, position)
        order = PageOrder(request.sort.removeprefix("-"), descending=request.sort.startswith("-"))
        if order.sort == "cost":
            places = _page_by_cost(library, filters, order, start, request.limit)
        else:
            places = library.reader.library_page(filters, order, start, request.limit + 1)
        shown = places[: request.limit]
        data = SessionPage(
            sessions=library.views([session for session, _ in shown]),
            facets={name: _facet(library, name, filters) for name in request.facets},
        )
        total = library.reader.count_sessions(filters)
    following = None
    if len(places) > request.limit:
        last, value = shown[-1]
        following = [value, last.id.hex(), start.last_key, start.last_session]
    return LibraryAnswer(data, PageEnd(write_position(NAME, fingerprint, following), total), warnings)


def _start(library: Library, position: list[Any] | None) -> PageStart:
    """Where a page starts. All pages of a list see the order at the time of the first one."""
    if position is None:
        return PageStart(None, library.reader.last_key(), library.reader.last_session())
    value, session, last_key, last_session = position
    return PageStart((value, bytes.fromhex(session)), last_key, last_session)


def _page_by_cost(library: Library, filters: SessionFilter, order: PageOrder, start: PageStart, limit: int) -> list[Place]:
    costs = session_costs(library.reader, filters, library.costs())
    ids = library.reader.session_ids(costs)
    ordered = sorted(((cost, ids[key], key) for key, cost in costs.items()), reverse=order.descending)
    if start.after is not None:
        is_after = order.is_after()
        ordered = [place for place in ordered if is_after(place[:2], start.after)]
    page = ordered[: limit + 1]
    rows = library.reader.sessions(key for _, _, key in page)
    return [(rows[key], cost) for cost, _, key in page]


# ---- facets


def _facet(library: Library, name: str, filters: SessionFilter) -> list[FacetValue]:
    """The values of a property, each with its number of sessions, the most frequent first."""
    if name in FACETS:
        counts = library.reader.facet(name, filters)[:MAX_FACET_VALUES]
        return [FacetValue(value=value, count=count) for value, count in counts]
    keys = library.reader.filtered_keys(filters)
    if name == "state":
        counted = Counter(state.value for state in library.states.by_key(keys).values())
    else:
        labelled = library.memory.labelled_sessions(library.reader.session_keys_of)
        counted = Counter({label: len(set(keys).intersection(found)) for label, found in labelled.items()})
    values = [FacetValue(value=value, count=count) for value, count in counted.items() if count]
    return sorted(values, key=lambda value: (-value.count, value.value or ""))
