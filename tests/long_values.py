"""Logs with one long value: a fixture in which one value is made longer.

A string repeats its text. A list or an object gets more items; their ids differ, so that none of them
is taken for a copy of another. The record that contains a string is repeated, with another string each time.
"""

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.golden import cases, lay_out

JSON_ENDINGS = {".json", ".jsonl", ".traj", ".chat"}
TEXT_ENDINGS = {".md", ".txt"}
DATABASE = b"SQLite format 3\0"
KINDS = {
    "type",
    "role",
    "kind",
    "subtype",
    "say",
    "ask",
    "name",
    "event",
    "method",
}  # names of fields that give the kind of a record

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Cell:
    """The place of a text in a log: a complete file, one line, or a column of a row."""

    path: str
    line: int | None = None
    column: tuple[str, str, int] | None = None  # table, column, row id

    def read(self, home: Path) -> str:
        path = home / self.path
        if self.column is not None:
            table, column, row = self.column
            with sqlite3.connect(path) as db:
                (text,) = db.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).fetchone()
            db.close()
            return str(text)
        text = path.read_text("utf-8", "surrogateescape")
        return text if self.line is None else text.split("\n")[self.line]

    def write(self, home: Path, text: str) -> None:
        path = home / self.path
        if self.column is not None:
            table, column, row = self.column
            with sqlite3.connect(path) as db:
                db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (text, row))
            db.close()
            return
        if self.line is not None:
            lines = path.read_text("utf-8", "surrogateescape").split("\n")
            lines[self.line] = text
            text = "\n".join(lines)
        path.write_text(text, "utf-8", "surrogateescape")


@dataclass(frozen=True)
class LongValue:
    """One value of one fixture, and how it is made long."""

    case: Path
    cell: Cell
    place: Place  # the path from the text's JSON value to the one that becomes long; () if the text is not JSON
    how: str  # of `WAYS`
    shape: str  # the same for values that are read in the same way
    text: str = ""  # for a string: the text to repeat, if not its own

    @property
    def name(self) -> str:
        return f"{self.case.parent.name}/{self.case.name}: {self.shape}"

    def lay_out(self, home: Path, size: int) -> None:
        """Copy the fixture to a home folder, with about this many characters in place of this value."""
        lay_out(self.case, home)
        text = self.cell.read(home)
        if self.text:
            text = _replaced(text, self.place, self.text)
        self.cell.write(home, WAYS[self.how](text, self.place, size))


def _longer_string(text: str, place: Place, size: int) -> str:
    if not place:
        return _repeated(text, size)
    document = json.loads(text)
    holder = _at(document, place[:-1])
    holder[place[-1]] = _repeated(holder[place[-1]], size)
    return json.dumps(document, ensure_ascii=False)


def _replaced(text: str, place: Place, by: str) -> str:
    if not place:
        return by
    document = json.loads(text)
    _at(document, place[:-1])[place[-1]] = by
    return json.dumps(document, ensure_ascii=False)


def _more_items(text: str, place: Place, size: int) -> str:
    document = json.loads(text)
    value = _at(document, place)
    count = 2 + size // (len(json.dumps(value)) + 10)
    if isinstance(value, list):
        value += [_with_other_ids(item, number) for number in range(count) for item in value[:]]
    else:
        value |= {f"{key}{number}": item for number in range(count) for key, item in list(value.items())}
    return json.dumps(document, ensure_ascii=False)


