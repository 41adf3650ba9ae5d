"""Records which files the tool calls of a session read, changed, created and deleted.

Paths are relative to the session's project, so that sessions in different folders of a repository name a file alike.
"""

from functools import lru_cache

from recollect.model import Event, Kind
from recollect.observe.file_changes import FileChange, file_changes
from recollect.observe.paths import join_path, project_path
from recollect.project import repository_folder
from recollect.store import EventRow, Writer
from recollect.store.sqlite.file_changes import FILES_RECORDED, StoredCall

CHUNK = 2_000  # events of an earlier version whose files are recorded in one transaction


class FileRecorder:
    """Records the files of one session."""

    def __init__(self, archive: Writer, session: int, folder: str | None) -> None:
        self._archive = archive
        self._session = session
        self._folder = folder

    def add(self, first: int, events: list[Event]) -> None:
        """Record the files of new events, whose keys begin with `first`. A response may answer a call that is stored."""
        responses = {event.answers: event for event in events if event.kind is Kind.TOOL_RESPONSE and not event.duplicate}
        for key, event in enumerate(events, first):
            if event.kind is Kind.TOOL_CALL and not event.duplicate:
                response = responses.pop(event.seq, None)
                failed = response is not None and (response.failed or bool(response.exit_code))
                call = StoredCall(key, event.at, event.tool, event.arguments)
                self._record(call, None if response is None else response.text, failed=failed, is_new=True)
        for seq, response in responses.items():
            stored = None if seq is None else self._archive.stored_call(self._session, seq)
            if stored is not None:
                failed = response.failed or bool(response.exit_code)
                self._record(stored, response.text, failed=failed, is_new=False)

    def add_stored(self, event: EventRow) -> None:
        """Record the files of a stored tool call. Its response, if any, is stored too."""
        response = self._archive.stored_response(self._session, event.turn, event.seq)
        call = StoredCall(event.key, event.at, event.tool, event.arguments())
        failed = response is not None and response.failed
        self._record(call, None if response is None else response.text, failed=failed, is_new=False)

    def _record(self, call: StoredCall, response: str | None, *, failed: bool, is_new: bool) -> None:
        def is_known(path: str) -> bool:
            return self._archive.knows_path(self._session, in_project(path, self._folder), call.key)

        found = file_changes(call.tool, call.arguments, self._folder, response, failed=failed, known=is_known)
        changes = [FileChange(in_project(one.path, self._folder), one.operation, one.added, one.removed) for one in found]
        self._archive.put_file_changes(self._session, call, changes, is_new=is_new)


def in_project(path: str, folder: str | None) -> str:
    """A path relative to the project's root, if it is inside; `path` is relative to the session's folder, or absolute."""
    root = _root(folder) if folder else None
    if root is None:
        return path
    return project_path(join_path(folder or "", path), root) or path


@lru_cache(maxsize=1_024)
def _root(folder: str) -> str | None:
    """The root of the repository above a folder; None if the folder is the root, or there is no repository."""
    root = repository_folder(folder)
    return str(root) if root is not None and folder.startswith(f"{root}/") else None


def record_pending_files(archive: Writer) -> None:
    """Record the files of an archive of an earlier version. A stopped process goes on where it was."""
    if not archive.pending_count():
        return
    for calls in archive.pending_calls(CHUNK):
        with archive.transaction():
            for call, folder in calls:
                FileRecorder(archive, call.session, folder).add_stored(call)
            archive.put_meta(FILES_RECORDED, str(calls[-1][0].key))
    with archive.transaction():
        archive.finish_pending()
