"""`library/events`: a window of a session's events, in full."""

from recollect.filters.resolve import kind_codes
from recollect.library_answers import LibraryEvent
from recollect.live import LiveRealm
from recollect.model import Kind
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.answers import EventPage
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import ListEvents
from recollect.operations.library.views import event_views
from recollect.store import EventRow, SessionRow

NAME = "library_events"


def list_events(realm: LiveRealm, request: ListEvents, context: RequestContext) -> LibraryAnswer:
    fingerprint = {"id": request.id, "type": request.types()}
    position = read_position(NAME, fingerprint, request.cursor)
    first = request.first if position is None else position[0]
    with open_library(realm, context) as library:
        session = library.find(request.id)
        kinds = kind_codes(request.types())
        rows = library.reader.event_window(session.key, first, request.limit + 1, kinds)
        total = library.reader.count_events(session.key, kinds)
        views = full_events(library, session, rows[: request.limit])
        warnings = library.warnings()
    following = [rows[request.limit].seq] if len(rows) > request.limit else None
    data = EventPage(session=session_ref(session.id), events=views)
    return LibraryAnswer(data, PageEnd(write_position(NAME, fingerprint, following), total), warnings)


def full_events(library: Library, session: SessionRow, rows: list[EventRow]) -> list[LibraryEvent]:
    """Events of a session in full, with the durations of their calls and the notes on them."""
    calls = {event.answers for event in rows if event.answers is not None}
    started = library.reader.times_of(session.key, calls)
    ends = library.reader.responses_to(session.key, [event for event in rows if event.kind is Kind.TOOL_CALL])
    return event_views(rows, started, ends, library.memory.event_notes(session.id))
