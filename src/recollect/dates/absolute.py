"""Rules for dates as numbers, and for months, quarters and days of a month."""

import re
from datetime import datetime, timedelta

from msgspec.structs import replace

from recollect.dates.rules import MONTH, NTH, YEAR, Reading, Rules, nth
from recollect.dates.spans import LENGTHS, ImpossibleDate, Span, add_months, day_of, days, latest_day, moved, whole
from recollect.dates.words import MONTH_NAMES, MONTHS

RULES = Rules()


@RULES.add(r"(\d{4}-\d\d-\d\d|\d{8})[t ](\d\d(?::?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?)?) ?(z|[+-]\d\d(?::?\d\d)?)?")
def _iso_time(match: re.Match[str], reading: Reading) -> Span:
    date, time, zone = match[1], match[2], (match[3] or "").upper()
    _iso_date(date)
    try:
        at = datetime.fromisoformat(f"{date}T{time}{zone}")
    except ValueError:
        raise ImpossibleDate(f"{match[0].upper()!r} does not exist: there is no such time of day.") from None
    digits = sum(letter.isdigit() for letter in time)
    precision = timedelta(milliseconds=1) if digits > 6 else LENGTHS[{2: "hour", 4: "minute"}.get(digits, "second")]
    return Span(at, moved(at, precision), "moment")


@RULES.add(r"\d{4}-\d\d-\d\d|\d{8}")
def _iso_day(match: re.Match[str], reading: Reading) -> Span:
    return days(_iso_date(match[0]), kind="iso")


def _iso_date(text: str) -> datetime:
    digits = text.replace("-", "")
    return day_of(int(digits[:4]), int(digits[4:6]), int(digits[6:]), text)


@RULES.add(r"(\d{4})-w(\d\d)")
def _iso_week(match: re.Match[str], reading: Reading) -> Span:
    try:
        return whole("week", datetime.fromisocalendar(int(match[1]), int(match[2]), 1), kind="iso")
    except ValueError:
        raise ImpossibleDate(
            f"{match[0].upper()!r} does not exist: there is no week {int(match[2])} in {match[1]}."
        ) from None


@RULES.add(r"(\d{4})-(\d\d)")
def _iso_month(match: re.Match[str], reading: Reading) -> Span:
    return whole("month", day_of(int(match[1]), int(match[2]), 1, match[0]), kind="iso")


@RULES.add(YEAR)
def _year(match: re.Match[str], reading: Reading) -> Span:
    return whole("year", datetime(int(match["year"]), 1, 1), kind="year")


@RULES.add(r"(\d{4})/(\d\d?)/(\d\d?)")
def _year_first(match: re.Match[str], reading: Reading) -> Span:
    return days(day_of(int(match[1]), int(match[2]), int(match[3]), match[0]), kind="iso")


@RULES.add(r"(\d\d?)([/.-])(\d\d?)\2(\d{4}|\d\d)")
def _numeric(match: re.Match[str], reading: Reading) -> Span:
    first, second, year = int(match[1]), int(match[3]), int(match[4]) + (2000 if len(match[4]) == 2 else 0)
    month_first = reading.month_first and match[2] != "."  # with dots the day is always first
    if (first > 12) != (second > 12):
        month_first = second > 12  # it must be a day
    day, month = (second, first) if month_first else (first, second)
    start = day_of(year, month, day, match[0])
    note = ""
    if first <= 12 and second <= 12 and first != second and match[2] != ".":
        order = "month first" if month_first else "day first"
        note = f"{match[0]} was read as {day} {MONTH_NAMES[month - 1].title()} {year} ({order})."
    return days(start, kind="numeric", note=note)


def _open_year(span: Span, name: str, reading: Reading) -> Span:
    """The span with a note if the latest one is not of this year."""
    if reading.time is None or span.start is None or span.start.year == reading.time.year:
        return span
    return replace(span, note=f"{name} was read as {name} {span.start.year}, the latest one.")


@RULES.add(rf"(?:(?P<last>last|this|past|previous) )?{MONTH}(?: (?:of )?(?:{YEAR}|(?P<which>last|this|previous) year))?")
def _month(match: re.Match[str], reading: Reading) -> Span | None:
    month, name = MONTHS[match["month"]], MONTH_NAMES[MONTHS[match["month"]] - 1].title()
    if match["year"]:
        return whole("month", datetime(int(match["year"]), month, 1), kind="month of a year")
    if match["which"] or match["last"] == "this":
        year = reading.moment().year - (match["which"] in ("last", "previous"))
        return whole("month", datetime(year, month, 1), kind="month")
    start = latest_day(month, 1, reading, match[0])
    if match["last"]:
        if add_months(start, 1) > reading.moment():
            start = add_months(start, -12)
        note = "" if start.year < reading.moment().year else f"{match['last']} {name} was read as {name} {start.year}."
        return whole("month", start, kind="month", note=note)
    return _open_year(whole("month", start, kind="month", repeats="year"), name, reading)


@RULES.add(
    rf"q(?P<nth>[1-4])(?:[ /-]?(?:of )?{YEAR})?", rf"{NTH} quarter(?: (?:of )?{YEAR})?", rf"{YEAR}[ -]?q(?P<nth>[1-4])"
)
def _quarter(match: re.Match[str], reading: Reading) -> Span | None:
    number, year = nth(match["nth"]), match["year"]
    if not 1 <= number <= 4:
        return None
    if year:
        return whole("quarter", datetime(int(year), number * 3 - 2, 1), kind="quarter of a year")
    start = latest_day(number * 3 - 2, 1, reading, match[0])
    return _open_year(whole("quarter", start, kind="quarter", repeats="year"), f"Q{number}", reading)


@RULES.add(rf"(?P<day>\d{{1,2}}) ?(?:of )?{MONTH}(?: (?:of )?{YEAR})?", rf"{MONTH} ?(?P<day>\d{{1,2}})(?: {YEAR})?")
def _day_of_month(match: re.Match[str], reading: Reading) -> Span:
    month, day, year = MONTHS[match["month"]], int(match["day"]), match["year"]
    name = f"{day} {MONTH_NAMES[month - 1].title()}"
    if year:
        return days(day_of(int(year), month, day, f"{name} {year}"), kind="day of a year")
    return _open_year(days(latest_day(month, day, reading, name), kind="day of a month", repeats="year"), name, reading)
