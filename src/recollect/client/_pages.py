# Generated from _async_pages.py by `make sdk`: do not edit.
"""Lists of the library, which are fetched page by page."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from recollect.client._blocking import BlockingTransport
from recollect.client._library_frame import LibraryPage

Item = TypeVar("Item")
Page = TypeVar("Page", bound=LibraryPage)


class Pages(Generic[Item, Page]):
    """The items of a list. Iterating fetches page after page; nothing is requested before that."""

    def __init__(
        self, transport: BlockingTransport, method: str, shape: type[Page], items: str, params: dict[str, Any]
    ) -> None:
        self._transport = transport
        self._method = method
        self._shape = shape
        self._items = items
        self._params = params

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from getattr(page, self._items)

    def pages(self) -> Iterator[Page]:
        """The pages. `limit` is the number of items on each."""
        page = self.page()
        yield page
        while page.next_cursor is not None:
            page = self._fetch(cursor=page.next_cursor)
            yield page

    def page(self) -> Page:
        """The first page, with its facets, warnings, total and cursor."""
        return self._fetch()

    def all(self) -> list[Item]:
        """All items."""
        items: list[Item] = []
        for item in self:
            items.append(item)
        return items

    def first(self) -> Item | None:
        """The first item; None if there is none."""
        items: list[Item] = getattr(self._fetch(limit=1), self._items)
        return items[0] if items else None

    def total(self) -> int | None:
        """The number of items on all pages; None if the server does not know it."""
        return (self._fetch(limit=1)).total_count

    def _fetch(self, **changes: Any) -> Page:
        return self._transport.call_library(self._shape, self._method, {**self._params, **changes})
