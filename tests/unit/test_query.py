"""A parsed query: its words, names and times, and the text for its embedding."""

from datetime import UTC, datetime

import pytest

from recollect.search import parse
from recollect.search.time_windows import DAY, find_time_windows

NOW = int(datetime(2026, 5, 20, 15, tzinfo=UTC).timestamp() * 1000)


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


SPOKEN = {
    "what did we do on 2026-04-30?": ("2026-04-30", "2026-05-01"),
    "the meeting on 7 May 2023": ("2023-05-07", "2023-05-08"),
    "the meeting on May 7th, 2023": ("2023-05-07", "2023-05-08"),
    "the 7th of May 2023": ("2023-05-07", "2023-05-08"),
    "releases in June 2023": ("2023-06-01", "2023-07-01"),
    "in dec 2025": ("2025-12-01", "2026-01-01"),
    "what broke yesterday": ("2026-05-19", "2026-05-20"),
    "what broke today": ("2026-05-20", "2026-05-21"),
}


@pytest.mark.parametrize("question", SPOKEN)
def test_a_time_in_words_is_understood(question: str) -> None:
    (window,) = find_time_windows(question, NOW)
    start, end = SPOKEN[question]
    assert (window.start, window.end) == (ms(start), ms(end))
    assert window.fit(ms(start)) == 1.0
    assert window.fit(window.end - 1) == 1.0
    assert window.fit(window.start - 30 * DAY) < 0.01


@pytest.mark.parametrize(
    "question", ["you may fail", "march on", "the sun", "31 February 2024", "version 2.13.0", "", "5 of 7"]
)
def test_text_that_is_not_a_time_gives_none(question: str) -> None:
    assert find_time_windows(question, NOW) == ()


def test_a_day_without_a_year_is_that_day_of_any_year() -> None:
    (window,) = find_time_windows("what happened on 7 May", NOW)
    assert window.fit(ms("2023-05-07T12:00")) == window.fit(ms("2026-05-07T12:00")) == 1.0
    assert window.fit(ms("2026-07-07")) < 0.01


def test_the_29th_of_february_is_close_to_the_28th_in_other_years() -> None:
    (window,) = find_time_windows("on 29 February", NOW)
    assert window.fit(ms("2023-02-28T12:00")) > 0.5


def test_weeks_ago_are_around_then() -> None:
    (window,) = find_time_windows("what we did 2 weeks ago", NOW)
    assert window.fit(NOW - 14 * DAY) == 1.0
    assert window.fit(NOW - 60 * DAY) < 0.01


def test_a_nearer_time_fits_better() -> None:
    (window,) = find_time_windows("on 7 May 2023", NOW)
    fits = [window.fit(ms("2023-05-07") + days * DAY) for days in (0, 2, 4, 8, 16)]
    assert fits == sorted(fits, reverse=True)
    assert len(set(fits)) == len(fits)


def test_names_are_distinguished_from_the_first_word_of_a_sentence() -> None:
    assert parse("What did Caroline tell Melanie").names == {"carolin", "melani"}
    assert parse("Restart the server").names == frozenset()


@pytest.mark.parametrize(
    ("question", "meaning"),
    [
        ("why do uploads fail", "uploads fail"),
        ("getUserName fails", "fails"),
        ("ERR_AUTH_FAILED", ""),
        ("src/auth.ts", ""),
        ("port 8080 is taken", "port taken"),
        ('"connection refused" on start', ""),
        ("JWT tokens", "tokens"),
        ("the of and", ""),
        ("", ""),
    ],
)
def test_only_plain_words_are_embedded(question: str, meaning: str) -> None:
    """Identifiers match by text; next to a required phrase nothing is found by meaning."""
    assert parse(question).plain_words == meaning


@pytest.mark.parametrize(
    ("question", "terms", "phrases"),
    [
        ("ERR_AUTH_FAILED", (), (("err", "auth", "fail"),)),
        ("auth ERR_AUTH_FAILED", ("auth",), (("err", "auth", "fail"),)),
        ("getUserName", ("getusernam",), ()),
        ("the login in src/auth.ts fails", ("login", "fail"), (("src", "auth", "ts"),)),
    ],
)
def test_an_identifier_that_occurs_whole_is_not_searched_by_its_parts(question: str, terms: object, phrases: object) -> None:
    parsed = parse(question)
    narrowed = parsed.without_identifier_parts(lambda whole: True)
    assert (narrowed.terms, narrowed.optional_phrases) == (terms, phrases)
    unchanged = parsed.without_identifier_parts(lambda whole: False)
    assert (unchanged.terms, unchanged.optional_phrases) == (parsed.terms, parsed.optional_phrases)
