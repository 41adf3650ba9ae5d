"""How a text index relates to its archive, and what a searcher is told about it."""

from enum import StrEnum


class Condition(StrEnum):
    """How an index stands to its archive."""

    EMPTY = "empty"
    LEVEL = "level"
    BEHIND = "behind"
    REBUILDING = "rebuilding"
    DAMAGED = "damaged"


WARNINGS = {
    Condition.EMPTY: "Nothing is indexed yet. Run `recollect sync`, or wait for the first sync to finish.",
    Condition.BEHIND: "The text index is catching up: {behind} events cannot be found yet.",
    Condition.REBUILDING: "The text index is being rebuilt: {behind} events cannot be found yet.",
    Condition.DAMAGED: "The text index is missing or damaged and is being rebuilt; results are incomplete until it is done.",
}


MENDED = {Condition.BEHIND, Condition.REBUILDING, Condition.DAMAGED}  # by a process in the background
READ_ONLY = (
    "The text index is incomplete ({behind} events cannot be found) and the state folder is read-only."
    " Run `recollect sync` where the folder can be written."
)
