"""Counts the entries of a log by kind. `recollect doctor` shows what was ignored and what was not recognised."""

from collections import Counter

from recollect.model import Entry, Ignored, Problem, Record, SessionMetadata

UNDATED = "undated"  # records without a time of their own; they are also counted by kind


def tally_of(entries: list[Entry]) -> Counter[str]:
    """The number of entries of each kind, before any is left out."""
    undated = sum(entry.at is None for entry in entries if isinstance(entry, Record))
    return Counter(map(_kind, entries)) + Counter({UNDATED: undated})


def _kind(entry: Entry) -> str:
    """The name under which an entry is counted."""
    match entry:
        case Record(kind=kind):
            return str(kind)
        case Ignored(kind=kind):
            return f"noise: {kind}"
        case Problem():
            return "problem"
        case SessionMetadata():
            return "about"
