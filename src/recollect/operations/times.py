"""Times that callers write: ISO 8601 with an explicit offset."""

import re
from datetime import UTC, datetime
from typing import Any

from recollect.errors import BadRequest

ISO_8601 = re.compile(r"[0-9W-]+(?:[Tt ]|$)")  # Python accepts any character between date and time; we do not


def timestamp_us(value: Any, field: str) -> int:
    """A point in time in microseconds since 1970."""
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


def first_millisecond(microseconds: int) -> int:
    """The first whole millisecond that is not before a time. Both ends of a window stay exact with it."""
    return -(-microseconds // 1000)
