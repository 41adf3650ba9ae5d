"""Checks of arguments that several families make, each with words of its own."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from recollect.errors import BadRequest, RecollectError

Arguments = dict[str, Any]

ISO_8601 = re.compile(r"[0-9W-]+(?:[Tt ]|$)")  # Python takes any character between date and time; we do not


def check_names(arguments: Any, allowed: Iterable[str]) -> None:
    """Refuse what an operation does not take. Arguments that a surface could not read are the error that says why."""
    if isinstance(arguments, RecollectError):
        raise arguments
    if not isinstance(arguments, dict):
        raise BadRequest("arguments must be an object")
    for name in arguments:
        if name not in allowed:
            raise BadRequest(f"unknown argument: {name}", field=name)


def integer(value: Any, field: str, default: int, most: int) -> int:
    if value is None:
        return default
    if type(value) is not int or not 1 <= value <= most:
        raise BadRequest(f"{field} must be an integer from 1 to {most}", field=field)
    return value


def one_of(value: Any, field: str, allowed: tuple[str, ...], default: str | None) -> str | None:
    if value is None:
        return default
    if not isinstance(value, str) or value not in allowed:
        raise BadRequest(f"{field} must be one of {', '.join(allowed)}", field=field)
    return value


def flag(value: Any, field: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"{field} must be true or false", field=field)
    return bool(value)


def strings(value: Any, field: str) -> tuple[str, ...]:
    """A list of texts that say something; null is none of them."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise BadRequest(f"{field} must be an array of non-empty strings", field=field)
    return tuple(dict.fromkeys(item.strip() for item in value))


def text(value: Any, field: str, most: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"{field} must be a string", field=field)
    if len(value) > most:
        raise BadRequest(f"{field} must be at most {most:,} characters", field=field)
    return value.strip()


def timestamp_us(value: Any, field: str) -> int:
    """A point in time, in microseconds since 1970."""
    if not isinstance(value, str):
        raise BadRequest(f"{field} is required: an ISO 8601 datetime with an offset or Z", field=field)
    try:
        found = datetime.fromisoformat(value.upper())
    except ValueError:
        found = None
    if found is None or ISO_8601.match(value) is None:
        raise BadRequest(f"{field} must be an ISO 8601 datetime", field=field)
    if found.tzinfo is None:
        raise BadRequest(f"{field} must have an explicit timezone offset or Z", field=field)
    try:
        since = found.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError:
        raise BadRequest(f"{field} is out of range", field=field) from None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