def _more_records(text: str, place: Place, size: int) -> str:
    """Repeat the item of the nearest list above a string, or else the line."""
    document = json.loads(text)
    listed = max((depth for depth, step in enumerate(place) if isinstance(step, int)), default=None)
    record = document if listed is None else _at(document, place[: listed + 1])
    inside = place if listed is None else place[listed + 1 :]
    more = [_varied(record, inside, number) for number in range(2 + size // (len(json.dumps(record)) + 10))]
    if listed is None:
        return "\n".join(json.dumps(item, ensure_ascii=False) for item in [record, *more])
    _at(document, place[:listed]).extend(more)
    return json.dumps(document, ensure_ascii=False)


WAYS: dict[str, Callable[[str, Place, int], str]] = {
    "longer": _longer_string,
    "wider": _more_items,
    "again": _more_records,
}


def _repeated(text: str, size: int) -> str:
    return (text or "a") * -(-size // max(1, len(text)))


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _varied(record: Any, inside: Place, number: int) -> Any:
    varied = _with_other_ids(record, number)
    if not inside:
        return f"{varied}{number}"
    holder = _at(varied, inside[:-1])
    holder[inside[-1]] = f"{_at(record, inside)}{number}"
    return varied


def _with_other_ids(value: Any, number: int) -> Any:
    """A copy with other ids."""
    if isinstance(value, list):
        return [_with_other_ids(item, number) for item in value]
    if not isinstance(value, dict):
        return deepcopy(value)
    return {
        key: f"{item}{number}" if isinstance(item, str) and _is_id(key) else _with_other_ids(item, number)
        for key, item in value.items()
    }


def _is_id(key: str) -> bool:
    return key.lower().endswith("id") and not key.lower().endswith(("sessionid", "session_id", "threadid"))


def values_by_source() -> dict[str, list[LongValue]]:
    """Every value of every fixture that may be long, one of each shape in a source, in a pseudo-random order."""
    found: dict[tuple[str, str], LongValue] = {}
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            for value in long_values(case, Path(folder)):
                found.setdefault((case.parent.name, value.shape), value)
    by_source: dict[str, list[LongValue]] = {}
    for (source, _), value in sorted(found.items(), key=lambda item: crc32("".join(item[0]).encode())):
        by_source.setdefault(source, []).append(value)
    return dict(sorted(by_source.items()))


def long_values(case: Path, home: Path) -> Iterator[LongValue]:
    """Every value of a fixture that may be long, one of each shape."""
    lay_out(case, home)
    seen: set[str] = set()
    for cell, text in _cells(home):
        for place, how, shape in _places(text, cell):
            found = LongValue(case, cell, place, how, f"{how} {_file_shape(cell)} {shape}")
            if found.shape not in seen:
                seen.add(found.shape)
                yield found


def _file_shape(cell: Cell) -> str:
    if cell.column is not None:
        return ".".join(cell.column[:2])
    return Path(cell.path).suffix


def _cells(home: Path) -> Iterator[tuple[Cell, str]]:
    for path in sorted(home.rglob("*")):
        if not path.is_file():
            continue
        cell = Cell(str(path.relative_to(home)))
        content = path.read_bytes()
        if content.startswith(DATABASE):
            yield from _columns(path, cell)
        elif path.suffix == ".jsonl" or path.suffix in TEXT_ENDINGS:
            lines = content.decode("utf-8", "surrogateescape").split("\n")
            yield from ((replace(cell, line=number), line) for number, line in enumerate(lines) if line.strip())
        elif path.suffix in JSON_ENDINGS:
            yield cell, content.decode("utf-8", "surrogateescape")


def _columns(path: Path, cell: Cell) -> Iterator[tuple[Cell, str]]:
    with sqlite3.connect(path) as db:
        tables = [table for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            for column in columns:
                rows = db.execute(f'SELECT rowid, "{column}" FROM "{table}" WHERE typeof("{column}") = \'text\'').fetchall()
                yield from ((replace(cell, column=(table, column, row)), text) for row, text in rows)
    db.close()


def _places(text: str, cell: Cell) -> Iterator[tuple[Place, str, str]]:
    try:
        value = json.loads(text)
    except ValueError:
        yield (), "longer", "text" if cell.line is None else f"line {cell.line}"
        return
    if not isinstance(value, dict | list):
        yield (), "longer", "text"
        return
    may_repeat = cell.line is not None
    yield from _inside(value, (), "", may_repeat=may_repeat)


def _inside(value: Any, place: Place, shape: str, *, may_repeat: bool) -> Iterator[tuple[Place, str, str]]:
    if isinstance(value, str):
        yield place, "longer", shape
        if may_repeat or any(isinstance(step, int) for step in place):
            yield place, "again", shape
        return
    if not isinstance(value, dict | list) or not value:
        return
    yield place, "wider", shape
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _inside(item, (*place, number), f"{shape}[]", may_repeat=may_repeat)
        return
    kinds = ",".join(str(value[name])[:40] for name in sorted(KINDS & value.keys()) if isinstance(value[name], str))
    for key, item in value.items():
        yield from _inside(item, (*place, key), f"{shape}<{kinds}>.{key}", may_repeat=may_repeat)
