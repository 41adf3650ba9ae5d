"""What the rules of phrases share: the patterns of words, and how a rule reads a part of its phrase."""

import re
from collections.abc import Callable

from recollect.dates.spans import Now, Span
from recollect.dates.words import DAY_PARTS, MONTHS, ORDER, UNITS, WEEKDAYS

MAX_LENGTH = 80  # characters: no phrase for a time is longer
DEEPEST = 6  # phrases within phrases: "since the end of the last week of last month" has four

A_MONTH, A_WEEKDAY, A_UNIT = ("|".join(sorted(names, key=len, reverse=True)) for names in (MONTHS, WEEKDAYS, UNITS))
A_DAY_PART = "|".join(DAY_PARTS)
MONTH, WEEKDAY, UNIT, YEAR = (
    f"(?P<month>{A_MONTH})",
    f"(?P<weekday>{A_WEEKDAY})",
    f"(?P<unit>{A_UNIT})",
    r"(?P<year>(?:19|20|21)\d\d)",
)
COUNT = r"(?P<count>\d{1,7})"
NTH = rf"(?P<nth>{'|'.join(ORDER)}|[1-5])"
REST = r"(?P<rest>.+)"
LEADING = re.compile(r"(?:on|in|at|during|over|within|around|about|of|from) ")


class Reading(Now, frozen=True):
    """The reading of one phrase: all rules, and how many phrases it is inside."""

    rules: tuple["Rule", ...] = ()
    depth: int = 0

    def phrase(self, text: str) -> Span | None:
        """The time that a phrase in plain form names; None if it names none. Raises `ImpossibleDate` and `UnknownNow`."""
        if not text or len(text) > MAX_LENGTH or self.depth > DEEPEST:
            return None
        for pattern, read in self.rules:
            match = pattern.fullmatch(text)
            if match is not None and (span := read(match, self)) is not None:
                return span
        lead = LEADING.match(text)
        return self.part(text[lead.end() :]) if lead else None

    def part(self, text: str) -> Span | None:
        """The time that a part of this phrase names."""
        return Reading(self.time, self.month_first, self.rules, self.depth + 1).phrase(text.strip())


Read = Callable[[re.Match[str], Reading], Span | None]
Rule = tuple[re.Pattern[str], Read]


class Rules(list[Rule]):
    """Rules in the order in which they are tried."""

    def add(self, *patterns: str) -> Callable[[Read], Read]:
        """Register a function for phrases that fit one of the patterns."""

        def register(read: Read) -> Read:
            self.extend((re.compile(pattern), read) for pattern in patterns)
            return read

        return register


def nth(text: str) -> int:
    """The number of "first", "2" or "last" (-1)."""
    return ORDER.get(text) or int(text)
