"""Records which files the tool calls of a session read, changed, created and deleted.

Paths are relative to the checkout that contains the session's folder, so that sessions in different folders of a
repository name a file alike.

A call without a response was refused, broken off, or still waits. It counts only in a session whose log has no responses of
such tools: some logs leave them out.
"""

from itertools import count

from msgspec.structs import replace

from recollect.model import Event, FileChange, Kind
from recollect.observe.checkout import in_checkout
from recollect.observe.file_access import role_of
from recollect.observe.file_changes import confirmed, file_changes
from recollect.store import Writer
from recollect.store.sqlite.file_changes import MAX_DECODED, CallChanges, StoredCall, StoredResponse

TOOL_KINDS = (Kind.TOOL_CALL, Kind.TOOL_RESPONSE)
SESSIONS = 50  # of an earlier version whose files are recorded in one transaction: a second of work at most


class FileRecorder:
    """Records the files of one session. `folder` is its working folder."""

    def __init__(self, archive: Writer, session: int, folder: str | None) -> None:
        self._archive = archive
        self._session = session
        self._folder = folder
        self._answered: set[str] = set()  # the kinds of tools to which the session has responses

    def add(self, first: int, events: list[Event]) -> None:
        """Record the files of new events at the end of the session, whose keys begin with `first`.

        Responses may answer stored calls.
        """
        if self._answers_first(first, events):
            self.add_all(MAX_DECODED)
            return
        responses = {event.answers: event for event in events if event.kind is Kind.TOOL_RESPONSE and not event.duplicate}
        operations: dict[str, str] = {}
        changes: list[CallChanges] = []
        for key, event in enumerate(events, first):
            if event.kind is Kind.TOOL_CALL and not event.duplicate:
                call = StoredCall(key, event.seq, event.at, event.tool, event.arguments)
                response = responses.pop(event.seq, None)
                changes.append((call, self._changes(call, _response(response) if response else None, operations)))
        self._archive.put_file_changes(self._session, changes)
        for seq, late in responses.items():
            stored = None if seq is None else self._archive.stored_call(self._session, seq)
            if stored is not None:
                self._answer(stored, _response(late))

    def _answers_first(self, first: int, events: list[Event]) -> bool:
        """Whether new events have the first responses to a kind of tools, so that earlier calls without one do not count."""
        is_continued = any(event.kind in TOOL_KINDS for event in events) and events[0].seq > 0
        earlier = self._answered_kinds(before=first) if is_continued else set()
        new = {
            kind_of_tool(event.tool) for event in events if event.kind is Kind.TOOL_RESPONSE and event.answers is not None
        }
        self._answered = earlier | new
        return is_continued and not new <= earlier

    def _answered_kinds(self, before: int | None = None) -> set[str]:
        """The kinds of tools to which the session has responses, among events with keys before this one."""
        tools: dict[str, list[str]] = {}
        for tool in self._archive.response_tools(self._session):
            tools.setdefault(kind_of_tool(tool), []).append(tool)
        return {kind for kind, names in tools.items() if self._archive.has_response(self._session, names, before)}

    def add_all(self, max_decoded: int | None = None) -> None:
        """Record the files of all stored calls again; those of calls with longer arguments from what was recorded."""
        self._answered = self._answered_kinds()
        operations: dict[str, str] = {}
        responses = self._archive.response_keys(self._session)
        changes: list[CallChanges] = []
        for call in self._archive.stored_calls(self._session, max_decoded):
            response = self._archive.response_of_key(responses[call.seq]) if call.seq in responses else None
            if call.arguments is not None:
                changed = self._changes(call, response, operations, has_all=True)
            else:
                changed = self._confirmed(call, response)
            changes.append((replace(call, arguments=None), changed))  # all arguments together may not fit in memory
        self._archive.replace_file_changes(self._session, changes)

    def _answer(self, call: StoredCall, response: StoredResponse) -> None:
        """Record what a stored call did according to its response, and what later calls did to the same files."""
        before = self._archive.changes_of_call(call.key)
        if call.arguments is None and not before:  # it was not recorded, because it had no response
            call = self._archive.stored_call(self._session, call.seq, max_decoded=None) or call
        changes = self._confirmed(call, response) if call.arguments is None else self._changes(call, response)
        differing = {change.path for change in before ^ {*changes}}
        if not differing:
            return
        self._archive.replace_call_changes(self._session, call, changes)
        if later_calls := self._archive.later_calls(self._session, call.seq, differing):
            responses = self._archive.response_keys(self._session)
            for later in later_calls:
                answered = self._archive.response_of_key(responses[later.seq]) if later.seq in responses else None
                self._archive.replace_call_changes(self._session, later, self._changes(later, answered))

    def _confirmed(self, call: StoredCall, response: StoredResponse | None) -> list[FileChange]:
        """The recorded files of a call, as far as its response confirms them."""
        recorded = self._archive.changes_of_call(call.key)
        if response is None:
            return [] if kind_of_tool(call.tool) in self._answered else [*recorded]
        return confirmed(call.tool, recorded, response.text, failed=response.failed)

    def _changes(
        self,
        call: StoredCall,
        response: StoredResponse | None,
        operations: dict[str, str] | None = None,
        *,
        has_all: bool = False,
    ) -> list[FileChange]:
        """The files of a call. `operations` has the last operation on each file by earlier calls; all, or only new ones."""
        if response is None and kind_of_tool(call.tool) in self._answered:
            return []
        earlier = {} if operations is None else operations

        def exists(path: str) -> bool:
            path = in_checkout(path, self._folder)
            operation = earlier.get(path)
            if operation is None and not has_all:
                operation = self._archive.last_operation(self._session, path, call.seq)
            return operation not in {None, "deleted"}

        found = file_changes(
            call.tool,
            call.arguments,
            self._folder,
            None if response is None else response.text,
            failed=response is not None and response.failed,
            known=exists,
        )
        changes = [FileChange(in_checkout(one.path, self._folder), one.operation, one.added, one.removed) for one in found]
        earlier.update((change.path, change.operation) for change in changes)
        return changes


def _response(event: Event) -> StoredResponse:
    return StoredResponse(event.text, event.failed or bool(event.exit_code))


def kind_of_tool(tool: str | None) -> str:
    """The kind of a tool: it reads files, edits them, or does anything else, such as to run commands."""
    role = role_of(tool)
    return "edit" if role not in {"", "read"} else role


def record_pending_files(archive: Writer, parts: int | None = None) -> None:
    """Record the files of sessions of an earlier version: all, or a number of parts. It continues where it was stopped."""
    for _ in count() if parts is None else range(parts):
        sessions = archive.sessions_without_files(SESSIONS)
        if not sessions:
            return
        with archive.transaction():
            for session, folder in sessions:
                FileRecorder(archive, session, folder).add_all()
            archive.files_are_recorded(sessions[-1][0])
