"""Savepoints: undo one batch of a transaction, so that a log that cannot be stored does not affect other logs."""

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.errors import StoreFault
from recollect.store.sqlite.tallies import Tallies


class Savepoints(Tallies):
    """The part of the writer that undoes a batch."""

    def load_caches(self) -> None:
        """Load the rows that the writer keeps in memory. Call it again after a rollback."""
        raise NotImplementedError

    def last_key(self) -> int:
        """The highest key that an event ever had."""
        row = self.db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'").fetchone()
        return row[0] if row else 0

    @contextmanager
    def undo_on(self, *errors: type[Exception]) -> Iterator[None]:
        """Undo the writes of the block if it raises one of these errors. Other writes of the transaction stay.

        The index may already have undone events. Their keys are never used again, and the index removes them.
        """
        before = self.last_key()
        self.db.execute("SAVEPOINT batch")
        try:
            yield
        except errors as reason:
            if not self.db.in_transaction:  # SQLite rolled back the complete transaction
                raise StoreFault(f"There is not enough memory to write {self.path}. What was stored is intact.") from reason
            after = self.last_key()
            self.db.execute("ROLLBACK TO batch")
            undone = [(key,) for key in range(before + 1, after + 1)]
            self.db.executemany("INSERT OR IGNORE INTO removed_event VALUES (?)", undone)
            self.db.execute("DELETE FROM sqlite_sequence WHERE name = 'event'")
            self.db.execute("INSERT INTO sqlite_sequence VALUES ('event', ?)", (after,))
            self.load_caches()
            raise
        finally:
            if self.db.in_transaction:
                self.db.execute("RELEASE batch")
