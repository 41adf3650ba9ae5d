"""Reads one phrase that names a time: "last week of March", "2026-03-01T14:00Z", "since Monday", "3-7 April".

A rule has a pattern for a form of phrases. Rules are tried in order, and a rule may read a part of its phrase by all rules
again. A time in the past is preferred: "March" is the latest March that has begun, "Monday" the latest Monday up to today.
"""

from recollect.dates import absolute, day_times, parts, ranges, relative
from recollect.dates.rules import Reading, Rule
from recollect.dates.spans import Now, Span

RULES: tuple[Rule, ...] = (*absolute.RULES, *relative.RULES, *parts.RULES, *day_times.RULES, *ranges.RULES)


def read_phrase(text: str, now: Now) -> Span | None:
    """The time that a phrase in plain form names; None if it names none. Raises `ImpossibleDate` and `UnknownNow`."""
    return Reading(now.time, now.month_first, RULES).phrase(text)
