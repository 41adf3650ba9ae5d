"""Edits JSON with comments and trailing commas (JSONC). Comments, order, indentation and line endings stay.

A blanked copy of the text, with spaces in place of comments and trailing commas, is strict JSON at the same offsets.
Python's own parser finds the ends of values in it.
"""

import json
import re
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import Any, NoReturn, Self

from recollect.setup.editing.document import Missing, NotEditable, Path, newline_of, path_text, value_at
from recollect.setup.editing.json_layout import Layout

COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
SPACE = re.compile(r"[ \t\r\n]*")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse)


@dataclass(frozen=True, slots=True)
class JsonItem:
    """A member of an object or an item of a list, by its offsets in the text."""

    key: str | None  # None in a list
    start: int  # of the key, or of the value in a list
    value_start: int
    end: int
    comma: int | None  # the offset of the comma after it


class JsonDocument:
    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = COMMENT.sub(_blank_comment, text)
        self._strict = _blank_trailing_commas(self._plain)
        self._newline = newline_of(text)
        self.value = self._parse()

    def _parse(self) -> Any:
        if not self._strict.strip(" \t\r\n"):
            return {}
        try:
            value = DECODER.decode(self._strict)
        except JSONDecodeError as error:
            line = self.text.count("\n", 0, error.pos) + 1
            raise NotEditable(f"is not valid JSON ({error.msg}, line {line})") from error
        except (ValueError, RecursionError) as error:
            raise NotEditable(f"is not valid JSON ({error})") from error
        if not isinstance(value, dict):
            raise NotEditable("is not a JSON object")
        return value

    # ---- reading

    def raw(self, path: Path) -> str:
        item = self._item(path)
        return self.text[item.value_start : item.end]

    def _item(self, path: Path) -> JsonItem:
        start = self._skip(0)
        item = JsonItem(None, start, start, len(self.text), None)
        for step in path:
            items = self._items(item.value_start)
            # Of two members with the same key, agents use the last one.
            item = items[step] if isinstance(step, int) else [one for one in items if one.key == step][-1]
        return item

    def _items(self, start: int) -> list[JsonItem]:
        """The members or items of the container that begins at this offset."""
        text, items = self._strict, []
        is_object = text[start] == "{"
        at = self._skip(start + 1)
        while text[at] not in "}]":
            begin, key = at, None
            if is_object:
                key, at = DECODER.raw_decode(text, at)
                at = self._skip(self._skip(at) + 1)  # the colon
            value_start = at
            end = DECODER.raw_decode(text, value_start)[1]
            at = self._skip(end)
            follows = _skip_space(self._plain, end)
            comma = follows if self._plain[follows] == "," else None
            items.append(JsonItem(key, begin, value_start, end, comma))
            at = self._skip(at + 1) if text[at] == "," else at
        return items

    def _skip(self, at: int) -> int:
        return _skip_space(self._strict, at)

    # ---- editing

    def put(self, path: Path, value: Any) -> Self:
        *above, key = path
        if not isinstance(value_at(self.value, path), Missing):
            return self._replace(path, value)
        container = value_at(self.value, above)
        if isinstance(container, Missing):
            return self.put(above, {key: value})
        if not isinstance(container, dict):
            raise NotEditable(f"has {path_text(above)}, but it is not an object")
        return self._insert(above, str(key), value)

    def append(self, path: Path, value: Any) -> Self:
        items = value_at(self.value, path)
        if isinstance(items, Missing):
            return self.put(path, [value])
        if not isinstance(items, list):
            raise NotEditable(f"has {path_text(path)}, but it is not a list")
        return self._insert(path, None, value)

    def put_raw(self, path: Path, raw: str) -> Self:
        item = self._item(path)
        return type(self)(self.text[: item.value_start] + raw + self.text[item.end :])

    def _replace(self, path: Path, value: Any) -> Self:
        item = self._item(path)
        layout = Layout.of(self.text, self._newline, self._first_member())
        is_flat = "\n" not in self.text[item.value_start : item.end]
        return self.put_raw(path, layout.write(value, layout.indent_at(item.start), is_flat=is_flat))

    def _insert(self, path: Path, key: str | None, value: Any) -> Self:
        if not self._strict.strip(" \t\r\n"):  # an empty file, or only comments
            lead = self._newline if self.text and not self.text.endswith(("\n", "\r")) else ""
            return type(self)(f"{self.text}{lead}{{}}{self._newline}")._insert(path, key, value)
        start = self._item(path).value_start
        items = self._items(start)
        layout = Layout.of(self.text, self._newline, self._first_member())
        if items:
            return self._insert_after(start, items, layout, key, value)
        return self._insert_into_empty(start, layout, key, value)

    def _insert_after(self, start: int, items: list[JsonItem], layout: Layout, key: str | None, value: Any) -> Self:
        text, last = self.text, items[-1]
        is_flat = "\n" not in text[start : items[0].start] and "\r" not in text[start : items[0].start]
        if is_flat:
            addition = layout.member(key, value, "", is_flat=True)
            gap = "" if layout.is_compact else " "
            at = last.end if last.comma is None else last.comma + 1
            comma = "," if last.comma is None else ""
            return type(self)(f"{text[:at]}{comma}{gap}{addition}{text[at:]}")
        indent = layout.indent_at(items[0].start)
        addition = f"{self._newline}{indent}{layout.member(key, value, indent)}"
        if last.comma is not None:
            at = self._end_of_line(last.comma + 1)
            return type(self)(f"{text[:at]}{addition},{text[at:]}")
        at = self._end_of_line(last.end)
        return type(self)(f"{text[: last.end]},{text[last.end : at]}{addition}{text[at:]}")

    def _insert_into_empty(self, start: int, layout: Layout, key: str | None, value: Any) -> Self:
        text = self.text
        closing = self._skip(start + 1)
        interior = text[start + 1 : closing].rstrip(" \t\r\n")  # only comments
        if layout.is_flat and not interior:
            return type(self)(f"{text[: start + 1]}{layout.member(key, value, '', is_flat=True)}{text[closing:]}")
        base = layout.indent_at(start)
        indent = base + layout.unit
        member = layout.member(key, value, indent)
        inside = f"{interior}{self._newline}{indent}{member}{self._newline}{base}"
        return type(self)(f"{text[: start + 1]}{inside}{text[closing:]}")

    def _end_of_line(self, at: int) -> int:
        """The offset after comments that follow on the same line, if nothing else does."""
        end = at + len(self._plain[at:]) - len(self._plain[at:].lstrip(" \t"))
        return at + len(self.text[at:end].rstrip(" \t")) if self._plain[end : end + 1] in ("\r", "\n") else at

    def remove(self, path: Path) -> Self:
        *above, _ = path
        item = self._item(path)
        items = self._items(self._item(above).value_start)
        position = items.index(item)
        begin, end = self._extent(item, is_first=position == 0)
        before, after = self.text[:begin], self.text[end:]
        previous = items[position - 1].comma if position and item.comma is None else None
        if previous is not None:
            before = before[:previous] + before[previous + 1 :]
        return type(self)(_collapsed(before, after) if len(items) == 1 else before + after)

    def _extent(self, item: JsonItem, *, is_first: bool) -> tuple[int, int]:
        """The offsets of an item with its comma, and with its line if there is nothing else on it."""
        text, begin = self.text, item.start
        end = item.end if item.comma is None else item.comma + 1
        line_start = begin - len(text[:begin]) + len(text[:begin].rstrip(" \t\r\n"))
        begins_line = "\n" in text[line_start:begin] or "\r" in text[line_start:begin]
        ends_line = self._plain[end:].lstrip(" \t")[:1] in ("\r", "\n")
        if not begins_line and (not is_first or item.comma is None):
            return line_start, end
        if begins_line and ends_line and self._end_of_line(end) == end:
            return line_start, end
        return begin, end if ends_line else _skip_space(text, end)

    def _first_member(self) -> int | None:
        """Where the first member of the whole document begins."""
        if not self._strict.strip(" \t\r\n"):
            return None
        items = self._items(self._skip(0))
        return items[0].start if items else None


def _skip_space(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    assert match is not None  # it also matches nothing
    return match.end()


def _collapsed(before: str, after: str) -> str:
    """The text with `{}` where a container has become empty."""
    head, tail = before.rstrip(" \t\r\n"), after.lstrip(" \t\r\n")
    return head + tail if head.endswith(("{", "[")) and tail.startswith(("}", "]")) else before + after


def _blank_comment(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else " " * len(match[0])


def _blank_trailing_commas(plain: str) -> str:
    def blank(match: re.Match[str]) -> str:
        is_trailing = match[0] == "," and plain[: match.start()].rstrip(" \t\r\n")[-1:] not in ("", "{", "[", ",", ":")
        return " " if is_trailing else match[0]

    return TRAILING_COMMA.sub(blank, plain)
