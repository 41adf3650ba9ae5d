"""What a session of GitHub Copilot CLI cost.

An answer says how many tokens came out. `session.shutdown` says everything, by model, for the run that ends: it includes the
answers told before it and those of sub-agents. Where the next shutdown has the same start and no smaller counts, it includes
the one before; else it counts anew.
"""

from typing import Any

from recollect.model import Usage
from recollect.sources.copilot_cli.shapes import CopilotState, Data
from recollect.sources.formats.values import as_count, text_or_none


def answer_usage(data: Data, state: CopilotState) -> Usage | None:
    """The tokens of one answer."""
    output = max(as_count(data.output_tokens), 0)
    state.told = state.told + Usage(output=output)
    return Usage(output=output) if output else None


def shutdown_usage(data: Data, state: CopilotState) -> Usage | None:
    """What a run cost beyond what was told of it already."""
    total = sum((_model_usage(usage) for usage in _usages(data.model_metrics).values()), Usage())
    if total == Usage():
        return None
    start = as_count(data.session_start_time)
    goes_on = start == state.run_start and _above_zero(state.run_total - total) == Usage()
    counted = state.told if goes_on else state.told - state.told_before
    rest = _above_zero(total - counted)
    state.run_start, state.run_total = start, total
    state.told = state.told_before = counted + rest
    return rest if rest != Usage() else None


def shutdown_model(data: Data) -> str | None:
    """The model in use at the end, else the one that read and wrote most."""
    usages = _usages(data.model_metrics)
    most = max(usages, key=lambda model: _model_usage(usages[model]).total(), default=None)
    return text_or_none(data.current_model) or most


def _usages(metrics: Any) -> dict[str, dict[str, Any]]:
    items = metrics.items() if isinstance(metrics, dict) else ()
    return {
        model: values["usage"]
        for model, values in items
        if isinstance(values, dict) and isinstance(values.get("usage"), dict)
    }


def _model_usage(usage: dict[str, Any]) -> Usage:
    """`inputTokens` is all that went in, the cached part too."""
    read, written = as_count(usage.get("cacheReadTokens")), as_count(usage.get("cacheWriteTokens"))
    given = as_count(usage.get("inputTokens"))
    return Usage(
        input=given - read - written if given >= read + written else given,
        output=as_count(usage.get("outputTokens")),
        cache_read=read,
        cache_write=written,
        reasoning=as_count(usage.get("reasoningTokens")),
    )


def _above_zero(usage: Usage) -> Usage:
    numbers = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    return Usage(*(max(number, 0) for number in numbers))
