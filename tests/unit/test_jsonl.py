"""A line that a crash has torn is lost alone: the record after it is read."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.model import Problem
from recollect.sources.formats.container import Line
from recollect.sources.formats.jsonl import decode

WHOLE = b'{"type":"b","data":{"text":"whole"}}'


def decode_line(raw: bytes) -> tuple[list[Any], list[str]]:
    """The values of a line, and its problems."""
    items = decode(Path("log"), 0, 1, raw, msgspec.json.Decoder())
    values = [item.value for item in items if isinstance(item, Line)]
    return values, [item.reason for item in items if isinstance(item, Problem)]


@pytest.mark.parametrize(
    "torn", [b'{"type":"a","da', b'{"type":"a","data":{"text":"x"},', b'{"type":"a","text":"{\\"type\\"']
)
def test_the_record_after_a_torn_one_is_read(torn: bytes) -> None:
    values, problems = decode_line(torn + WHOLE)
    assert values == [{"type": "b", "data": {"text": "whole"}}]
    assert problems == ["not JSON before a value"]


@pytest.mark.parametrize("torn", [b'{"type":"a","da', b'{"type":"a","data":{"text":"x"}', b"rubbish"])
def test_an_object_inside_a_torn_record_is_not_a_record(torn: bytes) -> None:
    assert decode_line(torn) == ([], ["not JSON"])


def test_rubbish_after_a_record_does_not_lose_the_record() -> None:
    assert decode_line(WHOLE + b" and rubbish") == ([msgspec.json.decode(WHOLE)], ["not JSON after a value"])
