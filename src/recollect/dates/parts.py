"""Rules for parts of a time: "last week of March", "early May", "second Tuesday of June", "end of last week"."""

import re
from datetime import datetime

from msgspec.structs import replace

from recollect.dates.rules import A_WEEKDAY, COUNT, NTH, REST, YEAR, Reading, Rules, nth
from recollect.dates.spans import DAY, Span, add_months, add_units, days, length_in_days, moved, start_of, whole, within
from recollect.dates.words import WEEKDAYS

RULES = Rules()
MAX_BESIDE = 1_000  # units


@RULES.add(rf"{NTH} (?:full )?(?P<unit>week|day|weekend|half|{A_WEEKDAY}) (?:of|in) {REST}")
def _nth_part(match: re.Match[str], reading: Reading) -> Span | None:
    span, number = reading.part(match["rest"]), nth(match["nth"])
    if span is None or span.start is None or span.end is None:
        return None
    unit, length = match["unit"], length_in_days(span)
    place = number - 1 if number > 0 else number
    if unit == "half":
        return _half(span, number)
    if unit in ("week", "day"):
        size = 7 if unit == "week" else 1
        return within(span, place * size, size, kind="part") if length > size else None
    wanted, size = (5, 2) if unit == "weekend" else (WEEKDAYS[unit], 1)
    first = (wanted - span.start.weekday()) % 7
    if place < 0:
        return within(span, first + (length - size - first) // 7 * 7, size, kind="part")
    return within(span, first + place * 7, size, kind="part")


@RULES.add(rf"(?P<first>first|last|final) {COUNT} days (?:of|in) {REST}")
def _first_days(match: re.Match[str], reading: Reading) -> Span | None:
    span, count = reading.part(match["rest"]), int(match["count"])
    if span is None or not 0 < count <= length_in_days(span):
        return None
    return within(span, 0 if match["first"] == "first" else -count, count, kind="part")


@RULES.add(rf"h(?P<half>[12]) ?{YEAR}")
def _half_year(match: re.Match[str], reading: Reading) -> Span | None:
    return _half(whole("year", datetime(int(match["year"]), 1, 1)), int(match["half"]))


def _half(span: Span, number: int) -> Span | None:
    if span.start is None or span.end is None or number not in (1, 2, -1):
        return None
    length = length_in_days(span)
    middle = add_months(span.start, 6) if length > 360 else moved(span.start, (length + 1) // 2 * DAY)
    if number == 1:
        return replace(span, end=middle, kind="part")
    return replace(span, start=middle, kind="part")


@RULES.add(rf"(?P<where>early|mid|late) (?:in )?{REST}")
def _third(match: re.Match[str], reading: Reading) -> Span | None:
    span = reading.part(match["rest"])
    third = length_in_days(span) // 3 if span else 0
    if span is None or not third:
        return None
    rest = length_in_days(span) - 2 * third
    first, count = {"early": (0, third), "mid": (third, third), "late": (2 * third, rest)}[match["where"]]
    return within(span, first, count, kind="part")


@RULES.add(rf"(?P<where>beginning|start|middle|end) of {REST}")
def _edge(match: re.Match[str], reading: Reading) -> Span | None:
    """An end of a span: 2 days of a week, 7 of a month, a sixth of what is longer."""
    span = reading.part(match["rest"])
    length = length_in_days(span) if span else 0
    if span is None or length < 2:
        return None
    part = min(length, max(2, length // 4 if length <= 31 else length // 6))
    first = {"end": length - part, "middle": (length - part) // 2}.get(match["where"], 0)
    if match["where"] == "end":
        return within(span, first, part, kind="end", has_two_ends=True)
    return within(span, first, part, kind="part")


@RULES.add(rf"week of {REST}")
def _week_of(match: re.Match[str], reading: Reading) -> Span | None:
    day = reading.part(match["rest"])
    if day is None or day.start is None or length_in_days(day) != 1:
        return None
    return replace(whole("week", start_of("week", day.start), kind="part"), note=day.note)


@RULES.add(rf"(?:{COUNT} )?(?P<unit>day|week|month|year)s? (?P<side>before|after) {REST}")
def _units_beside(match: re.Match[str], reading: Reading) -> Span | None:
    """The unit that is some units away from a time: "the week before 3 April", "2 weeks after March"."""
    beside, count, unit = reading.part(match["rest"]), int(match["count"] or 1), match["unit"]
    if beside is None or beside.start is None or beside.end is None or not 0 < count <= MAX_BESIDE:
        return None
    start = add_units(beside.start, -count, unit) if match["side"] == "before" else add_units(beside.end, count - 1, unit)
    return whole(unit, start, kind="part", note=beside.note)


@RULES.add(rf"(?:last |first |next )?(?P<unit>weekend|{A_WEEKDAY}) (?P<side>before|after) {REST}")
def _day_beside(match: re.Match[str], reading: Reading) -> Span | None:
    """The nearest weekend or weekday before or after a time."""
    beside = reading.part(match["rest"])
    if beside is None or beside.start is None or beside.end is None:
        return None
    weekday, size = (5, 2) if match["unit"] == "weekend" else (WEEKDAYS[match["unit"]], 1)
    if match["side"] == "after":
        return days(moved(beside.end, (weekday - beside.end.weekday()) % 7 * DAY), size, kind="part", note=beside.note)
    back = (beside.start.weekday() - weekday - size) % 7 + size
    return days(moved(beside.start, -back * DAY), size, kind="part", note=beside.note)
