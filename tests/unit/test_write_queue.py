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

LONG = b"x" * 1_000  # a pipe does not hold a hundred of them


@contextmanager
def write_queue() -> Iterator[tuple[WriteQueue, BinaryIO]]:
    """A write queue, and the reading end of its pipe."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader:
        queue = WriteQueue(lambda line: write_all(writing, line))
        yield queue, reader
    queue.close()
    os.close(writing)


def test_without_a_reader_all_answers_and_some_notices_stay_queued() -> None:
    with write_queue() as (queue, reader):
        for number in range(5 * QUEUE_SIZE):
            queue.put_progress(b"%d notice %s\n" % (number, LONG))
        for number in range(QUEUE_SIZE):
            queue.put_response(b"%d answer\n" % number)
        lines = [reader.readline().split()]
        while lines[-1][:2] != [b"%d" % (QUEUE_SIZE - 1), b"answer"]:
            lines.append(reader.readline().split())
    notices = [int(line[0]) for line in lines if line[1] == b"notice"]
    assert QUEUE_SIZE <= len(notices) < 2 * QUEUE_SIZE
    assert notices == sorted(notices)
    assert [int(line[0]) for line in lines if line[1] == b"answer"] == list(range(QUEUE_SIZE))


def test_a_reader_that_disconnects_is_detected_and_no_longer_waited_for() -> None:
    with write_queue() as (queue, reader):
        reader.close()
        queue.put_response(LONG)
        queue.close(None)
        assert isinstance(queue.fault, BrokenPipeError)


@pytest.mark.parametrize("part", [{"a": ["\ud83d"]}, {"a": "\ud83d", "raw": msgspec.Raw(b'{"b": 1}')}, {"\udfff": 1.5}])
def test_half_of_a_surrogate_pair_is_sent(part: dict[str, object]) -> None:
    sent = json.loads(encode(part))
    assert sent == {**part, **({"raw": {"b": 1}} if "raw" in part else {})}
