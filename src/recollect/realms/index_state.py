"""How the text index of a realm compares with its archive, and the warnings that follow."""

from enum import StrEnum

from recollect.store import ArchiveState

WARN_UNINDEXED = 200  # events; fewer are indexed within a moment and need no warning


class IndexCondition(StrEnum):
    """How an index compares with its archive."""

    EMPTY = "empty"
    UP_TO_DATE = "up_to_date"
    BEHIND = "behind"
    REBUILDING = "rebuilding"
    DAMAGED = "damaged"


WARNINGS = {
    IndexCondition.EMPTY: "Nothing is indexed yet. Run `recollect sync`, or wait for the first sync to finish.",
    IndexCondition.BEHIND: "The text index is catching up: {unindexed} events cannot be found yet.",
    IndexCondition.REBUILDING: "The text index is being rebuilt: {unindexed} events cannot be found yet.",
    IndexCondition.DAMAGED: (
        "The text index is missing or damaged and is being rebuilt; results are incomplete until it is done."
    ),
}
REPAIRABLE = {IndexCondition.BEHIND, IndexCondition.REBUILDING, IndexCondition.DAMAGED}  # by a background process
READ_ONLY = (
    "The text index is incomplete ({unindexed} events cannot be found) and the state folder is read-only."
    " Run `recollect sync` where the folder can be written."
)


def condition_of(state: ArchiveState, *, is_readable: bool) -> IndexCondition:
    """The condition of an index. `state` must be read after the index was opened.

    A rebuild sets `indexed` to 0 before it replaces the index.
    """
    if state.last_key == 0:
        return IndexCondition.EMPTY
    if not is_readable:
        return IndexCondition.DAMAGED
    if state.indexed == 0:
        return IndexCondition.REBUILDING
    return IndexCondition.UP_TO_DATE if state.unindexed() == 0 else IndexCondition.BEHIND


def index_warnings(condition: IndexCondition, unindexed: int, *, is_writable: bool) -> list[str]:
    """The sentence to show beside search results; none while the index is complete or almost so."""
    if condition in REPAIRABLE and not is_writable:
        return [READ_ONLY.format(unindexed=unindexed)]
    if condition not in WARNINGS or (condition is IndexCondition.BEHIND and unindexed <= WARN_UNINDEXED):
        return []
    return [WARNINGS[condition].format(unindexed=unindexed)]
