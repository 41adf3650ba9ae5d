"""Journeys and the sessions in them."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from recollect.errors import BadRequest, NotFound
from recollect.model import now_ms
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.ids import UuidKey, uuid_text
from recollect.operations.journeys import views
from recollect.operations.journeys.members import refresh_summaries, sessions_with_diagnosis, summarise
from recollect.operations.journeys.requests import (
    DeleteJourney,
    GetOrCreateJourney,
    JourneyTimeline,
    LinkSessionToJourney,
    QueryJourneyHistory,
)
from recollect.operations.times import first_millisecond
from recollect.realms import Realm
from recollect.search import ParsedQuery, parse
from recollect.search.observations import full_text_query
from recollect.store.journeys import DateRange, JourneyRow, Journeys, Member, SessionSummaryRow

DEADLINE_MS = 5_000

Answer = dict[str, Any]


def not_found(noun: str, key: UuidKey) -> NotFound:
    return NotFound(f"{noun} {key.text} not found", id=key.text)


def check_journey(journeys: Journeys, journey: UuidKey) -> None:
    if journeys.journey(journey) is None:
        raise not_found("Journey", journey)


# ---- journeys


def get_or_create_journey(realm: Realm, request: GetOrCreateJourney, context: RequestContext) -> Answer:
    is_late = start_deadline(realm, context, DEADLINE_MS)
    new = JourneyRow(uuid.uuid4().bytes, request.user_id, now_ms())
    journey = _journey_of(realm, request.user_id) or _create(realm, new)
    is_new = journey.id == new.id
    return views.journey(journey, 0 if is_new else _session_count(realm, journey.id, is_late), is_new=is_new)


def _journey_of(realm: Realm, user: bytes | None) -> JourneyRow | None:
    """The user's journey. Nothing is written first, so it can be read from a full disk, too."""
    if user is None:
        return None
    with realm.open_memory() as memory:
        return Journeys(memory).journey_of_user(user)


def _create(realm: Realm, new: JourneyRow) -> JourneyRow:
    with realm.open_memory(writable=True) as memory:
        return Journeys(memory).create_journey(new)


def _session_count(realm: Realm, journey: bytes, is_late: Callable[[], bool]) -> int:
    with realm.open_archive() as reader, realm.open_memory() as memory:
        memory.interrupt_when(is_late)
        return Journeys(memory).session_count(journey, reader.path)


def delete_journey(realm: Realm, request: DeleteJourney, context: RequestContext) -> Answer:
    start_deadline(realm, context, DEADLINE_MS)
    with realm.open_memory(writable=True) as memory:
        counts = Journeys(memory).delete_journey(request.journey_id)
    if counts is None:
        raise not_found("Journey", request.journey_id)
    sessions, documents = counts
    return {"journey_id": uuid_text(request.journey_id), "session_count": sessions, "document_count": documents}


@contextmanager
def open_journeys(realm: Realm, is_late: Callable[[], bool], journey: UuidKey) -> Iterator[Journeys]:
    """The journeys in one snapshot. Raises `NotFound` if this journey does not exist in it."""
    with realm.open_memory() as memory:
        memory.interrupt_when(is_late)
        journeys = Journeys(memory)
        with journeys.snapshot():
            check_journey(journeys, journey)
            yield journeys


