"""The history family: search_sessions, open, list_sessions over Session > Turn > Event."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from recollect.errors import BadEventType, BadRequest, NotFound
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.index.text import TextIndex
from recollect.model import DEFAULT_KINDS, KIND_CODE, SEARCHABLE, Kind, SessionMode, now_ms, timestamp
from recollect.operations import cursors
from recollect.operations.arguments import Arguments, check_names, integer, one_of, timestamp_us
from recollect.operations.caller import calling_sessions
from recollect.operations.history import views
from recollect.operations.history.definitions import LIST, OPEN, SEARCH
from recollect.operations.history.envelope import Answer, enveloped
from recollect.operations.ids import Id, Noun, event_ref, parse_id, session_ref, turn_ref
from recollect.operations.operation import Family, Operation, Reply, RequestContext, open_reader
from recollect.realms import Realm
from recollect.search import Mode as SearchMode
from recollect.search import ParsedQuery, SearchHit, SemanticIndex, deadline_check, parse, search
from recollect.store import EventRow, Reader, SessionRow, TurnRow

LONGEST_QUERY = 4_096  # characters, the contract's
MOST_HITS = 50
DEFAULT_HITS = 10
MOST_LISTED = 50
DEFAULT_LISTED = 20
SEARCH_MS, LIST_MS, BROAD_MS, OPEN_MS = 5_000, 2_000, 3_000, 10_000  # deadlines
BROAD = 5_000  # matching sessions that make a window a broad one
MANY_TURNS = 100


# ---- checking what came


def _query(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadRequest("query must be a non-empty string", field="query")
    query = value.strip()
    if len(query) > LONGEST_QUERY:
        raise BadRequest(f"query must be at most {LONGEST_QUERY} characters", field="query")
    return query


def _event_types(value: Any) -> tuple[Kind, ...]:
    if value is None:
        return DEFAULT_KINDS
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        raise BadRequest("event_types must be a non-empty array of strings", field="event_types")
    for word in value:
        if word not in SEARCHABLE:
            raise BadEventType(f"unsupported event type: {word}", field="event_types", supported=list(SEARCHABLE))
    return tuple(kind for kind in SEARCHABLE if kind in value)


def _within(value: Any) -> Id | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRequest("within_id must be a string", field="within_id")
    within = parse_id(value, "within_id")
    if within.noun is Noun.EVENT:
        raise BadRequest("within_id accepts session and turn IDs, not event IDs", field="within_id")
    return within


def _first_millisecond(microseconds: int) -> int:
    """The first whole millisecond that is not before a time. Both ends of a window stay exact with it."""
    return -(-microseconds // 1000)


# ---- finding what an id names


def _session(reader: Reader, identity: Id, text: str) -> SessionRow:
    session = reader.session(identity.key) if identity.key else None
    if session is None:
        raise NotFound(f"{identity.noun} not found", id=text)
    return session


def _turn(reader: Reader, session: SessionRow, identity: Id, text: str) -> TurnRow:
    turn = reader.turn(session.key, identity.ordinal or 0)
    if turn is None:
        raise NotFound("turn not found", id=text)
    return turn


# ---- search_sessions


def search_sessions(
    realm: Realm,
    arguments: Any,
    context: RequestContext,
    filters: Filters = Filters(),  # noqa: B008
    *,
    why: bool = False,
) -> Reply:
    """`filters` are those that the command line offers beyond the tool's own; `why` explains the score of each hit."""

    def answer(given: Arguments) -> Answer:
        check_names(given, ("query", "within_id", "event_types", "n_hits"))
        query = _query(given.get("query"))
        within = _within(given.get("within_id"))
        kinds = _event_types(given.get("event_types"))
        limit = integer(given.get("n_hits"), "n_hits", DEFAULT_HITS, MOST_HITS)
        request = {"query": query, "within_id": given.get("within_id"), "event_types": list(kinds), "n_hits": limit}
        late = context.past_deadline(realm.deadline_ms(SEARCH_MS))
        check = deadline_check(late)
        check()
        with realm.open_archive() as reader:
            reader.stop_when(late)
            wanted = _within_filters(filters, reader, within, given, kinds)
            if within is None:
                calling = tuple(session.key for session in calling_sessions(reader, context.caller))
                wanted = replace(wanted, excluded_sessions=calling)
            asked = parse(query, now_ms())
            warnings = realm.warnings(reader)
            found, more, visible = _find(realm, reader, asked, wanted, limit, check)
            if visible is None:
                warnings = realm.warnings(reader)
            warnings = [*warnings, *realm.semantic_warnings()]
        results = [views.hit(rank, one, asked) for rank, one in enumerate(found, 1)]
        if why:
            results = [{**hit, "why": views.why(one)} for hit, one in zip(results, found, strict=True)]
        data = {"result_count": len(results), "limit": limit, "truncated": more, "results": results}
        return Answer(request, data, _search_target(within, visible or 0), warnings)

    return enveloped("search_sessions", arguments, context, lambda given: _target_of_refused_search(given), answer)


