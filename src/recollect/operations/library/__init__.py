"""The library family: what people and programs ask of their history. Models do not get these operations.

An operation is a row of this table: its request, the shape of its answer, its function, and its names in JSON-RPC and REST.
A new row needs `make sdk docs`; OpenAPI, both SDKs and the reference follow.
"""

from functools import partial

from recollect.export import FORMATS
from recollect.library_answers import ForgetReceipt
from recollect.operations.library.activity import get_now, list_activity
from recollect.operations.library.annotations import list_labels, put_label, remove_label, write_event_note, write_note
from recollect.operations.library.answers import (
    ActivityPage,
    Continuation,
    DeletedObservation,
    EventNote,
    EventPage,
    ExportedDocument,
    FilePage,
    HealthReport,
    LabelList,
    ObservationPage,
    OneObservation,
    QuestionAnswer,
    ReviewedObservation,
    RunningSessions,
    SearchPage,
    SessionDetails,
    SessionFiles,
    SessionLabels,
    SessionNote,
    SessionPage,
    SessionResume,
    UsagePage,
)
from recollect.operations.library.ask import ask_library
from recollect.operations.library.continuation import continue_session
from recollect.operations.library.continuation_requests import ContinueSession, GetResumeCommand
from recollect.operations.library.envelope import ENVELOPE
from recollect.operations.library.events import list_events
from recollect.operations.library.export import export_session, export_sessions
from recollect.operations.library.files import get_file_history, list_files, list_session_files
from recollect.operations.library.forget import forget
from recollect.operations.library.health import get_health
from recollect.operations.library.observation_requests import (
    ConfirmObservation,
    DeleteObservation,
    EditObservation,
    GetLibraryObservation,
    ListLibraryObservations,
    RetireObservation,
)
from recollect.operations.library.observations import get_observation, list_observations
from recollect.operations.library.requests import (
    AskLibrary,
    ExportSession,
    ExportSessions,
    ForgetSessions,
    GetFileHistory,
    GetHealth,
    GetLibrarySession,
    GetNow,
    GetUsage,
    ListActivity,
    ListEvents,
    ListFiles,
    ListLabels,
    ListLibrarySessions,
    ListSessionFiles,
    PutLabel,
    RemoveLabel,
    SearchLibrary,
    WriteEventNote,
    WriteNote,
)
from recollect.operations.library.resume import get_resume_command
from recollect.operations.library.reviews import (
    confirm_observation,
    delete_observation,
    edit_observation,
    retire_observation,
)
from recollect.operations.library.search import search_library
from recollect.operations.library.session import get_session
from recollect.operations.library.sessions import list_sessions
from recollect.operations.library.usage import CSV, usage
from recollect.operations.operation import Family, Operation, Route

_read = partial(Operation, envelope=ENVELOPE, is_tool=False)
_write = partial(Operation, envelope=ENVELOPE, is_tool=False, writes=True)
DOCUMENT_TYPES = tuple(document.media_type for document in FORMATS.values())

