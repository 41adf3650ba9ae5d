"""Step 8, OFFER: all operations. An operation is defined once; every surface is derived from this table.

A family is one package here and one line in this table: its requests, its envelope, its error texts, and the guide that
tells a model when to use it.
"""

from msgspec import Struct

from recollect.operations import history, journeys, library, memory, sessions, trace
from recollect.operations.answer_types import components_of
from recollect.operations.caller import caller_of
from recollect.operations.context import RequestContext
from recollect.operations.operation import Family, Operation, Reply, Route
from recollect.operations.prompts import Prompt
from recollect.operations.schema import JsonSchema

__all__ = [
    "FAMILIES",
    "OPERATIONS",
    "TOOLSETS",
    "Family",
    "Operation",
    "Reply",
    "RequestContext",
    "Route",
    "Toolset",
    "answer_components",
    "caller_of",
    "toolset_of",
]

FAMILIES: dict[str, Family] = {
    "history": history.FAMILY,
    "trace": trace.FAMILY,
    "memory": memory.FAMILY,
    "journeys": journeys.FAMILY,
    "sessions": sessions.FAMILY,
    "library": library.FAMILY,
}
TOOLSETS = tuple(name for name, family in FAMILIES.items() if any(operation.is_tool for operation in family.operations))
"""The families that models get tools of."""
OPERATIONS: dict[str, Operation] = {
    operation.name: operation for family in FAMILIES.values() for operation in family.operations
}


def answer_components() -> dict[str, JsonSchema]:
    """The schemas that the response schemas of operations refer to, by name."""
    return components_of(operation.answer for operation in OPERATIONS.values() if operation.answer is not None)


OPENING = (
    "Recollect is the memory of all past AI agent sessions on this machine: every prompt, answer, command and output of "
    "Claude Code, Codex and others. Before you solve something that may have come up before (an error, a decision, a "
    "command, 'as we did last time'), ask it."
)


class Toolset(Struct, frozen=True):
    """What models get of some families, in the table's order: tools, prompts, and a guide to read before the first call."""

    operations: dict[str, Operation]
    prompts: dict[str, Prompt]
    guide: str


def toolset_of(names: tuple[str, ...]) -> Toolset:
    """The toolset of the families with these names."""
    families = [FAMILIES[name] for name in TOOLSETS if name in names]
    return Toolset(
        operations={tool.name: tool for family in families for tool in family.operations if tool.is_tool},
        prompts={prompt.name: prompt for family in families for prompt in family.prompts},
        guide=" ".join([OPENING, *(family.guide for family in families)]),
    )
