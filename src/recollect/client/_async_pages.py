"""Lists of the library, which are fetched page by page."""

from collections.abc import AsyncGenerator
from typing import Any, Generic, TypeVar

from recollect.client._library_frame import LibraryPage
from recollect.client._transport import Transport

Item = TypeVar("Item")
Page = TypeVar("Page", bound=LibraryPage)


class AsyncPages(Generic[Item, Page]):
    """The items of a list. Iterating fetches page after page; nothing is requested before that."""

    def __init__(self, transport: Transport, method: str, shape: type[Page], items: str, params: dict[str, Any]) -> None:
        self._transport = transport
        self._method = method
        self._shape = shape
        self._items = items
        self._params = params

    async def __aiter__(self) -> AsyncGenerator[Item, None]:
        async for page in self.pages():
            for item in getattr(page, self._items):
                yield item

    async def pages(self) -> AsyncGenerator[Page, None]:
        """The pages. `limit` is the number of items on each."""
        page = await self.page()
        yield page
        while page.next_cursor is not None:
            page = await self._fetch(cursor=page.next_cursor)
            yield page

    async def page(self) -> Page:
        """The first page, with its facets, warnings, total and cursor."""
        return await self._fetch()

    async def all(self) -> list[Item]:
        """All items."""
        items: list[Item] = []
        async for item in self:
            items.append(item)
        return items

    async def first(self) -> Item | None:
        """The first item; None if there is none."""
        items: list[Item] = getattr(await self._fetch(limit=1), self._items)
        return items[0] if items else None

    async def total(self) -> int | None:
        """The number of items on all pages; None if the server does not know it."""
        return (await self._fetch(limit=1)).total_count

    async def _fetch(self, **changes: Any) -> Page:
        return await self._transport.call_library(self._shape, self._method, {**self._params, **changes})
