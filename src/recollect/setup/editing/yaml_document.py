"""Edits the block mappings of a YAML text. Comments, order, indentation and line endings stay."""

import json
import re
from typing import Any, Self

from recollect.setup.editing.document import Missing, NotEditable, Path, newline_of, path_text, value_at
from recollect.setup.editing.yaml_scan import YamlEntry, parse_scalar, scan

UNIT = "  "
PLAIN = re.compile(r"[A-Za-z0-9_./~][A-Za-z0-9_./@+=-]*(?: [A-Za-z0-9_./@+=-]+)*")  # strings that need no quotes
EMPTY = ("", "{}", "{ }", "null", "~")


class YamlDocument:
    def __init__(self, text: str) -> None:
        self.text = text
        self._newline = newline_of(text)
        self._lines = text.split("\n")  # a final carriage return stays with its line
        self._entries = scan([line.removesuffix("\r") for line in self._lines])
        self.value: Any = {entry.key: entry.value for entry in self._entries}

    def raw(self, path: Path) -> str:
        """The lines of a key, with the key."""
        entry = self._entry(path)
        return "\n".join(self._lines[entry.line : entry.end])

    def put_raw(self, path: Path, raw: str) -> Self:
        entry = self._entry(path)
        return self._with(entry.line, entry.end, raw.split("\n"))

    def put(self, path: Path, value: Any) -> Self:
        *above, key = path
        if not isinstance(value_at(self.value, path), Missing):
            entry = self._entry(path)
            return self._with(entry.line, entry.end, self._ended(_write(str(key), value, " " * entry.indent)))
        container = value_at(self.value, above)
        if isinstance(container, Missing):
            return self.put(above, {key: value})
        if not above:
            return self._append(self._ended(_write(str(key), value, "")))
        return self._add_below(self._entry(above), str(key), value)

    def append(self, path: Path, value: Any) -> Self:
        raise NotEditable("is YAML, in which lists are not edited")

    def remove(self, path: Path) -> Self:
        entry = self._entry(path)
        if len(path) == 1 or len(self._entry(path[:-1]).entries) > 1:
            return self._with(entry.line, entry.end, [])
        above = self._entry(path[:-1])
        line = self._lines[above.line]
        colon = line.index(":", above.indent + len(above.key)) + 1
        without = self._with(entry.line, entry.end, [])
        return without._with(above.line, above.line + 1, [f"{line[:colon]} {{}}{line[colon:]}"])

    def _entry(self, path: Path) -> YamlEntry:
        entries, found = self._entries, None
        for length, step in enumerate(path, 1):
            found = next((entry for entry in entries if entry.key == step), None)
            if found is None:
                raise NotEditable(f"has {path_text(path[:length])} in a form that cannot be edited")
            entries = found.entries
        assert found is not None  # no caller asks for an empty path
        return found

    def _add_below(self, entry: YamlEntry, key: str, value: Any) -> Self:
        if entry.entries:
            lines = self._ended(_write(key, value, " " * entry.entries[0].indent))
            last = entry.entries[-1].end
            return self._with(last, last, lines)
        if entry.end > entry.line + 1 or entry.inline not in EMPTY:
            raise NotEditable(f"has {entry.key} in a form that cannot be edited")
        head = self._lines[entry.line]
        if entry.inline:
            colon = head.index(":", entry.indent + len(entry.key)) + 1
            head = head[:colon] + head[colon:].replace(entry.inline, "", 1).rstrip(" ")
        return self._with(entry.line, entry.line + 1, [head, *self._ended(_write(key, value, " " * entry.indent + UNIT))])

    def _append(self, lines: list[str]) -> Self:
        """Add lines at the end."""
        end = len(self._lines) - (self._lines[-1] == "")
        return self._with(end, end, lines)

    def _ended(self, lines: list[str]) -> list[str]:
        """The lines with the carriage returns that the text has."""
        return [f"{line}\r" for line in lines] if self._newline == "\r\n" else lines

    def _with(self, start: int, end: int, lines: list[str]) -> Self:
        result = [*self._lines[:start], *lines, *self._lines[end:]]
        if lines and end == len(self._lines):  # the text did not end with a line ending
            result.append("")
            if start == end and start and self._newline == "\r\n":
                result[start - 1] += "\r"
        return type(self)("\n".join(result))


def _write(key: str, value: Any, indent: str) -> list[str]:
    """The lines of a key with its value."""
    name = f"{indent}{_scalar(key)}:"
    if isinstance(value, dict) and value:
        return [name, *(line for inner, one in value.items() for line in _write(inner, one, indent + UNIT))]
    if isinstance(value, list) and value:
        return [name, *(f"{indent}- {_scalar(one)}" for one in value)]
    return [f"{name} {_scalar(value)}"]


def _scalar(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and isinstance(parse_scalar(value), str):
        return value
    return json.dumps(value, ensure_ascii=False)  # YAML reads JSON's strings, numbers, true, null, {} and []
