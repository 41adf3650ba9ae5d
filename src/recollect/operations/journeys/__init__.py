"""The journeys family: one person's sessions and documents over time.

Answers are the bare objects of the contract; an error is `{"code": 404, "message": "…"}`, its code as HTTP has them.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from recollect.errors import BadRequest, ErrorKind, NotFound, RecollectError, StoreFault
from recollect.model import now_ms
from recollect.operations.arguments import Arguments, check_names, flag, integer, text, timestamp_us
from recollect.operations.ids import uuid_key, uuid_text
from recollect.operations.journeys import definitions as said
from recollect.operations.journeys import views
from recollect.operations.journeys.members import diagnosed_among, settle, told_of
from recollect.operations.operation import DOCTOR, Family, Operation, Reply, RequestContext, reply_or_error
from recollect.realms import Realm
from recollect.search import ParsedQuery, deadline_check, parse
from recollect.search.observations import full_text_query
from recollect.store.journeys import Document, JourneyRow, Journeys, Member, SessionSummaryRow, Window

WITHIN_MS = 5_000  # the deadline
LONGEST_QUERY = 4_096  # characters
LONGEST_GIVEN = 10_000  # characters of a summary or diagnosis that somebody gives
BAD, UNKNOWN, FAULT = 400, 404, 500
CODES = {ErrorKind.BAD_ARGUMENT: BAD, ErrorKind.BAD_ID: BAD, ErrorKind.NOT_FOUND: UNKNOWN}

Answer = dict[str, Any]


def _replied(
    operation: Callable[[Realm, Any, RequestContext], Answer], failed: str
) -> Callable[[Realm, Any, RequestContext], Reply]:
    """`failed` begins the message where it is the store, not the request, that something is wrong with."""

    def run(realm: Realm, arguments: Any, context: RequestContext) -> Reply:
        def made() -> Reply:
            try:
                body = msgspec.json.encode(operation(realm, {} if arguments is None else arguments, context))
            except OSError as error:
                raise StoreFault(str(error)) from error
            return Reply(body.decode(), body)

        def refuse(error: RecollectError) -> Reply:
            code = CODES.get(error.kind, FAULT)
            return _refusal(code, str(error) if code != FAULT else f"{failed}: {error}")

        return reply_or_error(operation.__name__, made, refuse, DOCTOR)

    return run


def _refusal(code: int, message: str) -> Reply:
    """Only as text: clients check an object against the schema of success."""
    return Reply(msgspec.json.encode({"code": code, "message": message}).decode(), is_error=True)


# ---- checking what came


def _check_time(realm: Realm, context: RequestContext) -> Callable[[], bool]:
    """A test whether the time of a request is up; where it is up already, that is an error."""
    late = context.past_deadline(realm.deadline_ms(WITHIN_MS))
    deadline_check(late)()
    return late


def _window(given: Arguments) -> Window:
    """From the first to the last whole millisecond between two dates, both included."""
    start, end = given.get("from_date"), given.get("to_date")
    first = timestamp_us(start, "from_date") if start is not None else None
    last = timestamp_us(end, "to_date") if end is not None else None
    if first is not None and last is not None and first >= last:
        raise BadRequest("from_date must be before to_date", field="from_date")
    window = Window()
    if first is not None:
        window = replace(window, first=-(-first // 1000))
    return window if last is None else replace(window, last=last // 1000)


def _query(value: Any) -> ParsedQuery | None:
    query = text(value, "query", LONGEST_QUERY)
    return parse(query) if query else None


def _document_type(value: Any) -> str:
    if not isinstance(value, str) or value not in said.TYPES:
        raise BadRequest(f"document_type must be one of: {', '.join(said.TYPES)}", field="document_type")
    return value


def _as_given(realm: Realm, value: Any, field: str) -> str | None:
    """A text to the letter, but for its secrets."""
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{field} must be a string", field=field)
    return realm.redact(value) if value is not None else None


def _metadata(realm: Realm, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadRequest("metadata must be an object", field="metadata")
    try:
        return msgspec.json.encode(realm.redact(value)).decode()
    except RecursionError:
        raise BadRequest("metadata is nested too deeply", field="metadata") from None


def _diagnosis(realm: Realm, value: Any) -> tuple[bool | None, str | None]:
    """Whether there is one, and which; None where nothing was said about it."""
    if value is None or isinstance(value, bool):
        return value, None
    if not isinstance(value, str):
        raise BadRequest("diagnosis must be a string or a boolean", field="diagnosis")
    told = realm.redact(text(value, "diagnosis", LONGEST_GIVEN))
    return (True, told) if told else (None, None)


# ---- journeys


def get_or_create_journey(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.GET_OR_CREATE["input_schema"]["properties"])
    user = uuid_key(given["user_id"], "user_id") if given.get("user_id") is not None else None
    late = _check_time(realm, context)
    new = JourneyRow(uuid.uuid4().bytes, user, now_ms())
    journey = _journey_of(realm, user) or _created(realm, new)
    is_new = journey.id == new.id
    return views.journey(journey, 0 if is_new else _session_count(realm, journey.id, late), is_new=is_new)


def _journey_of(realm: Realm, user: bytes | None) -> JourneyRow | None:
    """Asked before anything is written: a journey that exists can be had from a full disk too."""
    if user is None:
        return None
    with realm.open_memory() as memory:
        return Journeys(memory).of_user(user)


def _created(realm: Realm, new: JourneyRow) -> JourneyRow:
    with realm.open_memory(writable=True) as memory:
        return Journeys(memory).create(new)


def _session_count(realm: Realm, journey: bytes, late: Callable[[], bool]) -> int:
    with realm.open_archive() as reader, realm.open_memory() as memory:
        memory.stop_when(late)
        return Journeys(memory).session_count(journey, reader.path)


def delete_journey(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.DELETE_JOURNEY["input_schema"]["properties"])
    journey = uuid_key(given.get("journey_id"), "journey_id")
    _check_time(realm, context)
    with realm.open_memory(writable=True) as memory:
        removed = Journeys(memory).delete(journey)
    if removed is None:
        raise _absent("Journey", given["journey_id"])
    sessions, documents = removed
    return {"journey_id": uuid_text(journey), "session_count": sessions, "document_count": documents}


@contextmanager
def _reading(realm: Realm, late: Callable[[], bool], journey: bytes, given: Arguments) -> Iterator[Journeys]:
    """The journeys in one state, of which this one is known to be there."""
    with realm.open_memory() as memory:
        memory.stop_when(late)
        journeys = Journeys(memory)
        with journeys.snapshot():
            _check_journey(journeys, journey, given)
            yield journeys


@contextmanager
def _level(realm: Realm, context: RequestContext, journey: bytes, given: Arguments) -> Iterator[Journeys]:
    """The same, after what is told of its sessions was brought level, in no more than half of the time."""
    late = _check_time(realm, context)
    settle(realm, journey, late, context.past_deadline(realm.deadline_ms(WITHIN_MS) // 2))
    with _reading(realm, late, journey, given) as journeys:
        yield journeys


def _check_journey(journeys: Journeys, journey: bytes, given: Arguments) -> None:
    if journeys.journey(journey) is None:
        raise _absent("Journey", given["journey_id"])


def _absent(noun: str, identity: str) -> NotFound:
    return NotFound(f"{noun} {identity} not found", id=identity)


# ---- sessions


def link_session_to_journey(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.LINK["input_schema"]["properties"])
    journey, session = uuid_key(given.get("journey_id"), "journey_id"), uuid_key(given.get("session_id"), "session_id")
    summary = realm.redact(text(given.get("summary"), "summary", LONGEST_GIVEN))
    diagnosed, diagnosis = _diagnosis(realm, given.get("diagnosis"))
    late = _check_time(realm, context)
    with realm.open_archive() as reader, realm.open_memory(writable=True) as memory, memory.transaction():
        reader.stop_when(late)
        _check_journey(Journeys(memory), journey, given)
        row = reader.session(session)
        if row is None:
            raise _absent("Session", given["session_id"])
        told = told_of(reader, memory, row, summary)
        Journeys(memory).link(journey, replace(told, diagnosed=diagnosed, diagnosis=diagnosis))
    return {"journey_id": uuid_text(journey), "session_id": uuid_text(session)}


def journey_for(realm: Realm, user: Any, journey: Any) -> bytes | None:
    """The journey that a new session is to join: the one that is named, or the user's, made if need be."""
    if journey is not None:
        key = uuid_key(journey, "journey_id")
        with realm.open_memory() as memory:
            if Journeys(memory).journey(key) is None:
                raise BadRequest(f"there is no journey {journey}", field="journey_id")
        return key
    if user is None:
        return None
    owner = uuid_key(user, "user_id")
    return (_journey_of(realm, owner) or _created(realm, JourneyRow(uuid.uuid4().bytes, owner, now_ms()))).id


