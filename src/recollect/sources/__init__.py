"""Step 1, READ: agent logs become records. One module or package per agent, in the order of `recollect sources`.

If the logs of two agents differ only in folder or header, the more specific agent comes later: the last source that
recognises a file reads it.
"""

from functools import cache
from importlib.metadata import entry_points

from recollect.sources import (
    aider,
    amp,
    antigravity,
    atif,
    chatgpt_export,
    claude_code,
    claude_cowork,
    claude_export,
    cline,
    codex,
    copilot_cli,
    crush,
    cursor,
    droid,
    gemini_cli,
    goose,
    gptme,
    grok,
    hermes,
    iflow,
    kilo_code,
    kimi,
    kiro,
    mini_swe_agent,
    nac,
    omnigent,
    omp,
    openclaw,
    opencode,
    openhands,
    otel,
    pi,
    posit_assistant,
    prime,
    qwen_code,
    qwenpaw,
    recollect,
    roo_code,
    specstory,
    swe_agent,
    traex,
    vibe,
    visualstudio_copilot,
    vscode_copilot,
    zed,
)
from recollect.sources.formats.container import READ_ERRORS, STORE_ERRORS, Line, Unreadable, WrongShape, describe_error
from recollect.sources.formats.head import Head, read_head
from recollect.sources.formats.source import Database, Document, Format, Lines, ReaderState, Snapshots, Source, Stamp

__all__ = [
    "BUILT_IN",
    "READ_ERRORS",
    "STORE_ERRORS",
    "Database",
    "Document",
    "Format",
    "Head",
    "Line",
    "Lines",
    "ReaderState",
    "Snapshots",
    "Source",
    "Stamp",
    "Unreadable",
    "WrongShape",
    "all_sources",
    "describe_error",
    "read_head",
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
    claude_cowork.SOURCE,
    traex.SOURCE,
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
    kiro.SOURCE,
    vibe.SOURCE,
    iflow.SOURCE,
    gptme.SOURCE,
    openhands.SOURCE,
    swe_agent.SOURCE,
    mini_swe_agent.SOURCE,
    antigravity.SOURCE,
    posit_assistant.SOURCE,
    nac.SOURCE,
    omnigent.SOURCE,
    atif.SOURCE,
    specstory.SOURCE,
    chatgpt_export.SOURCE,
    claude_export.SOURCE,
    otel.SOURCE,
    recollect.SOURCE,
)


@cache  # search installed packages once: live sessions are read after every turn
def all_sources() -> tuple[Source, ...]:
    """The built-in sources and those that installed packages add under the entry point `recollect.sources`."""
    added = (point.load() for point in entry_points(group="recollect.sources"))
    names = {source.name for source in BUILT_IN}
    return BUILT_IN + tuple(source for source in added if source.name not in names)
