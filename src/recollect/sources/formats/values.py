"""Converts values that agents write in different forms: times in any unit, counts, tool arguments, text."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999  # the calendar's first and last moment in UTC
MAX_COUNT = 1 << 53  # up to here, every JSON reader reads whole numbers alike
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z")
UNITS = (  # (minimum, factor): the minimum is a time in 1973, and no agent is older
    (100_000_000_000_000_000, 1 / 1_000_000),  # nanoseconds
    (100_000_000_000_000, 1 / 1_000),  # microseconds
    (100_000_000_000, 1),  # milliseconds
    (100_000_000, 1_000),  # seconds
)


@lru_cache(maxsize=64)
def _minute(stamp: str) -> int | None:
    """The start of a minute in milliseconds since 1970. It is cached: most records share a few minutes."""
    try:
        return round(datetime.fromisoformat(f"{stamp}:00+00:00").timestamp() * 1000)
    except ValueError:
        return None


def parse_iso_time(stamp: object) -> int | None:
    """An ISO 8601 time with a zone, as milliseconds since 1970; None for anything else."""
    if not isinstance(stamp, str):
        return None
    if PLAIN_TIME.fullmatch(stamp) and (minute := _minute(stamp[:16])) is not None:
        return minute + int(stamp[17:19]) * 1000 + int(stamp[20:23])
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return _bounded_time(moment) if moment.tzinfo is not None else None


def parse_time(value: object) -> int | None:
    """A time in any form, as milliseconds since 1970; None for anything else.

    A number's size shows whether it is in seconds, milliseconds, microseconds or nanoseconds: agents' docs and data often
    disagree about the unit. A time without a zone is local time.
    """
    match value:
        case bool():
            return None
        case int() | float():
            unit = next((factor for minimum, factor in UNITS if abs(value) >= minimum), None)
            at = round(value * unit) if unit is not None and value == value and abs(value) < 1e25 else None
            return at if at is not None and EARLIEST <= at <= LATEST else None
        case str():
            return parse_iso_time(value) or _parse_local_time(value.strip())
        case _:
            return None


def _parse_local_time(stamp: str) -> int | None:
    try:
        return _bounded_time(datetime.fromisoformat(stamp).astimezone())
    except (ValueError, OverflowError):
        pass
    try:
        return parse_time(float(stamp)) if stamp[:1].isdigit() else None
    except ValueError:
        return None


def _bounded_time(moment: datetime) -> int | None:
    try:
        at = round(moment.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None
    return at if EARLIEST <= at <= LATEST else None


def as_count(value: object) -> int:
    """The value as a count, if it is a number that the archive can store; else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) >= MAX_COUNT:
        return 0
    return int(value)


def text_or_none(value: object) -> str | None:
    """The value if it is text that is not empty; else None."""
    return value if isinstance(value, str) and value else None


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object; else an empty object."""
    return value if isinstance(value, dict) else {}


def arguments_of(value: Any) -> dict[str, Any]:
    """A tool call's arguments as an object; they may be JSON text. Any other value is put under `input`."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        try:
            decoded = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            decoded = None
        if isinstance(decoded, dict):
            return decoded
    return {} if value is None or value == "" else {"input": value}


def as_text(value: Any) -> str:
    """Any value as readable text: text unchanged, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
