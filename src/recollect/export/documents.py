"""Writes sessions in one of the formats, piece by piece."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from recollect.export.formats import DocumentRequest
from recollect.export.html_document import HtmlDocument
from recollect.export.jsonl_document import JsonlDocument
from recollect.export.markdown_document import MarkdownDocument
from recollect.export.receipt import Receipt
from recollect.export.redactor import ExportRedactor
from recollect.export.session_content import SessionContent
from recollect.library_answers import LibrarySession


class _Document(Protocol):
    def begin(self, sessions: Sequence[LibrarySession]) -> Iterator[str]: ...
    def session(self, number: int, content: SessionContent) -> Iterator[str]: ...
    def end(self) -> Iterator[str]: ...


def write_document(
    request: DocumentRequest,
    sessions: Sequence[LibrarySession],
    load: Callable[[LibrarySession], SessionContent],
    receipt: Receipt,
) -> Iterator[str]:
    """The pieces of a document about these sessions. `load` gets a session's content when its turn comes."""
    redactor = ExportRedactor(receipt)
    clean = [redactor.redact(session) for session in sessions]
    document = _open(request, clean, redactor)
    yield from document.begin(clean)
    for number, (session, cleaned) in enumerate(zip(sessions, clean, strict=True), 1):
        content = load(session)
        receipt.sessions += 1
        content = msgspec.structs.replace(
            content,
            session=cleaned,
            turns=[redactor.redact(turn) for turn in content.turns],
            files=[redactor.redact(file) for file in content.files],
            matches=[redactor.redact(match) for match in content.matches],
        )
        yield from document.session(number, content)
    yield from document.end()


def _open(request: DocumentRequest, sessions: Sequence[LibrarySession], redactor: ExportRedactor) -> _Document:
    if request.format == "jsonl":
        return JsonlDocument(redactor)
    is_single = request.title is None and len(sessions) == 1
    title = request.title or (sessions[0].title if sessions else "No sessions")
    kind = HtmlDocument if request.format == "html" else MarkdownDocument
    return kind(title, redactor, is_single=is_single, is_full=request.is_full)
