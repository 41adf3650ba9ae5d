"""Values as agents write them: times in any unit, counts out of bounds, arguments as text."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999  # the calendar's first and last moment, in UTC
LARGEST = 1 << 53  # the largest whole number that every JSON reader agrees on
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z")
UNITS = (  # the first day that a number of this size can mean is in 1973: no agent is older
    (100_000_000_000_000_000, 1 / 1_000_000),  # nanoseconds
    (100_000_000_000_000, 1 / 1_000),  # microseconds
    (100_000_000_000, 1),  # milliseconds
    (100_000_000, 1_000),  # seconds
)


@lru_cache(maxsize=64)
def _minute(stamp: str) -> int | None:
    """Most records are of the same few minutes, and nearly all are written the same way."""
    try:
        return round(datetime.fromisoformat(f"{stamp}:00+00:00").timestamp() * 1000)
    except ValueError:
        return None


def parse_iso_time(stamp: object) -> int | None:
    """An ISO 8601 time with its zone as milliseconds since 1970; None for what is no time."""
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
    """A time however it was written, as milliseconds since 1970; None for what is no time.

    A number says by its size whether it counts seconds, milliseconds, microseconds or nanoseconds: that the docs and
    the data of an agent disagree about the unit is common. A time without a zone is this machine's.
    """
    match value:
        case bool():
            return None
        case int() | float():
            unit = next((factor for least, factor in UNITS if abs(value) >= least), None)
            at = round(value * unit) if unit is not None and value == value and abs(value) < 1e25 else None
            return at if at is not None and EARLIEST <= at <= LATEST else None
        case str():
            return parse_iso_time(value) or _local(value.strip())
        case _:
            return None


def _local(stamp: str) -> int | None:
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
    """A count that may be anything: a whole number of things, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) >= LARGEST:
        return 0
    return int(value)


def text_or_none(value: object) -> str | None:
    """A name, a title or a path that may be anything: text that says something, else None."""
    return value if isinstance(value, str) and value else None


def arguments_of(value: Any) -> dict[str, Any]:
    """The arguments of a tool call: an object, also where it was written as text; anything else under `input`."""
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
    """Anything as readable text: what is text already as it is, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
