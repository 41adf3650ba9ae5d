"""Events of turns to those who listen: in order, whoever comes late or reads slowly."""

import threading
from typing import Any

import pytest

from recollect.errors import StaleCursor
from recollect.live.event_streams import MAX_FINISHED, EventStreams, Subscriber

SESSION = "s"


def event(sequence: int, noun: str = "text_delta", **more: Any) -> dict[str, Any]:
    return {"session_id": SESSION, "sequence": sequence, "type": noun, **more}


def heard(listener: Subscriber) -> list[int]:
    """The numbers of what waits to be read; a gap is told by how many are missing, below zero."""
    waiting = list(iter(lambda: listener.next(0), None))
    return [one["sequence"] if "sequence" in one else -one["dropped"] for one in waiting]


def run(streams: EventStreams, first: int, last: int) -> None:
    """A whole turn."""
    told = streams.begin_turn(SESSION)
    for number in range(first, last):
        streams.publish(SESSION, event(number), told)
    streams.publish(SESSION, event(last, "turn_completed"), told)
    streams.finish_turn(SESSION, told)


def test_a_turn_begins_when_the_end_of_the_one_before_it_is_told() -> None:
    streams = EventStreams()
    listener = streams.subscribe(SESSION)
    first = streams.begin_turn(SESSION)
    second = threading.Thread(target=run, args=(streams, 2, 4))
    second.start()
    streams.publish(SESSION, event(1, "turn_interrupted"), first)
    streams.finish_turn(SESSION, first)
    second.join()
    assert heard(listener) == [1, 2, 3, 4]


def test_of_a_turn_that_was_taken_over_nothing_is_told_any_more(monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.live.event_streams.PREVIOUS_TURN_S", 0.01)
    streams = EventStreams()
    listener = streams.subscribe(SESSION)
    deaf = streams.begin_turn(SESSION)
    told = streams.begin_turn(SESSION)
    streams.publish(SESSION, event(7), told)
    streams.publish(SESSION, event(2, "turn_interrupted"), deaf)
    streams.finish_turn(SESSION, deaf)
    streams.publish(SESSION, event(8, "turn_completed"), told)
    assert heard(listener) == [7, 8]
    assert heard(streams.subscribe(SESSION)) == [7, 8], "who joins late hears the turn that runs, from its beginning"


def test_a_slow_reader_hears_how_each_turn_ended() -> None:
    streams = EventStreams()
    listener = streams.subscribe(SESSION, 2)
    run(streams, 1, 5)
    run(streams, 6, 8)
    assert heard(listener) == [1, 2, -2, 5, -2, 8]


def test_who_comes_back_hears_the_rest_of_the_last_turn() -> None:
    streams = EventStreams()
    run(streams, 1, 3)
    run(streams, 4, 6)
    assert heard(streams.subscribe(SESSION, last_sequence=1)) == [-2, 4, 5, 6]
    assert heard(streams.subscribe(SESSION, last_sequence=5)) == [6]
    assert heard(streams.subscribe(SESSION, last_sequence=6)) == []
    with pytest.raises(StaleCursor, match="no event 99; its newest is 6"):
        streams.subscribe(SESSION, last_sequence=99)
    assert heard(streams.subscribe(SESSION)) == [], "who was never here has missed nothing"


def test_only_the_last_few_turns_are_kept() -> None:
    streams = EventStreams()
    for number in range(MAX_FINISHED + 1):
        told = streams.begin_turn(f"{number}")
        streams.publish(f"{number}", event(1, "turn_started"), told)
        streams.finish_turn(f"{number}", told)
    assert heard(streams.subscribe("0", last_sequence=0, committed=1)) == [-1]
    assert heard(streams.subscribe("1", last_sequence=0, committed=1)) == [1]


def test_who_has_heard_some_of_what_is_not_kept_is_told_exactly_what_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.live.event_streams.QUEUE_SIZE", 3)
    streams = EventStreams()
    run(streams, 1, 10)
    assert heard(streams.subscribe(SESSION, 3, last_sequence=2)) == [3, -6, 10]
    assert heard(streams.subscribe(SESSION, 3, last_sequence=7)) == [-2, 10]
    assert heard(streams.subscribe(SESSION, 3, last_sequence=9)) == [10]
