"""Who runs a turn: an agent behind one small interface. Given a prompt it yields what the agent says and does, and ends."""

from recollect.live.runners.runner import (
    ACP_SESSION,
    Assignment,
    Called,
    Cancel,
    Ended,
    Kept,
    Output,
    Returned,
    Runner,
    Said,
    Spent,
    Thought,
)

__all__ = [
    "ACP_SESSION",
    "Assignment",
    "Called",
    "Cancel",
    "Ended",
    "Kept",
    "Output",
    "Returned",
    "Runner",
    "Said",
    "Spent",
    "Thought",
]
