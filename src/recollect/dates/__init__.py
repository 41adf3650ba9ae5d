"""Dates as people write them, read by one parser for every surface and for questions.

`spans` has the arithmetic of the calendar, `words` the words. `phrases` reads one phrase by the rules of `absolute`,
`relative`, `parts`, `day_times` and `ranges`. `questions` finds the phrases in a question. Days, weeks and months are of the
local time zone; a time with an offset is exact. docs/decisions/2026-11-19-dates.md has the reasons.

The functions here import the patterns when they are called: compiling them takes 9 ms of CPU, and every command imports this
package.
"""

from datetime import datetime

from msgspec import Struct

from recollect.dates.spans import ImpossibleDate, Now, Span, UnknownNow, bounds
from recollect.dates.words import is_month_first, plain
from recollect.errors import BadDate

EXAMPLES = "today, yesterday, 2026-04-30, 2026-04-30T09:00Z, 12h, 7d, last week, last week of March"


class Window(Struct, frozen=True):
    """A span of time in milliseconds since 1970. `end` is exclusive. With `any_year`, only day and month count."""

    start: int
    end: int
    note: str = ""  # how it was read, if it was ambiguous
    any_year: bool = False
    has_two_ends: bool = False  # the text names an end as well, as in "3-7 April" and "end of March"


def parse_window(text: str, now: int) -> Window | None:
    """The time that a text names, relative to `now` in milliseconds; None if it names none or one that does not exist."""
    try:
        span = _read(text, now)
    except (ImpossibleDate, UnknownNow):
        return None
    return None if span is None else _window(span)


def since_of(text: str, now: int) -> int:
    """The first millisecond of what `since:` keeps: the beginning of the time. Raises `BadDate`."""
    return _known_window(text, now).start


def until_of(text: str, now: int) -> int:
    """The first millisecond of what `until:` leaves out: the beginning of the time.

    So `until:2026-03-01` ends with February. A range that names its own end, such as "3-7 April" or "end of March", ends
    there. Raises `BadDate`.
    """
    window = _known_window(text, now)
    return window.end if window.has_two_ends else window.start


def find_windows(question: str, now: int | None) -> tuple[Window, ...]:
    """The times that a question names, in its order. Without `now`, only dates that need no current time."""
    from recollect.dates.questions import find_spans

    return tuple(_window(span, any_year=span.repeats == "year") for span in find_spans(question, _now(now)))


def problem_of(text: str, now: int) -> str:
    """Why a text is not a date, as a sentence; empty if it is one."""
    try:
        span = _read(text, now)
    except ImpossibleDate as error:
        return str(error)
    return "" if span is not None else f"Cannot read {text!r} as a date. Use {EXAMPLES}."


def is_impossible(text: str, now: int) -> bool:
    """Whether a text is written as a date, but there is no such date."""
    try:
        _read(text, now)
    except ImpossibleDate:
        return True
    return False


def _known_window(text: str, now: int) -> Window:
    if problem := problem_of(text, now):
        raise BadDate(problem)
    window = parse_window(text, now)
    assert window is not None
    return window


def _read(text: str, now: int) -> Span | None:
    from recollect.dates.phrases import read_phrase

    return read_phrase(plain(text), _now(now))


def _now(now: int | None) -> Now:
    try:
        time = None if now is None else datetime.fromtimestamp(now / 1000)
    except (ValueError, OverflowError, OSError):
        time = None
    return Now(time, is_month_first())


def _window(span: Span, *, any_year: bool = False) -> Window:
    start, end = bounds(span)
    return Window(start, end, span.note, any_year, span.has_two_ends)
