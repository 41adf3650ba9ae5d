"""One parser reads the dates of every surface and of questions. The table is for a Wednesday in Berlin."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.dates import Window, find_windows, parse_window, problem_of, since_of, until_of
from recollect.dates.spans import EARLIEST, LATEST
from recollect.dates.words import MONTHS, UNITS, WEEKDAYS
from recollect.errors import BadDate


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


NOW = 1_771_425_000_000  # Wednesday, 18 February 2026, 15:30 in Berlin

WINDOWS = {
    "2026-03-01": ("2026-03-01", "2026-03-02"),
    "20260301": ("2026-03-01", "2026-03-02"),
    "2026-03": ("2026-03-01", "2026-04-01"),
    "2026": ("2026-01-01", "2027-01-01"),
    "2026/3/1": ("2026-03-01", "2026-03-02"),
    "2026-W10": ("2026-03-02", "2026-03-09"),
    "2026-03-01T14:00Z": ("2026-03-01T15:00", "2026-03-01T15:01"),
    "2026-03-01T14:00:05+02:00": ("2026-03-01T13:00:05", "2026-03-01T13:00:06"),
    "2026-03-01 14:00": ("2026-03-01T14:00", "2026-03-01T14:01"),
    "20260301T0930Z": ("2026-03-01T10:30", "2026-03-01T10:31"),
    "2026-01-02T03:04:05": ("2026-01-02T03:04:05", "2026-01-02T03:04:06"),
    "7d": ("2026-02-11T15:30", "2026-02-18T15:30"),
    "12h": ("2026-02-18T03:30", "2026-02-18T15:30"),
    "90min": ("2026-02-18T14:00", "2026-02-18T15:30"),
    "2w": ("2026-02-04T15:30", "2026-02-18T15:30"),
    "3 months": ("2025-11-18T15:30", "2026-02-18T15:30"),
    "1y": ("2025-02-18T15:30", "2026-02-18T15:30"),
    "5m": ("2026-02-18T15:25", "2026-02-18T15:30"),
    "now": ("2026-02-18T15:30", "2026-02-18T15:30:01"),
    "today": ("2026-02-18", "2026-02-19"),
    "yesterday": ("2026-02-17", "2026-02-18"),
    "Yesterday": ("2026-02-17", "2026-02-18"),
    "day before yesterday": ("2026-02-16", "2026-02-17"),
    "this morning": ("2026-02-18T05:00", "2026-02-18T12:00"),
    "yesterday evening": ("2026-02-17T18:00", "2026-02-18"),
    "last night": ("2026-02-17T20:00", "2026-02-18T06:00"),
    "tonight": ("2026-02-18T20:00", "2026-02-19T06:00"),
    "this week": ("2026-02-16", "2026-02-23"),
    "last week": ("2026-02-09", "2026-02-16"),
    "next week": ("2026-02-23", "2026-03-02"),
    "this month": ("2026-02-01", "2026-03-01"),
    "last month": ("2026-01-01", "2026-02-01"),
    "previous month": ("2026-01-01", "2026-02-01"),
    "this quarter": ("2026-01-01", "2026-04-01"),
    "last quarter": ("2025-10-01", "2026-01-01"),
    "this year": ("2026-01-01", "2027-01-01"),
    "last year": ("2025-01-01", "2026-01-01"),
    "the past week": ("2026-02-11T15:30", "2026-02-18T15:30"),
    "in the last month": ("2026-01-18T15:30", "2026-02-18T15:30"),
    "the past 3 days": ("2026-02-15T15:30", "2026-02-18T15:30"),
    "last 24 hours": ("2026-02-17T15:30", "2026-02-18T15:30"),
    "the last two weeks": ("2026-02-04T15:30", "2026-02-18T15:30"),
    "the last few days": ("2026-02-15T15:30", "2026-02-18T15:30"),
    "2 weeks ago": ("2026-02-04", "2026-02-11"),
    "two days ago": ("2026-02-16", "2026-02-17"),
    "a week ago": ("2026-02-11", "2026-02-18"),
    "an hour ago": ("2026-02-18T14:30", "2026-02-18T15:30"),
    "3 months ago": ("2025-11-18", "2025-12-18"),
    "a couple of weeks ago": ("2026-02-04", "2026-02-11"),
    "a fortnight ago": ("2026-02-04", "2026-02-11"),
    "a year ago": ("2025-02-18", "2026-02-18"),
    "Monday": ("2026-02-16", "2026-02-17"),
    "on Monday": ("2026-02-16", "2026-02-17"),
    "on Wednesday": ("2026-02-18", "2026-02-19"),
    "on Thursday": ("2026-02-12", "2026-02-13"),
    "last Friday": ("2026-02-13", "2026-02-14"),
    "last Wednesday": ("2026-02-11", "2026-02-12"),
    "this Tuesday": ("2026-02-17", "2026-02-18"),
    "Monday last week": ("2026-02-09", "2026-02-10"),
    "last week on Tuesday": ("2026-02-10", "2026-02-11"),
    "Monday morning": ("2026-02-16T05:00", "2026-02-16T12:00"),
    "weekend": ("2026-02-14", "2026-02-16"),
    "last weekend": ("2026-02-14", "2026-02-16"),
    "the weekend": ("2026-02-14", "2026-02-16"),
    "March": ("2025-03-01", "2025-04-01"),
    "in March": ("2025-03-01", "2025-04-01"),
    "January": ("2026-01-01", "2026-02-01"),
    "March 2025": ("2025-03-01", "2025-04-01"),
    "Mar 2025": ("2025-03-01", "2025-04-01"),
    "last March": ("2025-03-01", "2025-04-01"),
    "March last year": ("2025-03-01", "2025-04-01"),
    "early March": ("2025-03-01", "2025-03-11"),
    "mid-March": ("2025-03-11", "2025-03-21"),
    "late March": ("2025-03-21", "2025-04-01"),
    "end of March": ("2025-03-25", "2025-04-01"),
    "beginning of last month": ("2026-01-01", "2026-01-08"),
    "start of this year": ("2026-01-01", "2026-03-02"),
    "end of last week": ("2026-02-14", "2026-02-16"),
    "middle of January": ("2026-01-13", "2026-01-20"),
    "Q1": ("2026-01-01", "2026-04-01"),
    "Q2": ("2025-04-01", "2025-07-01"),
    "Q2 2025": ("2025-04-01", "2025-07-01"),
    "2025-Q3": ("2025-07-01", "2025-10-01"),
    "third quarter of 2025": ("2025-07-01", "2025-10-01"),
    "first half of 2025": ("2025-01-01", "2025-07-01"),
    "H2 2025": ("2025-07-01", "2026-01-01"),
    "last week of March": ("2025-03-25", "2025-04-01"),
    "first week of May": ("2025-05-01", "2025-05-08"),
    "second week of January": ("2026-01-08", "2026-01-15"),
    "last week of last month": ("2026-01-25", "2026-02-01"),
    "first weekend of January": ("2026-01-03", "2026-01-05"),
    "second Tuesday of January": ("2026-01-13", "2026-01-14"),
    "last day of February": ("2026-02-28", "2026-03-01"),
    "the last 10 days of March": ("2025-03-22", "2025-04-01"),
    "week of 3 March 2025": ("2025-03-03", "2025-03-10"),
    "3 April": ("2025-04-03", "2025-04-04"),
    "April 3": ("2025-04-03", "2025-04-04"),
    "April 3rd, 2026": ("2026-04-03", "2026-04-04"),
    "the 7th of May 2023": ("2023-05-07", "2023-05-08"),
    "3-apr-2026": ("2026-04-03", "2026-04-04"),
    "3 January": ("2026-01-03", "2026-01-04"),
    "29 Feb": ("2024-02-29", "2024-03-01"),
    "Fri, 3 April 2026": ("2026-04-03", "2026-04-04"),
    "3.4.2026": ("2026-04-03", "2026-04-04"),
    "13/04/2026": ("2026-04-13", "2026-04-14"),
    "04/13/2026": ("2026-04-13", "2026-04-14"),
    "between 3 and 7 April": ("2025-04-03", "2025-04-08"),
    "from 3 to 7 April": ("2025-04-03", "2025-04-08"),
    "3-7 April": ("2025-04-03", "2025-04-08"),
    "3–7 April": ("2025-04-03", "2025-04-08"),
    "April 3-7, 2025": ("2025-04-03", "2025-04-08"),
    "from 20 Dec to 3 Jan": ("2025-12-20", "2026-01-04"),
    "March to May": ("2025-03-01", "2025-06-01"),
    "Monday to Wednesday": ("2026-02-16", "2026-02-19"),
    "between 2026-01-03 and 2026-01-07": ("2026-01-03", "2026-01-08"),
    "from 3 April to 2 May 2025": ("2025-04-03", "2025-05-03"),
    "3 to 7 January": ("2026-01-03", "2026-01-08"),
    "the week before August 3, 2023": ("2023-07-27", "2023-08-03"),
    "two weeks before 11 August 2023": ("2023-07-28", "2023-08-04"),
    "week after 3 April 2026": ("2026-04-04", "2026-04-11"),
    "last weekend before April 10, 2023": ("2023-04-08", "2023-04-10"),
    "the Sunday before October 25, 2022": ("2022-10-23", "2022-10-24"),
    "Saturday after October 28, 2023": ("2023-11-04", "2023-11-05"),
    "since Monday": ("2026-02-16", "open"),
    "before March": ("open", "2025-03-01"),
    "after 2 June": ("2025-06-03", "open"),
    "since last week": ("2026-02-09", "open"),
    "until yesterday": ("open", "2026-02-17"),
    "after 2026-01-02T10:00Z": ("2026-01-02T11:00", "open"),
    "before the end of January": ("open", "2026-02-01"),
    "yesterday at 3pm": ("2026-02-17T15:00", "2026-02-17T16:00"),
    "3pm yesterday": ("2026-02-17T15:00", "2026-02-17T16:00"),
    "yesterday 14:30": ("2026-02-17T14:30", "2026-02-17T14:31"),
    "14:00": ("2026-02-18T14:00", "2026-02-18T14:01"),
    "18:00": ("2026-02-17T18:00", "2026-02-17T18:01"),
    "noon": ("2026-02-18T12:00", "2026-02-18T12:01"),
    "9am to 11am yesterday": ("2026-02-17T09:00", "2026-02-17T11:00"),
    "from yesterday 9am to 11am": ("2026-02-17T09:00", "2026-02-17T11:00"),
    "3 January at 8:15": ("2026-01-03T08:15", "2026-01-03T08:16"),
}


def ms(text: str) -> int:
    """A local time in milliseconds."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def expected(start: str, end: str) -> tuple[int, int]:
    return (EARLIEST if start == "open" else ms(start), LATEST if end == "open" else ms(end))


