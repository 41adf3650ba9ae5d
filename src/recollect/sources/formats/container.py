"""What a container gives its reader: lines with their places, or the reason why there are none."""

import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Any

from msgspec import Struct
from zstandard import ZstdError

READ_ERRORS = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    ZstdError, struct.error, zlib.error,
)  # fmt: skip
"""What a source raises when a log is so odd that nobody thought of it. It costs that log, and is named: no other one."""

STORE_ERRORS = (*READ_ERRORS, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""What storing a log raises because of what the log says, rather than because of the archive or its disk."""


def describe_error(reason: Exception) -> str:
    """Why a log was not read, for a person; without what the log says."""
    match reason:
        case MemoryError():
            return "needs more memory than there was; `recollect rebuild --logs` tries again"
        case RecursionError():
            return "is nested too deeply"
        case _:
            return f"could not be understood ({type(reason).__name__}: {str(reason)[:REASON]})"


REASON = 200  # characters of an error's own words: some repeat the value that they refuse


class WrongShape(Struct, frozen=True):
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

    def __init__(self, reason: str, *, line: int = 0, excerpt: str = "", permanent: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.line, self.excerpt, self.permanent = reason, line, excerpt, permanent
