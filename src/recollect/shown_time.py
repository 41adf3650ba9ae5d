"""Formats times for texts that are the same on every machine: in UTC, and with a mark if they are estimated.

Events of a log without timestamps get the date of its file. Such a time is shown as `~2026-02-01`.
"""

import time

MARK = "~"  # before an estimated time
FIELD = "estimated_time"  # in JSON: true beside an estimated time


def day(at: int, *, estimated: bool = False) -> str:
    """The date of a time in milliseconds."""
    return marked(time.strftime("%Y-%m-%d", time.gmtime(at / 1000)), estimated=estimated)


def minute(at: int, *, estimated: bool = False) -> str:
    """The date, hour and minute of a time in milliseconds."""
    return marked(time.strftime("%Y-%m-%d %H:%M", time.gmtime(at / 1000)), estimated=estimated)


def marked(shown: str, *, estimated: bool) -> str:
    """A formatted time, with the mark if it is estimated."""
    return MARK + shown if estimated else shown


def estimate_field(estimated: bool) -> dict[str, bool]:
    """The JSON field beside an estimated time; empty for other times."""
    return {FIELD: True} if estimated else {}