FAMILY = Family(
    operations=(
        _read(
            name="library_sessions",
            title="List sessions",
            request=ListLibrarySessions,
            answer=SessionPage,
            handle=list_sessions,
            routes=(Route(rpc="library/sessions", http="GET /library/sessions"),),
        ),
        _read(
            name="library_session",
            title="Read a session",
            request=GetLibrarySession,
            answer=SessionDetails,
            handle=get_session,
            routes=(Route(rpc="library/session", http="GET /library/sessions/{id}"),),
        ),
        _read(
            name="library_resume",
            title="Find the command that resumes a session",
            request=GetResumeCommand,
            answer=SessionResume,
            handle=get_resume_command,
            routes=(Route(rpc="library/resume", http="GET /library/sessions/{id}/resume"),),
        ),
        _write(
            name="library_continue",
            title="Go on with a session in any agent",
            request=ContinueSession,
            answer=Continuation,
            handle=continue_session,
            routes=(Route(rpc="library/continue", http="POST /library/sessions/{id}/continue"),),
            repeatable=False,
            runs_programs=True,
            is_long=True,
        ),
        _read(
            name="library_events",
            title="Read the events of a session",
            request=ListEvents,
            answer=EventPage,
            handle=list_events,
            routes=(Route(rpc="library/events", http="GET /library/sessions/{id}/events"),),
        ),
        _read(
            name="library_export_session",
            title="Write a session as a document",
            request=ExportSession,
            answer=ExportedDocument,
            file_types=DOCUMENT_TYPES,
            handle=export_session,
            routes=(Route(rpc="library/export", http="GET /library/sessions/{id}/export"),),
            is_long=True,
        ),
        _read(
            name="library_export_sessions",
            title="Write the sessions of a search as a document",
            request=ExportSessions,
            answer=ExportedDocument,
            file_types=DOCUMENT_TYPES,
            handle=export_sessions,
            routes=(Route(rpc="library/export/sessions", http="GET /library/export"),),
            is_long=True,
        ),
        _read(
            name="library_search",
            title="Search events, grouped by session",
            request=SearchLibrary,
            answer=SearchPage,
            handle=search_library,
            routes=(Route(rpc="library/search", http="GET /library/search"),),
        ),
        _read(
            name="library_usage",
            title="Add up tokens and cost",
            request=GetUsage,
            answer=UsagePage,
            file_types=(CSV,),
            handle=usage,
            routes=(Route(rpc="library/usage", http="GET /library/usage"),),
        ),
        _read(
            name="library_files",
            title="List files",
            request=ListFiles,
            answer=FilePage,
            handle=list_files,
            routes=(Route(rpc="library/files", http="GET /library/files"),),
        ),
        _read(
            name="library_session_files",
            title="List the files of a session",
            request=ListSessionFiles,
            answer=SessionFiles,
            handle=list_session_files,
            routes=(Route(rpc="library/session/files", http="GET /library/sessions/{id}/files"),),
        ),
        _read(
            name="library_file_history",
            title="Read the history of a file",
            request=GetFileHistory,
            answer=FilePage,
            handle=get_file_history,
            routes=(Route(rpc="library/files/history", http="GET /library/files/history"),),
        ),
        _read(
            name="library_activity",
            title="List sessions as intervals",
            request=ListActivity,
            answer=ActivityPage,
            handle=list_activity,
            routes=(Route(rpc="library/activity", http="GET /library/activity"),),
        ),
        _read(
            name="library_now",
            title="List the sessions that run",
            request=GetNow,
            answer=RunningSessions,
            handle=get_now,
            routes=(Route(rpc="library/now", http="GET /library/now"),),
        ),
        _read(
            name="library_observations",
            title="List observations",
            request=ListLibraryObservations,
            answer=ObservationPage,
            handle=list_observations,
            routes=(Route(rpc="library/observations", http="GET /library/observations"),),
        ),
        _read(
            name="library_observation",
            title="Get one observation",
            request=GetLibraryObservation,
            answer=OneObservation,
            handle=get_observation,
            routes=(Route(rpc="library/observation", http="GET /library/observations/{id}"),),
        ),
        _write(
            name="library_confirm_observation",
            title="Confirm an observation",
            request=ConfirmObservation,
            answer=ReviewedObservation,
            handle=confirm_observation,
            routes=(Route(rpc="library/observation/confirm", http="POST /library/observations/{id}/confirm"),),
        ),
        _write(
            name="library_edit_observation",
            title="Edit an observation",
            request=EditObservation,
            answer=ReviewedObservation,
            handle=edit_observation,
            routes=(Route(rpc="library/observation/edit", http="PATCH /library/observations/{id}"),),
        ),
        _write(
            name="library_retire_observation",
            title="Retire an observation",
            request=RetireObservation,
            answer=ReviewedObservation,
            handle=retire_observation,
            routes=(Route(rpc="library/observation/retire", http="POST /library/observations/{id}/retire"),),
        ),
        _write(
            name="library_delete_observation",
            title="Delete an observation",
            request=DeleteObservation,
            answer=DeletedObservation,
            handle=delete_observation,
            routes=(Route(rpc="library/observation/delete", http="DELETE /library/observations/{id}"),),
            is_destructive=True,
            repeatable=False,
        ),
        _read(
            name="library_ask",
            title="Answer a question",
            request=AskLibrary,
            answer=QuestionAnswer,
            handle=ask_library,
            routes=(Route(rpc="library/ask", http="GET /library/ask"),),
        ),
        _read(
            name="library_health",
            title="Check the store",
            request=GetHealth,
            answer=HealthReport,
            handle=get_health,
            routes=(Route(rpc="library/health", http="GET /library/health"),),
        ),
        _read(
            name="library_labels",
            title="List labels",
            request=ListLabels,
            answer=LabelList,
            handle=list_labels,
            routes=(Route(rpc="library/labels", http="GET /library/labels"),),
        ),
        _write(
            name="library_put_label",
            title="Label a session",
            request=PutLabel,
            answer=SessionLabels,
            handle=put_label,
            routes=(Route(rpc="library/label/put", http="PUT /library/sessions/{id}/labels/{name}"),),
        ),
        _write(
            name="library_remove_label",
            title="Remove a label",
            request=RemoveLabel,
            answer=SessionLabels,
            handle=remove_label,
            routes=(Route(rpc="library/label/remove", http="DELETE /library/sessions/{id}/labels/{name}"),),
            repeatable=False,
        ),
        _write(
            name="library_write_note",
            title="Write a note on a session",
            request=WriteNote,
            answer=SessionNote,
            handle=write_note,
            routes=(Route(rpc="library/note", http="PUT /library/sessions/{id}/note"),),
        ),
        _write(
            name="library_write_event_note",
            title="Write a note on an event",
            request=WriteEventNote,
            answer=EventNote,
            handle=write_event_note,
            routes=(Route(rpc="library/event/note", http="PUT /library/events/{id}/note"),),
        ),
        _write(
            name="library_forget",
            title="Forget sessions",
            request=ForgetSessions,
            answer=ForgetReceipt,
            handle=forget,
            routes=(Route(rpc="library/forget", http="POST /library/forget"),),
            is_destructive=True,
            is_long=True,
        ),
    ),
    guide="",
)
