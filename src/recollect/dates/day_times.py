"""Rules for times of day: "14:00", "yesterday at 3pm", "noon".

A named hour lasts an hour, a named minute a minute.
"""

import re
from datetime import datetime

from msgspec.structs import replace

from recollect.dates.rules import Reading, Rules
from recollect.dates.spans import ImpossibleDate, Span, length_in_days, midnight, shifted_back, whole

RULES = Rules()
CLOCK = (
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)? ?(?P<half>am|pm)?|(?P<named>noon|midday|midnight))"
)


@RULES.add(CLOCK)
def _time(match: re.Match[str], reading: Reading) -> Span | None:
    """The latest such time up to now."""
    if not (match["named"] or match["minute"] or match["half"]):
        return None  # a number alone
    span = _at(match, reading.today())
    return shifted_back(span) if span.start is not None and span.start > reading.moment() else span


@RULES.add(rf"(?P<date>.+?) (?:at )?{CLOCK}")
def _date_and_time(match: re.Match[str], reading: Reading) -> Span | None:
    return _time_on(match, reading)


@RULES.add(rf"{CLOCK} (?:on )?(?P<date>.+)")
def _time_and_date(match: re.Match[str], reading: Reading) -> Span | None:
    return _time_on(match, reading)


def _time_on(match: re.Match[str], reading: Reading) -> Span | None:
    if not (match["named"] or match["minute"] or match["half"]):
        return None
    day = reading.part(match["date"])
    if day is None or day.start is None or length_in_days(day) != 1:
        return None
    return replace(_at(match, day.start), kind="dated time", repeats=day.repeats, note=day.note)


def _at(match: re.Match[str], day: datetime) -> Span:
    """A time of a day; an hour long if no minute is given."""
    if match["named"]:
        return whole(
            "minute", midnight(day).replace(hour=0 if match["named"] == "midnight" else 12), kind="time", repeats="day"
        )
    hour, minute, second = int(match["hour"]), int(match["minute"] or 0), int(match["second"] or 0)
    if hour > (12 if match["half"] else 23) or (match["half"] and not hour) or minute > 59 or second > 59:
        raise ImpossibleDate(f"{match[0]!r} does not exist: there is no such time of day.")
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    unit = "second" if match["second"] else "minute" if match["minute"] else "hour"
    return whole(unit, midnight(day).replace(hour=hour, minute=minute, second=second), kind="time", repeats="day")
