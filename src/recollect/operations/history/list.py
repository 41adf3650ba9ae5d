"""`list_sessions`: the sessions of a time range, page by page."""

from typing import Any

from recollect.errors import BadRequest
from recollect.model import timestamp
from recollect.operations import cursors
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.history import answers
from recollect.operations.history.envelope import TARGETS, HistoryAnswer
from recollect.operations.history.requests import ListSessions
from recollect.operations.times import first_millisecond
from recollect.realms import Realm

NAME = "list_sessions"
DEADLINE_MS, BROAD_DEADLINE_MS = 2_000, 3_000
BROAD = 5_000  # a window with more matching sessions is a broad one
BROAD_TARGET_MS, BROAD_MODE_TARGET_MS = 1_000, 1_200  # of broad windows, without and with a mode: fixed by the contract


def list_sessions(realm: Realm, request: ListSessions, context: RequestContext) -> HistoryAnswer:
    if request.end_datetime <= request.start_datetime:
        raise BadRequest("end_datetime must be after start_datetime", field="end_datetime")
    start, end = first_millisecond(request.start_datetime), first_millisecond(request.end_datetime)
    filters = {"start": start, "end": end, "mode": request.mode, "sort": request.sort}
    after = _position(request.cursor, filters)
    with open_reader(realm, context, DEADLINE_MS) as reader:
        is_broad = reader.count_overlapping(start, end, BROAD + 1) > BROAD
        if is_broad:
            reader.interrupt_when(context.past_deadline(realm.deadline_ms(BROAD_DEADLINE_MS)))
        sessions = reader.sessions_overlapping(
            start, end, request.mode, newest_first=request.sort == "desc", after=after, limit=request.limit + 1
        )
    page, has_more = sessions[: request.limit], len(sessions) > request.limit
    position = [page[-1].updated_at, page[-1].id.hex()] if has_more else None
    data = {
        "result_count": len(page),
        "limit": request.limit,
        "truncated": has_more,
        "sessions": [answers.listed_session(rank, session) for rank, session in enumerate(page, 1)],
        "next_cursor": cursors.encode(NAME, filters, position) if position else None,
    }
    return HistoryAnswer(_echo(request, start, end), data, _target(request, is_broad=is_broad), realm.sync_warnings())


def _echo(request: ListSessions, start: int, end: int) -> dict[str, Any]:
    """The request with its times as they were read."""
    return {
        "start_datetime": timestamp(start),
        "end_datetime": timestamp(end),
        "limit": request.limit,
        "cursor": request.cursor,
        "mode": request.mode,
        "sort": request.sort,
    }


def _position(cursor: str | None, filters: dict[str, Any]) -> tuple[int, bytes] | None:
    """The end of the previous page: a time and a session id."""
    if cursor is None:
        return None
    position = cursors.decode(cursor, NAME, filters)
    if position is None:
        raise BadRequest("cursor does not belong to this window, mode and sort", field="cursor")
    at, session = position
    return at, bytes.fromhex(session)


def _target(request: ListSessions, *, is_broad: bool) -> int:
    if not is_broad:
        return TARGETS[NAME]
    return BROAD_MODE_TARGET_MS if request.mode else BROAD_TARGET_MS
