"""A decoded line of a log with its position, and the reasons why a log cannot be read."""

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
"""Errors that a source raises on unexpected content. They affect that log only, and are reported."""

STORE_ERRORS = (*READ_ERRORS, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
"""Errors that storing a log raises because of its content, not because of the archive or its disk."""


def describe_error(reason: Exception) -> str:
    """A sentence that says why a log was not read. It does not quote the log."""
    match reason:
        case OSError():
            return f"cannot be read: {reason.strerror or reason}"
        case MemoryError():
            return "needs more memory than is available; run `recollect rebuild --logs` to retry"
        case RecursionError():
            return "is nested too deeply"
        case _:
            return f"could not be understood ({type(reason).__name__}: {str(reason)[:MAX_ERROR_TEXT]})"


MAX_ERROR_TEXT = 200  # characters of an error's own text: some errors repeat the rejected value


class WrongShape(Struct, frozen=True):
    """A JSON value without the declared shape. It is stored as an event of unknown kind."""


class Line(Struct, frozen=True):
    """One decoded value of a log and its position in the file."""

    path: Path
    offset: int
    number: int  # from 1
    value: Any
    raw: bytes


class Unreadable(Exception):
    """A log that cannot be read now. `permanent`: retrying is useless until the log changes."""

    def __init__(self, reason: str, *, line: int = 0, excerpt: str = "", permanent: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.line, self.excerpt, self.permanent = reason, line, excerpt, permanent
