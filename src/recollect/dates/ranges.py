"""Rules for ranges: "3-7 April", "between Monday and Wednesday", "since March"."""

import re

from msgspec.structs import replace

from recollect.dates.rules import MONTH, REST, YEAR, Reading, Rules
from recollect.dates.spans import ImpossibleDate, Span, UnknownNow, bounds, on_day_of, shifted_back

RULES = Rules()
MOMENTS = {"time", "dated time", "moment", "now"}  # kinds whose length does not count
DAY_AND_MONTH = re.compile(rf"\d{{1,2}} (?:of )?(?P<rest>{MONTH}(?: {YEAR})?)")
MONTH_AND_DAY = re.compile(rf"{MONTH} \d{{1,2}}")
ENDING_YEAR = re.compile(rf".*[a-z].* {YEAR}")


@RULES.add(
    r"between (?P<a>.+?) (?:and|to|-) (?P<b>.+)",
    r"(?:from )?(?P<a>.+?) (?:to|until|till|through|thru|-) (?P<b>.+)",
    r"(?:between |from )?(?P<a>(?:[a-z]+ )?\d{1,2}) ?- ?(?P<b>\d{1,2}(?: .+)?)",
)
def _range(match: re.Match[str], reading: Reading) -> Span | None:
    """From the start of one time to the end of another."""
    first, last = _both_ends(match["a"], match["b"], reading)
    if first is None or last is None or first.kind == "duration" or last.kind == "duration":
        return None
    end = replace(last, end=last.start) if last.kind in MOMENTS else last
    if bounds(first)[0] >= bounds(end)[1] and not match["a"].isdigit():
        first = shifted_back(first)
    if bounds(first)[0] >= bounds(end)[1]:
        raise ImpossibleDate(f"{match[0]!r} ends before it begins.")
    is_open = first.repeats == end.repeats == "year" and first.start and end.start and first.start.year == end.start.year
    note = " ".join(dict.fromkeys(note for note in (first.note, last.note) if note))
    return Span(first.start, end.end, "range", repeats="year" if is_open else "", has_two_ends=True, note=note)


def _both_ends(a: str, b: str, reading: Reading) -> tuple[Span | None, Span | None]:
    """Two times, of which one may leave out what it shares with the other: its day, month or year."""
    if a.isdigit() and (shared := DAY_AND_MONTH.fullmatch(b)):
        a = f"{a} {shared['rest']}"
    elif (shared := MONTH_AND_DAY.fullmatch(a)) and re.fullmatch(rf"\d{{1,2}}(?: {YEAR})?", b):
        b = f"{shared['month']} {b}"
    year = ENDING_YEAR.fullmatch(b) if re.search(r"\d{4}", a) is None else None
    if year and (dated := reading.part(f"{a} {year['year']}")):
        return replace(dated, repeats="year"), reading.part(b)
    first, last = reading.part(a), reading.part(b)
    if first and last:
        if (first.kind, last.kind) == ("dated time", "time"):
            return first, on_day_of(last, first)
        if (first.kind, last.kind) == ("time", "dated time"):
            return on_day_of(first, last), last
    return first, last


@RULES.add(rf"(?P<word>since|after|from|before|until|till|by|up to) {REST}")
def _open_range(match: re.Match[str], reading: Reading) -> Span | None:
    span = reading.part(match["rest"])
    if span is None or match["word"] == "from":
        return span
    if span.repeats == "year" and reading.time is None:
        raise UnknownNow
    match match["word"]:
        case "since":
            return replace(span, end=None, repeats="", has_two_ends=False)
        case "after":
            after = span.start if span.kind in MOMENTS else span.end
            return replace(span, start=after, end=None, repeats="", has_two_ends=True)
        case "before":
            end = span.end if span.kind == "end" else span.start  # "before the end of March" includes its last days
            return replace(span, start=None, end=end, repeats="", has_two_ends=True)
        case _:
            end = span.end if span.has_two_ends else span.start
            return replace(span, start=None, end=end, repeats="", has_two_ends=True)
