"""Part of a transaction that can be undone by itself, so that what one log says costs no other log."""

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.errors import StoreFault
from recollect.store.sqlite.database import Database


class Undoable(Database):
    """The part of the writer that takes back what it wrote last."""

    def remember(self) -> None:
        """Load what is kept in memory. To be done again after a rollback."""
        raise NotImplementedError

    def last_key(self) -> int:
        """The highest key ever given to an event."""
        row = self.db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'").fetchone()
        return row[0] if row else 0

    @contextmanager
    def undone_by(self, *errors: type[Exception]) -> Iterator[None]:
        """Undo what is written inside where one of these errors ends it. The rest of the transaction stays.

        The index may have been given events that are undone: their keys are never used again, and are removed there.
        """
        before = self.last_key()
        self.db.execute("SAVEPOINT batch")
        try:
            yield
        except errors as reason:
            if not self.db.in_transaction:  # SQLite gave up all of it
                raise StoreFault(f"There is not enough memory to write {self.path}. What was stored is intact.") from reason
            after = self.last_key()
            self.db.execute("ROLLBACK TO batch")
            self.db.executemany("INSERT OR IGNORE INTO gone VALUES (?)", [(key,) for key in range(before + 1, after + 1)])
            self.db.execute("DELETE FROM sqlite_sequence WHERE name = 'event'")
            self.db.execute("INSERT INTO sqlite_sequence VALUES ('event', ?)", (after,))
            self.remember()
            raise
        finally:
            if self.db.in_transaction:
                self.db.execute("RELEASE batch")