def join(realm: Realm, journey: bytes, session: bytes, started_at: int) -> None:
    """Put a session that has just begun into a journey; what there is to tell of it is found out when somebody asks."""
    with realm.open_memory(writable=True) as memory, memory.transaction():
        Journeys(memory).link(
            journey, SessionSummaryRow(session=session, started_at=started_at, mark="", summary="", words="")
        )


def query_journey_history(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.QUERY["input_schema"]["properties"])
    journey = uuid_key(given.get("journey_id"), "journey_id")
    asked = _query(given.get("query"))
    window = _window(given)
    limit = integer(given.get("limit"), "limit", said.DEFAULT_FOUND, said.MOST_FOUND)
    wants_documents = flag(given.get("include_documents"), "include_documents")
    with _level(realm, context, journey, given) as journeys:
        found, total = _found(journeys, journey, asked, window, limit)
        diagnosed = diagnosed_among(journeys.memory, found)
        documents = journeys.documents(journey, window) if wants_documents else []
    return {
        "journey_id": uuid_text(journey),
        "sessions": [views.session(one, diagnosed) for one in found],
        **({"documents": [views.document_head(row) for row in documents]} if wants_documents else {}),
        "total_results": total,
    }


def _found(
    journeys: Journeys, journey: bytes, asked: ParsedQuery | None, window: Window, limit: int
) -> tuple[list[Member], int]:
    """The sessions to show, and how many there are; a question without any word finds none."""
    if asked is None:
        return journeys.by_time(journey, window, limit), journeys.count(journey, window)
    if asked.is_empty():
        return [], 0
    return journeys.by_words(journey, full_text_query(asked, None), window, limit)


