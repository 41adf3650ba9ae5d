"""A line that a crash has torn costs itself, and not the record that was written behind it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.model import Problem
from recollect.sources.formats.container import Line
from recollect.sources.formats.jsonl import decode

WHOLE = b'{"type":"b","data":{"text":"whole"}}'


def decoded(raw: bytes) -> tuple[list[Any], list[str]]:
    """The values of a line, and what was wrong with it."""
    found = decode(Path("log"), 0, 1, raw, msgspec.json.Decoder())
    values = [item.value for item in found if isinstance(item, Line)]
    return values, [item.reason for item in found if isinstance(item, Problem)]


@pytest.mark.parametrize(
    "torn", [b'{"type":"a","da', b'{"type":"a","data":{"text":"x"},', b'{"type":"a","text":"{\\"type\\"']
)
def test_the_record_behind_a_torn_one_is_read(torn: bytes) -> None:
    values, problems = decoded(torn + WHOLE)
    assert values == [{"type": "b", "data": {"text": "whole"}}]
    assert problems == ["not JSON before a value"]


@pytest.mark.parametrize("torn", [b'{"type":"a","da', b'{"type":"a","data":{"text":"x"}', b"rubbish"])
def test_what_is_inside_a_torn_record_is_none_itself(torn: bytes) -> None:
    assert decoded(torn) == ([], ["not JSON"])


def test_rubbish_behind_a_record_does_not_cost_the_record() -> None:
    assert decoded(WHOLE + b" and rubbish") == ([msgspec.json.decode(WHOLE)], ["not JSON after a value"])
