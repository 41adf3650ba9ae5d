"""Rules for times relative to now: "7d", "2 weeks ago", "last month", "on Monday", "this weekend"."""

import re
from datetime import datetime, timedelta

from msgspec.structs import replace

from recollect.dates.rules import A_DAY_PART, COUNT, REST, UNIT, WEEKDAY, Reading, Rules
from recollect.dates.spans import (
    DAY,
    LENGTHS,
    WEEK,
    Span,
    add_units,
    days,
    length_in_days,
    moved,
    start_of,
    whole,
    within,
)
from recollect.dates.words import DAY_PARTS, UNITS, WEEKDAY_NAMES, WEEKDAYS

RULES = Rules()
WEEK_NAME = "(?P<week>(?:last|this|previous) week)"
MAX_COUNT = 1_000_000  # of units: more is no date


@RULES.add(rf"{COUNT} ?{UNIT}")
def _duration(match: re.Match[str], reading: Reading) -> Span | None:
    count, unit = int(match["count"]), UNITS[match["unit"]]
    if count > MAX_COUNT:
        return None
    note = f"{match[0]} was read as {count} minutes; write {count}mo for months." if match["unit"] == "m" else ""
    return Span(add_units(reading.moment(), -count, unit), reading.moment(), "duration", note=note)


@RULES.add(rf"(?:last|past|previous) {COUNT} {UNIT}")
def _past_units(match: re.Match[str], reading: Reading) -> Span | None:
    count = int(match["count"])
    if count > MAX_COUNT:
        return None
    return Span(add_units(reading.moment(), -count, UNITS[match["unit"]]), reading.moment(), "past")


@RULES.add(r"past (?P<unit>hour|day|week|month|quarter|year)", r"last (?P<unit>hour|day)")
def _past_unit(match: re.Match[str], reading: Reading) -> Span:
    return Span(add_units(reading.moment(), -1, match["unit"]), reading.moment(), "past")


@RULES.add(rf"{COUNT} ?{UNIT} (?:ago|back|earlier)")
def _ago(match: re.Match[str], reading: Reading) -> Span | None:
    count, unit = int(match["count"]), UNITS[match["unit"]]
    if count > MAX_COUNT:
        return None
    base = reading.moment() if unit in ("second", "minute", "hour") else reading.today()
    start = add_units(base, -count, unit)
    return Span(start, max(add_units(start, 1, unit), moved(start, LENGTHS["second"])), f"{unit}s ago")


@RULES.add("now|just now")
def _now(match: re.Match[str], reading: Reading) -> Span:
    return Span(reading.moment(), moved(reading.moment(), LENGTHS["second"]), "now")


@RULES.add("today|yesterday|tomorrow|day before yesterday")
def _named_day(match: re.Match[str], reading: Reading) -> Span:
    away = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(match[0], -2)
    return days(moved(reading.today(), away * DAY), kind="day")


@RULES.add("tonight|last night")
def _night(match: re.Match[str], reading: Reading) -> Span | None:
    return reading.part("today night" if match[0] == "tonight" else "yesterday night")


@RULES.add(rf"this (?P<part>{A_DAY_PART})")
def _part_of_today(match: re.Match[str], reading: Reading) -> Span | None:
    return reading.part(f"today {match['part']}")


@RULES.add(rf"(?P<part>{A_DAY_PART}) of {REST}", rf"{REST} (?:in )?(?P<part>{A_DAY_PART})")
def _part_of_day(match: re.Match[str], reading: Reading) -> Span | None:
    day = reading.part(match["rest"])
    if day is None or day.start is None or length_in_days(day) != 1:
        return None
    first, last = DAY_PARTS[match["part"]]
    start, end = moved(day.start, timedelta(hours=first)), moved(day.start, timedelta(hours=last))
    return replace(day, start=start, end=end, kind="part of a day")


@RULES.add(r"(?P<last>last|this|current|next|previous|coming) (?P<unit>day|week|weekend|month|quarter|year)")
def _calendar_unit(match: re.Match[str], reading: Reading) -> Span | None:
    unit = match["unit"]
    away = {"this": 0, "current": 0, "next": 1, "coming": 1}.get(match["last"], -1)
    if unit == "weekend":
        if match["last"] in ("last", "previous"):
            return _latest_weekend(reading.moment(), ended=True)
        return days(moved(start_of("week", reading.moment()), 5 * DAY + away * WEEK), 2, kind="relative")
    return whole(unit, add_units(start_of(unit, reading.moment()), away, unit), kind="relative")


@RULES.add("weekend")
def _weekend(match: re.Match[str], reading: Reading) -> Span:
    return _latest_weekend(reading.moment(), ended=False)


def _latest_weekend(at: datetime, *, ended: bool) -> Span:
    saturday = moved(start_of("week", at), 5 * DAY)
    if saturday > at or (ended and moved(saturday, 2 * DAY) > at):
        saturday = moved(saturday, -WEEK)
    return days(saturday, 2, kind="weekend", repeats="week")


@RULES.add(rf"(?:(?P<last>last|past|previous|this|next) )?{WEEKDAY}")
def _weekday(match: re.Match[str], reading: Reading) -> Span | None:
    today, wanted = reading.today(), WEEKDAYS[match["weekday"]]
    if match["last"] == "next":
        return None  # archives have nothing of the future
    if match["last"] == "this":
        return days(moved(start_of("week", today), wanted * DAY), kind="relative")
    back = (today.weekday() - wanted) % 7
    if match["last"] and not back:
        back = 7
    return days(moved(today, -back * DAY), kind="weekday", repeats="week")


@RULES.add(rf"{WEEKDAY} (?:of )?{WEEK_NAME}", rf"{WEEK_NAME} (?:on )?{WEEKDAY}")
def _weekday_of_week(match: re.Match[str], reading: Reading) -> Span | None:
    week = reading.part(match["week"])
    return within(week, WEEKDAYS[match["weekday"]], 1, kind="relative") if week else None


@RULES.add(rf"{WEEKDAY} (?P<date>.*\d.*)")
def _weekday_with_date(match: re.Match[str], reading: Reading) -> Span | None:
    span = reading.part(match["date"])
    if span is None or span.start is None or length_in_days(span) != 1:
        return None
    actual = span.start.weekday()
    if actual == WEEKDAYS[match["weekday"]]:
        return span
    return replace(span, note=f"{match['date'].title()} is a {WEEKDAY_NAMES[actual].title()}.")
