"""Scores how well the time of an event fits the times that a query names: "on 7 May 2023", "in June", "last week"."""

import math
from datetime import datetime

from msgspec import Struct

from recollect.dates import find_windows

DAY = 86_400_000  # milliseconds
NEAR_DAYS = 4.0  # the decay outside a window: people talk about things some days later, and remember dates roughly


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
    return tuple(TimeWindow(window.start, window.end, window.any_year) for window in find_windows(query, now))


def _in_year_of(at: int, moment: int) -> int:
    """The same day and month in the year of `at`, in local time, as the windows are."""
    year = datetime.fromtimestamp(at / 1000).year
    date_time = datetime.fromtimestamp(moment / 1000)
    day = min(date_time.day, 28) if date_time.month == 2 else date_time.day
    return int(date_time.replace(year=year, day=day).timestamp() * 1000)