@contextmanager
def _open_refreshed(realm: Realm, context: RequestContext, journey: UuidKey) -> Iterator[Journeys]:
    """Like `open_journeys`, after refreshing stale session summaries (at most half of the deadline)."""
    is_late = start_deadline(realm, context, DEADLINE_MS)
    refresh_summaries(realm, journey, is_late, context.past_deadline(realm.deadline_ms(DEADLINE_MS) // 2))
    with open_journeys(realm, is_late, journey) as journeys:
        yield journeys


# ---- sessions


def link_session_to_journey(realm: Realm, request: LinkSessionToJourney, context: RequestContext) -> Answer:
    journey, session = request.journey_id, request.session_id
    supplied = realm.redact(request.summary)
    diagnosed, diagnosis = _diagnosis(realm, request.diagnosis)
    is_late = start_deadline(realm, context, DEADLINE_MS)
    with realm.open_archive() as reader, realm.open_memory(writable=True) as memory, memory.transaction():
        reader.interrupt_when(is_late)
        check_journey(Journeys(memory), journey)
        row = reader.session(session)
        if row is None:
            raise not_found("Session", session)
        summary = summarise(reader, memory, row, supplied)
        Journeys(memory).add_member(journey, replace(summary, diagnosed=diagnosed, diagnosis=diagnosis))
    return {"journey_id": uuid_text(journey), "session_id": uuid_text(session)}


def _diagnosis(realm: Realm, value: str | bool | None) -> tuple[bool | None, str | None]:
    """Whether there is a diagnosis, and its text; None for what the caller did not state."""
    if value is None or isinstance(value, bool):
        return value, None
    return (True, realm.redact(value)) if value else (None, None)


def journey_for(realm: Realm, user: UuidKey | None, journey: UuidKey | None) -> bytes | None:
    """The journey that a new session joins: the named one, or the user's, which is created if there is none."""
    if journey is not None:
        with realm.open_memory() as memory:
            if Journeys(memory).journey(journey) is None:
                raise BadRequest(f"there is no journey {journey.text}", field="journey_id")
        return journey
    if user is None:
        return None
    return (_journey_of(realm, user) or _create(realm, JourneyRow(uuid.uuid4().bytes, user, now_ms()))).id


def join(realm: Realm, journey: bytes, session: bytes, started_at: int) -> None:
    """Put a new session into a journey. Its summary is created when a query needs it."""
    row = SessionSummaryRow(session=session, started_at=started_at, mark="", summary="", words="")
    with realm.open_memory(writable=True) as memory, memory.transaction():
        Journeys(memory).add_member(journey, row)


def query_journey_history(realm: Realm, request: QueryJourneyHistory, context: RequestContext) -> Answer:
    query = parse(request.query) if request.query else None
    window = _window(request)
    with _open_refreshed(realm, context, request.journey_id) as journeys:
        members, total = _find(journeys, request.journey_id, query, window, request.limit)
        with_diagnosis = sessions_with_diagnosis(journeys.memory, members)
        documents = journeys.documents(request.journey_id, window) if request.include_documents else []
    heads = [views.document_head(row) for row in documents]
    return {
        "journey_id": uuid_text(request.journey_id),
        "sessions": [views.session(member, with_diagnosis) for member in members],
        **({"documents": heads} if request.include_documents else {}),
        "total_results": total,
    }


def _window(request: QueryJourneyHistory) -> DateRange:
    """From the first to the last whole millisecond between two dates, both inclusive."""
    window = DateRange()
    if request.from_date is not None:
        window = replace(window, first=first_millisecond(request.from_date))
    return window if request.to_date is None else replace(window, last=request.to_date // 1000)


def _find(
    journeys: Journeys, journey: bytes, query: ParsedQuery | None, window: DateRange, limit: int
) -> tuple[list[Member], int]:
    """The sessions to show, and the number of all matches. A query without words finds none."""
    if query is None:
        return journeys.members_by_time(journey, window, limit), journeys.count_members(journey, window)
    if query.is_empty():
        return [], 0
    return journeys.search_members(journey, full_text_query(query, None), window, limit)


def journey_timeline(realm: Realm, request: JourneyTimeline, context: RequestContext) -> Answer:
    journey, limit = request.journey_id, request.limit
    with _open_refreshed(realm, context, journey) as journeys:
        sessions = journeys.members_by_time(journey, DateRange(), limit, newest_first=False)
        documents = journeys.documents(journey, DateRange(), limit, newest_first=False)
        with_diagnosis = sessions_with_diagnosis(journeys.memory, sessions)
    return {"journey_id": uuid_text(journey), "entries": views.entries(sessions, with_diagnosis, documents, limit)}
