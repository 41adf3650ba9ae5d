"""The state of an OpenHands session that reading its next event needs."""

from typing import Any

from msgspec import Struct

from recollect.model import Kind, Record, Usage
from recollect.sources.formats.message import RecordBuilder


class SessionProgress(Struct):
    is_evaluation: bool = False  # without a person
    has_task: bool = False
    call: str | None = None  # the last call, for output that does not name its call
    responses: set[str] = set()  # provider answers whose tokens are counted
    usages: dict[str, Usage | None] = {}  # by answer, if the events do not have them

    def user_input(self, builder: RecordBuilder, words: str) -> Record:
        """A prompt. In an evaluation only the first user message is one; its program sends the others."""
        if self.is_evaluation and self.has_task:
            return builder.record(Kind.SYSTEM, words)
        self.has_task = True
        return builder.prompt(words)

    def is_new(self, response: Any) -> bool:
        if not isinstance(response, str) or response in self.responses:
            return False
        self.responses.add(response)
        return True