def window_of(phrase: str) -> Window:
    window = parse_window(phrase, NOW)
    assert window is not None, phrase
    return window


@pytest.mark.parametrize("phrase", WINDOWS)
def test_a_phrase_names_its_window(phrase: str) -> None:
    window = window_of(phrase)
    assert (window.start, window.end) == expected(*WINDOWS[phrase])


@pytest.mark.parametrize("phrase", [phrase for phrase in WINDOWS if " " in phrase or "-" in phrase])
def test_the_same_phrase_is_found_in_a_question(phrase: str) -> None:
    """But for durations and times of day alone, which are seldom meant as dates."""
    question = f"what did we change {phrase}?"
    found = find_windows(question, NOW)
    if phrase == "3 months":
        assert found == ()
        return
    if phrase in {"2026-W10", "20260301T0930Z", "2025-Q3", "3-apr-2026"}:
        return  # written by programs only
    assert len(found) == 1, found
    window = window_of(phrase)
    if window.start == EARLIEST or (window.end == LATEST and phrase.startswith("after")):
        return  # a question means the days near the other end
    if phrase.endswith(("weeks ago", "week ago", "months ago", "fortnight ago")):
        assert found[0].start < window.start and found[0].end == window.end
    else:
        assert (found[0].start, found[0].end) == (window.start, window.end)


