"""What a session of GitHub Copilot CLI cost.

An answer says how many tokens came out. `session.shutdown` says everything, by model, for the run that ends: it includes the
answers told before it and those of sub-agents. Where the next shutdown has the same start and no smaller counts, it includes
the one before; else it counts anew.
"""

from typing import Any

from recollect.model import Usage
from recollect.sources.copilot_cli.shapes import CopilotMemory, Data
from recollect.sources.formats.values import count, word


def answer_usage(data: Data, memory: CopilotMemory) -> Usage | None:
    """The tokens of one answer."""
    output = max(count(data.output_tokens), 0)
    memory.told = memory.told + Usage(output=output)
    return Usage(output=output) if output else None


def shutdown_usage(data: Data, memory: CopilotMemory) -> Usage | None:
    """What a run cost beyond what was told of it already."""
    total = sum((_model_usage(usage) for usage in _usages(data.model_metrics).values()), Usage())
    if total == Usage():
        return None
    start = count(data.session_start_time)
    goes_on = start == memory.run_start and _above_zero(memory.run_total - total) == Usage()
    told = memory.told if goes_on else memory.told - memory.told_before
    rest = _above_zero(total - told)
    memory.run_start, memory.run_total = start, total
    memory.told = memory.told_before = told + rest
    return rest if rest != Usage() else None


def shutdown_model(data: Data) -> str | None:
    """The model in use at the end, else the one that read and wrote most."""
    usages = _usages(data.model_metrics)
    most = max(usages, key=lambda model: _model_usage(usages[model]).total(), default=None)
    return word(data.current_model) or most


def _usages(metrics: Any) -> dict[str, dict[str, Any]]:
    told = metrics.items() if isinstance(metrics, dict) else ()
    return {
        model: values["usage"]
        for model, values in told
        if isinstance(values, dict) and isinstance(values.get("usage"), dict)
    }


def _model_usage(usage: dict[str, Any]) -> Usage:
    """`inputTokens` is all that went in, the cached part too."""
    read, written = count(usage.get("cacheReadTokens")), count(usage.get("cacheWriteTokens"))
    given = count(usage.get("inputTokens"))
    return Usage(
        input=given - read - written if given >= read + written else given,
        output=count(usage.get("outputTokens")),
        cache_read=read,
        cache_write=written,
        reasoning=count(usage.get("reasoningTokens")),
    )


def _above_zero(usage: Usage) -> Usage:
    numbers = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    return Usage(*(max(number, 0) for number in numbers))
