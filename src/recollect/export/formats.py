"""The formats of documents, and what can be written in them."""

from typing import Literal, get_args

import msgspec

FormatName = Literal["html", "markdown", "jsonl"]


class DocumentFormat(msgspec.Struct, frozen=True):
    """The names of a format."""

    media_type: str
    ending: str


FORMATS: dict[FormatName, DocumentFormat] = {
    "html": DocumentFormat("text/html", ".html"),
    "markdown": DocumentFormat("text/markdown", ".md"),
    "jsonl": DocumentFormat("application/jsonl", ".jsonl"),
}
assert set(FORMATS) == set(get_args(FormatName))


class DocumentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to write."""

    format: FormatName
    title: str | None = None
    """The title of a document about several sessions; None for one session."""
    is_full: bool = False
    """Long texts are not shortened."""
