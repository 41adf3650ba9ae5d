"""What people, agents and models wrote into a memory, as readable lines: in realms that are kept as JSON Lines, the truth.

A line is a row of the memory as it is, with the name of its table; of several about the same, the last one counts. Where
something is removed, the file is written anew without it. Lines are written inside the transaction that they are of, before
its end: what a process that was killed in between left in the file, the next transaction learns from it.
"""

import logging
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import StoreFault
from recollect.store.jsonl_file import append_lines, file_size, read_objects, replace_lines
from recollect.store.sqlite.database import Database, OutOfDate

TABLES = {  # those that nothing else tells of, with the columns that name a row
    "journey": ("id",),
    "document": ("id",),
    "member": ("session",),
    "observation": ("id",),
    "extracted": ("session", "turn", "model"),
}
TEXT_TABLES = {"observation": "observation_text", "member": "summary_text"}  # where the words of a row are, under its key
JOURNALED = "journaled"  # in meta: how much of the file the memory knows
UUID_BYTES = 16

log = logging.getLogger(__name__)


class JournalLine(Struct):
    table: str
    row: dict[str, str | int | None]
    words: dict[str, str] | None = None


def journal_path(realm: Path) -> Path:
    """Not called as sessions are, nor ending as they do: whoever lists those need not know of it."""
    return realm / "memory.ndjson"


def create_journal(realm: Path) -> None:
    """From now on the memory of this realm is kept in a file as well. A folder that cannot be written stays readable."""
    with suppress(OSError, StoreFault):
        if file_size(journal_path(realm)) is None:
            append_lines(journal_path(realm), 0, [])


class MemoryJournal:
    """The file beside a memory, for one connection to it. All but `is_met` is to be called inside a transaction."""

    def __init__(self, memory: Database, path: Path, derived_by: str) -> None:
        """`not_by` is who makes observations that can be made again."""
        self.path = path
        self._memory = memory
        self._conditions = {**dict.fromkeys(TABLES, "1"), "observation": f"made_by <> '{derived_by}'"}
        self._end = 0
        self._added: list[tuple[str, tuple[Any, ...]]] = []
        self._needs_rewrite = False  # the file holds what is no more, or lacks what is: it is to be written anew

    def known_size(self) -> int | None:
        """How much of the file is in the memory; None of one that has never seen it."""
        known = self._memory.meta(JOURNALED)
        return int(known) if known is not None else None

    def is_up_to_date(self, writable: bool) -> bool:
        """Whether the memory may be used as it is: one that has never seen the file is to be made of it first."""
        if self.known_size() is None and not writable:
            raise OutOfDate(f"The memory {self._memory.path} is yet to be made of {self.path}.")
        return not writable or self.known_size() == file_size(self.path)

    def load(self) -> list[int]:
        """Make the memory say what the file does; the keys of observations that came by that.

        Where the file has become shorter, or is empty beside a memory from before there was one, the memory knows better.
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
                log.warning("A line of %s that ends at byte %d is passed over: %s", self.path, end, reason)
        self._memory.put_meta(JOURNALED, str(append_lines(self.path, self._end, [])))  # without half a line at its end
        return keys

    def add(self, table: str, identity: tuple[Any, ...]) -> None:
        self._added.append((table, identity))

    def rewrite(self) -> None:
        self._needs_rewrite = True

    def write(self) -> None:
        """Write what was kept, as it is now."""
        if self._needs_rewrite:
            everything = (line for table in TABLES for line in self._lines(table, self._conditions[table], ()))
            self._end = replace_lines(self.path, everything)
        elif self._added:
            kept = dict.fromkeys(self._added)
            lines = [line for table, identity in kept for line in self._lines(table, _identity_condition(table), identity)]
            self._end = append_lines(self.path, self._end, lines)
        else:
            return
        self._memory.put_meta(JOURNALED, str(self._end))

    # ---- rows and lines

    def _columns(self, table: str) -> dict[str, str]:
        """The columns of a table with their types. The key says where a row lies in this database, and no more."""
        columns = self._memory.db.execute(f"SELECT name, type FROM pragma_table_info('{table}') WHERE name <> 'key'")
        return dict(columns.fetchall())

    def _lines(self, table: str, where: str, values: tuple[Any, ...]) -> Iterator[bytes]:
        columns = list(self._columns(table))
        key = "key" if table in TEXT_TABLES else "NULL"
        for place, *cells in self._memory.db.execute(
            f"SELECT {key}, {', '.join(columns)} FROM {table} WHERE {where}", values
        ):
            row = dict(zip(columns, map(_to_json, cells), strict=True))
            words = self._words(table, place)
            yield msgspec.json.encode({"table": table, "row": row, **({"words": words} if words else {})})

    def _words(self, table: str, key: int | None) -> dict[str, str] | None:
        if table not in TEXT_TABLES:
            return None
        columns = list(self._columns(TEXT_TABLES[table]))
        found = self._memory.db.execute(
            f"SELECT {', '.join(columns)} FROM {TEXT_TABLES[table]} WHERE rowid = ?", (key,)
        ).fetchone()
        return dict(zip(columns, found, strict=True)) if found else None

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
        """The key of the new row, where it has one."""
        marks = ", ".join("?" * len(row))
        made = self._memory.db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        return made.lastrowid or 0

    def _remove(self, table: str, identity: tuple[Any, ...]) -> None:
        db, named = self._memory.db, _identity_condition(table)
        if table in TEXT_TABLES:
            db.execute(f"DELETE FROM {TEXT_TABLES[table]} WHERE rowid IN (SELECT key FROM {table} WHERE {named})", identity)
        if table == "observation":
            db.execute(f"DELETE FROM tag WHERE observation IN (SELECT key FROM {table} WHERE {named})", identity)
        db.execute(f"DELETE FROM {table} WHERE {named}", identity)


def _identity_condition(table: str) -> str:
    return " AND ".join(f"{name} = ?" for name in TABLES[table])


def _to_json(cell: Any) -> str | int | None:
    """A value as a line has it: ids as everywhere else, other bytes in hexadecimal digits."""
    if not isinstance(cell, bytes):
        return cell  # type: ignore[no-any-return]
    return str(uuid.UUID(bytes=cell)) if len(cell) == UUID_BYTES else cell.hex()


def _from_json(value: str | int | None, kind: str) -> Any:
    return bytes.fromhex(value.replace("-", "")) if kind == "BLOB" and isinstance(value, str) else value
