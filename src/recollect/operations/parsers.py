"""Parsers of argument values that several requests share: (value, field name) -> value."""

from typing import Any

from recollect.errors import BadRequest
from recollect.operations.schema import Parse


def strings(value: Any, field: str) -> tuple[str, ...]:
    """Texts that are not blank, without duplicates and without blanks around them."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise BadRequest(f"{field} must be an array of non-empty strings", field=field)
    return tuple(dict.fromkeys(item.strip() for item in value))


def text(max_length: int) -> Parse:
    """A text without blanks around it."""

    def parse(value: Any, field: str) -> str:
        if value is not None and not isinstance(value, str):
            raise BadRequest(f"{field} must be a string", field=field)
        if value is not None and len(value) > max_length:
            raise BadRequest(f"{field} must be at most {max_length:,} characters", field=field)
        return (value or "").strip()

    return parse


def one_line(max_length: int) -> Parse:
    """A text without line breaks: in an answer, they would look like the answer's own lines."""

    def parse(value: Any, field: str) -> str:
        return " ".join(text(max_length)(value, field).split())

    return parse


def lines(max_length: int) -> Parse:
    """Texts of one line."""

    def parse(value: Any, field: str) -> tuple[str, ...]:
        return tuple(one_line(max_length)(item, field) for item in strings(value, field))

    return parse
