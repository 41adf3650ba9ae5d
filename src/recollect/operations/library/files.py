"""`library/files`: the files that sessions read, changed, created and deleted; those of one session; one file's history."""

from msgspec.structs import replace

from recollect.errors import NotFound
from recollect.filters.resolve import closed_values, near_names, no_such
from recollect.live import LiveRealm
from recollect.model import FILE_OPERATIONS
from recollect.observe.checkout import in_checkout
from recollect.observe.paths import is_absolute, project_path
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.answers import FilePage, SessionFiles
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import GetFileHistory, ListFiles, ListSessionFiles
from recollect.operations.library.views import file_entry
from recollect.store import Reader
from recollect.store.sqlite.library_files import FileFilter

FILES, SESSION_FILES, HISTORY = "library_files", "library_session_files", "library_file_history"
SHOWN = 5  # files that share the end of a path and are named in a warning

Places = tuple[tuple[str, tuple[int, ...] | None], ...]  # paths, each in some sessions or in all


def list_files(realm: LiveRealm, request: ListFiles, context: RequestContext) -> LibraryAnswer:
    """A page of accesses to files. `file`, `since` and `until` limit the accesses, other filters their sessions."""
    with open_library(realm, context) as library:
        filters, warnings = _file_filter(library, request)
        return _page(FILES, library, request, filters, warnings)


def list_session_files(realm: LiveRealm, request: ListSessionFiles, context: RequestContext) -> LibraryAnswer:
    fingerprint = {"id": request.id}
    position = read_position(SESSION_FILES, fingerprint, request.cursor)
    with open_library(realm, context) as library:
        session = library.find(request.id)
        rows = library.reader.session_files(session.key, request.limit + 1, position)
        total = library.reader.count_session_files(session.key)
        warnings = library.warnings()
    shown = rows[: request.limit]
    following = [shown[-1].seq, shown[-1].path, shown[-1].operation] if len(rows) > len(shown) else None
    data = SessionFiles(session=session_ref(session.id), files=[file_entry(row) for row in shown])
    return LibraryAnswer(data, PageEnd(write_position(SESSION_FILES, fingerprint, following), total), warnings)


def get_file_history(realm: LiveRealm, request: GetFileHistory, context: RequestContext) -> LibraryAnswer:
    """A page of accesses to one file, or to all files whose paths end alike."""
    with open_library(realm, context) as library:
        filters, warnings = _file_filter(library, request)
        filters = replace(filters, files=find_file(library.reader, request.path))
        files = library.reader.files_of(replace(filters, operations=None))
        if len(files) > 1:
            warnings.append(_several(request.path, files))
        return _page(HISTORY, library, request, filters, warnings)


def _file_filter(library: Library, request: ListFiles) -> tuple[FileFilter, list[str]]:
    sessions, warnings = library.session_filter(request)
    return FileFilter(sessions=sessions, operations=closed_values("operation", request.operation, FILE_OPERATIONS)), warnings


def _page(name: str, library: Library, request: ListFiles, filters: FileFilter, warnings: list[str]) -> LibraryAnswer:
    fingerprint = request.fingerprint()
    position = read_position(name, fingerprint, request.cursor)
    rows = library.reader.file_rows(filters, position, request.limit + 1)
    total = library.reader.count_file_rows(filters)
    following = rows[request.limit - 1].position() if len(rows) > request.limit else None
    data = FilePage(files=[file_entry(row) for row in rows[: request.limit]])
    return LibraryAnswer(data, PageEnd(write_position(name, fingerprint, following), total), warnings)


# ---- one file


def find_file(reader: Reader, text: str) -> Places:
    """The stored paths that a person's path means: a path of this machine, a path in a project, or the end of one.

    Raises `NotFound` with near names if there is none.
    """
    path = text.strip().replace("\\", "/").removeprefix("./")
    found: Places = tuple((stored, None) for stored in reader.paths_ending_with(path))
    if is_absolute(path):
        found += _in_projects(reader, path)
    if found:
        return found
    near = near_names(path.rstrip("/").rpartition("/")[2], reader.file_names())
    raise NotFound(no_such("file", text, near), field="path", value=text, did_you_mean=near)


def _several(text: str, files: list[tuple[str, str | None]]) -> str:
    """The warning that a path means more than one file."""
    named = ", ".join(f"{path} ({project})" if project else path for path, project in files[:SHOWN])
    more = ", …" if len(files) > SHOWN else ""
    return f"{len(files)} files have this path or end with it: {named}{more}. Type more of {text!r}, or name a project."


def _in_projects(reader: Reader, path: str) -> Places:
    """A path of this machine as the sessions below the same folders name it."""
    inside = {folder: in_checkout(project_path(path, folder), folder) for folder in reader.names_of("cwd")}
    folders = {folder: name for folder, name in inside.items() if name and not is_absolute(name)}
    keys: dict[str, list[int]] = {}
    for folder, key in reader.session_keys_in(folders):
        keys.setdefault(folders[folder], []).append(key)
    return tuple((name, tuple(sessions)) for name, sessions in keys.items() if reader.paths_ending_with(name) == [name])
