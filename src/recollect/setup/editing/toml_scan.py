"""Finds the tables and pairs of a TOML text by their offsets. The text is valid: `tomllib` has read it."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

SPACE = re.compile(r"[ \t]*")
BLANK = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")  # spaces, line ends and comments
STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\r\n]|\\.)*"|\'[^\'\r\n]*\'', re.DOTALL)
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
SCALAR = re.compile(r"[^,\]}#\r\n]+")
REST_OF_LINE = re.compile(r"[^\r\n]*")


@dataclass(frozen=True, slots=True)
class Table:
    """A header, `[a.b]` or `[[a.b]]`, and the statements below it."""

    path: tuple[str, ...]
    start: int
    end: int
    """After the last statement below it; comments after that may belong to the next table."""


@dataclass(frozen=True, slots=True)
class Pair:
    """`key = value`, also inside an inline table."""

    path: tuple[str, ...]
    start: int
    value_start: int
    end: int
    table: tuple[str, ...]
    """The path of the header above it."""
    inline_start: int | None
    """The offset of the `{` of its inline table."""
    comma: int | None = None
    """The offset of the comma after it, in an inline table."""


@dataclass(frozen=True, slots=True)
class TomlStructure:
    tables: tuple[Table, ...]
    pairs: tuple[Pair, ...]


def scan(text: str) -> TomlStructure:
    tables: list[Table] = []
    pairs: list[Pair] = []
    header: tuple[str, ...] = ()
    at = _match(BLANK, text, 0)
    while at < len(text):
        if text[at] == "[":
            start = at
            width = 2 if text.startswith("[[", at) else 1
            header, at = _key(text, at + width)
            at += width
            tables.append(Table(header, start, at))
        else:
            found = list(_pair(text, at, header, header, None))
            pairs += found
            at = found[-1].end
            if tables:
                tables[-1] = Table(tables[-1].path, tables[-1].start, at)
        at = _match(BLANK, text, at)
    return TomlStructure(tuple(tables), tuple(pairs))


def _pair(text: str, at: int, prefix: tuple[str, ...], table: tuple[str, ...], inline: int | None) -> Iterator[Pair]:
    """The pair at this offset, after the pairs inside its value."""
    key, equals = _key(text, at)
    value_start = _match(SPACE, text, equals + 1)
    path = (*prefix, *key)
    end = value_start
    if text[value_start] == "{":
        inner = _match(BLANK, text, value_start + 1)
        while text[inner] != "}":
            found = list(_pair(text, inner, path, table, value_start))
            last = found[-1]
            after = _match(BLANK, text, last.end)
            comma = after if text[after] == "," else None
            yield from found[:-1]
            yield Pair(last.path, last.start, last.value_start, last.end, table, value_start, comma)
            inner = _match(BLANK, text, after + 1) if comma is not None else after
        end = inner + 1
    else:
        end = _value_end(text, value_start)
    yield Pair(path, at, value_start, end, table, inline)


def _value_end(text: str, at: int) -> int:
    """The offset after a value that is not an inline table."""
    if string := STRING.match(text, at):
        return string.end()
    if text[at] not in "[{":
        scalar = SCALAR.match(text, at)
        return at + len(scalar[0].rstrip(" \t")) if scalar else at
    closing = "]" if text[at] == "[" else "}"
    at = _match(BLANK, text, at + 1)
    while text[at] != closing:
        if closing == "}":
            at = _match(SPACE, text, _key(text, at)[1] + 1)
        at = _match(BLANK, text, _value_end(text, at))
        if text[at] == ",":
            at = _match(BLANK, text, at + 1)
    return at + 1


def _key(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """A dotted key, and the offset after it and the spaces that follow."""
    parts: list[str] = []
    while True:
        at = _match(SPACE, text, at)
        string = STRING.match(text, at)
        match = string or BARE_KEY.match(text, at)
        assert match is not None  # the text is valid
        parts.append(tomllib.loads(f"key = {match[0]}")["key"] if string else match[0])
        at = _match(SPACE, text, match.end())
        if text[at] != ".":
            return tuple(parts), at
        at += 1


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    assert match is not None  # these patterns also match nothing
    return match.end()
