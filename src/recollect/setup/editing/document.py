"""A text in a format with keys that can be edited in place: what is not edited keeps its bytes."""

from collections.abc import Sequence
from typing import Any, Final, Protocol, Self

Path = Sequence[str | int]
"""Where a value is: the keys of objects and the positions in lists, outermost first."""


class Missing:
    """The value of a path that does not exist; unlike None, no file can contain it."""


MISSING: Final = Missing()


class NotEditable(Exception):
    """The text is invalid, or has a form that cannot be edited without risk. The message completes a sentence."""


class SettingsDocument(Protocol):
    """A parsed text. Every edit returns a new document and leaves this one as it was."""

    text: str
    value: Any
    """The parsed value of the whole text."""

    def __init__(self, text: str) -> None: ...

    def raw(self, path: Path) -> str:
        """The text of the value at a path that exists."""

    def put(self, path: Path, value: Any) -> Self:
        """Set the value at a path. Objects above it are created if they are missing."""

    def put_raw(self, path: Path, raw: str) -> Self:
        """Set the text of a value that exists."""

    def append(self, path: Path, value: Any) -> Self:
        """Add an item to the list at a path. The list is created if it is missing."""

    def remove(self, path: Path) -> Self:
        """Remove the member or item at a path that exists."""


def value_at(value: Any, path: Path) -> Any:
    """The value at a path inside a parsed value, or MISSING."""
    for step in path:
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                return MISSING
    return value


def path_text(path: Path) -> str:
    """A path for people: `mcpServers.recollect`."""
    return ".".join(map(str, path))


def newline_of(text: str) -> str:
    """The line ending that a text uses most."""
    windows = text.count("\r\n")
    return "\r\n" if windows * 2 > text.count("\n") else "\n"
