"""How far local time is from UTC: for sums by local day in a database that stores UTC."""

import time
from functools import lru_cache

QUARTER_MS = 900_000  # local time changes at a full quarter of an hour
STEP = 7 * 96  # quarters in a week: no zone changes its time and changes it back within a week


@lru_cache(maxsize=8)
def offsets_between(first: int, last: int, zone: str) -> tuple[tuple[int, int], ...]:
    """The differences of local time to UTC in a stretch of time: pairs (from this time on, difference), in milliseconds.

    The first pair holds from the beginning. `zone` is the name of the local zone, because TZ may change.
    """
    at, end = first // QUARTER_MS, last // QUARTER_MS
    found = [(at * QUARTER_MS, _offset(at))]
    while at < end:
        following = min(at + STEP, end)
        if _offset(following) != found[-1][1]:
            low, high = at, following
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if _offset(middle) != found[-1][1] else (middle, high)
            found.append((high * QUARTER_MS, _offset(high)))
        at = following
    return tuple(found)


def _offset(quarter: int) -> int:
    return time.localtime(quarter * QUARTER_MS / 1000).tm_gmtoff * 1000
