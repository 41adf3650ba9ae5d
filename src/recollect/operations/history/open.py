"""`open`: a session with its turns, a turn with its events, or an event in full."""

from typing import Any

from recollect.errors import NotFound
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.history import answers
from recollect.operations.history.envelope import HistoryAnswer, target_of
from recollect.operations.history.requests import Open
from recollect.operations.ids import Id, Noun, event_ref, parse_id, session_ref, turn_ref
from recollect.realms import Realm
from recollect.store import EventRow, Reader, SessionRow, TurnRow

DEADLINE_MS = 10_000
MANY_TURNS = 100  # a session with more turns has the target of a large one
LARGE_TARGET_MS = 1_500


def open_id(realm: Realm, request: Open, context: RequestContext) -> HistoryAnswer:
    identity = parse_id(request.id, "id")
    with open_reader(realm, context, DEADLINE_MS) as reader:
        data = OPENERS[identity.noun](reader, identity, request.id)
    is_large = identity.noun is Noun.SESSION and len(data["turns"]) > MANY_TURNS
    target = LARGE_TARGET_MS if is_large else target_of("open", request.id)
    return HistoryAnswer({"id": request.id}, data, target, realm.sync_warnings())


def find_session(reader: Reader, identity: Id, text: str) -> SessionRow:
    """The session of a session's or turn's id. Raises `NotFound` if there is none."""
    session = reader.session(identity.key) if identity.key else None
    if session is None:
        raise NotFound(f"{identity.noun} not found", id=text)
    return session


def find_turn(reader: Reader, session: SessionRow, identity: Id, text: str) -> TurnRow:
    """The turn of a turn's id. Raises `NotFound` if there is none."""
    turn = reader.turn(session.key, identity.ordinal or 0)
    if turn is None:
        raise NotFound("turn not found", id=text)
    return turn


def _open_session(reader: Reader, identity: Id, text: str) -> dict[str, Any]:
    session = find_session(reader, identity, text)
    turns = reader.turns(session.key)
    places = [(turn.ordinal, seq) for turn in turns for seq in (turn.prompt, turn.terminal) if seq is not None]
    events = reader.events_at(session.key, places)
    before, after = reader.adjacent_sessions(session)
    parent = reader.parent(session.id)
    return {
        "kind": "session",
        "session": answers.session_full(session),
        "turns": [answers.turn_summary(turn, session.id, events) for turn in turns],
        "traversal": {
            "previous_session_id": before and session_ref(before),
            "next_session_id": after and session_ref(after),
            "parent_session_id": parent and session_ref(parent),
            "child_session_ids": [session_ref(child) for child in reader.children(session.id)],
        },
    }


def _open_turn(reader: Reader, identity: Id, text: str) -> dict[str, Any]:
    session = find_session(reader, identity, text)
    turn = find_turn(reader, session, identity, text)
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
            **answers.turn_head(turn, terminal),
        },
        "session": answers.session_name(session),
        "summary": answers.turn_gist(turn, prompt, terminal),
        "events": [answers.event_summary(event, turn) for event in events],
        "traversal": {
            "session_id": reference,
            **_adjacent_turns(session, turn),
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
    before, after = reader.adjacent_events(event)
    reference = turn_ref(session.id, turn.ordinal)
    return {
        "kind": "event",
        "event": answers.event_full(event, turn, session.id),
        "content": answers.content(event),
        "session": answers.session_name(session),
        "turn": {"id": reference, "ordinal": turn.ordinal, "completed": turn.terminal is not None},
        "traversal": {
            "session_id": session_ref(session.id),
            "turn_id": reference,
            "previous_event_id": before and event_ref(before),
            "next_event_id": after and event_ref(after),
            **_adjacent_turns(session, turn),
        },
    }


def _adjacent_turns(session: SessionRow, turn: TurnRow) -> dict[str, str | None]:
    return {
        "previous_turn_id": turn_ref(session.id, turn.ordinal - 1) if turn.ordinal > 1 else None,
        "next_turn_id": turn_ref(session.id, turn.ordinal + 1) if turn.ordinal < session.turn_count else None,
    }


OPENERS = {Noun.SESSION: _open_session, Noun.TURN: _open_turn, Noun.EVENT: _open_event}
