"""How many entries of which kind a log gave: `recollect doctor` shows what was ignored and what was not recognised."""

from collections import Counter

from recollect.model import Entry, Ignored, Problem, Record, SessionMetadata

UNDATED = "undated"  # in tallies: records that are counted elsewhere, and have no time of their own


def tally_of(entries: list[Entry]) -> Counter[str]:
    """How many entries there are of which kind, before any of them is kept."""
    undated = sum(entry.at is None for entry in entries if isinstance(entry, Record))
    return Counter(map(_kind, entries)) + Counter({UNDATED: undated})


def _kind(entry: Entry) -> str:
    """Under which name an entry is counted."""
    match entry:
        case Record(kind=kind):
            return str(kind)
        case Ignored(kind=kind):
            return f"noise: {kind}"
        case Problem():
            return "problem"
        case SessionMetadata():
            return "about"
