# Generated from _async_library.py by `make sdk`: do not edit.
"""The library: everything that the archive knows, for people and programs."""

from collections.abc import Iterator

from recollect.client._library_methods import LibraryMethods
from recollect.client.events import LibraryChange


class Library(LibraryMethods):
    """The library of the realm. `Client.library` is one."""

    def stream(self, *, after: str | None = None) -> Iterator[LibraryChange]:
        """What changes in the library, as it happens. Over HTTP only.

        Starts now, or after the change whose `position` is `after`. After a broken connection it continues where it stopped.
        """
        return self._transport.changes(after)
