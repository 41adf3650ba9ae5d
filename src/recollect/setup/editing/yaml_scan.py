"""Finds the keys of a YAML text by their lines, as far as settings files use YAML: block mappings, lists and scalars.

Python has no YAML parser, and a dependency for the one agent that uses YAML would cost more than this. What is not
understood on the way to our keys is refused, and everything else is left as it is.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from recollect.setup.editing.document import NotEditable

KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>@`"'%\[\]{},?:-][^:#]*?|[^\s:"'][^\s:]*)\s*:(?=\s|$)(?P<rest>.*)"""
)
COMMENT = re.compile(r"(?:^|\s)#.*$")
QUOTED = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""")
NULLS = {"", "~", "null", "Null", "NULL"}
BOOLEANS = {"true": True, "false": False, "True": True, "False": False}
INTEGER = re.compile(r"[-+]?\d{1,18}")


@dataclass(slots=True)
class YamlEntry:
    """A key of a block mapping, with its lines."""

    key: str
    indent: int
    line: int
    end: int
    """The line after its last one; blank lines and comments after that are not part of it."""
    inline: str
    """What is on the line of the key, without a comment."""
    entries: list["YamlEntry"] = field(default_factory=list)
    value: Any = None


def scan(lines: list[str]) -> list[YamlEntry]:
    """The keys of the whole text."""
    first = 0
    for number, line in enumerate(lines):
        if line.startswith("---") and not line[3:].strip():
            if any(_is_content(one) for one in lines[first:number]):
                raise NotEditable("contains more than one YAML document")
            first = number + 1
        elif line.startswith("..."):
            raise NotEditable("contains an end of document (`...`)")
    return _entries(lines, first, len(lines))


def _entries(lines: list[str], first: int, last: int) -> list[YamlEntry]:
    """The keys of the mapping in these lines."""
    entries: list[YamlEntry] = []
    indent: int | None = None
    for number in range(first, last):
        line = lines[number]
        depth = len(line) - len(line.lstrip(" "))
        if not _is_content(line) or line.startswith("%"):
            if line.strip() and entries and depth > entries[-1].indent:  # maybe a line of a text, not a comment
                entries[-1].end = number + 1
            continue
        if indent is None:
            indent = depth
        is_list_item = line[depth:].startswith("- ") or line[depth:] == "-"
        if depth > indent or (depth == indent and is_list_item and entries and not entries[-1].inline):
            if not entries:
                raise NotEditable(f"is not valid YAML (line {number + 1})")
        else:
            match = KEY.fullmatch(line[depth:])
            if depth < indent or match is None or is_list_item:
                raise NotEditable(f"has a line that is not a key (line {number + 1})")
            entries.append(YamlEntry(_unquoted(match["key"]), depth, number, number + 1, _without_comment(match["rest"])))
        entries[-1].end = number + 1
    for entry in entries:
        _read_value(lines, entry)
    return entries


def _read_value(lines: list[str], entry: YamlEntry) -> None:
    below = [line for line in lines[entry.line + 1 : entry.end] if _is_content(line)]
    if entry.inline:
        entry.value = parse_scalar(entry.inline) if not below else "\n".join([entry.inline, *below])
    elif below and below[0].lstrip(" ").startswith("-"):
        items = [line.strip() for line in below]
        is_simple = all(item.startswith("- ") and KEY.fullmatch(item[2:]) is None for item in items)
        entry.value = [parse_scalar(_without_comment(item[2:])) for item in items] if is_simple else "\n".join(below)
    elif below:
        try:
            entry.entries = _entries(lines, entry.line + 1, entry.end)
            entry.value = {inner.key: inner.value for inner in entry.entries}
        except NotEditable:
            entry.value = "\n".join(below)


def parse_scalar(text: str) -> Any:
    """The value of a scalar, or of a list or mapping in brackets that is simple; else its text."""
    text = text.strip()
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if INTEGER.fullmatch(text):
        return int(text)
    if text[0] in '[{"':
        try:
            return json.loads(text)
        except ValueError:
            pass
    if text[0] == "[" and text[-1] == "]" and not set(text[1:-1]) & set("[]{}\"'"):
        return [parse_scalar(part) for part in text[1:-1].split(",") if part.strip()]
    return _unquoted(text)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:  # escapes that JSON does not have
            return text
    return text


def _without_comment(text: str) -> str:
    if quoted := QUOTED.match(text):
        return quoted[1]
    return COMMENT.sub("", text).strip()


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
