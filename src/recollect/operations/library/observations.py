"""`library/observations`: what was learnt, by filters."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from recollect.library_answers import LibraryObservation
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.ids import event_ref, session_ref, turn_ref
from recollect.operations.library.answers import ObservationPage
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import ListLibraryObservations
from recollect.operations.library.stored_observation import decode_observation
from recollect.operations.memory.search import find_observations
from recollect.operations.memory.views import observation_ref
from recollect.store.memory import ObservationRow
from recollect.store.observation_filters import ObservationFilters
from recollect.store.reviews import Review

NAME = "library_observations"
MAX_RANKED = 1_000  # observations that a query with words ranks: more than anyone pages through

Position = list[Any] | None


class Page(Struct, frozen=True):
    """The observations of a page, the position of the next page, and the number of all, if it is known."""

    rows: list[ObservationRow]
    following: Position
    total: int | None


def list_observations(realm: LiveRealm, request: ListLibraryObservations, context: RequestContext) -> LibraryAnswer:
    fingerprint = {**request.fingerprint(), "type": request.type}
    position = read_position(NAME, fingerprint, request.cursor)
    with open_library(realm, context) as library:
        resolved = library.resolve(request)
        filters = library.observation_filters(resolved, request.type)
        text = resolved.text.strip()
        if request.is_retired():
            page = _retired(library, filters, position, request.limit)
        elif text:
            page = _ranked(library, text, filters, position, request.limit)
        else:
            page = _newest(library, filters, position, request.limit)
        data = ObservationPage(observations=observation_views(library, page.rows))
        warnings = [*library.warnings(), *resolved.notes]
    return LibraryAnswer(data, PageEnd(write_position(NAME, fingerprint, page.following), page.total), warnings)


def _newest(library: Library, filters: ObservationFilters, position: Position, limit: int) -> Page:
    after = (position[0], position[1]) if position else None
    rows = library.memory.newest(replace(filters, after=after), limit + 1)
    shown = rows[:limit]
    following = [shown[-1].at, shown[-1].key] if len(rows) > limit else None
    return Page(shown, following, len(library.memory.keys(filters)))


def _ranked(library: Library, text: str, filters: ObservationFilters, position: Position, limit: int) -> Page:
    first = position[0] if position else 0
    mode = library.realm.settings.search.mode
    wanted = min(first + limit + 1, MAX_RANKED)
    rows = [hit.observation for hit in find_observations(library.realm, text, filters, mode, wanted)]
    has_more = len(rows) > first + limit
    return Page(rows[first : first + limit], [first + limit] if has_more else None, None if has_more else len(rows))


def _retired(library: Library, filters: ObservationFilters, position: Position, limit: int) -> Page:
    """Retired observations are few: people retire them one by one."""
    stored = [decode_observation(review.content) for review in library.memory.retired() if review.content]
    rows = [row for row in stored if _passes(row, filters)]
    first = position[0] if position else 0
    return Page(rows[first : first + limit], [first + limit] if len(rows) > first + limit else None, len(rows))


def _passes(row: ObservationRow, filters: ObservationFilters) -> bool:
    return (
        (not filters.types or row.type in filters.types)
        and (filters.sessions is None or row.session in filters.sessions)
        and (filters.since is None or row.at >= filters.since)
        and (filters.until is None or row.at < filters.until)
    )


def observation_views(library: Library, rows: Sequence[ObservationRow]) -> list[LibraryObservation]:
    """Observations of sessions that still exist, with what people decided about them."""
    reviews = library.memory.reviews_of([row.id for row in rows])
    existing = library.reader.session_keys_of({row.session for row in rows})
    return [observation_view(row, reviews.get(row.id)) for row in rows if row.session in existing]


def observation_view(row: ObservationRow, review: Review | None) -> LibraryObservation:
    return LibraryObservation(
        id=observation_ref(row.id),
        type=row.type,
        title=row.title,
        subtitle=row.subtitle,
        narrative=row.narrative,
        facts=row.facts,
        concepts=row.concepts,
        files_read=row.files_read,
        files_modified=row.files_modified,
        made_by=row.made_by,
        at=timestamp(row.at),
        estimated_time=row.estimated,
        project=row.project,
        session=session_ref(row.session),
        turn=turn_ref(row.session, row.turn),
        evidence=[event_ref(event) for event in row.evidence],
        verdict=review.verdict if review is not None else None,
        reviewer=review.reviewer if review is not None else None,
        reviewed_at=timestamp(review.at) if review is not None else None,
    )
