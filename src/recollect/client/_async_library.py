"""The library: everything that the archive knows, for people and programs."""

from collections.abc import AsyncGenerator

from recollect.client._async_library_methods import AsyncLibraryMethods
from recollect.client.events import LibraryChange


class AsyncLibrary(AsyncLibraryMethods):
    """The library of the realm. `AsyncClient.library` is one."""

    def stream(self, *, after: str | None = None) -> AsyncGenerator[LibraryChange, None]:
        """What changes in the library, as it happens. Over HTTP only.

        Starts now, or after the change whose `position` is `after`. After a broken connection it continues where it stopped.
        """
        return self._transport.changes(after)
