"""Reads the start of a file, from which its format is recognised, wherever the file is."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.sources.formats.container import Unreadable
from recollect.sources.formats.jsonl import HEAD, HEAD_LINES, open_log
from recollect.sources.formats.sqlite import MAGIC, open_database

MAX_DOCUMENT = 512 << 20  # bytes: a larger JSON document is not decoded
LONG_LIST = 32 << 20  # bytes: of a longer list, only the first items are decoded
FIRST_ITEMS = 8
BLANKS = re.compile(r"\s*")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)  # the tokens of JSON that show its nesting


class Head(Struct, frozen=True):
    """What the start of a file contains.

    `values` are those of a JSON document or of the first JSON lines, `tables` those of a database. `text` is set unless
    the file is a database or JSON lines.
    """

    path: Path
    values: list[Any] = []
    tables: frozenset[str] = frozenset()
    text: str = ""

    def first(self) -> dict[str, Any]:
        """The first value if it is an object; else an empty object."""
        return self.values[0] if self.values and isinstance(self.values[0], dict) else {}

    def objects(self) -> list[dict[str, Any]]:
        return [value for value in self.values if isinstance(value, dict)]


def read_head(path: Path) -> Head:
    """The head of a file. Raises OSError if it cannot be opened; content that is not JSON or SQLite is text."""
    with path.open("rb") as stream:
        start = stream.read(HEAD)
    if start.startswith(MAGIC):
        return Head(path, tables=_tables(path))
    if path.suffix == ".zst":
        with open_log(path) as plain:
            start = plain.read(HEAD)
    text = start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n\0")
    if not text.startswith(("{", "[", '"')):
        return Head(path, text=text)
    if text.startswith("[") and path.stat().st_size > LONG_LIST:
        return Head(path, values=[_first_items(path)], text=text)
    if values := _lines(path, start):
        return Head(path, values=values)
    return Head(path, values=_document(path) or _repair(text), text=text)


def _tables(path: Path) -> frozenset[str]:
    try:
        with open_database(path) as opened:
            return frozenset(name for (name,) in opened.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    except Unreadable:
        return frozenset()


def _lines(path: Path, start: bytes) -> list[Any]:
    """The values of the first JSON lines; empty if the first line is not JSON."""
    lines = start.split(b"\n")
    if len(start) == HEAD:
        if len(lines) == 1:
            lines = [_first_line(path)]
        else:
            lines.pop()  # it may be cut off at HEAD
    values = []
    for line in lines[:HEAD_LINES]:
        try:
            values += _values_in(line.decode("utf-8", "replace").strip("\ufeff \t\r\0"))
        except (ValueError, RecursionError):
            if not values:
                return []
    return values


def _first_items(path: Path) -> list[Any]:
    """The first items of a list of any length."""
    with path.open("rb") as stream:
        text = stream.read(LONG_LIST).decode("utf-8", "replace").lstrip("\ufeff \t\r\n\0").removeprefix("[")
    items: list[Any] = []
    while len(items) < FIRST_ITEMS:
        try:
            item, end = json.JSONDecoder().raw_decode(text.lstrip(", \t\r\n"))
        except (ValueError, RecursionError):
            break
        items.append(item)
        text = text.lstrip(", \t\r\n")[end:]
    return items


def _repair(text: str) -> list[Any]:
    """The beginning of an incomplete document: cut at its last comma, with all open brackets closed."""
    end = 0
    for token in TOKEN.finditer(text):
        if token[0] in {"{", "["}:
            end = token.end()
        elif token[0] == ",":
            end = token.start()
    closers: list[str] = []
    for token in TOKEN.finditer(text, 0, end):
        match token[0]:
            case "{" | "[" as opened:
                closers.append("}" if opened == "{" else "]")
            case "}" | "]" if closers:
                closers.pop()
    try:
        document = json.loads(text[:end] + "".join(reversed(closers)))
    except (ValueError, RecursionError):
        return []
    return [document] if document else []


def _first_line(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.readline(MAX_DOCUMENT)


def _values_in(text: str) -> list[Any]:
    """The JSON values of one line: several if newlines between them are missing."""
    values: list[Any] = []
    place = 0
    while place < len(text) and len(values) < HEAD_LINES:
        value, end = json.JSONDecoder().raw_decode(text, place)
        values.append(value)
        place = BLANKS.match(text, end).end()  # type: ignore[union-attr]
    return values


def _document(path: Path) -> list[Any]:
    if path.suffix == ".zst" or path.stat().st_size > MAX_DOCUMENT:
        return []
    try:
        return [msgspec.json.decode(path.read_bytes().decode("utf-8", "replace").lstrip("\ufeff"))]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
