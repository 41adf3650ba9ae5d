"""Edits the tables of a TOML text. Comments, order, spacing and line endings stay.

It handles every way to write a table: a header, dotted keys, an inline table, or a mixture.
"""

import json
import re
import tomllib
from typing import Any, Self

from recollect.setup.editing.document import Missing, NotEditable, Path, newline_of, path_text, value_at
from recollect.setup.editing.toml_scan import Pair, scan

BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlDocument:
    def __init__(self, text: str) -> None:
        self.text = text
        self._newline = newline_of(text)
        try:
            self.value: Any = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise NotEditable(f"is not valid TOML ({error})") from error
        self._structure = scan(text)

    def raw(self, path: Path) -> str:
        pair = self._pair(path)
        if pair is None:
            raise NotEditable(f"has {path_text(path)}, but not as one value")
        return self.text[pair.value_start : pair.end]

    def put(self, path: Path, value: Any) -> Self:
        if (pair := self._pair(path)) is not None:
            return self._with(pair.value_start, pair.end, _write(value))
        if not isinstance(value_at(self.value, path), Missing):
            raise NotEditable(f"has {path_text(path)}, but not as one value")
        for length in range(1, len(path)):
            above = value_at(self.value, path[:length])
            if not isinstance(above, Missing | dict):
                raise NotEditable(f"has {path_text(path[:length])}, but it is not a table")
        return self._add(tuple(map(str, path)), value)

    def put_raw(self, path: Path, raw: str) -> Self:
        pair = self._pair(path)
        if pair is None:
            raise NotEditable(f"has {path_text(path)}, but not as one value")
        return self._with(pair.value_start, pair.end, raw)

    def append(self, path: Path, value: Any) -> Self:
        raise NotEditable("is TOML, in which lists are not edited")

    def remove(self, path: Path) -> Self:
        """Remove a table with all tables below it, or a key."""
        steps = tuple(map(str, path))
        extents = [self._line_extent(pair) for pair in self._structure.pairs if _is_below(pair.path, steps)]
        for table in self._structure.tables:
            if _is_below(table.path, steps):
                extents.append((self._blank_line_before(table.start), self._end_of_line(table.end)))
        if not extents:
            raise NotEditable(f"has no {path_text(path)}")
        text = self.text
        for start, end in reversed(_merged(extents)):
            text = text[:start] + text[end:]
        return type(self)(text)

    # ---- where things are

    def _pair(self, path: Path) -> Pair | None:
        return next((pair for pair in self._structure.pairs if pair.path == tuple(path)), None)

    def _add(self, path: tuple[str, ...], value: Any) -> Self:
        """Add a key to the innermost table above it that exists in the text, in the way that table is written."""
        for length in range(len(path) - 1, 0, -1):
            above, rest = path[:length], path[length:]
            if (pair := self._pair(above)) is not None:
                return self._add_inline(pair, rest, value)
            if any(table.path == above for table in self._structure.tables) and not isinstance(value, dict):
                return self._add_below_header(above, rest, value)
            dotted = [
                pair for pair in self._structure.pairs if _is_below(pair.path, above) and not _is_below(pair.table, above)
            ]
            if dotted:
                return self._add_after(dotted[-1], path, value)
        return self._add_table(path, value)

    def _add_table(self, path: tuple[str, ...], value: Any) -> Self:
        text, newline = self.text, self._newline
        if not isinstance(value, dict):
            first = min((table.start for table in self._structure.tables), default=len(text))
            line = f"{_write_key(path)} = {_write(value)}{newline}"
            return type(self)(text[:first] + line + text[first:])
        lead = "" if not text else newline if text.endswith("\n") else newline * 2
        lines = [f"[{_write_key(path)}]", *(f"{_write_key((key,))} = {_write(one)}" for key, one in value.items())]
        return type(self)(text + lead + newline.join(lines) + newline)

    def _add_below_header(self, header: tuple[str, ...], rest: tuple[str, ...], value: Any) -> Self:
        table = next(table for table in self._structure.tables if table.path == header)
        return self._with(table.end, table.end, f"{self._newline}{_write_key(rest)} = {_write(value)}")

    def _add_after(self, pair: Pair, path: tuple[str, ...], value: Any) -> Self:
        """Add a dotted key on the line after another one."""
        line = f"{_write_key(path[len(pair.table) :])} = {_write(value)}"
        at = self._end_of_comment(pair.end)
        return self._with(at, at, f"{self._newline}{line}")

    def _add_inline(self, pair: Pair, rest: tuple[str, ...], value: Any) -> Self:
        """Add a key to an inline table."""
        if self.text[pair.value_start] != "{":
            raise NotEditable(f"has {path_text(pair.path)}, but it is not a table")
        member = f"{_write_key(rest)} = {_write(value)}"
        inside = [one for one in self._structure.pairs if one.inline_start == pair.value_start]
        if inside:
            at = inside[-1].end
            return self._with(at, at, f", {member}")
        return self._with(pair.value_start, pair.end, f"{{ {member} }}")

    def _with(self, start: int, end: int, raw: str) -> Self:
        return type(self)(self.text[:start] + raw + self.text[end:])

    # ---- extents

    def _line_extent(self, pair: Pair) -> tuple[int, int]:
        """The offsets of a pair with its line, or with its comma in an inline table."""
        if pair.inline_start is None:
            return self._line_start(pair.start), self._end_of_line(pair.end)
        if pair.comma is not None:
            end = pair.comma + 1
            return pair.start, end + len(self.text[end:]) - len(self.text[end:].lstrip(" \t"))
        before = [one for one in self._structure.pairs if one.inline_start == pair.inline_start and one.end <= pair.start]
        if before and before[-1].comma is not None:
            return before[-1].comma, pair.end
        closing = self.text.index("}", pair.end)
        return pair.inline_start + 1, closing

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _end_of_comment(self, at: int) -> int:
        """The offset of the end of the line, which has nothing but a comment after `at`."""
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if self.text[at:end].endswith("\r") else end

    def _end_of_line(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def _blank_line_before(self, start: int) -> int:
        """The start of a header's line, or of the empty line before it."""
        start = self._line_start(start)
        for ending in ("\r\n", "\n"):
            if self.text[:start].endswith(f"\n{ending}") and self.text[:start].endswith(ending):
                return start - len(ending)
        return start


def _is_below(path: tuple[str, ...], above: tuple[str, ...]) -> bool:
    return path[: len(above)] == above


def _merged(extents: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The extents in order, without those inside others."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(extents):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _write_key(path: tuple[str, ...]) -> str:
    return ".".join(part if BARE.fullmatch(part) else _write(part) for part in path)


def _write(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_write_key((key,))} = {_write(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_write, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML and JSON write all other scalars alike
