"""Times as people at this machine read them: in its time zone."""

import time
from datetime import datetime, timedelta

from recollect.shown_time import marked

DAYS = 7  # days for which a heading has a weekday and no year


def local_minute(stamp: str, *, estimated: bool = False) -> str:
    """Date, hour and minute of an ISO 8601 time."""
    return marked(_local(stamp).strftime("%Y-%m-%d %H:%M"), estimated=estimated)


def local_day(stamp: str, *, estimated: bool = False) -> str:
    """The date of an ISO 8601 time."""
    return marked(_local(stamp).strftime("%Y-%m-%d"), estimated=estimated)


def clock(stamp: str) -> str:
    """Hour and minute of an ISO 8601 time."""
    return _local(stamp).strftime("%H:%M")


def weekday_clock(stamp: str) -> str:
    """Weekday, hour and minute of an ISO 8601 time."""
    return _local(stamp).strftime("%a %H:%M")


def short_age(stamp: str) -> str:
    """How long ago an ISO 8601 time was, in a few characters: 45 s, 12 min, 3 h, 12 d, 17 Jul, Jul 2025."""
    at = _local(stamp)
    seconds = time.time() - at.timestamp()
    for limit, unit, size in ((90, "s", 1), (5_400, "min", 60), (129_600, "h", 3_600), (2_592_000, "d", 86_400)):
        if 0 <= seconds < limit:
            return f"{int(seconds / size)} {unit}"
    return f"{at.day} {at:%b}" if -86_400 < seconds < 300 * 86_400 else f"{at:%b %Y}"


def clock_with_seconds(stamp: str) -> str:
    """Hour, minute and second of an ISO 8601 time."""
    return _local(stamp).strftime("%H:%M:%S")


def day_heading(stamp: str) -> str:
    """The day of an ISO 8601 time: Today, Yesterday, Monday 16 November, 3 August 2026."""
    day = _local(stamp).date()
    today = datetime.fromtimestamp(time.time()).astimezone().date()
    named = f"{day:%A} {day.day} {day:%B}"
    if day == today:
        return f"Today, {named}"
    if day == today - timedelta(days=1):
        return f"Yesterday, {named}"
    return named if today - timedelta(days=DAYS) < day < today else f"{named} {day.year}"


def _local(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp).astimezone()