def _within_filters(
    filters: Filters, reader: Reader, within: Id | None, given: Arguments, kinds: tuple[Kind, ...]
) -> Filters:
    filters = replace(filters, kinds=tuple(KIND_CODE[kind] for kind in kinds))
    if within is None:
        return filters
    session = _session(reader, within, given["within_id"])
    own = given.get("event_types") is not None  # named together with a scope, our own traffic is found too (rule 42)
    filters = replace(filters, include_own_traffic=own, session=session.key)
    if within.noun is Noun.SESSION:
        return filters
    return replace(filters, turn=_turn(reader, session, within, given["within_id"]).ordinal)


def _find(
    realm: Realm, reader: Reader, asked: ParsedQuery, filters: Filters, limit: int, check: Callable[[], None]
) -> tuple[list[SearchHit], bool, int | None]:
    """What there is, whether there is more, and among how many documents; None for those where the index failed."""
    mode = realm.settings.search.mode
    for _ in range(2):  # an index that was rebuilt under us is opened anew
        index = realm.text_index(reader)
        if index is None:
            break
        ask = partial(_ask, reader, index, asked, filters, limit, check, mode)
        try:
            with engine_panics_as_errors():
                found, more = realm.semantic.hybrid_search("events", mode if asked.plain_words else "text", ask)
                return found, more, index.snapshot().document_count()
        except IndexUnusable:
            realm.close_text_index()
    return [], False, None


def _ask(
    reader: Reader,
    index: TextIndex,
    asked: ParsedQuery,
    filters: Filters,
    limit: int,
    check: Callable[[], None],
    mode: SearchMode,
    meaning: SemanticIndex | None,
) -> tuple[list[SearchHit], bool]:
    return search(reader, index, meaning, asked, filters, limit, check, mode)


def _search_target(within: Id | None, visible: int) -> int:
    if within is not None:
        return 500 if within.noun is Noun.SESSION else 300
    return 750 if visible <= 100_000 else 1_500 if visible <= 500_000 else 2_500


def _target_of_refused_search(given: Any) -> int:
    within = given.get("within_id") if isinstance(given, dict) else None
    prefix = within.partition(":")[0] if isinstance(within, str) else ""
    return {"session": 500, "turn": 300}.get(prefix, 750)


# ---- open


def open_id(realm: Realm, arguments: Any, context: RequestContext) -> Reply:
    def answer(given: Arguments) -> Answer:
        check_names(given, ("id",))
        text = given.get("id")
        if not isinstance(text, str) or not text.strip():
            raise BadRequest("id must be a non-empty string", field="id")
        identity = parse_id(text, "id")
        with open_reader(realm, context, OPEN_MS) as reader:
            data = OPENERS[identity.noun](reader, identity, text)
        target = _open_target(text)
        if identity.noun is Noun.SESSION and len(data["turns"]) > MANY_TURNS:
            target = 1_500
        return Answer({"id": text}, data, target, realm.sync_warnings())

    return enveloped(
        "open", arguments, context, lambda given: _open_target(given.get("id") if isinstance(given, dict) else ""), answer
    )


def _open_target(text: Any) -> int:
    prefix = text.partition(":")[0] if isinstance(text, str) else ""
    return {"session": 500, "turn": 300}.get(prefix, 200)


def _open_session(reader: Reader, identity: Id, text: str) -> dict[str, Any]:
    session = _session(reader, identity, text)
    turns = reader.turns(session.key)
    named = [(turn.ordinal, seq) for turn in turns for seq in (turn.prompt, turn.terminal) if seq is not None]
    events = reader.events_at(session.key, named)
    before, after = reader.neighbours(session)
    parent = reader.parent(session.id)
    return {
        "kind": "session",
        "session": views.session_full(session),
        "turns": [views.turn_summary(turn, session.id, events) for turn in turns],
        "traversal": {
            "previous_session_id": before and session_ref(before),
            "next_session_id": after and session_ref(after),
            "parent_session_id": parent and session_ref(parent),
            "child_session_ids": [session_ref(child) for child in reader.children(session.id)],
        },
    }


def _open_turn(reader: Reader, identity: Id, text: str) -> dict[str, Any]:
    session = _session(reader, identity, text)
    turn = _turn(reader, session, identity, text)
    events = reader.events_of_turn(session.key, turn.ordinal)
    by_seq = {event.seq: event for event in events}
    prompt = by_seq.get(turn.prompt) if turn.prompt is not None else None
    terminal = by_seq.get(turn.terminal) if turn.terminal is not None else None
    reference = session_ref(session.id)
    return {
        "kind": "turn",
        "turn": {
            "id": turn_ref(session.id, turn.ordinal),
            "session_id": reference,
            **views.turn_head(turn, session.id, terminal),
        },
        "session": views.session_name(session),
        "summary": views.turn_gist(turn, prompt, terminal),
        "events": [views.event_summary(event, turn) for event in events],
        "traversal": {
            "session_id": reference,
            **_turns_beside(session, turn),
            "first_event_id": event_ref(events[0].id) if events else None,
            "last_event_id": event_ref(events[-1].id) if events else None,
        },
    }


