"""Opens archive, indexes and model after a client has connected, so that its first request is fast."""

import logging
import threading
from collections.abc import Callable

from recollect.live import LiveRealm
from recollect.store import archive_path
from recollect.store.journaled import memory_path
from recollect.surfaces.transport.allocator import return_free_memory

log = logging.getLogger(__name__)


class WarmUp(threading.Thread):
    """Opens one part after the other. Faults are only logged: the first request reports them."""

    def __init__(self, realm: LiveRealm) -> None:
        super().__init__(daemon=True, name="warm-up")
        self._realm = realm
        self._is_requested = False
        self._stopping = threading.Event()

    def request(self) -> None:
        """Start after the next response: a client has connected."""
        self._is_requested = True

    def then_start(self, write: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """A `write` that afterwards starts the warm-up, if requested. No client waits at that moment."""

        def write_then_start(line: bytes) -> None:
            write(line)
            if self._is_requested and self.ident is None:
                self.start()

        return write_then_start

    def close(self) -> None:
        """Stop after the current part. The process must not exit while a thread is inside a library."""
        self._stopping.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        opening = (self._text, self._memory, self._events, self._observations)
        parts: tuple[Callable[[], None], ...] = (*opening, return_free_memory)
        for part in parts:
            if self._stopping.is_set() or not archive_path(self._realm.folder).exists():
                return  # before the first sync there is nothing to open, and nothing is created
            try:
                part()
            except Exception:
                log.debug("Cannot warm up: %s", part.__name__, exc_info=True)

    def _text(self) -> None:
        with self._realm.open_archive() as reader:
            index = self._realm.text_index(reader)
            if index is not None:
                index.is_readable()
            self._realm.ngrams(reader)

    def _memory(self) -> None:
        if memory_path(self._realm.folder).exists():
            with self._realm.open_memory():
                pass

    def _events(self) -> None:
        self._vectors("events")

    def _observations(self) -> None:
        self._vectors("observations")

    def _vectors(self, kind: str) -> None:
        if self._realm.settings.search.mode != "text":
            self._realm.semantic.vector_search(kind)
