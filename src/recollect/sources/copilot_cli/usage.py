"""Counts the tokens of a GitHub Copilot CLI session.

An answer has its output tokens. `session.shutdown` has all counts by model for the run that ends: those of its answers and
of its sub-agents. If the next shutdown has the same start and no smaller counts, it includes the previous one; else the
agent has started counting again.
"""

from typing import Any

from recollect.model import Usage
from recollect.sources.copilot_cli.shapes import CopilotState, Data
from recollect.sources.formats.values import as_count, text_or_none


def answer_usage(data: Data, state: CopilotState) -> Usage | None:
    """The tokens of one answer."""
    output = max(as_count(data.output_tokens), 0)
    state.counted = state.counted + Usage(output=output)
    return Usage(output=output) if output else None


def shutdown_usage(data: Data, state: CopilotState) -> Usage | None:
    """The tokens of a run that are not counted yet."""
    total = sum((_model_usage(usage) for usage in _usages(data.model_metrics).values()), Usage())
    if total == Usage():
        return None
    start = as_count(data.session_start_time)
    is_same_run = start == state.run_start and _above_zero(state.run_total - total) == Usage()
    counted = state.counted if is_same_run else state.counted - state.counted_before
    uncounted = _above_zero(total - counted)
    state.run_start, state.run_total = start, total
    state.counted = state.counted_before = counted + uncounted
    return uncounted if uncounted != Usage() else None


def shutdown_model(data: Data) -> str | None:
    """The model in use at the end, else the one with the most tokens."""
    usages = _usages(data.model_metrics)
    most_used = max(usages, key=lambda model: _model_usage(usages[model]).total(), default=None)
    return text_or_none(data.current_model) or most_used


def _usages(metrics: Any) -> dict[str, dict[str, Any]]:
    items = metrics.items() if isinstance(metrics, dict) else ()
    return {
        model: values["usage"]
        for model, values in items
        if isinstance(values, dict) and isinstance(values.get("usage"), dict)
    }


def _model_usage(usage: dict[str, Any]) -> Usage:
    """The tokens of one model. `inputTokens` includes cached tokens."""
    read, written = as_count(usage.get("cacheReadTokens")), as_count(usage.get("cacheWriteTokens"))
    total_input = as_count(usage.get("inputTokens"))
    return Usage(
        input=total_input - read - written if total_input >= read + written else total_input,
        output=as_count(usage.get("outputTokens")),
        cache_read=read,
        cache_write=written,
        reasoning=as_count(usage.get("reasoningTokens")),
    )


def _above_zero(usage: Usage) -> Usage:
    numbers = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    return Usage(*(max(number, 0) for number in numbers))
