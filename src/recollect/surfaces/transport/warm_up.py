"""What the first question needs is opened once a client is there, while its model still thinks: archive, indexes, model."""

import logging
import threading
from collections.abc import Callable

from recollect.live import LiveRealm
from recollect.store import archive_path
from recollect.store.memory import memory_path
from recollect.surfaces.transport.allocator import return_free_memory

log = logging.getLogger(__name__)


class WarmUp(threading.Thread):
    """Opens one part after the other. A fault is silent here: the first question meets it, and answers as it always does."""

    def __init__(self, realm: LiveRealm) -> None:
        super().__init__(daemon=True, name="warm-up")
        self._realm = realm
        self._is_wanted = False
        self._stop_early = threading.Event()

    def want(self) -> None:
        """Begin after the next answer: a client has come that will ask."""
        self._is_wanted = True

    def after(self, write: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """Write; once that is done, and a client has come, begin: nothing waits for us then."""

        def written(line: bytes) -> None:
            write(line)
            if self._is_wanted and self.ident is None:
                self.start()

        return written

    def close(self) -> None:
        """End after the part that is being opened: a thread inside of a library must not meet the end of the process."""
        self._stop_early.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        opening = (self._text, self._memory, self._events, self._observations)
        parts: tuple[Callable[[], None], ...] = (*opening, return_free_memory)
        for part in parts:
            if self._stop_early.is_set() or not archive_path(self._realm.folder).exists():
                return  # where nothing was read yet there is nothing to open, and nothing is made
            try:
                part()
            except Exception:
                log.debug("The %s cannot be opened ahead of questions", part.__name__, exc_info=True)

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
        self._meaning("events")

    def _observations(self) -> None:
        self._meaning("observations")

    def _meaning(self, of: str) -> None:
        if self._realm.settings.search.mode != "text":
            self._realm.semantic.vector_search(of)
