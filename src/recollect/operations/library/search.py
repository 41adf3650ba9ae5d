"""`library/search`: events by words and by meaning, grouped by session, with the places that match."""

from collections.abc import Iterable, Sequence

from recollect.filters import ResolvedFilters
from recollect.library_answers import LibraryHit, LibrarySession, Match
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.event_search import find_events
from recollect.operations.ids import event_ref, turn_ref
from recollect.operations.library.answers import SearchPage
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.event_filters import FilteredQuery, event_filters
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import SearchLibrary
from recollect.search import ParsedQuery, SearchHit, parse
from recollect.snippet import match_offsets, snippet

NAME = "library_search"
HITS_PER_SESSION = 4  # events that are ranked for each session of a page: sessions with many hits are common
MIN_HITS = 100  # events that are ranked at least


def search_library(realm: LiveRealm, request: SearchLibrary, context: RequestContext) -> LibraryAnswer:
    fingerprint = request.fingerprint()
    position = read_position(NAME, fingerprint, request.cursor)
    first = position[0] if position else 0
    with open_library(realm, context) as library:
        resolved = library.resolve(request)
        query = parse(resolved.text, library.now)
        hits, has_more, warnings = _find(library, request, resolved, query, first + request.limit)
        groups = list(_by_session(hits).values())
        shown = groups[first : first + request.limit]
        views = _views(library, shown)
        data = SearchPage(hits=[_hit(views, group, query, request) for group in shown])
        is_last = len(groups) <= first + request.limit
        following = None if is_last else [first + request.limit]
        total = len(groups) if not has_more else None
        warnings = [*warnings, *resolved.notes]
    return LibraryAnswer(data, PageEnd(write_position(NAME, fingerprint, following), total), warnings)


def _find(
    library: Library, request: SearchLibrary, resolved: ResolvedFilters, query: ParsedQuery, sessions: int
) -> tuple[list[SearchHit], bool, list[str]]:
    """The ranked events for a number of sessions, whether there are more, and warnings."""
    realm, reader = library.realm, library.reader
    asked = FilteredQuery(resolved.text, event_filters(library, resolved), resolved.tools)
    limit = asked.limit(max(MIN_HITS, sessions * HITS_PER_SESSION))
    warnings = realm.warnings(reader)
    found = find_events(realm, reader, query, asked.filters, limit, library.check, request.search_mode())
    if found.documents is None:
        warnings = realm.warnings(reader)
    return asked.of_tools(found.hits), found.has_more, [*warnings, *realm.semantic_warnings()]


def _by_session(hits: Iterable[SearchHit]) -> dict[int, list[SearchHit]]:
    """The hits of each session, best first; the session with the best hit comes first."""
    groups: dict[int, list[SearchHit]] = {}
    for hit in hits:
        groups.setdefault(hit.session.key, []).append(hit)
    return groups


def _views(library: Library, groups: Sequence[list[SearchHit]]) -> dict[int, LibrarySession]:
    rows = [group[0].session for group in groups]
    return dict(zip((row.key for row in rows), library.views(rows), strict=True))


def _hit(views: dict[int, LibrarySession], group: list[SearchHit], query: ParsedQuery, request: SearchLibrary) -> LibraryHit:
    words = query.word_groups()
    matches = [_match(hit, words, has_why=request.why) for hit in group[: request.matches]]
    return LibraryHit(session=views[group[0].session.key], matches=matches)


def _match(hit: SearchHit, words: Sequence[tuple[str, ...]], *, has_why: bool) -> Match:
    text, _ = snippet(hit.text, words)
    return Match(
        event=event_ref(hit.event.id),
        turn=turn_ref(hit.session.id, hit.event.turn),
        sequence=hit.event.seq,
        type=hit.event.kind,
        at=timestamp(hit.event.at),
        text=text,
        offsets=match_offsets(text, words),
        score=round(hit.score, 4),
        why={name: round(part, 4) for name, part in hit.parts.items()} if has_why else None,
    )