# ---- bounds of filters


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-01", "2026-03-01", "2026-03-01"),  # until leaves the day out
        ("2026-03-01T14:00+01:00", "2026-03-01T14:00", "2026-03-01T14:00"),
        ("yesterday", "2026-02-17", "2026-02-17"),
        ("last week", "2026-02-09", "2026-02-09"),
        ("7d", "2026-02-11T15:30", "2026-02-11T15:30"),
        ("last week of March", "2025-03-25", "2025-03-25"),
        ("3-7 April", "2025-04-03", "2025-04-08"),  # a range ends at its end
        ("end of March", "2025-03-25", "2025-04-01"),
        ("before March", "open", "2025-03-01"),
        ("since Monday", "2026-02-16", "2026-02-16"),
        ("after 2 June", "2025-06-03", "open"),
    ],
)
def test_since_begins_at_a_window_and_until_ends_before_it(text: str, since: str, until: str) -> None:
    assert (since_of(text, NOW), until_of(text, NOW)) == expected(since, until)


# ---- what does not exist, and what is no date

IMPOSSIBLE = {
    "2026-02-30": "'2026-02-30' does not exist: February 2026 has 28 days.",
    "31 April": "'31 April' does not exist: April has 30 days.",
    "30 February": "'30 February' does not exist: February has 29 days.",
    "2026-13": "'2026-13' is not a date: there is no month 13.",
    "2026-13-01": "'2026-13-01' is not a date: there is no month 13.",
    "13/13/2026": "'13/13/2026' is not a date: there is no month 13.",
    "2026-W60": "'2026-W60' does not exist: there is no week 60 in 2026.",
    "25:00": "'25:00' does not exist: there is no such time of day.",
    "2026-03-01T25:00Z": "'2026-03-01T25:00Z' does not exist: there is no such time of day.",
    "between 7 and 3 April": "'between 7 and 3 april' ends before it begins.",
    "0000-01-01": "'0000-01-01' is not a date: there is no year 0.",
}


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_a_date_that_does_not_exist_is_explained(text: str) -> None:
    assert parse_window(text, NOW) is None
    for bound in (since_of, until_of):
        with pytest.raises(BadDate) as raised:
            bound(text, NOW)
        assert str(raised.value) == IMPOSSIBLE[text]


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "yesteryear", "next tuesday", "1h 30m", "may be", "3", "of", "the", "99999999999d", "first", "ago"],
)
def test_other_text_is_not_a_date(text: str) -> None:
    assert parse_window(text, NOW) is None
    assert problem_of(text, NOW).startswith(f"Cannot read {text!r} as a date. Use today, yesterday, 2026-04-30")


