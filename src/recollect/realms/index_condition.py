"""How a text index relates to its archive, and what a searcher is told about it."""

from enum import StrEnum


class IndexCondition(StrEnum):
    """How an index stands to its archive."""

    EMPTY = "empty"
    UP_TO_DATE = "up_to_date"
    BEHIND = "behind"
    REBUILDING = "rebuilding"
    DAMAGED = "damaged"


WARNINGS = {
    IndexCondition.EMPTY: "Nothing is indexed yet. Run `recollect sync`, or wait for the first sync to finish.",
    IndexCondition.BEHIND: "The text index is catching up: {behind} events cannot be found yet.",
    IndexCondition.REBUILDING: "The text index is being rebuilt: {behind} events cannot be found yet.",
    IndexCondition.DAMAGED: (
        "The text index is missing or damaged and is being rebuilt; results are incomplete until it is done."
    ),
}


REPAIRABLE = {IndexCondition.BEHIND, IndexCondition.REBUILDING, IndexCondition.DAMAGED}  # by a process in the background
READ_ONLY = (
    "The text index is incomplete ({behind} events cannot be found) and the state folder is read-only."
    " Run `recollect sync` where the folder can be written."
)
