"""Writes sessions as documents that can be kept and shared: HTML, Markdown and JSONL.

A document is written piece by piece, so its size does not matter. Everything passes the redactor, which counts what it
replaced; the receipt of that is in the document, or beside it. `steps`, `call_summary` and `facts` are also what a terminal
shows of a session.
"""

from recollect.export.documents import FORMATS, DocumentRequest, FormatName, write_document
from recollect.export.receipt import Receipt
from recollect.export.session_content import SessionContent

__all__ = ["FORMATS", "DocumentRequest", "FormatName", "Receipt", "SessionContent", "write_document"]