def journey_timeline(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.TIMELINE["input_schema"]["properties"])
    journey = uuid_key(given.get("journey_id"), "journey_id")
    limit = integer(given.get("limit"), "limit", said.DEFAULT_ENTRIES, said.MOST_ENTRIES)
    with _level(realm, context, journey, given) as journeys:
        sessions = journeys.by_time(journey, Window(), limit, newest_first=False)
        documents = journeys.documents(journey, Window(), limit, newest_first=False)
        diagnosed = diagnosed_among(journeys.memory, sessions)
    return {"journey_id": uuid_text(journey), "entries": views.entries(sessions, diagnosed, documents, limit)}


# ---- documents


def add_document_to_journey(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.ADD_DOCUMENT["input_schema"]["properties"])
    document = Document(
        id=uuid.uuid4().bytes,
        journey=uuid_key(given.get("journey_id"), "journey_id"),
        type=_document_type(given.get("document_type")),
        title=_as_given(realm, given.get("title"), "title"),
        content=_as_given(realm, given.get("content"), "content"),
        metadata=_metadata(realm, given.get("metadata")),
        created_at=now_ms(),
    )
    _check_time(realm, context)
    with realm.open_memory(writable=True) as memory:
        if not Journeys(memory).add_document(document):
            raise _absent("Journey", given["journey_id"])
    return views.added(document)


def list_documents(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.LIST_DOCUMENTS["input_schema"]["properties"])
    journey = uuid_key(given.get("journey_id"), "journey_id")
    with _reading(realm, _check_time(realm, context), journey, given) as journeys:
        return {"documents": [views.document_head(row) for row in journeys.documents(journey, Window())]}


def get_document(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.GET_DOCUMENT["input_schema"]["properties"])
    journey, document = uuid_key(given.get("journey_id"), "journey_id"), uuid_key(given.get("document_id"), "document_id")
    with _reading(realm, _check_time(realm, context), journey, given) as journeys:
        return _shown(journeys.document(journey, document), given)


def delete_document(realm: Realm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.DELETE_DOCUMENT["input_schema"]["properties"])
    journey, document = uuid_key(given.get("journey_id"), "journey_id"), uuid_key(given.get("document_id"), "document_id")
    _check_time(realm, context)
    with realm.open_memory(writable=True) as memory:
        _check_journey(Journeys(memory), journey, given)
        return _shown(Journeys(memory).delete_document(journey, document), given)


def _shown(document: Document | None, given: Arguments) -> Answer:
    if document is None:
        raise _absent("Document", given["document_id"])
    return views.document(document)


FAMILY = Family(
    operations=(
        Operation(run=_replied(get_or_create_journey, "Failed to access journey"), **said.GET_OR_CREATE),
        Operation(run=_replied(query_journey_history, "Failed to query history"), **said.QUERY),
        Operation(run=_replied(add_document_to_journey, "Failed to add document"), **said.ADD_DOCUMENT),
        Operation(run=_replied(link_session_to_journey, "Failed to link session"), **said.LINK),
        Operation(run=_replied(journey_timeline, "Failed to query history"), **said.TIMELINE),
        Operation(run=_replied(list_documents, "Failed to read documents"), **said.LIST_DOCUMENTS),
        Operation(run=_replied(get_document, "Failed to read documents"), **said.GET_DOCUMENT),
        Operation(run=_replied(delete_document, "Failed to delete"), **said.DELETE_DOCUMENT),
        Operation(run=_replied(delete_journey, "Failed to delete"), **said.DELETE_JOURNEY),
    ),
    guide="For one person's work over time: get_or_create_journey with their user_id, then query_journey_history; "
    "link_session_to_journey and add_document_to_journey add to it.",
)
