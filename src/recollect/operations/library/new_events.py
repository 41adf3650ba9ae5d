"""The events that sessions got since a position of the archive: what `recollect tail` prints."""

from msgspec import Struct

from recollect.library_answers import LibraryEvent
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_key, session_ref
from recollect.operations.library.changes import Position, changes_since
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.events import full_events
from recollect.store import SessionRow


class SessionEvents(Struct, frozen=True):
    """The new events of one session, in its order."""

    session: str
    title: str
    agent: str
    project: str | None
    folder: str | None
    events: list[LibraryEvent]


class NewEvents(Struct, frozen=True):
    """New events by session, the session that changed first before the others; and the position after them."""

    sessions: list[SessionEvents]
    position: Position
    is_gone: bool = False
    """The one session that was asked for does not exist any more."""


def new_events(realm: LiveRealm, position: Position | None, session: str | None) -> NewEvents:
    """The events since a position, of one session or of all. Without a position: none, and where the archive is now."""
    changes = changes_since(realm, position)
    changed = [message["session"] for message in changes.messages if message["type"] == "session_changed"]
    chosen = [identity for identity in changed if session in (None, identity)]
    was_cleaned = any(message["type"] == "refresh" for message in changes.messages)
    if position is None or (not chosen and not was_cleaned):
        return NewEvents([], changes.position)
    with open_library(realm, RequestContext.now(has_deadline=False)) as library:
        known = library.reader.sessions_by_ids(map(session_key, [*chosen, *([session] if session else [])]))
        rows = [row for identity in chosen if (row := known.get(session_key(identity))) is not None]
        found = [_events_above(library, row, position.last_key) for row in rows]
        is_gone = session is not None and session_key(session) not in known
    return NewEvents(found, changes.position, is_gone)


def _events_above(library: Library, row: SessionRow, key: int) -> SessionEvents:
    return SessionEvents(
        session=session_ref(row.id),
        title=row.title,
        agent=row.source,
        project=row.project,
        folder=row.cwd,
        events=full_events(library, row, library.reader.events_of_session(row.key, key)),
    )
