"""A stream of session events ends when no more events can come."""

import asyncio

import pytest

from recollect.live.event_streams import Subscriber
from recollect.surfaces.http import dispatcher
from recollect.surfaces.http.dispatcher import HEARTBEAT, EventStream, ThreadEvent


def test_a_reader_is_released_when_another_process_has_archived_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "HEARTBEAT_S", 0.01)
    answers = [True, True, False]

    async def is_present() -> bool:
        return answers.pop(0)

    async def read() -> list[bytes]:
        reading = EventStream(Subscriber("s"), ThreadEvent(), lambda _: None, is_present)
        return [line async for line in reading.lines()]

    assert asyncio.run(asyncio.wait_for(read(), 20)) == [HEARTBEAT, HEARTBEAT]
