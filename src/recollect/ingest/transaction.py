"""A transaction over many batches of many logs."""

import time
from typing import Any

from recollect.ingest.indexing import Indexer
from recollect.store import Writer

COMMIT_EVENTS = 20_000  # events per transaction over many small files
COMMIT_SECONDS = 1.0  # a killed sync loses at most this much work; a commit does not wait for the disk


class BatchTransaction:
    """Holds a transaction open over many batches. The reader of a log calls `commit_when_due` after each batch."""

    def __init__(self, archive: Writer, indexer: Indexer) -> None:
        self.archive = archive
        self.indexer = indexer
        self._rows = 0
        self._open: Any = None

    def __enter__(self) -> "BatchTransaction":
        self._begin()
        return self

    def _begin(self) -> None:
        self._rows = 0
        self._commit_at = time.monotonic() + COMMIT_SECONDS
        self._open = self.archive.transaction()
        self._open.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            self._open.__exit__(*error)
        finally:
            if error[0] is not None:
                self.indexer.rollback()
                self.archive.load_caches()

    def commit_when_due(self, events: int) -> None:
        """Count a batch of events and its cursor. Commit a large or old transaction, index it and begin another."""
        self._rows += events + 1
        if self._rows >= COMMIT_EVENTS or time.monotonic() >= self._commit_at or self.indexer.is_full():
            self._open.__exit__(None, None, None)
            self.indexer.commit()
            self._begin()
