"""Tokens of agents that count them for a whole session only."""

from collections.abc import Iterable

from recollect.model import AGENT_KINDS, Entry, Record, Usage


def with_total(entries: Iterable[Entry], total: Usage) -> list[Entry]:
    """The entries of a session, the last thing that its agent did carrying what the session cost so far."""
    told = list(entries)
    acts = [entry for entry in told if isinstance(entry, Record) and entry.kind in AGENT_KINDS]
    if acts and total != Usage():
        acts[-1].usage = total
    return told
