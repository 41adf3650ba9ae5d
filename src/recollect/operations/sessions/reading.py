"""Reads live and imported sessions: state, messages, lists, and the events of running turns."""

from collections.abc import Callable
from functools import partial

import msgspec

from recollect.errors import Cancelled, RecollectError, SessionNotFound
from recollect.live import LiveRealm
from recollect.live.event_streams import Subscriber
from recollect.model import LIVE_SOURCE, timestamp
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.ids import uuid_text
from recollect.operations.operation import Reply
from recollect.operations.sessions import imported
from recollect.operations.sessions.envelope import Answer, error_reply
from recollect.operations.sessions.requests import ListLiveSessions, ReadHistory, ReadSession
from recollect.operations.sessions.session_lookup import DEADLINE_MS, open_imported, session_key
from recollect.store.live import LiveRow


def _check_time(realm: LiveRealm, context: RequestContext) -> None:
    if context.past_deadline(realm.deadline_ms(DEADLINE_MS))():
        raise Cancelled("the request took longer than its deadline")


def read_session(realm: LiveRealm, request: ReadSession, context: RequestContext) -> Answer:
    key = session_key(realm, request.session_id)
    _check_time(realm, context)
    try:
        return _view(realm, *realm.live.read(key))
    except SessionNotFound as absent:
        with open_imported(realm, key, context, absent) as (reader, session):
            return imported.session_view(realm, reader, session)


def _view(realm: LiveRealm, row: LiveRow, is_active: bool) -> Answer:
    return {
        "session_id": uuid_text(row.id),
        "realm_id": realm.name,
        "instance_id": row.instance,
        "backend": realm.backend,
        "config_generation": row.generation,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
        "message_count": row.messages,
        "is_active": is_active,
        "labels": row.labels,
        "usage": row.usage,
        "turns": row.turns,
        "runner": row.runner,
        **({"archived_at": timestamp(row.archived_at)} if row.archived_at is not None else {}),
    }


def read_history(realm: LiveRealm, request: ReadHistory, context: RequestContext) -> Answer:
    key, offset, limit = session_key(realm, request.session_id), request.offset, request.limit
    _check_time(realm, context)
    try:
        row, messages = realm.live.history(key, offset, limit)
    except SessionNotFound as absent:
        with open_imported(realm, key, context, absent) as (reader, session):
            return imported.history_view(reader, session, offset, limit)
    return {
        "session_id": uuid_text(key),
        "message_count": row.messages,
        "offset": offset,
        "limit": limit,
        "has_more": offset + len(messages) < row.messages and bool(messages),
        "messages": [msgspec.Raw(body) for body in messages],
    }


def list_live_sessions(realm: LiveRealm, request: ListLiveSessions, context: RequestContext) -> Answer:
    labels, offset, limit = realm.redact(request.labels), request.offset, request.limit
    _check_time(realm, context)
    if not request.imported or labels:  # an imported session has no labels
        return {"sessions": [_view(realm, *row) for row in realm.live.list_sessions(labels, offset, limit)]}
    end = offset + limit
    with open_reader(realm, context, DEADLINE_MS) as reader:
        live, imported_rows = realm.live.list_sessions({}, 0, end), reader.last_updated(LIVE_SOURCE, end)
        rows: list[tuple[int, bytes, Callable[[], Answer]]] = [
            *((row.updated_at, row.id, partial(_view, realm, row, is_active)) for row, is_active in live),
            *((row.updated_at, row.id, partial(imported.session_view, realm, reader, row)) for row in imported_rows),
        ]
        rows.sort(key=lambda row: row[:2], reverse=True)
        return {"sessions": [view() for _, _, view in rows[offset:end]]}


def subscribe(realm: LiveRealm, session: str, after: int | None, on_change: Callable[[], None]) -> Subscriber | Reply:
    """A subscription to the events of a session's turns, after the event `after` if that is not None; or an error reply."""
    try:
        return realm.live.subscribe(session_key(realm, session), after, on_change)
    except RecollectError as error:
        return error_reply(error)


def is_present(realm: LiveRealm, session: str) -> bool:
    """Whether the session may have more turns."""
    try:
        return realm.live.is_open(session_key(realm, session))
    except RecollectError:  # subscribers learn of the fault with the next turn
        return True