# ---- what is ambiguous is told

NOTES = {
    "03/04/2026": "03/04/2026 was read as 3 April 2026 (day first).",
    "March": "March was read as March 2025, the latest one.",
    "last week of March": "March was read as March 2025, the latest one.",
    "3 April": "3 April was read as 3 April 2025, the latest one.",
    "Q2": "Q2 was read as Q2 2025, the latest one.",
    "5m": "5m was read as 5 minutes; write 5mo for months.",
    "Monday 3 April 2026": "3 April 2026 is a Friday.",
    "13/04/2026": "",
    "04/04/2026": "",
    "3.4.2026": "",
    "January": "",
    "Friday, 3 April 2026": "",
    "last week": "",
}


@pytest.mark.parametrize("text", NOTES)
def test_a_note_tells_how_an_ambiguous_date_was_read(text: str) -> None:
    assert window_of(text).note == NOTES[text]


@pytest.mark.parametrize(
    ("locale", "day"),
    [("en_US.UTF-8", "2026-03-04"), ("en_GB.UTF-8", "2026-04-03"), ("de_DE", "2026-04-03"), ("C.UTF-8", "2026-04-03")],
)
def test_the_locale_tells_the_order_of_day_and_month(monkeypatch: pytest.MonkeyPatch, locale: str, day: str) -> None:
    monkeypatch.delenv("LC_ALL")
    monkeypatch.setenv("LC_TIME", locale)
    assert window_of("03/04/2026").start == ms(day)
    assert window_of("3.4.2026").start == ms("2026-04-03")


def test_last_march_in_may_is_told() -> None:
    window = parse_window("last March", ms("2026-05-10"))
    assert window is not None
    assert (window.start, window.note) == (ms("2026-03-01"), "last March was read as March 2026.")


# ---- zones


def test_a_day_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    assert window_of("2026-03-01").start == round(datetime(2026, 3, 1, 8, tzinfo=UTC).timestamp() * 1000)
    assert window_of("2026-03-01T00:00Z").start == round(datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1000)


