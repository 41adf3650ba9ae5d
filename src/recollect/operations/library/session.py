"""`library/session`: one session with its turns, files, observations and related sessions."""

from recollect.library_answers import LibraryTurn, RelatedSession
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.answers import SessionDetails
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.observations import observation_views
from recollect.operations.library.requests import GetLibrarySession
from recollect.operations.library.resume import find_resume_command
from recollect.operations.library.views import file_entry, turn_view
from recollect.store import EventRow, SessionRow, TurnRow

MAX_FILES = 1_000  # of one session: the rest is in `library/session_files`
RELATED = 10  # sessions that changed the same files


def get_session(realm: LiveRealm, request: GetLibrarySession, context: RequestContext) -> LibraryAnswer:
    with open_library(realm, context) as library:
        session = library.find(request.id)
        (view,) = library.views([session])
        answer = SessionDetails(
            session=view,
            turns=turn_views(library, session),
            files=[file_entry(row) for row in library.reader.session_files(session.key, MAX_FILES)],
            observations=observation_views(library, library.memory.observations_of_types([session.id], ())),
            related=related_sessions(library, session),
            resume=find_resume_command(library, session).line,
        )
        return LibraryAnswer(answer, warnings=library.warnings())


def turn_views(library: Library, session: SessionRow) -> list[LibraryTurn]:
    """The turns of a session with their prompts, tokens and context."""
    reader = library.reader
    turns = reader.turns(session.key)
    prompts = reader.events_at(session.key, [(turn.ordinal, turn.prompt) for turn in turns if turn.prompt is not None])
    contexts = reader.context_tokens(session.key)
    return [turn_view(session, turn, _text(turn, prompts), contexts.get(turn.ordinal, 0)) for turn in turns]


def _text(turn: TurnRow, prompts: dict[int, EventRow]) -> str:
    prompt = prompts.get(turn.prompt) if turn.prompt is not None else None
    return prompt.text() if prompt is not None else ""


def related_sessions(library: Library, session: SessionRow) -> list[RelatedSession]:
    """The session's parent and sub-agents, and other sessions that changed the same files."""
    reader = library.reader
    parent = reader.parents([session.key]).get(session.key)
    children = reader.sub_agents([session.key]).get(session.key, [])
    forks = reader.forks([session.id, *children])
    lineage = [(parent, "continues" if session.id in forks else "parent")] if parent is not None else []
    lineage += [(child, "continued by" if child in forks else "sub-agent") for child in children]
    known = {session.id, *(identity for identity, _ in lineage)}
    by_files = reader.sessions_with_files_of(session.key, RELATED + len(known))
    others = [(identity, "same files") for identity, _ in by_files if identity not in known][:RELATED]
    shared = dict(by_files)
    return [
        RelatedSession(
            session=session_ref(row.id),
            relation=relation,
            title=row.title,
            agent=row.source,
            updated_at=timestamp(row.updated_at),
            files=shared.get(identity, 0),
        )
        for identity, relation in (*lineage, *others)
        if (row := reader.session(identity)) is not None
    ]
