"""`library/activity`: sessions as intervals of a time range. `library/now`: the sessions that run."""

from msgspec.structs import asdict, replace

from recollect.label import label
from recollect.library_answers import Interval, RunningSession
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.answers import ActivityPage, RunningSessions
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import GetNow, ListActivity
from recollect.search import shown_text
from recollect.session_state import RUNNING, SessionState
from recollect.store import SessionRow
from recollect.store.sqlite.library_queries import PageOrder, PageStart

NAME = "library_activity"
DEFAULT_RANGE_MS = 7 * 86_400_000  # a week, as people plan
DOING = 160  # characters of the newest event: two lines of a terminal
OLDEST_FIRST = PageOrder("started", descending=False)


def list_activity(realm: LiveRealm, request: ListActivity, context: RequestContext) -> LibraryAnswer:
    fingerprint = request.fingerprint()
    position = read_position(NAME, fingerprint, request.cursor)
    with open_library(realm, context) as library:
        filters, warnings = library.session_filter(request)
        since, until = filters.since, filters.until
        if since is None:
            since = (position[2] if position else until or library.now) - (0 if position else DEFAULT_RANGE_MS)
        filters = replace(filters, since=since)
        after = (position[0], bytes.fromhex(position[1])) if position else None
        places = library.reader.library_page(filters, OLDEST_FIRST, PageStart(after, 0, 0), request.limit + 1)
        sessions = [session for session, _ in places[: request.limit]]
        states = library.states.of(sessions)
        intervals = [_interval(session, states[session.key], since, until) for session in sessions]
        total = library.reader.count_sessions(filters)
    following = None
    if len(places) > request.limit:
        following = [sessions[-1].started_at, sessions[-1].id.hex(), since]
    data = ActivityPage(intervals=intervals, since=timestamp(since), until=timestamp(until or library.now))
    return LibraryAnswer(data, PageEnd(write_position(NAME, fingerprint, following), total), warnings)


def _interval(session: SessionRow, state: SessionState, since: int, until: int | None) -> Interval:
    """The part of a session that is inside the range."""
    end = session.updated_at if until is None else min(session.updated_at, until)
    return Interval(
        session=session_ref(session.id),
        title=session.title,
        agent=session.source,
        project=session.project,
        start=timestamp(max(session.started_at, since)),
        end=timestamp(end),
        estimated_time=bool(session.estimated),
        turns=session.turn_count,
        state=state,
    )


def get_now(realm: LiveRealm, request: GetNow, context: RequestContext) -> LibraryAnswer:
    with open_library(realm, context) as library:
        filters, warnings = library.session_filter(request)
        recent = library.states.recent()
        kept = set(library.reader.filtered_keys(filters)) if not filters.is_empty() else {row.key for row, _ in recent}
        sessions = [row for row, state in recent if row.key in kept and (request.all or state in RUNNING)]
        return LibraryAnswer(RunningSessions(sessions=running_views(library, sessions)), warnings=warnings)


def running_views(library: Library, sessions: list[SessionRow]) -> list[RunningSession]:
    """Sessions with what they did last."""
    views = library.views(sessions)
    return [
        RunningSession(**asdict(view), doing=_doing(library, session)) for session, view in zip(sessions, views, strict=True)
    ]


def _doing(library: Library, session: SessionRow) -> str:
    event = library.reader.newest_event(session.key)
    return label(shown_text(event), DOING) if event is not None else ""
