"""The memory's database with its journal: a transaction brings both up to date."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recollect.store.memory_journal import MemoryJournal, journal_path
from recollect.store.sqlite.database import SqliteDatabase, file_identity

RULES = "rules"  # the author of an observation: "rules", "agent", "person", or the name of a model


def memory_path(realm: Path) -> Path:
    return realm / "memory.db"


class JournaledDatabase(SqliteDatabase):
    """The memory's database. A realm of the jsonl backend also has its journal."""

    def __init__(self, realm: Path, *, writable: bool = False, is_absent: bool = False) -> None:
        super().__init__(memory_path(realm), writable=writable, schema="memory_schema", is_absent=is_absent)
        self.file = file_identity(self.path)
        has_lines = not is_absent and journal_path(realm).exists()
        self._journal = MemoryJournal(self, journal_path(realm), RULES) if has_lines else None
        if self._journal is not None and not self._journal.is_up_to_date(writable):
            with self.transaction():
                pass

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction. If the realm has a journal, it is brought up to date in both directions."""
        with super().transaction():
            if self._journal is None:
                yield
                return
            self.index_observations(self._journal.load())
            yield
            self._journal.write()

    def index_observations(self, keys: list[int]) -> None:
        """Index the observations that the journal loaded."""
        raise NotImplementedError

    def journal(self, table: str, *identity: Any) -> None:
        """Add a row to the journal, because it cannot be derived again. Call it inside the transaction of the row."""
        if self._journal is not None:
            self._journal.add(table, identity)

    def rewrite_journal(self) -> None:
        """Write the journal again, because rows were removed. Call it inside their transaction."""
        if self._journal is not None:
            self._journal.rewrite()