def test_a_day_on_which_clocks_change_has_23_or_25_hours() -> None:
    hours = [(window.end - window.start) // 3_600_000 for window in map(window_of, ("2026-03-29", "2025-10-26"))]
    assert hours == [23, 25]


# ---- questions


@pytest.mark.parametrize(
    "question",
    [
        "you may fail",
        "this may fail",
        "the last may fail",
        "step 3 may fail",
        "after may be wrong",
        "march on",
        "the sun",
        "sat in the car",
        "why is the second run slow",
        "the last second",
        "it took 3 months",
        "at 14:00 on the server",
        "in 2048 bytes",
        "port 2026",
        "what now",
        "version 2.13.0",
        "from 3 to 7",
        "CVE-2026-0312",
        "31 February 2024",
        "the last day",
        "half of the week",
        "early on",
        "weekend plans",
        "Friday deploys",
    ],
)
def test_ambiguous_words_of_a_question_are_no_dates(question: str) -> None:
    assert find_windows(question, NOW) == ()


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("what broke in may", "2025-05-01", "2025-06-01"),
        ("what broke in March?", "2025-03-01", "2025-04-01"),
        ("before the March release", "2025-01-30", "2025-03-01"),  # near it: a question is not about all the years before
        ("what came after 2 June 2025", "2025-06-03", "2025-07-03"),
        ("bugs since 2 June 2025", "2025-06-02", "open"),
        ("this week's deploys", "2026-02-16", "2026-02-23"),
        ("what did Ann say on Monday, about uploads", "2026-02-16", "2026-02-17"),
        ("fix 2026-04-30.log", "2026-04-30", "2026-05-01"),
        ("in 2025", "2025-01-01", "2026-01-01"),
        ("Q2 numbers", "2025-04-01", "2025-07-01"),
        ("the meeting on May 7th, 2023", "2023-05-07", "2023-05-08"),
        ("bugs of the last week of March in the parser", "2025-03-25", "2025-04-01"),
    ],
)
def test_a_question_names_a_time(question: str, start: str, end: str) -> None:
    (window,) = find_windows(question, NOW)
    assert (window.start, window.end) == expected(start, end)


def test_a_question_names_several_times() -> None:
    found = find_windows("between 3 and 7 April, and on 12 May 2023, or yesterday", NOW)
    assert [window.start for window in found] == [ms("2025-04-03"), ms("2023-05-12"), ms("2026-02-17")]


def test_a_date_without_a_year_is_of_any_year_in_a_question() -> None:
    for question in ("in June", "on 7 May", "last week of March"):
        assert [window.any_year for window in find_windows(question, NOW)] == [True]
    for question in ("in June 2025", "since June", "last June", "yesterday"):
        assert [window.any_year for window in find_windows(question, NOW)] == [False]


def test_without_the_time_of_now_only_dates_are_found() -> None:
    assert [window.any_year for window in find_windows("in June, or on 7 May 2023, or last week", None)] == [True, False]


# ---- properties

WORDS = [
    *MONTHS,
    *WEEKDAYS,
    *UNITS,
    "last",
    "this",
    "first",
    "week",
    "of",
    "between",
    "and",
    "to",
    "-",
    "since",
    "before",
    "ago",
]
WORDS += [
    "early",
    "end",
    "the",
    "q2",
    "2026",
    "3",
    "31",
    "2026-02-30",
    "9999-12-31",
    "0001-01-01",
    "14:00",
    "3pm",
    "weekend",
    "half",
]
phrases = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join) | st.text(max_size=40)
moments = st.integers(EARLIEST + 1, LATEST - 1) | st.just(NOW)


@given(phrases, moments)
def test_reading_never_fails_and_a_window_is_never_empty(text: str, now: int) -> None:
    window = parse_window(text, now)
    assert window is None or EARLIEST <= window.start < window.end <= LATEST
    assert (window is None) == bool(problem_of(text, now))
    for found in (*find_windows(text, now), *find_windows(text, None)):
        assert EARLIEST <= found.start < found.end <= LATEST


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)).map(
        lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
    )
)
def test_an_iso_time_is_read_back_exactly(time: datetime) -> None:
    at = time.replace(tzinfo=UTC)
    expected_ms = round(at.timestamp() * 1000)
    for text in (at.isoformat(), at.isoformat(timespec="milliseconds"), at.astimezone().isoformat()):
        window = parse_window(text, NOW)
        assert window is not None and window.start == expected_ms


@given(st.dates())
def test_a_plain_day_begins_at_local_midnight(day: object) -> None:
    window = parse_window(str(day), NOW)
    assert window is not None
    assert window.start == EARLIEST or datetime.fromtimestamp(window.start / 1000) == datetime.fromisoformat(str(day))
