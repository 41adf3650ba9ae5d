"""What a container gives its reader: lines with their places, or the reason why there are none."""

from pathlib import Path
from typing import Any

from msgspec import Struct

NOT_UNDERSTOOD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a source raises when a log is so odd that nobody thought of it. It costs that log, and is named: no other one."""


def not_understood(reason: Exception) -> str:
    return f"could not be understood ({type(reason).__name__}: {reason})"


class Misfit(Struct, frozen=True):
    """A JSON value that is not of the declared shape. It is kept as an event of unknown kind."""


class Line(Struct, frozen=True):
    """One decoded value of a log and where it stood."""

    path: Path
    offset: int
    number: int  # from 1
    value: Any
    raw: bytes


class Unreadable(Exception):
    """A log that cannot be read now. `lasting`: trying again is of no use before it changes."""

    def __init__(self, reason: str, *, line: int = 0, excerpt: str = "", lasting: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.line, self.excerpt, self.lasting = reason, line, excerpt, lasting
