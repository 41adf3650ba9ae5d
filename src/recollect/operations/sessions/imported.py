"""Imported sessions in the sessions family's shapes: their state, and their messages, built from events."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from recollect.live import LiveRealm
from recollect.live.transcript_builder import usage_of
from recollect.model import KINDS, LIVE_SOURCE, Kind, Usage, timestamp
from recollect.operations.ids import event_ref, uuid_text
from recollect.operations.sessions.envelope import Answer
from recollect.realms import config as configs
from recollect.shown_time import estimate_field
from recollect.store import EventRow, Reader, SessionRow
from recollect.store.sqlite.rows import EventPlace

USER, ASSISTANT, RESULTS, NOTICE = "user", "assistant", "tool_results", "system_notice"
ROLES = {
    Kind.USER_INPUT: USER,
    Kind.SYSTEM: USER,
    Kind.COMPACTION: USER,
    Kind.REASONING: ASSISTANT,
    Kind.ASSISTANT_RESPONSE: ASSISTANT,
    Kind.TOOL_CALL: ASSISTANT,
    Kind.TOOL_RESPONSE: RESULTS,
}
NEWEST_BATCH = 20  # messages per read: most callers need only the newest ones
MARKS = {Kind.SYSTEM: {"injected": True}, Kind.COMPACTION: {"compaction_summary": True}}
BLOCKS = {Kind.REASONING: "reasoning", Kind.ASSISTANT_RESPONSE: "text"}


class MessageEvents(Struct):
    """The events that make up one message, by their keys."""

    role: str
    turn: int
    keys: list[int]


def imported_session(reader: Reader, key: bytes) -> SessionRow | None:
    session = reader.session(key)
    return session if session is not None and session.source != LIVE_SOURCE else None


def session_view(realm: LiveRealm, reader: Reader, session: SessionRow) -> Answer:
    """The state of an imported session, in the shape of a live one."""
    return {
        "session_id": uuid_text(session.id),
        "realm_id": realm.name,
        "instance_id": realm.instance,
        "backend": realm.backend,
        "config_generation": configs.read_generation(realm.home),
        "created_at": timestamp(session.started_at),
        "updated_at": timestamp(session.updated_at),
        **estimate_field(session.estimated),
        "message_count": len(group_into_messages(reader.event_places(session.key))),
        "is_active": False,
        "labels": {},
        "usage": usage_of(msgspec.json.decode(session.usage, type=Usage)),
        "turns": session.turn_count,
        "runner": session.source,
        "imported": True,
        "title": session.title,
    }


def newest_messages(realm: LiveRealm, key: bytes, native_id: str) -> Iterator[dict[str, Any]]:
    """The messages of an imported session, newest first, if its agent knows it by this id."""
    with realm.open_archive() as reader:
        session = imported_session(reader, key)
        if session is None or session.native_id != native_id:
            return
        end = len(group_into_messages(reader.event_places(session.key)))
        while end > 0:
            start = max(0, end - NEWEST_BATCH)
            yield from reversed(history_view(reader, session, start, end - start)["messages"])
            end = start


def history_view(reader: Reader, session: SessionRow, offset: int, limit: int) -> Answer:
    places = reader.event_places(session.key)
    groups = group_into_messages(places)
    page = groups[offset : offset + limit]
    events = reader.events(key for group in page for key in group.keys)
    ids = {place.seq: place.id for place in places}
    stops = {turn.ordinal: turn.stop for turn in reader.turns(session.key)}
    return {
        "session_id": uuid_text(session.id),
        "message_count": len(groups),
        "offset": offset,
        "limit": limit,
        "has_more": offset + len(page) < len(groups) and bool(page),
        "messages": [_message(group.role, [events[key] for key in group.keys], ids, stops[group.turn]) for group in page],
    }


def group_into_messages(places: Iterable[EventPlace]) -> list[MessageEvents]:
    """The events of each message, in order. Usage records, bookkeeping and unclassified events belong to none."""
    groups: list[MessageEvents] = []
    for place in places:
        kind = KINDS[place.kind]
        role = NOTICE if kind is Kind.RUNTIME and place.is_terminal else ROLES.get(kind)
        if role is None:
            continue
        last = groups[-1] if groups else None
        if last is not None and role in (ASSISTANT, RESULTS) and (last.role, last.turn) == (role, place.turn):
            last.keys.append(place.key)
        else:
            groups.append(MessageEvents(role, place.turn, [place.key]))
    return groups


def _message(role: str, events: list[EventRow], ids: dict[int, bytes], stop: str | None) -> dict[str, Any]:
    first = events[0]
    head = {
        "role": role,
        "content": _content(role, events),
        "created_at": timestamp(first.at),
        **estimate_field(first.estimated),
    }
    match role:
        case "user":
            return {**head, **MARKS.get(first.kind, {})}
        case "assistant":
            return {**head, "blocks": [_block(event) for event in events], **_usage(events)}
        case "tool_results":
            return {**head, "results": [_result(event, ids) for event in events]}
        case _:
            return {**head, "kind": stop or "other"}


def _content(role: str, events: list[EventRow]) -> str:
    """The plain text of a message, as live messages have it."""
    if role == ASSISTANT:
        return "".join(event.text() for event in events if event.kind is Kind.ASSISTANT_RESPONSE)
    return "\n".join(event.text() for event in events)


def _block(event: EventRow) -> dict[str, Any]:
    if event.kind is Kind.TOOL_CALL:
        identity = event_ref(event.id)
        return {"type": "tool_use", "id": identity, "name": event.tool or "tool", "input": event.arguments()}
    return {"type": BLOCKS[event.kind], "text": event.text()}


def _result(event: EventRow, ids: dict[int, bytes]) -> dict[str, Any]:
    call = ids.get(event.answers) if event.answers is not None else None
    identity = event_ref(call) if call is not None else ""
    return {"tool_use_id": identity, "content": event.text(), "is_error": event.has_failed()}


def _usage(events: list[EventRow]) -> dict[str, Any]:
    usages = [tokens for event in events if (tokens := event.tokens()) is not None]
    return {"usage": usage_of(sum(usages[1:], usages[0]))} if usages else {}
