"""The journal of a memory: the rows that people, agents and models wrote, as JSON lines. In a `jsonl` realm it is the truth.

A line is a row of the memory with the name of its table. If several lines have the same row, the last one counts. When a row
is removed, the file is written again without it. Lines are written before their transaction commits. So the next transaction
loads lines that a killed process had written but not committed.
"""

import logging
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import StoreFault
from recollect.store.jsonl_file import append_lines, file_size, read_objects, replace_lines
from recollect.store.sqlite.database import OutOfDate, SqliteDatabase, store_fault

TABLES = {  # tables that cannot be derived again, with the columns that identify a row
    "journey": ("id",),
    "document": ("id",),
    "member": ("session",),
    "observation": ("id",),
    "extracted": ("session", "turn", "model"),
    "label": ("session", "name"),
    "note": ("target",),
    "review": ("observation",),
}
TEXT_TABLES = {"observation": "observation_text", "member": "summary_text"}  # the words of a row, by its key
JOURNALED = "journaled"  # the meta row with the number of bytes of the file that the memory has loaded
UUID_BYTES = 16

log = logging.getLogger(__name__)


class JournalLine(Struct):
    table: str
    row: dict[str, str | int | None]
    words: dict[str, str] | None = None


def journal_path(realm: Path) -> Path:
    """The path of the journal. Its name and ending differ from those of sessions, so lists of sessions skip it."""
    return realm / "memory.ndjson"


def create_journal(realm: Path) -> None:
    """Create the journal of a realm. In a read-only folder nothing happens."""
    with suppress(OSError, StoreFault):
        if file_size(journal_path(realm)) is None:
            append_lines(journal_path(realm), 0, [])


