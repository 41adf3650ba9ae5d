"""Finds the times that a query names: "on 7 May 2023", "in June", "2026-04-30", "yesterday", "last week"."""

import math
import re
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct

DAY = 86_400_000  # milliseconds
NEAR_DAYS = 4.0  # the decay outside a window: people talk about things some days later, and remember dates roughly
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
MONTH = "|".join(f"{name}|{name[:3]}" if name != "may" else name for name in MONTHS)
ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
SPOKEN = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b(?P<month>{MONTH})\b\.?"
    r"(?:\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
RELATIVE = re.compile(r"\b(?:(today)|(yesterday)|last (week|month)|(\d{1,3}) (day|week|month)s? ago)\b", re.IGNORECASE)
DAYS = {"day": 1, "week": 7, "month": 30}
AMBIGUOUS = {"may", "mar", "march", "sun", "dec"}  # these are other words too, so they count only with a number beside them


class TimeWindow(Struct, frozen=True):
    """A span of time in milliseconds. With `any_year`, only day and month count."""

    start: int
    end: int
    any_year: bool = False

    def fit(self, at: int) -> float:
        """How well a time fits: 1 inside the window, less with distance."""
        start, end = (_in_year_of(at, self.start), _in_year_of(at, self.end)) if self.any_year else (self.start, self.end)
        if end < start:
            end += 365 * DAY
        distance = max(start - at, at - (end - 1), 0)
        return math.exp(-distance / (NEAR_DAYS * DAY))


def find_time_windows(query: str, now: int | None) -> tuple[TimeWindow, ...]:
    """All times that a query names. Relative times need `now`, in milliseconds."""
    windows = [_day(int(year), int(month), int(day)) for year, month, day in ISO.findall(query)]
    windows += [_spoken(match) for match in SPOKEN.finditer(query)]
    if now is not None:
        windows += [_relative(match, now) for match in RELATIVE.finditer(query)]
    return tuple(window for window in windows if window is not None)


def _spoken(match: re.Match[str]) -> TimeWindow | None:
    day = match["before"] or match["after"]
    if match["month"].lower() in AMBIGUOUS and not (day or match["year"]):
        return None
    month = next(number for number, name in enumerate(MONTHS, 1) if name.startswith(match["month"].lower()))
    year = int(match["year"]) if match["year"] else None
    return _day(year, month, int(day)) if day else _month(year, month)


def _day(year: int | None, month: int, day: int) -> TimeWindow | None:
    try:
        start = date(year or 2000, month, day)
    except ValueError:
        return None
    return _window(start, start + timedelta(days=1), any_year=year is None)


def _month(year: int | None, month: int) -> TimeWindow | None:
    start = date(year or 2000, month, 1)
    return _window(start, (start + timedelta(days=31)).replace(day=1), any_year=year is None)


def _relative(match: re.Match[str], now: int) -> TimeWindow:
    today, yesterday, last, count, unit = match.groups()
    if today or yesterday:
        midnight = now - now % DAY - (DAY if yesterday else 0)
        return TimeWindow(midnight, midnight + DAY)
    span = DAYS[(last or unit).lower()] * DAY
    if last:
        return TimeWindow(now - 2 * span, now)
    return TimeWindow(now - (int(count) + 1) * span, now - (int(count) - 1) * span)


def _window(start: date, end: date, *, any_year: bool) -> TimeWindow:
    return TimeWindow(_ms(start), _ms(end), any_year)


def _ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _in_year_of(at: int, moment: int) -> int:
    """The same day and month in the year of `at`."""
    year = datetime.fromtimestamp(at / 1000, UTC).year
    date_time = datetime.fromtimestamp(moment / 1000, UTC)
    day = min(date_time.day, 28) if date_time.month == 2 else date_time.day
    return int(date_time.replace(year=year, day=day).timestamp() * 1000)
