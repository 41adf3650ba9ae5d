"""How a JSON text is laid out: its indentation and line endings, and new members written alike."""

import json
from dataclasses import dataclass
from typing import Any, Self

DEFAULT_UNIT = "  "


@dataclass(frozen=True, slots=True)
class Layout:
    unit: str
    """The indentation of one level."""
    newline: str
    is_flat: bool
    """Whether the whole text is on one line."""
    is_compact: bool
    """Whether no space follows a colon or a comma."""
    text: str

    @classmethod
    def of(cls, text: str, newline: str, first_member: int | None) -> Self:
        """The layout of a text whose first member begins at this offset."""
        if first_member is None:
            return cls(DEFAULT_UNIT, newline, False, False, text)
        line_start = max(text.rfind("\n", 0, first_member), text.rfind("\r", 0, first_member)) + 1
        indent = text[line_start:first_member]
        is_indented = bool(indent) and not indent.strip(" \t")
        is_flat = not line_start or "{" in indent
        is_compact = is_flat and ": " not in text and ", " not in text
        return cls(indent if is_indented else DEFAULT_UNIT, newline, is_flat, is_compact, text)

    def indent_at(self, offset: int) -> str:
        """The indentation of the line of an offset."""
        line_start = max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1
        line = self.text[line_start:offset]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def member(self, key: str | None, value: Any, indent: str, *, is_flat: bool = False) -> str:
        """A member of an object, or an item of a list."""
        written = self.write(value, indent, is_flat=is_flat)
        return written if key is None else f"{_quoted(key)}:{'' if self.is_compact else ' '}{written}"

    def write(self, value: Any, indent: str, *, is_flat: bool = False) -> str:
        """A value, whose first line is indented by `indent`. Lists of scalars stay on one line."""
        is_simple = not isinstance(value, dict | list) or not value
        if is_simple or is_flat or (isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)):
            separators = (",", ":") if self.is_compact else (", ", ": ")
            return json.dumps(value, ensure_ascii=False, separators=separators)
        inner = indent + self.unit
        pairs = value.items() if isinstance(value, dict) else ((None, one) for one in value)
        members = f",{self.newline}{inner}".join(self.member(key, one, inner) for key, one in pairs)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{self.newline}{inner}{members}{self.newline}{indent}{closing}"


def _quoted(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
