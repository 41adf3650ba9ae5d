"""Labels of sessions, and notes on sessions and events."""

from recollect.errors import BadRequest, NotFound
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext
from recollect.operations.ids import Noun, event_ref, parse_id, session_ref
from recollect.operations.library.answers import EventNote, LabelCount, LabelList, SessionLabels, SessionNote
from recollect.operations.library.context import open_library
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.requests import ListLabels, PutLabel, RemoveLabel, WriteEventNote, WriteNote


def put_label(realm: LiveRealm, request: PutLabel, context: RequestContext) -> LibraryAnswer:
    name = realm.redact(request.name)
    with open_library(realm, context) as library:
        session = library.find(request.id)
        with realm.open_memory(writable=True) as memory, memory.transaction():
            memory.put_label(session.id, name, library.now)
        labels = library.memory.labels_of([session.id]).get(session.id, [])
    return LibraryAnswer(SessionLabels(session=session_ref(session.id), labels=labels))


def remove_label(realm: LiveRealm, request: RemoveLabel, context: RequestContext) -> LibraryAnswer:
    with open_library(realm, context) as library:
        session = library.find(request.id)
        with realm.open_memory(writable=True) as memory, memory.transaction():
            if not memory.remove_label(session.id, request.name):
                raise NotFound(f"The session has no label {request.name!r}.")
        labels = library.memory.labels_of([session.id]).get(session.id, [])
    return LibraryAnswer(SessionLabels(session=session_ref(session.id), labels=labels))


def list_labels(realm: LiveRealm, request: ListLabels, context: RequestContext) -> LibraryAnswer:
    with open_library(realm, context) as library:
        labelled = library.memory.labelled_sessions(library.reader.session_keys_of)
        labels = [LabelCount(name=name, sessions=len(list(keys))) for name, keys in labelled.items()]
    return LibraryAnswer(LabelList(labels=labels))


def write_note(realm: LiveRealm, request: WriteNote, context: RequestContext) -> LibraryAnswer:
    text = realm.redact(request.note)
    with open_library(realm, context) as library:
        session = library.find(request.id)
        with realm.open_memory(writable=True) as memory, memory.transaction():
            memory.put_note(session.id, session.id, text, library.now)
    return LibraryAnswer(SessionNote(session=session_ref(session.id), note=text or None))


def write_event_note(realm: LiveRealm, request: WriteEventNote, context: RequestContext) -> LibraryAnswer:
    text = realm.redact(request.note)
    identity = parse_id(request.id, "id")
    if identity.noun is not Noun.EVENT:
        raise BadRequest(f"{request.id!r} is not an event: its id begins with event:", field="id")
    with open_library(realm, context) as library:
        event = library.reader.event(identity.key) if identity.key is not None else None
        if event is None:
            raise NotFound(f"There is no event {request.id!r}.")
        session = library.reader.sessions([event.session])[event.session]
        with realm.open_memory(writable=True) as memory, memory.transaction():
            memory.put_note(session.id, event.id, text, library.now)
    return LibraryAnswer(EventNote(event=event_ref(event.id), session=session_ref(session.id), note=text or None))
