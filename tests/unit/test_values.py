"""Values as agents write them: times in any unit are read, and invalid values are not taken for times."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.sources.formats.values import EARLIEST, LATEST, arguments_of, as_count, as_text, parse_time

TEN = 1_768_039_200_000  # 2026-01-10T10:00:00Z


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-10T10:00:00.000Z",
        "2026-01-10T12:00:00+02:00",
        "2026-01-10T10:00:00",  # this machine's zone, which is UTC in tests
        "2026-01-10 10:00:00",
        " 2026-01-10T10:00:00Z ",
        1_768_039_200,
        1_768_039_200.0,
        1_768_039_200_000,
        1_768_039_200_000_000,
        1_768_039_200_000_000_000,
        "1768039200",
        "1768039200000000000",
    ],
)
def test_a_time_is_the_same_however_it_was_written(written: object) -> None:
    assert parse_time(written) == TEN


@pytest.mark.parametrize(
    "written", [None, "", "soon", True, 0, 12, -1, math.nan, math.inf, 1e300, [], {}, "9999-99-99", "1e400"]
)
def test_a_value_that_is_not_a_time_gives_none(written: object) -> None:
    assert parse_time(written) is None


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.booleans()))
def test_any_value_gives_a_valid_time_or_none(value: object) -> None:
    at = parse_time(value)
    assert at is None or EARLIEST <= at <= LATEST


@pytest.mark.parametrize(("value", "number"), [(7, 7), (7.9, 7), (True, 0), ("7", 0), (None, 0), (math.nan, 0), (10**20, 0)])
def test_a_count_is_a_whole_number(value: object, number: int) -> None:
    assert as_count(value) == number


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"input": "[1]"}),
        ("ls -la", {"input": "ls -la"}),
        ("{half", {"input": "{half"}),
        ([1], {"input": [1]}),
        ("", {}),
        (None, {}),
    ],
)
def test_arguments_become_an_object(value: Any, arguments: dict[str, Any]) -> None:
    assert arguments_of(value) == arguments


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (None, ""), ({"a": [1]}, '{"a":[1]}'), (False, "false")])
def test_any_value_can_be_read(value: Any, text: str) -> None:
    assert as_text(value) == text
