"""Times that a question speaks of: "on 7 May 2023", "in June", "2026-04-30", "yesterday", "last week"."""

import math
import re
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct

DAY = 86_400_000  # milliseconds
NEAR_DAYS = 4.0  # people speak of a thing some days after it happened, and remember its date as roughly
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
SPAN = {"day": 1, "week": 7, "month": 30}
AMBIGUOUS = {"may", "mar", "march", "sun", "dec"}  # words of their own unless a number stands beside them


class Window(Struct, frozen=True):
    """A stretch of time in milliseconds. One of no year is that stretch of any year: only day and month count."""

    start: int
    end: int
    any_year: bool = False

    def fit(self, at: int) -> float:
        """1 inside, and less the farther away."""
        start, end = (_in_year_of(at, self.start), _in_year_of(at, self.end)) if self.any_year else (self.start, self.end)
        if end < start:
            end += 365 * DAY
        away = max(start - at, at - (end - 1), 0)
        return math.exp(-away / (NEAR_DAYS * DAY))


def windows(question: str, now: int | None) -> tuple[Window, ...]:
    found = [_day(int(year), int(month), int(day)) for year, month, day in ISO.findall(question)]
    found += [_spoken(match) for match in SPOKEN.finditer(question)]
    if now is not None:
        found += [_relative(match, now) for match in RELATIVE.finditer(question)]
    return tuple(window for window in found if window is not None)


def _spoken(match: re.Match[str]) -> Window | None:
    day = match["before"] or match["after"]
    if match["month"].lower() in AMBIGUOUS and not (day or match["year"]):
        return None
    month = next(place for place, name in enumerate(MONTHS, 1) if name.startswith(match["month"].lower()))
    year = int(match["year"]) if match["year"] else None
    return _day(year, month, int(day)) if day else _month(year, month)


def _day(year: int | None, month: int, day: int) -> Window | None:
    try:
        start = date(year or 2000, month, day)
    except ValueError:
        return None
    return _window(start, start + timedelta(days=1), any_year=year is None)


def _month(year: int | None, month: int) -> Window | None:
    start = date(year or 2000, month, 1)
    return _window(start, (start + timedelta(days=31)).replace(day=1), any_year=year is None)


def _relative(match: re.Match[str], now: int) -> Window:
    today, yesterday, last, count, unit = match.groups()
    if today or yesterday:
        midnight = now - now % DAY - (DAY if yesterday else 0)
        return Window(midnight, midnight + DAY)
    span = SPAN[(last or unit).lower()] * DAY
    if last:
        return Window(now - 2 * span, now)
    return Window(now - (int(count) + 1) * span, now - (int(count) - 1) * span)


def _window(start: date, end: date, *, any_year: bool) -> Window:
    return Window(_ms(start), _ms(end), any_year)


def _ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def _in_year_of(at: int, moment: int) -> int:
    """The same day and month in the year of another time."""
    year = datetime.fromtimestamp(at / 1000, UTC).year
    then = datetime.fromtimestamp(moment / 1000, UTC)
    day = min(then.day, 28) if then.month == 2 else then.day
    return int(then.replace(year=year, day=day).timestamp() * 1000)
