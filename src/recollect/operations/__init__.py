"""Step 8, OFFER: everything one can ask. An operation exists once; every surface is derived from this table.

A family is one module here and one line in this table: its requests, its envelope, its words for errors, and the guide that
tells a model when to use it.
"""

from msgspec import Struct

from recollect.operations import history, journeys, memory, sessions, trace
from recollect.operations.asker import asker_of
from recollect.operations.operation import Clock, Door, Family, Operation, Reply
from recollect.operations.prompts import Prompt

__all__ = ["OPERATIONS", "TOOLSETS", "Clock", "Door", "Family", "Offer", "Operation", "Reply", "asker_of", "offer_of"]

TOOLSETS: dict[str, Family] = {
    "history": history.FAMILY,
    "trace": trace.FAMILY,
    "memory": memory.FAMILY,
    "journeys": journeys.FAMILY,
    "sessions": sessions.FAMILY,
}
OPERATIONS: dict[str, Operation] = {one.name: one for family in TOOLSETS.values() for one in family.operations}
OPENING = (
    "Recollect is the memory of all past AI agent sessions on this machine: every prompt, answer, command and output of "
    "Claude Code, Codex and others. Before you solve something that may have come up before (an error, a decision, a "
    "command, 'as we did last time'), ask it."
)


class Offer(Struct, frozen=True):
    """What some families give to models, in the table's order: tools, prompts, and what to know before the first call."""

    operations: dict[str, Operation]
    prompts: dict[str, Prompt]
    guide: str


def offer_of(toolsets: tuple[str, ...]) -> Offer:
    families = [family for name, family in TOOLSETS.items() if name in toolsets]
    return Offer(
        operations={one.name: one for family in families for one in family.operations if one.is_tool},
        prompts={prompt.name: prompt for family in families for prompt in family.prompts},
        guide=" ".join([OPENING, *(family.guide for family in families)]),
    )
