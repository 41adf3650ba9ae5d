"""Where an OpenHands session stands: what its next event must know of those before it."""

from typing import Any

from msgspec import Struct

from recollect.model import Kind, Record, Usage
from recollect.sources.formats.message import RecordBuilder


class Talk(Struct):
    is_evaluation: bool = False  # nobody was there
    has_task: bool = False
    call: str | None = None  # the last one, for output that does not say which it is of
    responses: set[str] = set()  # the provider's answers whose tokens are counted
    usages: dict[str, Usage | None] = {}  # by answer, where they are not in the events

    def said(self, builder: RecordBuilder, words: str) -> Record:
        """A prompt; but in an evaluation only the first is one, the others are its program asking to go on."""
        if self.is_evaluation and self.has_task:
            return builder.record(Kind.SYSTEM, words)
        self.has_task = True
        return builder.prompt(words)

    def is_new(self, response: Any) -> bool:
        if not isinstance(response, str) or response in self.responses:
            return False
        self.responses.add(response)
        return True