def copy_journal(realm: Path, begin_snapshot: Callable[[], None]) -> bytes:
    """The content of the journal at the moment when `begin_snapshot` begins a snapshot of the memory."""
    path = journal_path(realm)
    memory = sqlite3.connect(f"{(realm / 'memory.db').absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        memory.execute("BEGIN IMMEDIATE")  # no process writes the journal or the memory meanwhile
        begin_snapshot()
        return path.read_bytes()
    except sqlite3.Error as reason:
        raise store_fault(reason, path) from reason
    except OSError as reason:
        raise StoreFault(f"The file {path} cannot be read: {reason.strerror}.") from reason
    finally:
        memory.close()


class MemoryJournal:
    """The journal, for one connection to its memory. Call all methods except `is_up_to_date` inside a transaction."""

    def __init__(self, memory: SqliteDatabase, path: Path, derived_by: str) -> None:
        """`derived_by`: the author whose observations can be derived again, so the journal does not have them."""
        self.path = path
        self._memory = memory
        self._conditions = {**dict.fromkeys(TABLES, "1"), "observation": f"made_by <> '{derived_by}'"}
        self._end = 0
        self._added: list[tuple[str, tuple[Any, ...]]] = []
        self._needs_rewrite = False  # the file differs from the memory, so all of it is written again

    def known_size(self) -> int | None:
        """The number of bytes of the file that the memory has loaded; None if it has never loaded it."""
        known = self._memory.meta(JOURNALED)
        return int(known) if known is not None else None

    def is_up_to_date(self, writable: bool) -> bool:
        """Whether the memory has loaded the file. Raises `OutOfDate` if it has never loaded it and is read-only."""
        if self.known_size() is None and not writable:
            raise OutOfDate(f"The memory {self._memory.path} is not loaded from {self.path} yet.")
        return not writable or self.known_size() == file_size(self.path)

    def load(self) -> list[int]:
        """Load the file into the memory. Returns the keys of the observations that were loaded.

        If the file is shorter than before, or is empty beside an older memory, it is written again from the memory.
        """
        known, size = self.known_size(), file_size(self.path) or 0
        self._added, self._end = [], known or 0
        self._needs_rewrite = size < self._end or (known is None and size == 0)
        if size == known or self._needs_rewrite:
            return []
        keys, self._end = [], 0
        for end, line in read_objects(self.path):
            self._end = end
            try:
                keys += self._load_line(msgspec.convert(line, JournalLine))
            except (msgspec.ValidationError, ValueError, LookupError, sqlite3.IntegrityError) as reason:
                log.warning("Skipped a line of %s that ends at byte %d: %s", self.path, end, reason)
        size = append_lines(self.path, self._end, [])  # this removes an incomplete last line
        self._memory.put_meta(JOURNALED, str(size))
        return keys

    def add(self, table: str, identity: tuple[Any, ...]) -> None:
        """Add a row to those that `write` writes."""
        self._added.append((table, identity))

    def rewrite(self) -> None:
        """Let `write` write the whole file again."""
        self._needs_rewrite = True

    def write(self) -> None:
        """Write the present state of the rows that were added."""
        if self._needs_rewrite:
            everything = (line for table in TABLES for line in self._lines(table, self._conditions[table], ()))
            self._end = replace_lines(self.path, everything)
        elif self._added:
            added = dict.fromkeys(self._added)
            lines = [line for table, identity in added for line in self._lines(table, _identity_condition(table), identity)]
            self._end = append_lines(self.path, self._end, lines)
        else:
            return
        self._memory.put_meta(JOURNALED, str(self._end))

    # ---- rows and lines

    def _columns(self, table: str) -> dict[str, str]:
        """The columns of a table with their types. The key is left out, because it is valid in this database only."""
        columns = self._memory.db.execute(f"SELECT name, type FROM pragma_table_info('{table}') WHERE name <> 'key'")
        return dict(columns.fetchall())

    def _lines(self, table: str, where: str, values: tuple[Any, ...]) -> Iterator[bytes]:
        columns = list(self._columns(table))
        key = "key" if table in TEXT_TABLES else "NULL"
        for row_key, *cells in self._memory.db.execute(
            f"SELECT {key}, {', '.join(columns)} FROM {table} WHERE {where}", values
        ):
            row = dict(zip(columns, map(_to_json, cells), strict=True))
            words = self._words(table, row_key)
            yield msgspec.json.encode({"table": table, "row": row, **({"words": words} if words else {})})

    def _words(self, table: str, key: int | None) -> dict[str, str] | None:
        if table not in TEXT_TABLES:
            return None
        columns = list(self._columns(TEXT_TABLES[table]))
        words = self._memory.db.execute(
            f"SELECT {', '.join(columns)} FROM {TEXT_TABLES[table]} WHERE rowid = ?", (key,)
        ).fetchone()
        return dict(zip(columns, words, strict=True)) if words else None

    def _load_line(self, line: JournalLine) -> list[int]:
        columns, identity = self._columns(line.table), TABLES[line.table]
        row = {name: _from_json(value, columns[name]) for name, value in line.row.items() if name in columns}
        self._remove(line.table, tuple(row[name] for name in identity))
        key = self._insert(line.table, row)
        if line.table in TEXT_TABLES and line.words is not None:
            self._insert(
                TEXT_TABLES[line.table],
                {"rowid": key, **{name: line.words[name] for name in self._columns(TEXT_TABLES[line.table])}},
            )
        return [key] if line.table == "observation" else []

    def _insert(self, table: str, row: dict[str, Any]) -> int:
        """Insert a row. Returns its key, if it has one."""
        marks = ", ".join("?" * len(row))
        inserted = self._memory.db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        return inserted.lastrowid or 0

    def _remove(self, table: str, identity: tuple[Any, ...]) -> None:
        db, condition = self._memory.db, _identity_condition(table)
        keys = f"SELECT key FROM {table} WHERE {condition}"
        if table in TEXT_TABLES:
            db.execute(f"DELETE FROM {TEXT_TABLES[table]} WHERE rowid IN ({keys})", identity)
        if table == "observation":
            db.execute(f"DELETE FROM tag WHERE observation IN ({keys})", identity)
        db.execute(f"DELETE FROM {table} WHERE {condition}", identity)


def _identity_condition(table: str) -> str:
    return " AND ".join(f"{name} = ?" for name in TABLES[table])


def _to_json(cell: Any) -> str | int | None:
    """A value for JSON: ids become UUIDs, other bytes become hexadecimal digits."""
    if not isinstance(cell, bytes):
        return cell  # type: ignore[no-any-return]
    return str(uuid.UUID(bytes=cell)) if len(cell) == UUID_BYTES else cell.hex()


def _from_json(value: str | int | None, column_type: str) -> Any:
    return bytes.fromhex(value.replace("-", "")) if column_type == "BLOB" and isinstance(value, str) else value
