"""Reads token counts, given the names under which an agent writes them: `tokens(input="input_tokens", …)`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from recollect.model import AGENT_KINDS, Entry, Record, Usage
from recollect.sources.formats.values import as_count

Names = str | tuple[str, ...]
"""The name of a field, or of several fields: the first one with a count is used."""


def tokens(
    *,
    input: Names,  # noqa: A002
    output: Names,
    cache_read: Names = (),
    cache_write: Names = (),
    reasoning: Names = (),
    cached_in_input: bool = False,
    reasoning_in_output: bool = True,
) -> Callable[[Any], Usage | None]:
    """A function that turns an agent's token counts, an object, into `Usage`; anything else into None.

    `cached_in_input`: the agent counts cached tokens as input too, so they are subtracted.
    `reasoning_in_output`: False if the agent counts reasoning separately from the output, so that it is added.
    """

    def usage_of(counts: Any) -> Usage | None:
        if not isinstance(counts, Mapping):
            return None
        read, written, reasoned = (first_count(counts, names) for names in (cache_read, cache_write, reasoning))
        total_input, total_output = first_count(counts, input), first_count(counts, output)
        return Usage(
            input=max(total_input - read - written, 0) if cached_in_input else total_input,
            output=total_output if reasoning_in_output else total_output + reasoned,
            cache_read=read,
            cache_write=written,
            reasoning=reasoned,
        )

    return usage_of


def first_count(counts: Mapping[str, Any], names: Names) -> int:
    """The count under the first of these names that has one; else 0."""
    names = (names,) if isinstance(names, str) else names
    return next((number for name in names if (number := as_count(counts.get(name)))), 0)


def litellm_usage(counts: Any) -> Usage | None:
    """The tokens of one model call as LiteLLM counts them, with OpenAI's or with Anthropic's names.

    Several agents write these counts unchanged. Input includes cached tokens.
    """
    if not isinstance(counts, dict):
        return None
    input_details = _details(counts, "prompt_tokens_details", "input_tokens_details")
    output_details = _details(counts, "completion_tokens_details", "output_tokens_details")
    nested = {"cached": input_details.get("cached_tokens"), "thought": output_details.get("reasoning_tokens")}
    return _litellm(counts | nested)


_litellm = tokens(
    input=("prompt_tokens", "input_tokens"),
    output=("completion_tokens", "output_tokens"),
    cache_read=("cached", "cache_read_input_tokens", "cache_read_tokens", "cached_tokens"),
    cache_write=("cache_creation_input_tokens", "cache_write_tokens"),
    reasoning=("thought", "reasoning_tokens"),
    cached_in_input=True,
)


def _details(counts: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((details for name in names if isinstance(details := counts.get(name), dict)), {})


def with_total(entries: Iterable[Entry], total: Usage) -> list[Entry]:
    """A session's entries, for agents that count tokens per session only: the agent's last record gets the total."""
    all_entries = list(entries)
    agent_records = [entry for entry in all_entries if isinstance(entry, Record) and entry.kind in AGENT_KINDS]
    if agent_records and total != Usage():
        agent_records[-1].usage = total
    return all_entries
