"""The command that goes on with a session in its agent's own program, with the session's folder."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from recollect.continuation.agents import AGENTS, ID
from recollect.model import LIVE_SOURCE
from recollect.realms.names import DEFAULT
from recollect.store import Reader, SessionRow

CONTINUE = "`recollect continue {session}` goes on with it in another agent."


class ResumeCommand(Struct, frozen=True, kw_only=True):
    """How to go on with a session in its agent's own program. `words` is empty if there is no such command."""

    session: bytes  # the session that the command opens: for a sub-agent, the one that started it
    agent: str
    native_id: str
    words: tuple[str, ...] = ()
    folder: str | None = None
    reason: str = ""  # why there is no command
    notes: tuple[str, ...] = ()  # what the person should know before running it

    @property
    def line(self) -> str | None:
        """The command for a shell."""
        if not self.words:
            return None
        command = shlex.join(self.words)
        return command if self.folder is None else f"cd {shlex.quote(self.folder)} && {command}"

    def has_folder(self) -> bool:
        """Whether the folder, if the command needs one, is on this machine."""
        return self.folder is None or is_folder(self.folder)

    def program(self) -> str | None:
        """The path of the program, if it is installed."""
        return shutil.which(self.words[0]) if self.words else None


def resume_command(reader: Reader, session: SessionRow, realm: str, name_of: Callable[[str], str]) -> ResumeCommand:
    """The command for a session. `name_of` gives an agent's name as people know it."""
    if session.source == LIVE_SOURCE:
        return _live_command(session, realm)
    opened = _resumable(reader, session)
    found = ResumeCommand(session=opened.id, agent=opened.source, native_id=opened.native_id, folder=opened.cwd)
    agent, program = name_of(opened.source), AGENTS.get(opened.source)
    other = CONTINUE.format(session=f"session:{session.id.hex()}")
    if program is None or not program.resume:
        return replace(found, reason=f"{agent} has no command that opens a session. {other}")
    if not program.resumes(opened.native_id, opened.path):
        return replace(found, reason=f"{agent} has no command that opens this session. {other}")
    notes = [program.hint] if program.hint else []
    if opened.id != session.id:
        notes.append(f"This session is a sub-agent's. The command opens the session that started it: {opened.title!r}.")
    if opened.cwd is None:
        notes.append("The log does not name the session's folder: run the command in the folder of the project.")
    elif not found.has_folder():
        notes.append(f"The session's folder {opened.cwd} is not on this machine.")
    return replace(found, words=tuple(word.replace(ID, opened.native_id) for word in program.resume), notes=tuple(notes))


def _resumable(reader: Reader, session: SessionRow) -> SessionRow:
    """The session, or the one that started it if it is a sub-agent's."""
    seen = {session.id}
    while (parent_id := reader.parent(session.id)) is not None and parent_id not in seen:
        parent, program = reader.session(parent_id), AGENTS.get(session.source)
        has_own_id = program is not None and program.resumes(session.native_id, session.path)
        if parent is None or parent.source != session.source or (has_own_id and not reader.is_spawned(session.id)):
            break
        seen.add(parent_id)
        session = parent
    return session


def _live_command(session: SessionRow, realm: str) -> ResumeCommand:
    """The command for a session that Recollect runs. It works in any folder, and reads the prompt from standard input."""
    elsewhere = () if realm == DEFAULT else ("--realm", realm)
    return ResumeCommand(
        session=session.id,
        agent=session.source,
        native_id=session.native_id,
        words=("recollect", "run", "-", "--resume", session.native_id, *elsewhere),
        notes=("Type the prompt and end it with Ctrl-D, or replace - by the prompt.",),
    )


def is_folder(folder: str) -> bool:
    """Whether a folder is on this machine."""
    try:
        return Path(folder).is_dir()
    except (OSError, ValueError):  # not a path
        return False
