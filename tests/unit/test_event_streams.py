"""Subscribers get the events of turns in order, also if they join late or read slowly."""

import threading
from typing import Any

import pytest

from recollect.errors import StaleCursor
from recollect.live.event_streams import MAX_FINISHED, EventStreams, Subscriber

SESSION = "s"


def event(sequence: int, kind: str = "text_delta", **more: Any) -> dict[str, Any]:
    return {"session_id": SESSION, "sequence": sequence, "type": kind, **more}


def receive_all(subscriber: Subscriber) -> list[int]:
    """The sequence numbers of the waiting events; a negative number is how many are missing there."""
    waiting = list(iter(lambda: subscriber.next(0), None))
    return [event["sequence"] if "sequence" in event else -event["dropped"] for event in waiting]


def run(streams: EventStreams, first: int, last: int) -> None:
    """Publish one turn."""
    turn = streams.begin_turn(SESSION)
    for number in range(first, last):
        streams.publish(SESSION, event(number), turn)
    streams.publish(SESSION, event(last, "turn_completed"), turn)
    streams.finish_turn(SESSION, turn)


def test_a_turn_begins_after_the_end_of_the_previous_one_was_sent() -> None:
    streams = EventStreams()
    subscriber = streams.subscribe(SESSION)
    first = streams.begin_turn(SESSION)
    second = threading.Thread(target=run, args=(streams, 2, 4))
    second.start()
    streams.publish(SESSION, event(1, "turn_interrupted"), first)
    streams.finish_turn(SESSION, first)
    second.join()
    assert receive_all(subscriber) == [1, 2, 3, 4]


def test_a_turn_closed_by_another_process_sends_no_more_events(monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.live.event_streams.PREVIOUS_TURN_S", 0.01)
    streams = EventStreams()
    subscriber = streams.subscribe(SESSION)
    closed = streams.begin_turn(SESSION)
    turn = streams.begin_turn(SESSION)
    streams.publish(SESSION, event(7), turn)
    streams.publish(SESSION, event(2, "turn_interrupted"), closed)
    streams.finish_turn(SESSION, closed)
    streams.publish(SESSION, event(8, "turn_completed"), turn)
    assert receive_all(subscriber) == [7, 8]
    assert receive_all(streams.subscribe(SESSION)) == [7, 8], "a late subscriber gets the running turn from its beginning"


def test_a_slow_subscriber_gets_the_end_of_each_turn() -> None:
    streams = EventStreams()
    subscriber = streams.subscribe(SESSION, 2)
    run(streams, 1, 5)
    run(streams, 6, 8)
    assert receive_all(subscriber) == [1, 2, -2, 5, -2, 8]


def test_a_subscriber_that_reconnects_gets_the_rest_of_the_last_turn() -> None:
    streams = EventStreams()
    run(streams, 1, 3)
    run(streams, 4, 6)
    assert receive_all(streams.subscribe(SESSION, last_sequence=1)) == [-2, 4, 5, 6]
    assert receive_all(streams.subscribe(SESSION, last_sequence=5)) == [6]
    assert receive_all(streams.subscribe(SESSION, last_sequence=6)) == []
    with pytest.raises(StaleCursor, match="no event 99; its newest is 6"):
        streams.subscribe(SESSION, last_sequence=99)
    assert receive_all(streams.subscribe(SESSION)) == [], "a new one has missed nothing"


def test_only_the_last_few_turns_are_replayed() -> None:
    streams = EventStreams()
    for number in range(MAX_FINISHED + 1):
        turn = streams.begin_turn(f"{number}")
        streams.publish(f"{number}", event(1, "turn_started"), turn)
        streams.finish_turn(f"{number}", turn)
    assert receive_all(streams.subscribe("0", last_sequence=0, committed=1)) == [-1]
    assert receive_all(streams.subscribe("1", last_sequence=0, committed=1)) == [1]


def test_a_subscriber_that_reconnects_learns_exactly_how_many_events_are_missing(monkeypatch: Any) -> None:
    monkeypatch.setattr("recollect.live.event_streams.QUEUE_SIZE", 3)
    streams = EventStreams()
    run(streams, 1, 10)
    assert receive_all(streams.subscribe(SESSION, 3, last_sequence=2)) == [3, -6, 10]
    assert receive_all(streams.subscribe(SESSION, 3, last_sequence=7)) == [-2, 10]
    assert receive_all(streams.subscribe(SESSION, 3, last_sequence=9)) == [10]
