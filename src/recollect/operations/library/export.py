"""`library/export`: a session, or the sessions of a search, as a document."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import NotFound
from recollect.export import FORMATS, DocumentRequest, Receipt, SessionContent, write_document
from recollect.label import plural
from recollect.library_answers import LibraryEvent, LibrarySession, Match
from recollect.live import LiveRealm
from recollect.operations.answer_file import AnswerFile
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_key, session_ref
from recollect.operations.library.answers import ExportedDocument, ExportReceipt
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.events import full_events
from recollect.operations.library.requests import ExportSession, ExportSessions, ListLibrarySessions, SearchLibrary
from recollect.operations.library.search import search_library
from recollect.operations.library.session import turn_views
from recollect.operations.library.sessions import list_sessions
from recollect.operations.library.views import file_entry
from recollect.shown_time import day
from recollect.store import SessionRow

DEADLINE_MS = 300_000  # a session of 100,000 events takes 20 s, and a download may be many sessions
BATCH = 100  # events that are read at once
MAX_FILES = 1_000  # files of a session that are read: documents list fewer
IN_MEMORY = 8 << 20  # bytes of a document that are kept in memory; a larger one is in a temporary file without a name
RECEIPT = "recollect-receipt"  # the HTTP header with the receipt, as JSON
SLUG = re.compile(r"[^a-z0-9]+")
MAX_SLUG = 48  # characters of a title in a file's name
MAX_PAGE = 200  # sessions that a list gives at once

Sink = Callable[[str], object]
Progress = Callable[[int, int], None]  # (events written, all events)


def unseen(written: int, total: int) -> None:
    """Shows no progress."""


class Target(Struct, frozen=True):
    """Where the command line writes a document. Without one, it becomes a file of the answer."""

    open: Callable[[str], AbstractContextManager[Sink]]
    """Opens a file: given the name that the document would have."""
    is_folder: bool = False
    """Each session is a document of its own."""


def export_session(
    realm: LiveRealm,
    request: ExportSession,
    context: RequestContext,
    *,
    target: Target | None = None,
    progress: Progress = unseen,
) -> LibraryAnswer:
    with open_library(realm, context, DEADLINE_MS) as library:
        row = library.find(request.id)
        document = DocumentRequest(format=request.format, is_full=request.full)
        return _answer(_Content(library, [row], {}), document, _file_name(row), target, progress)


def export_sessions(
    realm: LiveRealm,
    request: ExportSessions,
    context: RequestContext,
    *,
    target: Target | None = None,
    progress: Progress = unseen,
) -> LibraryAnswer:
    has_words = bool(request.filter_query().text.strip())
    chosen, warnings = (_found if has_words else _listed)(realm, request, context)
    with open_library(realm, context, DEADLINE_MS) as library:
        known = {session_ref(row.id): row for row in library.reader.sessions_by_ids(map(session_key, chosen)).values()}
        rows = [known[identity] for identity in chosen if identity in known]
        if not rows:
            raise NotFound("No session fits these filters.")
        content = _Content(library, rows, chosen)
        if target is not None and target.is_folder:
            document = DocumentRequest(format=request.format, is_full=request.full)
            answer = _one_each(content, document, target, progress)
        else:
            title = f"Sessions: {request.written() or 'all'}"
            document = DocumentRequest(format=request.format, is_full=request.full, title=title)
            answer = _answer(content, document, "sessions", target, progress)
        return replace(answer, warnings=list(dict.fromkeys([*warnings, *answer.warnings])))


# ---- which sessions

Chosen = dict[str, Sequence[Match]]  # the ids of sessions in the order of the document, with what was found in each


def _listed(realm: LiveRealm, request: ExportSessions, context: RequestContext) -> tuple[Chosen, list[str]]:
    """The sessions that pass the filters, the last updated first."""

    def page(size: int, cursor: str | None) -> LibraryAnswer:
        return list_sessions(realm, ListLibrarySessions(**request.filters(), limit=size, cursor=cursor), context)

    pages, warnings = _pages(page, request.limit)
    return {session.id: () for data in pages for session in data.sessions}, warnings


def _found(realm: LiveRealm, request: ExportSessions, context: RequestContext) -> tuple[Chosen, list[str]]:
    """The sessions that a search finds, the best first."""

    def page(size: int, cursor: str | None) -> LibraryAnswer:
        return search_library(realm, SearchLibrary(**request.filters(), limit=size, cursor=cursor), context)

    pages, warnings = _pages(page, request.limit)
    return {hit.session.id: hit.matches for data in pages for hit in data.hits}, warnings


def _pages(page: Callable[[int, str | None], LibraryAnswer], limit: int) -> tuple[list[Any], list[str]]:
    """The pages of a list until there are enough sessions, and warnings."""
    answer = page(min(limit, MAX_PAGE), None)
    pages, count = [answer.data], min(limit, MAX_PAGE)
    while answer.page is not None and answer.page.next is not None and count < limit:
        size = min(limit - count, MAX_PAGE)
        answer = page(size, answer.page.next)
        pages.append(answer.data)
        count += size
    has_more = answer.page is not None and answer.page.next is not None
    more = [f"Only the first {plural(limit, 'session')} are written. Raise the limit, or add a filter."] if has_more else []
    return pages, [*answer.warnings, *more]


# ---- what is written


def _answer(
    content: "_Content", document: DocumentRequest, name: str, target: Target | None, progress: Progress
) -> LibraryAnswer:
    """One document: written to a target if there is one, else as a file."""
    receipt = Receipt()
    pieces = content.pieces(document, receipt, progress)
    name += FORMATS[document.format].ending
    if target is not None:
        with target.open(name) as write:
            for piece in pieces:
                write(piece)
        return LibraryAnswer(_description(document, receipt, name), warnings=content.library.warnings())
    body = _spooled(pieces)
    header = msgspec.json.encode(receipt.view()).decode()
    file = AnswerFile(FORMATS[document.format].media_type, name, body, {RECEIPT: header})
    return LibraryAnswer(_description(document, receipt, name), warnings=content.library.warnings(), file=file)


def _one_each(content: "_Content", document: DocumentRequest, target: Target, progress: Progress) -> LibraryAnswer:
    """A document for each session."""
    receipt, names = Receipt(), dict[str, None]()
    total = sum(row.event_count for row in content.rows)
    for row in content.rows:
        name = _unused(_file_name(row), FORMATS[document.format].ending, names)
        one, written = _Content(content.library, [row], content.matches), Receipt()
        with target.open(name) as write:
            for piece in one.pieces(document, written, lambda done, _: progress(receipt.events + done, total)):
                write(piece)
        receipt.add(written)
    described = replace(_description(document, receipt, ""), files=list(names))
    return LibraryAnswer(described, warnings=content.library.warnings())


def _unused(name: str, ending: str, names: dict[str, None]) -> str:
    """A name that no other session of this folder has. It is added to the names."""
    candidates = (f"{name}{suffix}{ending}" for suffix in ("", *(f"-{number}" for number in range(2, 10_000))))
    unused = next(candidate for candidate in candidates if candidate not in names)
    names[unused] = None
    return unused


def _description(document: DocumentRequest, receipt: Receipt, name: str) -> ExportedDocument:
    return ExportedDocument(
        format=document.format,
        media_type=FORMATS[document.format].media_type,
        file_name=name,
        receipt=ExportReceipt(**receipt.view()),
    )


class _Content(Struct, frozen=True):
    """The sessions of a document, whose events are read when they are written."""

    library: Library
    rows: Sequence[SessionRow]
    matches: Mapping[str, Sequence[Match]]

    def pieces(self, document: DocumentRequest, receipt: Receipt, progress: Progress) -> Iterator[str]:
        views = self.library.views(self.rows)
        by_id = {view.id: row for view, row in zip(views, self.rows, strict=True)}
        total = sum(view.events for view in views)
        for piece in write_document(document, views, lambda view: self._of(view, by_id[view.id]), receipt):
            self.library.check()
            yield piece
            progress(receipt.events, total)

    def _of(self, view: LibrarySession, row: SessionRow) -> SessionContent:
        reader = self.library.reader
        return SessionContent(
            session=view,
            turns=turn_views(self.library, row),
            files=[file_entry(file) for file in reader.session_files(row.key, MAX_FILES)],
            events=read_events(self.library, row),
            sizes=reader.event_sizes(row.key),
            matches=self.matches.get(view.id, ()),
        )


def read_events(library: Library, row: SessionRow, first: int = 0) -> Iterator[list[LibraryEvent]]:
    """All events of a session from a sequence number on, in batches."""
    while events := library.reader.event_window(row.key, first, BATCH, None):
        yield full_events(library, row, events)
        first = events[-1].seq + 1


def _spooled(pieces: Iterable[str]) -> BinaryIO:
    """A temporary file with these pieces, ready to be read."""
    file = cast(BinaryIO, SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115 - who reads it closes it
    try:
        for piece in pieces:
            file.write(piece.encode())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _file_name(row: SessionRow) -> str:
    """A name for the file of a session: its date and its title, in letters that every system accepts."""
    slug = SLUG.sub("-", row.title.lower())[:MAX_SLUG].strip("-") or row.id.hex()[:8]
    return f"{day(row.started_at)}-{slug}"
