"""Joins each tool call with its response, in one pass over a session's events."""

from collections import deque
from collections.abc import Iterable, Iterator

from recollect.library_answers import LibraryEvent

LOOK_AHEAD = 64  # events that wait for the response of a call before them: more parallel calls are rare

CALL, RESPONSE = "tool_call", "tool_response"


class TranscriptStep:
    """An event. A tool call has its response, if the session has it; a response without its call is a step of its own."""

    __slots__ = ("event", "response")

    def __init__(self, event: LibraryEvent) -> None:
        self.event = event
        self.response: LibraryEvent | None = None

    @property
    def is_call(self) -> bool:
        return self.event.type == CALL

    @property
    def output(self) -> LibraryEvent | None:
        """The response of a call, or the event itself if it is a response without its call."""
        return self.event if self.event.type == RESPONSE else self.response

    def has_failed(self) -> bool:
        return self.event.failed or (self.response is not None and self.response.failed)


def join_calls(events: Iterable[LibraryEvent]) -> Iterator[TranscriptStep]:
    """The steps of a session, in the order in which they began."""
    steps: deque[TranscriptStep] = deque()
    waiting: dict[int, TranscriptStep] = {}  # calls without a response, by their sequence numbers
    for event in events:
        if steps and event.turn != steps[-1].event.turn:  # responses do not arrive in a later turn
            yield from steps
            steps.clear()
            waiting.clear()
        call = waiting.pop(event.answers, None) if event.type == RESPONSE and event.answers is not None else None
        if call is not None:
            call.response = event
        else:
            steps.append(TranscriptStep(event))
            if event.type == CALL:
                waiting[event.sequence] = steps[-1]
        while steps and (steps[0].event.sequence not in waiting or len(steps) > LOOK_AHEAD):
            waiting.pop(steps[0].event.sequence, None)
            yield steps.popleft()
    yield from steps
