"""The tokens of one call of a model as LiteLLM counts them: several agents write them down as they came."""

from typing import Any

from recollect.model import Usage
from recollect.sources.formats.values import as_count


def usage_of(counted: Any) -> Usage | None:
    """Either of the two tongues: prompt and completion tokens, or input and output tokens. What was cached is in both."""
    if not isinstance(counted, dict):
        return None
    given = _detail(counted, "prompt_tokens_details", "input_tokens_details")
    made = _detail(counted, "completion_tokens_details", "output_tokens_details")
    read = as_count(given.get("cached_tokens")) or _first(
        counted, "cache_read_input_tokens", "cache_read_tokens", "cached_tokens"
    )
    written = _first(counted, "cache_creation_input_tokens", "cache_write_tokens")
    return Usage(
        input=max(_first(counted, "prompt_tokens", "input_tokens") - read - written, 0),
        output=_first(counted, "completion_tokens", "output_tokens"),
        cache_read=read,
        cache_write=written,
        reasoning=as_count(made.get("reasoning_tokens")) or as_count(counted.get("reasoning_tokens")),
    )


def _first(counted: dict[str, Any], *names: str) -> int:
    return next((number for name in names if (number := as_count(counted.get(name)))), 0)


def _detail(counted: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((detail for name in names if isinstance(detail := counted.get(name), dict)), {})
