"""Events of turns to those who listen: in order, whoever comes late or reads slowly."""

import threading
from typing import Any

import pytest

from recollect.errors import StaleCursor
from recollect.live.event_streams import FINISHED, Listener, Streams

SESSION = "s"


def event(sequence: int, noun: str = "text_delta", **more: Any) -> dict[str, Any]:
    return {"session_id": SESSION, "sequence": sequence, "type": noun, **more}


def heard(listener: Listener) -> list[int]:
    """The numbers of what waits to be read; a gap is told by how many are missing, below zero."""
    waiting = list(iter(lambda: listener.next(0), None))
    return [one["sequence"] if "sequence" in one else -one["dropped"] for one in waiting]


def run(streams: Streams, first: int, last: int) -> None:
    """A whole turn."""
    told = streams.begin(SESSION)
    for number in range(first, last):
        streams.tell(SESSION, event(number), told)
    streams.tell(SESSION, event(last, "turn_completed"), told)
    streams.finish(SESSION, told)


def test_a_turn_begins_when_the_end_of_the_one_before_it_is_told() -> None:
    streams = Streams()
    listener = streams.listen(SESSION)
    first = streams.begin(SESSION)
    second = threading.Thread(target=run, args=(streams, 2, 4))
    second.start()
    streams.tell(SESSION, event(1, "turn_interrupted"), first)
    streams.finish(SESSION, first)
    second.join()
    assert heard(listener) == [1, 2, 3, 4]


def test_of_a_turn_that_was_taken_over_nothing_is_told_any_more(monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.live.event_streams.END_TOLD_S", 0.01)
    streams = Streams()
    listener = streams.listen(SESSION)
    deaf = streams.begin(SESSION)
    told = streams.begin(SESSION)
    streams.tell(SESSION, event(7), told)
    streams.tell(SESSION, event(2, "turn_interrupted"), deaf)
    streams.finish(SESSION, deaf)
    streams.tell(SESSION, event(8, "turn_completed"), told)
    assert heard(listener) == [7, 8]
    assert heard(streams.listen(SESSION)) == [7, 8], "who joins late hears the turn that runs, from its beginning"


def test_a_slow_reader_hears_how_each_turn_ended() -> None:
    streams = Streams()
    listener = streams.listen(SESSION, 2)
    run(streams, 1, 5)
    run(streams, 6, 8)
    assert heard(listener) == [1, 2, -2, 5, -2, 8]


def test_who_comes_back_hears_the_rest_of_the_last_turn() -> None:
    streams = Streams()
    run(streams, 1, 3)
    run(streams, 4, 6)
    assert heard(streams.listen(SESSION, heard=1)) == [-2, 4, 5, 6]
    assert heard(streams.listen(SESSION, heard=5)) == [6]
    assert heard(streams.listen(SESSION, heard=6)) == []
    with pytest.raises(StaleCursor, match="no event 99; its newest is 6"):
        streams.listen(SESSION, heard=99)
    assert heard(streams.listen(SESSION)) == [], "who was never here has missed nothing"


def test_only_the_last_few_turns_are_kept() -> None:
    streams = Streams()
    for number in range(FINISHED + 1):
        told = streams.begin(f"{number}")
        streams.tell(f"{number}", event(1, "turn_started"), told)
        streams.finish(f"{number}", told)
    assert heard(streams.listen("0", heard=0, committed=1)) == [-1]
    assert heard(streams.listen("1", heard=0, committed=1)) == [1]


def test_who_has_heard_some_of_what_is_not_kept_is_told_exactly_what_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.live.event_streams.WAITING", 3)
    streams = Streams()
    run(streams, 1, 10)
    assert heard(streams.listen(SESSION, 3, heard=2)) == [3, -6, 10]
    assert heard(streams.listen(SESSION, 3, heard=7)) == [-2, 10]
    assert heard(streams.listen(SESSION, 3, heard=9)) == [10]
