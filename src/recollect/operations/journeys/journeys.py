"""Journeys and the sessions in them."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from recollect.errors import BadRequest, NotFound
from recollect.model import now_ms
from recollect.operations.context import RequestContext
from recollect.operations.ids import UuidKey, uuid_text
from recollect.operations.journeys import views
from recollect.operations.journeys.members import diagnosed_among, settle, told_of
from recollect.operations.journeys.requests import (
    DeleteJourney,
    GetOrCreateJourney,
    JourneyTimeline,
    LinkSessionToJourney,
    QueryJourneyHistory,
)
from recollect.operations.times import first_millisecond
from recollect.realms import Realm
from recollect.search import ParsedQuery, deadline_check, parse
from recollect.search.observations import full_text_query
from recollect.store.journeys import DateRange, JourneyRow, Journeys, Member, SessionSummaryRow

DEADLINE_MS = 5_000

Answer = dict[str, Any]


def check_time(realm: Realm, context: RequestContext) -> Callable[[], bool]:
    """A test whether the time of a request is up. Raises `DeadlineExceeded` if it is up already."""
    late = context.past_deadline(realm.deadline_ms(DEADLINE_MS))
    deadline_check(late)()
    return late


def not_found(noun: str, key: UuidKey) -> NotFound:
    return NotFound(f"{noun} {key.text} not found", id=key.text)


def check_journey(journeys: Journeys, journey: UuidKey) -> None:
    if journeys.journey(journey) is None:
        raise not_found("Journey", journey)


# ---- journeys


def get_or_create_journey(realm: Realm, request: GetOrCreateJourney, context: RequestContext) -> Answer:
    late = check_time(realm, context)
    new = JourneyRow(uuid.uuid4().bytes, request.user_id, now_ms())
    journey = _journey_of(realm, request.user_id) or _create(realm, new)
    is_new = journey.id == new.id
    return views.journey(journey, 0 if is_new else _session_count(realm, journey.id, late), is_new=is_new)


def _journey_of(realm: Realm, user: bytes | None) -> JourneyRow | None:
    """The user's journey. Read before anything is written: it can be had from a full disk, too."""
    if user is None:
        return None
    with realm.open_memory() as memory:
        return Journeys(memory).journey_of_user(user)


def _create(realm: Realm, new: JourneyRow) -> JourneyRow:
    with realm.open_memory(writable=True) as memory:
        return Journeys(memory).create_journey(new)


def _session_count(realm: Realm, journey: bytes, late: Callable[[], bool]) -> int:
    with realm.open_archive() as reader, realm.open_memory() as memory:
        memory.interrupt_when(late)
        return Journeys(memory).session_count(journey, reader.path)


def delete_journey(realm: Realm, request: DeleteJourney, context: RequestContext) -> Answer:
    check_time(realm, context)
    with realm.open_memory(writable=True) as memory:
        removed = Journeys(memory).delete_journey(request.journey_id)
    if removed is None:
        raise not_found("Journey", request.journey_id)
    sessions, documents = removed
    return {"journey_id": uuid_text(request.journey_id), "session_count": sessions, "document_count": documents}


@contextmanager
def open_journeys(realm: Realm, late: Callable[[], bool], journey: UuidKey) -> Iterator[Journeys]:
    """The journeys in one snapshot, in which this one exists."""
    with realm.open_memory() as memory:
        memory.interrupt_when(late)
        journeys = Journeys(memory)
        with journeys.snapshot():
            check_journey(journeys, journey)
            yield journeys


@contextmanager
def _open_refreshed(realm: Realm, context: RequestContext, journey: UuidKey) -> Iterator[Journeys]:
    """Like `open_journeys`, after refreshing stale session summaries (at most half of the deadline)."""
    late = check_time(realm, context)
    settle(realm, journey, late, context.past_deadline(realm.deadline_ms(DEADLINE_MS) // 2))
    with open_journeys(realm, late, journey) as journeys:
        yield journeys


# ---- sessions


def link_session_to_journey(realm: Realm, request: LinkSessionToJourney, context: RequestContext) -> Answer:
    journey, session = request.journey_id, request.session_id
    summary = realm.redact(request.summary)
    diagnosed, diagnosis = _diagnosis(realm, request.diagnosis)
    late = check_time(realm, context)
    with realm.open_archive() as reader, realm.open_memory(writable=True) as memory, memory.transaction():
        reader.interrupt_when(late)
        check_journey(Journeys(memory), journey)
        row = reader.session(session)
        if row is None:
            raise not_found("Session", session)
        summarised = told_of(reader, memory, row, summary)
        Journeys(memory).add_member(journey, replace(summarised, diagnosed=diagnosed, diagnosis=diagnosis))
    return {"journey_id": uuid_text(journey), "session_id": uuid_text(session)}


def _diagnosis(realm: Realm, value: str | bool | None) -> tuple[bool | None, str | None]:
    """Whether there is one, and which; None where the caller did not say."""
    if value is None or isinstance(value, bool):
        return value, None
    return (True, realm.redact(value)) if value else (None, None)


def journey_for(realm: Realm, user: UuidKey | None, journey: UuidKey | None) -> bytes | None:
    """The journey that a new session is to join: the one that is named, or the user's, created if need be."""
    if journey is not None:
        with realm.open_memory() as memory:
            if Journeys(memory).journey(journey) is None:
                raise BadRequest(f"there is no journey {journey.text}", field="journey_id")
        return journey
    if user is None:
        return None
    return (_journey_of(realm, user) or _create(realm, JourneyRow(uuid.uuid4().bytes, user, now_ms()))).id


def join(realm: Realm, journey: bytes, session: bytes, started_at: int) -> None:
    """Put a session that has just begun into a journey. Its summary is made when a query needs it."""
    row = SessionSummaryRow(session=session, started_at=started_at, mark="", summary="", words="")
    with realm.open_memory(writable=True) as memory, memory.transaction():
        Journeys(memory).add_member(journey, row)


def query_journey_history(realm: Realm, request: QueryJourneyHistory, context: RequestContext) -> Answer:
    query = parse(request.query) if request.query else None
    window = _window(request)
    with _open_refreshed(realm, context, request.journey_id) as journeys:
        found, total = _find(journeys, request.journey_id, query, window, request.limit)
        diagnosed = diagnosed_among(journeys.memory, found)
        documents = journeys.documents(request.journey_id, window) if request.include_documents else []
    shown = {"documents": [views.document_head(row) for row in documents]} if request.include_documents else {}
    return {
        "journey_id": uuid_text(request.journey_id),
        "sessions": [views.session(one, diagnosed) for one in found],
        **shown,
        "total_results": total,
    }


def _window(request: QueryJourneyHistory) -> DateRange:
    """From the first to the last whole millisecond between two dates, both included."""
    window = DateRange()
    if request.from_date is not None:
        window = replace(window, first=first_millisecond(request.from_date))
    return window if request.to_date is None else replace(window, last=request.to_date // 1000)


def _find(
    journeys: Journeys, journey: bytes, query: ParsedQuery | None, window: DateRange, limit: int
) -> tuple[list[Member], int]:
    """The sessions to show, and how many there are. A query without any word finds none."""
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
        diagnosed = diagnosed_among(journeys.memory, sessions)
    return {"journey_id": uuid_text(journey), "entries": views.entries(sessions, diagnosed, documents, limit)}
