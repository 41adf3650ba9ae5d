"""Step 8, OFFER: everything one can ask. An operation exists once; every surface is derived from this table.

A family is one module here and one line in this table: its requests, its envelope, its words for errors, and the guide that
tells a model when to use it.
"""

from msgspec import Struct

from recollect.operations import history, journeys, memory, sessions, trace
from recollect.operations.caller import caller_of
from recollect.operations.context import RequestContext
from recollect.operations.operation import Family, Operation, Reply, Route
from recollect.operations.prompts import Prompt

__all__ = [
    "FAMILIES",
    "OPERATIONS",
    "Family",
    "Operation",
    "Reply",
    "RequestContext",
    "Route",
    "Toolset",
    "caller_of",
    "toolset_of",
]

FAMILIES: dict[str, Family] = {
    "history": history.FAMILY,
    "trace": trace.FAMILY,
    "memory": memory.FAMILY,
    "journeys": journeys.FAMILY,
    "sessions": sessions.FAMILY,
}
OPERATIONS: dict[str, Operation] = {one.name: one for family in FAMILIES.values() for one in family.operations}
OPENING = (
    "Recollect is the memory of all past AI agent sessions on this machine: every prompt, answer, command and output of "
    "Claude Code, Codex and others. Before you solve something that may have come up before (an error, a decision, a "
    "command, 'as we did last time'), ask it."
)


class Toolset(Struct, frozen=True):
    """What some families give to models, in the table's order: tools, prompts, and what to know before the first call."""

    operations: dict[str, Operation]
    prompts: dict[str, Prompt]
    guide: str


def toolset_of(toolsets: tuple[str, ...]) -> Toolset:
    families = [family for name, family in FAMILIES.items() if name in toolsets]
    return Toolset(
        operations={one.name: one for family in families for one in family.operations if one.is_tool},
        prompts={prompt.name: prompt for family in families for prompt in family.prompts},
        guide=" ".join([OPENING, *(family.guide for family in families)]),
    )
