"""A queue for one reader: responses are never dropped, progress notices are dropped above a limit."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec
import pytest

from recollect.lenient_json import encode
from recollect.live.event_streams import QUEUE_SIZE
from recollect.surfaces.transport.write_queue import WriteQueue, write_all

LONG = b"x" * 1_000  # of which a pipe does not hold a hundred


@contextmanager
def outbox() -> Iterator[tuple[WriteQueue, BinaryIO]]:
    """An outbox, and the end of the pipe that it is to be read from."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader:
        box = WriteQueue(lambda line: write_all(writing, line))
        yield box, reader
    box.close()
    os.close(writing)


def test_of_what_nobody_reads_all_answers_are_kept_and_some_notices() -> None:
    with outbox() as (box, reader):
        for number in range(5 * QUEUE_SIZE):
            box.put_progress(b"%d notice %s\n" % (number, LONG))
        for number in range(QUEUE_SIZE):
            box.put_response(b"%d answer\n" % number)
        heard = [reader.readline().split()]
        while heard[-1][:2] != [b"%d" % (QUEUE_SIZE - 1), b"answer"]:
            heard.append(reader.readline().split())
    notices = [int(line[0]) for line in heard if line[1] == b"notice"]
    assert QUEUE_SIZE <= len(notices) < 2 * QUEUE_SIZE
    assert notices == sorted(notices)
    assert [int(line[0]) for line in heard if line[1] == b"answer"] == list(range(QUEUE_SIZE))


def test_a_reader_that_leaves_is_noticed_and_waited_for_no_more() -> None:
    with outbox() as (box, reader):
        reader.close()
        box.put_response(LONG)
        box.close(None)
        assert isinstance(box.fault, BrokenPipeError)


@pytest.mark.parametrize("part", [{"a": ["\ud83d"]}, {"a": "\ud83d", "raw": msgspec.Raw(b'{"b": 1}')}, {"\udfff": 1.5}])
def test_half_of_a_surrogate_pair_is_sent(part: dict[str, object]) -> None:
    sent = json.loads(encode(part))
    assert sent == {**part, **({"raw": {"b": 1}} if "raw" in part else {})}
