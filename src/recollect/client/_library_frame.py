"""The frame of the library's answers: data, page and warnings."""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct, field


class LibraryAnswer(Struct, frozen=True, kw_only=True):
    """The fields of every answer of the library."""

    warnings: list[str] = field(default_factory=list)
    """What the answer may lack, and why."""


class LibraryPage(LibraryAnswer, frozen=True, kw_only=True):
    """The fields of every page of a list."""

    next_cursor: str | None = None
    """The `cursor` of the next page; None on the last one."""
    total_count: int | None = None
    """The number of items on all pages, if the server knows it."""


Answer = TypeVar("Answer", bound=LibraryAnswer)


class PageEnd(Struct, frozen=True):
    next: str | None = None
    total: int | None = None


class LibraryFrame(Struct, frozen=True):
    """An answer as it is sent."""

    data: Raw
    page: PageEnd | None = None
    warnings: list[str] = field(default_factory=list)


def unframe(answer: Answer, frame: LibraryFrame) -> Answer:
    """The answer with what its frame says: the warnings and, of a page, where it ends."""
    changes: dict[str, Any] = {"warnings": frame.warnings}
    if frame.page is not None and isinstance(answer, LibraryPage):
        changes |= {"next_cursor": frame.page.next, "total_count": frame.page.total}
    return msgspec.structs.replace(answer, **changes)
