"""Reads times that callers write: ISO 8601 with an explicit offset."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.errors import BadRequest

ISO_8601 = re.compile(r"[0-9W-]+(?:[Tt ]|$)")  # Python accepts any character between date and time; we do not


def timestamp_us(value: Any, field: str) -> int:
    """A point in time in microseconds since 1970."""
    if not isinstance(value, str):
        raise BadRequest(f"{field} is required: an ISO 8601 datetime with an offset or Z", field=field)
    try:
        time = datetime.fromisoformat(value.upper())
    except ValueError:
        time = None
    if time is None or ISO_8601.match(value) is None:
        raise BadRequest(f"{field} must be an ISO 8601 datetime", field=field)
    if time.tzinfo is None:
        raise BadRequest(f"{field} must have an explicit timezone offset or Z", field=field)
    try:
        since_1970 = time.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError:
        raise BadRequest(f"{field} is out of range", field=field) from None
    return since_1970 // timedelta(microseconds=1)


def first_millisecond(microseconds: int) -> int:
    """The first whole millisecond at or after a time. With it, both ends of a window stay exact."""
    return -(-microseconds // 1000)
