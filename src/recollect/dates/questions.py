"""Finds the times that a question names: "what did we decide in the last week of March?".

A question is split into tokens. Runs of tokens that can be part of a time are read as phrases, the longest first. A word
with another meaning ("may", "march", "second", "sun") counts only if its neighbours make clear that it is a time.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

from msgspec.structs import replace

from recollect.dates.phrases import read_phrase
from recollect.dates.spans import ImpossibleDate, Now, Span, UnknownNow, add_units, moved
from recollect.dates.words import DAY_PARTS, MONTHS, NUMBERS, ORDER, UNITS, WEEKDAY_NAMES, WEEKDAYS, plain

MAX_TOKENS = 12  # of a phrase: "from the third week of March to the end of June 2026" has 12
MAX_RUN = 48  # tokens: a question has no more words about times in a row
MAX_FOUND = 8  # times of a question
TOKEN = re.compile(
    r"(?<!\d)\d{4}-\d\d-\d\d(?:[Tt]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?(?!\d)"
    r"|(?<![\w-])\d{4}-\d\d(?![\w-])"
    r"|(?<![\w/.])\d{1,2}([/.])\d{1,2}\1\d{4}(?![\w/.])"
    r"|\w+(?:[.:/@_]\w+)+"
    r"|\w+(?:['’]s\b)?|[^\w\s]"
)
DATED = re.compile(r"\d{4}-\d\d|\d{1,2}([/.])\d{1,2}\1\d{4}")
NUMERIC = re.compile(r"\d{1,4}|\d{1,2}(?:st|nd|rd|th)|\d{1,2}(?::\d\d)?(?:[ap]m)?|\d{1,2}:\d\d|[qQ][1-4]|[hH][12]")
WHEN = {"on", "in", "at", "during", "over", "since", "after", "before", "until", "till", "by", "from", "of", "within"}
SURE = {"in", "since", "during", "last", "early", "mid", "late", "until", "till"}  # what stands before a time only
SMALL = {"the", "a", "an", "and", "to", "through", "between", "ago", "back", "this", "last", "past", "previous", "current"}
SMALL |= {"next", "early", "mid", "late", "beginning", "start", "middle", "end", "half", "full", "couple", "several", "few"}
SMALL |= {"before", ",", "-", "–", "—", "noon", "midnight"}
SPECIAL = {"today", "yesterday", "tonight", "weekend", "fortnight", "ago"}
LONG_UNITS = {unit for unit in UNITS if len(unit) > 3 or unit == "day"} - {"mins", "secs"}
CORE = {*MONTHS, *WEEKDAYS, *SPECIAL, *LONG_UNITS, *DAY_PARTS}
VOCABULARY = {*CORE, *SMALL, *WHEN, *NUMBERS, *ORDER}
AMBIGUOUS = {"may", "mar", "march", "dec", "sun", "sat", "wed", "mon", "sep", "second"}  # also other words
NEAR = timedelta(days=30)  # "before 3 April" is about the days before it, not about all the years
NEVER_ALONE = {"duration", "time", "now"}
YEARS = range(2000, 2041)  # of agents' logs; 2048 is seldom a year


def find_spans(question: str, now: Now) -> Iterator[Span]:
    """The times of a question, in its order."""
    found = 0
    for run in _runs(question):
        for span in _spans_of(run, now):
            yield span
            found += 1
            if found == MAX_FOUND:
                return


def _runs(question: str) -> Iterator[list[str]]:
    """The longest sequences of tokens that can be part of a time, if one of them is sure to be."""
    run: list[str] = []
    for match in TOKEN.finditer(question):
        token = match[0]
        if _bare(token) in VOCABULARY or NUMERIC.fullmatch(token) or DATED.match(token):
            run.append(token)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _bare(token: str) -> str:
    return token.lower().removesuffix("'s").removesuffix("’s")


def _spans_of(run: list[str], now: Now) -> Iterator[Span]:
    run = run[:MAX_RUN]
    cores = [_bare(token) in CORE or _is_number_core(token) for token in run]
    start = 0
    while any(cores[start:]):
        size, span = _longest(run, cores, start, now)
        if span is not None:
            yield span
        start += size


def _is_number_core(token: str) -> bool:
    return DATED.match(token) is not None or token[:1] in "qQhH" or (token.isdigit() and len(token) == 4)


def _longest(run: list[str], cores: list[bool], start: int, now: Now) -> tuple[int, Span | None]:
    """The number of tokens to go on by, and the time that they name."""
    for end in range(min(len(run), start + MAX_TOKENS), start, -1):
        words = run[start:end]
        if not any(cores[start:end]) or words[-1] in (",", "-") or words[0] in (",", "-"):
            continue
        try:
            span = read_phrase(plain(" ".join(words)), now)
        except ImpossibleDate:
            return end - start, None
        except UnknownNow:
            continue
        if span is not None and _is_clear(span, words):
            return end - start, _around(span)
    return 1, None


def _is_clear(span: Span, words: list[str]) -> bool:
    """Whether words certainly name a time, though some of them have other meanings."""
    lead = {word.lower() for word in words[:-1]}
    last = _bare(words[-1])
    match span.kind:
        case "month":
            if last not in AMBIGUOUS or (lead and words[-1][:1].isupper()):
                return True
            return bool(lead & (SURE - {"last"} if last == "may" else SURE))  # "the last may fail"
        case "weekday":
            return bool(lead) and (last in WEEKDAY_NAMES or words[-1][:1].isupper())
        case "day of a month":
            return _is_clear_day(words)
        case "year":
            return bool(lead & SURE) and last.isdigit() and int(last) in YEARS
        case "quarter":
            return bool(lead) or words[0].startswith("Q")
        case "weekend":
            return bool(lead)
        case "past":
            return last not in ("day", "minute", "second", "seconds", "minutes")
        case kind:
            return kind not in NEVER_ALONE


def _is_clear_day(words: list[str]) -> bool:
    """Whether a day and a month are a date: "step 3 may fail" names none."""
    month = next((word for word in words if _bare(word) in MONTHS), "")
    if _bare(month) not in AMBIGUOUS or month[:1].isupper():
        return True
    return any(word.lower() in WHEN for word in words) or any(re.fullmatch(r"\d+(?:st|nd|rd|th)", word) for word in words)


def _around(span: Span) -> Span:
    """The time that a question means: people count weeks and months roughly, and mean days near the end of an open range."""
    if span.kind in ("weeks ago", "months ago") and span.start is not None:
        return replace(span, start=add_units(span.start, -1, span.kind.removesuffix("s ago")))
    if span.start is None and span.end is not None:
        return replace(span, start=moved(span.end, -NEAR))
    if span.end is None and span.start is not None and span.has_two_ends:
        return replace(span, end=moved(span.start, NEAR))
    return span
