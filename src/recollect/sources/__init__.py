"""Step 1, READ: agent logs become records. One file per agent; the order here is the order of `recollect sources`."""

from importlib.metadata import entry_points

from recollect.sources import (
    aider,
    amp,
    atif,
    chatgpt_export,
    claude_code,
    claude_export,
    cline,
    codex,
    copilot_cli,
    crush,
    cursor,
    droid,
    gemini_cli,
    goose,
    grok,
    hermes,
    iflow,
    kilo_code,
    kimi,
    mini_swe_agent,
    omp,
    openclaw,
    opencode,
    openhands,
    otel,
    pi,
    prime,
    qwen_code,
    qwenpaw,
    roo_code,
    specstory,
    swe_agent,
    visualstudio_copilot,
    vscode_copilot,
    zed,
)
from recollect.sources._container import NOT_UNDERSTOOD, Line, Misfit, Unreadable, not_understood
from recollect.sources._head import Head, head_of
from recollect.sources._source import Database, Document, Format, Lines, Memory, Snapshots, Source, Stamp

__all__ = [
    "BUILT_IN",
    "NOT_UNDERSTOOD",
    "Database",
    "Document",
    "Format",
    "Head",
    "Line",
    "Lines",
    "Memory",
    "Misfit",
    "Snapshots",
    "Source",
    "Stamp",
    "Unreadable",
    "all_sources",
    "head_of",
    "not_understood",
]

BUILT_IN: tuple[Source, ...] = (
    claude_code.SOURCE,
    codex.SOURCE,
    gemini_cli.SOURCE,
    opencode.SOURCE,
    cursor.SOURCE,
    copilot_cli.SOURCE,
    vscode_copilot.SOURCE,
    visualstudio_copilot.SOURCE,
    pi.SOURCE,
    omp.SOURCE,
    openclaw.SOURCE,
    prime.SOURCE,
    kimi.SOURCE,
    qwen_code.SOURCE,
    qwenpaw.SOURCE,
    crush.SOURCE,
    goose.SOURCE,
    zed.SOURCE,
    amp.SOURCE,
    droid.SOURCE,
    hermes.SOURCE,
    aider.SOURCE,
    cline.SOURCE,
    roo_code.SOURCE,
    kilo_code.SOURCE,
    grok.SOURCE,
    iflow.SOURCE,
    openhands.SOURCE,
    swe_agent.SOURCE,
    mini_swe_agent.SOURCE,
    atif.SOURCE,
    specstory.SOURCE,
    chatgpt_export.SOURCE,
    claude_export.SOURCE,
    otel.SOURCE,
)


def all_sources() -> tuple[Source, ...]:
    """The built-in sources and those that installed packages add under the entry point `recollect.sources`."""
    added = (point.load() for point in entry_points(group="recollect.sources"))
    names = {source.name for source in BUILT_IN}
    return BUILT_IN + tuple(source for source in added if source.name not in names)
