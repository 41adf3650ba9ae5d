"""The words of dates in English: months, weekdays, units, numbers; and the text of a phrase in one plain form."""

import os
import re

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: number for number, name in enumerate(WEEKDAY_NAMES)}
WEEKDAYS |= {name[:3]: number for name, number in WEEKDAYS.items()} | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), "week"),
    **dict.fromkeys(("mo", "mon", "mos", "month", "months"), "month"),
    **dict.fromkeys(("quarter", "quarters"), "quarter"),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), "year"),
}
DAY_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (20, 30)}  # hours of the day
ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "final": -1}
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
NUMBERS |= {"couple": 2, "few": 3, "several": 3}  # vague numbers, as people mean them

DASHES = str.maketrans("‐‑‒–—−", "------")
PLAIN = (
    (re.compile(r"[\s,]+"), " "),
    (re.compile(r"\b([ap])\.m\.?(?=\s|$)"), r"\1m"),
    (re.compile(r"(?<=[a-z])\.(?=\s|$)"), ""),
    (re.compile(r"(?<=\d)-(?=[a-z]{3})|(?<=[a-z]{3})-(?=\d)"), " "),  # 3-april-2026
    (re.compile(r"'s\b"), ""),
    (re.compile(r"\bthe last (?=(?:hour|day|week|month|quarter|year)\b(?! of| in))"), "past "),  # up to now
    (re.compile(r"\bthe\b"), " "),
    (re.compile(r"\b(early|mid|late) ?- ?"), r"\1 "),
    (re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b"), r"\1"),
    (re.compile(r"\b(?:an?) (?=(?:couple|few|fortnight)\b)"), ""),
    (re.compile(r"\b(couple|few) of\b"), r"\1"),
    (re.compile(rf"\b({'|'.join(NUMBERS)})\b"), lambda match: str(NUMBERS[match[1]])),
    (re.compile(r"\b(?:1 )?fortnights?\b"), "2 weeks"),
    (re.compile(r"\ban? (?=(?:minute|hour|day|week|month|quarter|year)\b)"), "1 "),
    (re.compile(r" +"), " "),
)


def plain(text: str) -> str:
    """A phrase in lower case, without articles, commas and ordinals, with digits for numbers."""
    text = text.lower().translate(DASHES).replace("’", "'")
    for pattern, replacement in PLAIN:
        text = pattern.sub(replacement, text)
    return text.strip()


def is_month_first() -> bool:
    """Whether this person writes 03/04 for 4 March: only in the United States, by the locale."""
    locale = next((value for name in ("LC_ALL", "LC_TIME", "LANG") if (value := os.environ.get(name))), "")
    return locale.startswith("en_US")
