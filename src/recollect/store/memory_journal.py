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
from recollect.store.jsonl_file import objects, size_of, write_anew, write_on
from recollect.store.sqlite.database import Database, OutOfDate

TABLES = {  # those that nothing else tells of, with the columns that name a row
    "journey": ("id",),
    "document": ("id",),
    "member": ("session",),
    "observation": ("id",),
    "extracted": ("session", "turn", "model"),
}
WORDS = {"observation": "told", "member": "recounted"}  # where the words of a row are, under its key
KNOWN = "authored"  # in meta: how much of the file the memory knows
UUID_BYTES = 16

log = logging.getLogger(__name__)


class JournalLine(Struct):
    table: str
    row: dict[str, str | int | None]
    words: dict[str, str] | None = None


def lines_of(realm: Path) -> Path:
    """Not called as sessions are, nor ending as they do: whoever lists those need not know of it."""
    return realm / "memory.ndjson"


def begin(realm: Path) -> None:
    """From now on the memory of this realm is kept in a file as well. A folder that cannot be written stays readable."""
    with suppress(OSError, StoreFault):
        if size_of(lines_of(realm)) is None:
            write_on(lines_of(realm), 0, [])


class MemoryJournal:
    """The file beside a memory, for one connection to it. All but `is_met` is to be called inside a transaction."""

    def __init__(self, memory: Database, path: Path, not_by: str) -> None:
        """`not_by` is who makes observations that can be made again."""
        self.path = path
        self._memory = memory
        self._all = {**dict.fromkeys(TABLES, "1"), "observation": f"made_by <> '{not_by}'"}
        self._end = 0
        self._kept: list[tuple[str, tuple[Any, ...]]] = []
        self._is_old = False  # the file holds what is no more, or lacks what is: it is to be written anew

    def known(self) -> int | None:
        """How much of the file is in the memory; None of one that has never seen it."""
        known = self._memory.meta(KNOWN)
        return int(known) if known is not None else None

    def is_met(self, writable: bool) -> bool:
        """Whether the memory may be used as it is: one that has never seen the file is to be made of it first."""
        if self.known() is None and not writable:
            raise OutOfDate(f"The memory {self._memory.path} is yet to be made of {self.path}.")
        return not writable or self.known() == size_of(self.path)

    def learn(self) -> list[int]:
        """Make the memory say what the file does; the keys of observations that came by that.

        Where the file has become shorter, or is empty beside a memory from before there was one, the memory knows better.
        """
        known, size = self.known(), size_of(self.path) or 0
        self._kept, self._end = [], known or 0
        self._is_old = size < self._end or (known is None and size == 0)
        if size == known or self._is_old:
            return []
        keys, self._end = [], 0
        for end, line in objects(self.path):
            self._end = end
            try:
                keys += self._learn(msgspec.convert(line, JournalLine))
            except (msgspec.ValidationError, ValueError, LookupError, sqlite3.IntegrityError) as reason:
                log.warning("A line of %s that ends at byte %d is passed over: %s", self.path, end, reason)
        self._memory.put_meta(KNOWN, str(write_on(self.path, self._end, [])))  # without half a line at its end
        return keys

    def keep(self, table: str, identity: tuple[Any, ...]) -> None:
        self._kept.append((table, identity))

    def let_go(self) -> None:
        self._is_old = True

    def write(self) -> None:
        """Write what was kept, as it is now."""
        if self._is_old:
            everything = (line for table in TABLES for line in self._lines(table, self._all[table], ()))
            self._end = write_anew(self.path, everything)
        elif self._kept:
            kept = dict.fromkeys(self._kept)
            lines = [line for table, identity in kept for line in self._lines(table, _named(table), identity)]
            self._end = write_on(self.path, self._end, lines)
        else:
            return
        self._memory.put_meta(KNOWN, str(self._end))

    # ---- rows and lines

    def _columns(self, table: str) -> dict[str, str]:
        """The columns of a table with their types. The key says where a row lies in this database, and no more."""
        columns = self._memory.db.execute(f"SELECT name, type FROM pragma_table_info('{table}') WHERE name <> 'key'")
        return dict(columns.fetchall())

    def _lines(self, table: str, where: str, values: tuple[Any, ...]) -> Iterator[bytes]:
        columns = list(self._columns(table))
        key = "key" if table in WORDS else "NULL"
        for place, *cells in self._memory.db.execute(
            f"SELECT {key}, {', '.join(columns)} FROM {table} WHERE {where}", values
        ):
            row = dict(zip(columns, map(_shown, cells), strict=True))
            words = self._words(table, place)
            yield msgspec.json.encode({"table": table, "row": row, **({"words": words} if words else {})})

    def _words(self, table: str, key: int | None) -> dict[str, str] | None:
        if table not in WORDS:
            return None
        columns = list(self._columns(WORDS[table]))
        found = self._memory.db.execute(
            f"SELECT {', '.join(columns)} FROM {WORDS[table]} WHERE rowid = ?", (key,)
        ).fetchone()
        return dict(zip(columns, found, strict=True)) if found else None

    def _learn(self, line: JournalLine) -> list[int]:
        columns, identity = self._columns(line.table), TABLES[line.table]
        row = {name: _cell(value, columns[name]) for name, value in line.row.items() if name in columns}
        self._remove(line.table, tuple(row[name] for name in identity))
        key = self._insert(line.table, row)
        if line.table in WORDS and line.words is not None:
            self._insert(
                WORDS[line.table], {"rowid": key, **{name: line.words[name] for name in self._columns(WORDS[line.table])}}
            )
        return [key] if line.table == "observation" else []

    def _insert(self, table: str, row: dict[str, Any]) -> int:
        """The key of the new row, where it has one."""
        marks = ", ".join("?" * len(row))
        made = self._memory.db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        return made.lastrowid or 0

    def _remove(self, table: str, identity: tuple[Any, ...]) -> None:
        db, named = self._memory.db, _named(table)
        if table in WORDS:
            db.execute(f"DELETE FROM {WORDS[table]} WHERE rowid IN (SELECT key FROM {table} WHERE {named})", identity)
        if table == "observation":
            db.execute(f"DELETE FROM tag WHERE observation IN (SELECT key FROM {table} WHERE {named})", identity)
        db.execute(f"DELETE FROM {table} WHERE {named}", identity)


def _named(table: str) -> str:
    return " AND ".join(f"{name} = ?" for name in TABLES[table])


def _shown(cell: Any) -> str | int | None:
    """A value as a line has it: ids as everywhere else, other bytes in hexadecimal digits."""
    if not isinstance(cell, bytes):
        return cell  # type: ignore[no-any-return]
    return str(uuid.UUID(bytes=cell)) if len(cell) == UUID_BYTES else cell.hex()


def _cell(value: str | int | None, kind: str) -> Any:
    return bytes.fromhex(value.replace("-", "")) if kind == "BLOB" and isinstance(value, str) else value
