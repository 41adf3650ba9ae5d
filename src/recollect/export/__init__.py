"""Writes sessions as documents that can be kept and shared: HTML, Markdown and JSONL.

A document is written piece by piece, so its size does not matter. Everything passes the redactor, which counts what it
replaced; the receipt of that is in the document, or beside it. `steps`, `call_summary` and `facts` are also what a terminal
shows of a session.

`write_document` imports the writers when it is called: they take 15 ms of CPU, and every command imports this package.
"""

from collections.abc import Callable, Iterator, Sequence

from recollect.export.formats import FORMATS, DocumentRequest, FormatName
from recollect.export.receipt import Receipt
from recollect.export.session_content import SessionContent
from recollect.library_answers import LibrarySession

__all__ = ["FORMATS", "DocumentRequest", "FormatName", "Receipt", "SessionContent", "write_document"]


def write_document(
    request: DocumentRequest,
    sessions: Sequence[LibrarySession],
    load: Callable[[LibrarySession], SessionContent],
    receipt: Receipt,
) -> Iterator[str]:
    """The pieces of a document about these sessions. `load` gets a session's content when its turn comes."""
    from recollect.export import documents

    return documents.write_document(request, sessions, load, receipt)
