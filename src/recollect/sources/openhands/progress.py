"""The state of an OpenHands session that reading its next event needs."""

from typing import Any

from msgspec import Struct

from recollect.model import Kind, Record, Usage
from recollect.sources.formats.message import RecordBuilder


class SessionProgress(Struct):
    is_evaluation: bool = False  # there is no person; a program sends the messages
    has_task: bool = False  # the first prompt was read
    call: str | None = None  # the last call, for an output that does not name its call
    responses: set[str] = set()  # ids of the provider's answers whose tokens are counted
    usages: dict[str, Usage | None] = {}  # by an answer's id, if the events do not have them
    cost: float = 0.0  # of the session so far, in dollars

    def user_input(self, builder: RecordBuilder, text: str) -> Record:
        """A record of a user message: a prompt, except in an evaluation, where only the first one is."""
        if self.is_evaluation and self.has_task:
            return builder.record(Kind.SYSTEM, text)
        self.has_task = True
        return builder.prompt(text)

    def is_new(self, response: Any) -> bool:
        """Whether an answer's id is seen for the first time."""
        if not isinstance(response, str) or response in self.responses:
            return False
        self.responses.add(response)
        return True

    def cost_since(self, total: Any) -> float:
        """What was spent since the last event that told the session's cost so far, in dollars."""
        if not isinstance(total, int | float) or not total > self.cost:
            return 0.0
        spent, self.cost = total - self.cost, float(total)
        return spent