def _open_event(reader: Reader, identity: Id, text: str) -> dict[str, Any]:
    event: EventRow | None = reader.event(identity.key) if identity.key else None
    session = reader.sessions([event.session]).get(event.session) if event else None
    turn = reader.turn(event.session, event.turn) if event else None
    if event is None or session is None or turn is None:
        raise NotFound("event not found", id=text)
    before, after = reader.beside(event)
    reference = turn_ref(session.id, turn.ordinal)
    return {
        "kind": "event",
        "event": views.event_full(event, turn, session.id),
        "content": views.content(event),
        "session": views.session_name(session),
        "turn": {"id": reference, "ordinal": turn.ordinal, "completed": turn.terminal is not None},
        "traversal": {
            "session_id": session_ref(session.id),
            "turn_id": reference,
            "previous_event_id": before and event_ref(before),
            "next_event_id": after and event_ref(after),
            **_turns_beside(session, turn),
        },
    }


def _turns_beside(session: SessionRow, turn: TurnRow) -> dict[str, str | None]:
    return {
        "previous_turn_id": turn_ref(session.id, turn.ordinal - 1) if turn.ordinal > 1 else None,
        "next_turn_id": turn_ref(session.id, turn.ordinal + 1) if turn.ordinal < session.turn_count else None,
    }


OPENERS = {Noun.SESSION: _open_session, Noun.TURN: _open_turn, Noun.EVENT: _open_event}


# ---- list_sessions


def list_sessions(realm: Realm, arguments: Any, context: RequestContext) -> Reply:
    def answer(given: Arguments) -> Answer:
        check_names(given, ("start_datetime", "end_datetime", "limit", "cursor", "mode", "sort"))
        start, end = (
            timestamp_us(given.get("start_datetime"), "start_datetime"),
            timestamp_us(given.get("end_datetime"), "end_datetime"),
        )
        if end <= start:
            raise BadRequest("end_datetime must be after start_datetime", field="end_datetime")
        start, end = _first_millisecond(start), _first_millisecond(end)
        limit = integer(given.get("limit"), "limit", DEFAULT_LISTED, MOST_LISTED)
        mode = one_of(given.get("mode"), "mode", tuple(SessionMode), None)
        sort = one_of(given.get("sort"), "sort", ("desc", "asc"), "desc")
        filters = {"start": start, "end": end, "mode": mode, "sort": sort}
        after = _place(given.get("cursor"), filters)
        window = {"start_datetime": timestamp(start), "end_datetime": timestamp(end)}
        request = {**window, "limit": limit, "cursor": given.get("cursor"), "mode": mode, "sort": sort}
        with open_reader(realm, context, LIST_MS) as reader:
            is_broad = reader.breadth(start, end, BROAD + 1) > BROAD
            if is_broad:
                reader.stop_when(context.past_deadline(realm.deadline_ms(BROAD_MS)))
            found = reader.window(start, end, mode, newest_first=sort == "desc", after=after, limit=limit + 1)
        shown, more = found[:limit], len(found) > limit
        place = [shown[-1].updated_at, shown[-1].id.hex()] if more else None
        data = {
            "result_count": len(shown),
            "limit": limit,
            "truncated": more,
            "sessions": [views.listed(rank, session) for rank, session in enumerate(shown, 1)],
            "next_cursor": cursors.encode("list_sessions", filters, place) if place else None,
        }
        target = 300 if not is_broad else 1_200 if mode else 1_000
        return Answer(request, data, target, realm.sync_warnings())

    return enveloped("list_sessions", arguments, context, lambda given: 300, answer)


def _place(cursor: Any, filters: dict[str, Any]) -> tuple[int, bytes] | None:
    if cursor is None:
        return None
    place = cursors.decode(cursor, "list_sessions", filters) if isinstance(cursor, str) else None
    if place is None:
        raise BadRequest("cursor does not belong to this window, mode and sort", field="cursor")
    at, session = place
    return at, bytes.fromhex(session)


FAMILY = Family(
    operations=(
        Operation(run=search_sessions, **SEARCH),
        Operation(run=open_id, **OPEN),
        Operation(run=list_sessions, **LIST),
    ),
    guide="For the exact words of a prompt, answer, command or output: search_sessions, then open the event, turn or "
    "session ids it returns, smallest first. list_sessions browses by date.",
)
