"""`library/resume`: the command that goes on with a session in its agent's own program."""

from recollect.continuation.resume import ResumeCommand, resume_command
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.answers import SessionResume
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.continuation_requests import GetResumeCommand
from recollect.operations.library.envelope import LibraryAnswer
from recollect.store import SessionRow


def get_resume_command(realm: LiveRealm, request: GetResumeCommand, context: RequestContext) -> LibraryAnswer:
    with open_library(realm, context) as library:
        return LibraryAnswer(
            resume_view(find_resume_command(library, library.find(request.id))), warnings=library.warnings()
        )


def find_resume_command(library: Library, session: SessionRow) -> ResumeCommand:
    return resume_command(library.reader, session, library.realm.name, agent_name)


def resume_view(command: ResumeCommand) -> SessionResume:
    return SessionResume(
        session=session_ref(command.session),
        agent=command.agent,
        native_id=command.native_id,
        command=command.line,
        words=list(command.words),
        folder=command.folder,
        folder_exists=command.folder is not None and command.has_folder(),
        program=command.program(),
        reason=command.reason or None,
        notes=list(command.notes),
    )


def agent_name(source: str) -> str:
    """An agent's name as people know it."""
    return agent_names().get(source, source)


def agent_names() -> dict[str, str]:
    """The names of all agents as people know them, by source."""
    from recollect.sources import all_sources  # 40 ms of CPU, only needed to name agents

    return {source.name: source.title for source in all_sources()}
