"""Step 1, READ: agent logs become records. One file per agent; the order here is the order of `recollect sources`."""

from importlib.metadata import entry_points

from recollect.sources import claude_code, codex
from recollect.sources._source import Line, Memory, Misfit, Source

__all__ = ["BUILT_IN", "Line", "Memory", "Misfit", "Source", "all_sources"]

BUILT_IN: tuple[Source, ...] = (
    claude_code.SOURCE,
    codex.SOURCE,
)


def all_sources() -> tuple[Source, ...]:
    """The built-in sources and those that installed packages add under the entry point `recollect.sources`."""
    added = (point.load() for point in entry_points(group="recollect.sources"))
    names = {source.name for source in BUILT_IN}
    return BUILT_IN + tuple(source for source in added if source.name not in names)
