"""Step 8, OFFER: everything one can ask. An operation exists once; every surface is derived from this table."""

from recollect.operations import history, memory
from recollect.operations._operation import Clock, Operation, Reply

__all__ = ["OPERATIONS", "TOOLSETS", "Clock", "Operation", "Reply", "operations_of"]

TOOLSETS: dict[str, tuple[Operation, ...]] = {
    "history": history.OPERATIONS,
    "memory": memory.OPERATIONS,
}
OPERATIONS: dict[str, Operation] = {operation.name: operation for family in TOOLSETS.values() for operation in family}


def operations_of(toolsets: tuple[str, ...]) -> dict[str, Operation]:
    """The operations of some families, in the table's order."""
    return {operation.name: operation for name, family in TOOLSETS.items() if name in toolsets for operation in family}
