"""The filters of a query, as filters of the events that a search considers."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from recollect.filters import FilterTerm, ResolvedFilters, resolve, split
from recollect.index.filters import Filters
from recollect.live import LiveRealm
from recollect.model import now_ms
from recollect.operations.library.context import Library
from recollect.operations.library.states import SessionStates
from recollect.operations.library.word_matches import ALL_KINDS
from recollect.search import SearchHit
from recollect.store import Reader
from recollect.store.sqlite.session_filter import EVERY, Names

FILTERED = 5  # times as many events are ranked if a filter by tool leaves some out afterwards


class FilteredQuery(Struct, frozen=True):
    """The words of a query, and the events among which they are searched."""

    text: str
    filters: Filters
    tools: tuple[str, ...] | None = None  # names of tools, if they are limited; the index does not have them
    notes: tuple[str, ...] = ()  # for the caller: how the filters were understood

    def limit(self, limit: int) -> int:
        """How many events must be ranked, so that about this many are left."""
        return limit if self.tools is None else limit * FILTERED

    def of_tools(self, hits: list[SearchHit]) -> list[SearchHit]:
        """The hits with these tools."""
        return hits if self.tools is None else [hit for hit in hits if hit.event.tool in self.tools]


def read_filters(
    realm: LiveRealm,
    reader: Reader,
    query: str,
    others: Filters,
    check: Callable[[], None],
    terms: tuple[FilterTerm, ...] = (),
) -> FilteredQuery:
    """The words of a query, with the filters in it and `terms` added to others. Without filters it is left as it is."""
    parsed = split(query)
    if not parsed.terms and not terms:
        return FilteredQuery(query, others)
    parsed = replace(parsed, terms=(*terms, *parsed.terms))
    now = now_ms()
    with realm.open_memory() as memory:
        library = Library(realm, reader, memory, SessionStates(realm, reader, now), now, check)
        resolved = resolve(parsed, library.vocabulary())
        own = event_filters(library, resolved)
    kinds = others.kinds if resolved.kinds is None else resolved.kinds
    fields = {name: getattr(own, name) for name in ("source", "project", "since", "until", "sessions")}
    return FilteredQuery(resolved.text, replace(others, kinds=kinds, **fields), resolved.tools, resolved.notes)


def event_filters(library: Library, resolved: ResolvedFilters) -> Filters:
    """The filters of events. One agent or project is a filter of the index; other filters become a list of sessions.

    A type is that of the events: `-type:reasoning` leaves out such events, not the sessions that have some.
    """
    sessions = replace(resolved.sessions, kinds=EVERY)
    filters = Filters(kinds=resolved.kinds or ALL_KINDS, since=sessions.since, until=sessions.until)
    others = replace(sessions, sources=EVERY, projects=EVERY, since=None, until=None)
    if others.is_empty() and _is_one(sessions.sources) and _is_one(sessions.projects):
        return replace(filters, source=_name(sessions.sources), project=_name(sessions.projects))
    return replace(filters, sessions=tuple(library.reader.filtered_keys(sessions)))


def _is_one(names: Names) -> bool:
    """Whether a filter is a single name, or none."""
    return not names.none_of and (names.any_of is None or len(names.any_of) == 1)


def _name(names: Names) -> str | None:
    return names.any_of[0] if names.any_of else None
