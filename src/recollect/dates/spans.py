"""Spans of local calendar time: the arithmetic of days, weeks, months and years, and their milliseconds.

A datetime without a zone is local time (TZ is honoured). A week begins on Monday.
"""

import calendar
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.dates.words import MONTH_NAMES

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_999  # the calendar's first and last moment in UTC
DAY, WEEK = timedelta(days=1), timedelta(days=7)
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}  # units that are whole months
LENGTHS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": WEEK,
}
LEAP_YEARS = 8  # at most so many years from one 29 February to the next
ANY_YEAR = 2000  # the year of a date without one, if the current time is not known; it has a 29 February


class ImpossibleDate(ValueError):
    """A date that does not exist; its text is a sentence for the person who wrote it."""


class UnknownNow(ValueError):
    """A phrase that needs the current time, which is not known."""


class Span(Struct, frozen=True):
    """A stretch of time. `start` or `end` (exclusive) is None where it is open."""

    start: datetime | None
    end: datetime | None
    kind: str = ""  # the form of the phrase
    repeats: Literal["", "year", "week", "day"] = ""  # what was left open, so the latest one in the past is meant
    has_two_ends: bool = False  # the phrase names its end too: "until" means that end, not the beginning
    note: str = ""


class Now(Struct, frozen=True):
    """The current time, and whether a date is written with its month first."""

    time: datetime | None
    month_first: bool = False

    def moment(self) -> datetime:
        if self.time is None:
            raise UnknownNow
        return self.time

    def today(self) -> datetime:
        return midnight(self.moment())


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def days(start: datetime, count: int = 1, **more: str) -> Span:
    """A span of some days; `more` are other fields of it."""
    return Span(start, moved(start, timedelta(days=count)), **more)  # type: ignore[arg-type]


def moved(at: datetime, by: timedelta) -> datetime:
    """A time later or earlier, within the calendar."""
    try:
        return at + by
    except OverflowError:
        return (datetime.max if by > timedelta() else datetime.min).replace(tzinfo=at.tzinfo)


def add_months(at: datetime, count: int) -> datetime:
    """The same day some months later; the month's last day if it is shorter."""
    months = at.year * 12 + at.month - 1 + count
    if not 12 <= months < 120_000:
        return datetime.max if count > 0 else datetime.min
    year, month = divmod(months, 12)
    return at.replace(year=year, month=month + 1, day=min(at.day, calendar.monthrange(year, month + 1)[1]))


def add_units(at: datetime, count: int, unit: str) -> datetime:
    """A time some units later; earlier if the count is negative."""
    if unit in MONTHS_IN:
        return add_months(at, count * MONTHS_IN[unit])
    try:
        return moved(at, count * LENGTHS[unit])
    except OverflowError:
        return datetime.max if count > 0 else datetime.min


def start_of(unit: str, at: datetime) -> datetime:
    """The beginning of the day, week, month, quarter or year of a time."""
    day = midnight(at)
    match unit:
        case "week":
            return moved(day, timedelta(days=-day.weekday()))
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
        case "year":
            return day.replace(day=1, month=1)
        case _:
            return day


def whole(unit: str, start: datetime, count: int = 1, **more: str) -> Span:
    """The span of some units from a beginning."""
    return Span(start, add_units(start, count, unit), **more)  # type: ignore[arg-type]


def day_of(year: int, month: int, day: int, written: str, *, any_year: bool = False) -> datetime:
    """The beginning of a day. Raises `ImpossibleDate` if the calendar has no such day."""
    if not 1 <= month <= 12:
        raise ImpossibleDate(f"{written!r} is not a date: there is no month {month}.")
    if not 1 <= year <= 9999:
        raise ImpossibleDate(f"{written!r} is not a date: there is no year {year}.")
    last = calendar.monthrange(year, month)[1]
    if not 1 <= day <= last:
        name = MONTH_NAMES[month - 1].title() + (f" {year}" if month == 2 and not any_year else "")
        raise ImpossibleDate(f"{written!r} does not exist: {name} has {last} days.")
    return datetime(year, month, day)


def latest_day(month: int, day: int, now: Now, written: str) -> datetime:
    """The latest such day up to today; in the year 2000 if the current time is not known."""
    found = day_of(ANY_YEAR, month, day, written, any_year=True)
    if now.time is None:
        return found
    for year in range(now.time.year, now.time.year - LEAP_YEARS - 1, -1):
        if year >= 1 and day <= calendar.monthrange(year, month)[1] and (found := datetime(year, month, day)) <= now.time:
            break
    return found


def length_in_days(span: Span) -> int:
    """The number of whole days; 0 if an end is open."""
    return 0 if span.start is None or span.end is None else (span.end - span.start).days


def within(span: Span, first: int, count: int, kind: str, *, has_two_ends: bool = False) -> Span | None:
    """Some days of a span. A negative `first` counts from its end."""
    if span.start is None or span.end is None:
        return None
    start = span.start + timedelta(days=first) if first >= 0 else span.end + timedelta(days=first)
    end = start + timedelta(days=count)
    if start < span.start or end > span.end:
        return None
    return replace(span, start=start, end=end, kind=kind, has_two_ends=has_two_ends)


def days_apart(span: Span, count: int) -> Span:
    """The span some days later."""
    start, end = (at and moved(at, timedelta(days=count)) for at in (span.start, span.end))
    return replace(span, start=start, end=end)


def on_day_of(span: Span, other: Span) -> Span:
    """The span on the day on which another begins."""
    if span.start is None or other.start is None:
        return span
    return days_apart(span, (midnight(other.start) - midnight(span.start)).days)


def shifted_back(span: Span) -> Span:
    """The span one year, week or day earlier, whichever was left open."""
    if span.start is None or span.end is None:
        return span
    match span.repeats:
        case "year":
            return replace(span, start=add_months(span.start, -12), end=add_months(span.end, -12), note="")
        case "week":
            return days_apart(span, -7)
        case "day":
            return days_apart(span, -1)
        case _:
            return span


def milliseconds(at: datetime) -> int:
    """A time in milliseconds since 1970; a time without a zone is local."""
    try:
        seconds = at.timestamp()
    except (ValueError, OverflowError, OSError):
        return EARLIEST if at.year < 1970 else LATEST
    return min(max(round(seconds * 1000), EARLIEST), LATEST)


def bounds(span: Span) -> tuple[int, int]:
    """Both ends in milliseconds; the end is after the start, also where clocks are put forward."""
    start = EARLIEST if span.start is None else milliseconds(span.start)
    end = LATEST if span.end is None else milliseconds(span.end)
    if end <= start and span.start is not None and span.end is not None:
        end = start + max(1, round((span.end - span.start).total_seconds() * 1000))
    return (min(start, LATEST - 1), max(end, min(start, LATEST - 1) + 1))
