"""`library/observations`: what was learnt, by filters."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import BadRequest, NotFound
from recollect.library_answers import LibraryObservation
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.ids import event_ref, session_ref, turn_ref
from recollect.operations.library.answers import ObservationPage, OneObservation
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.observation_requests import GetLibraryObservation, ListLibraryObservations
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.stored_observation import decode_observation
from recollect.operations.memory.requests import OBSERVATION_ID
from recollect.operations.memory.search import find_observations
from recollect.operations.memory.views import observation_ref
from recollect.store import Reader
from recollect.store.memory import Memory, ObservationRow
from recollect.store.observation_filters import ObservationFilters, fits
from recollect.store.reviews import Review, Verdict

NAME = "library_observations"
MAX_RANKED = 1_000  # observations that a query with words ranks: more than anyone pages through

Position = list[Any] | None


class FoundObservation(Struct, frozen=True):
    """An observation, and what people decided about it."""

    row: ObservationRow
    review: Review | None
    is_retired: bool


class Page(Struct, frozen=True):
    """The observations of a page, the position of the next page, and the number of all, if it is known."""

    rows: list[ObservationRow]
    following: Position
    total: int | None
    scores: Sequence[float | None] = ()


def list_observations(realm: LiveRealm, request: ListLibraryObservations, context: RequestContext) -> LibraryAnswer:
    fingerprint = request.fingerprint()
    position = read_position(NAME, fingerprint, request.cursor)
    with open_library(realm, context) as library:
        resolved = library.resolve(request)
        filters = library.observation_filters(resolved, request.observation_filters())
        text = resolved.text.strip()
        if request.is_retired():
            page = _retired(library, filters, position, request.limit)
        elif text:
            page = _ranked(library, text, filters, position, request.limit)
        else:
            page = _newest(library, filters, position, request.limit)
        data = ObservationPage(observations=observation_views(library, page.rows, page.scores))
        warnings = [*(realm.all_warnings(library.reader) if text else library.warnings()), *resolved.notes]
    return LibraryAnswer(data, PageEnd(write_position(NAME, fingerprint, page.following), page.total), warnings)


def get_observation(realm: LiveRealm, request: GetLibraryObservation, context: RequestContext) -> LibraryAnswer:
    with open_library(realm, context) as library:
        found = find_observation(library.reader, library.memory, request.id)
        return LibraryAnswer(
            OneObservation(observation=observation_view(found.row, found.review)), warnings=library.warnings()
        )


def find_observation(reader: Reader, memory: Memory, text: str) -> FoundObservation:
    """The observation with an id, also if it is retired."""
    match = OBSERVATION_ID.fullmatch(text)
    if match is None:
        raise BadRequest(f"{text!r} is not an observation: its id is obs- and 16 characters", field="id")
    identity = bytes.fromhex(match[1])
    row, review = memory.by_ids([identity]).get(identity), memory.reviews_of([identity]).get(identity)
    is_retired = row is None and review is not None and review.verdict is Verdict.RETIRED
    if is_retired and review is not None and review.content:
        row = decode_observation(review.content)
    if row is None or reader.session(row.session) is None:
        raise NotFound(f"There is no observation {text!r}.")
    return FoundObservation(row, review, is_retired)


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
    hits = find_observations(library.realm, text, filters, mode, wanted)
    shown = hits[first : first + limit]
    has_more = len(hits) > first + limit
    following, total = ([first + limit], None) if has_more else (None, len(hits))
    return Page([hit.observation for hit in shown], following, total, [hit.score for hit in shown])


def _retired(library: Library, filters: ObservationFilters, position: Position, limit: int) -> Page:
    """Retired observations are few: people retire them one by one."""
    stored = [decode_observation(review.content) for review in library.memory.retired() if review.content]
    rows = [row for row in stored if fits(row, filters)]
    first = position[0] if position else 0
    return Page(rows[first : first + limit], [first + limit] if len(rows) > first + limit else None, len(rows))


def observation_views(
    library: Library, rows: Sequence[ObservationRow], scores: Sequence[float | None] = ()
) -> list[LibraryObservation]:
    """Observations of sessions that still exist, with what people decided about them."""
    reviews = library.memory.reviews_of([row.id for row in rows])
    existing = library.reader.session_keys_of({row.session for row in rows})
    scored = zip(rows, scores or [None] * len(rows), strict=True)
    return [observation_view(row, reviews.get(row.id), score) for row, score in scored if row.session in existing]


def observation_view(row: ObservationRow, review: Review | None, score: float | None = None) -> LibraryObservation:
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
        path=row.path,
        first_line=row.first_line,
        last_line=row.last_line,
        score=score,
        verdict=review.verdict if review is not None else None,
        reviewer=review.reviewer if review is not None else None,
        reviewed_at=timestamp(review.at) if review is not None else None,
    )
