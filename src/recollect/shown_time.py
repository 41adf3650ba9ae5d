"""Times as people read them: in UTC, and marked where they are estimated.

A log without times is dated by its file. Such a time is an estimate: `~2026-02-01`.
"""

import time

MARK = "~"  # begins a time that is the date of the log file
FIELD = "estimated_time"  # the same in JSON, true beside such a time


def day(at: int, *, estimated: bool = False) -> str:
    """The date of a time in milliseconds."""
    return marked(time.strftime("%Y-%m-%d", time.gmtime(at / 1000)), estimated=estimated)


def minute(at: int, *, estimated: bool = False) -> str:
    return marked(time.strftime("%Y-%m-%d %H:%M", time.gmtime(at / 1000)), estimated=estimated)


def marked(shown: str, *, estimated: bool) -> str:
    """A time in words, with the mark where it is estimated."""
    return MARK + shown if estimated else shown


def estimate_field(estimated: bool) -> dict[str, bool]:
    """What an answer in JSON has beside an estimated time; nothing beside any other."""
    return {FIELD: True} if estimated else {}
