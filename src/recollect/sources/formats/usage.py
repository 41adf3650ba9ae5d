"""Reads token counts, given the names under which an agent writes them: `tokens(input="input_tokens", …)`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from recollect.model import AGENT_KINDS, Entry, Record, Usage
from recollect.sources.formats.values import as_count

Names = str | tuple[str, ...]
"""The name of a field, or of several fields: the first one with a count is used."""
MICRO = 1_000_000  # micro-dollars in a dollar
MAX_DOLLARS = 1_000_000.0  # more than any call or session costs: a larger number is not an amount of dollars
AMOUNTS = ("total", "usd", "total_cost", "value")  # fields of a cost that is an object


def tokens(
    *,
    input: Names,  # noqa: A002
    output: Names,
    cache_read: Names = (),
    cache_write: Names = (),
    reasoning: Names = (),
    cost: str = "",
    cached_in_input: bool = False,
    reasoning_in_output: bool = True,
) -> Callable[[Any], Usage | None]:
    """A function that turns an agent's token counts, an object, into `Usage`; anything else into None.

    `cached_in_input`: the agent counts cached tokens as input too, so they are subtracted.
    `cost`: the field with what the call cost in dollars, if the agent records it.
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
            cost=micro_dollars(counts.get(cost)) if cost else 0,
        )

    return usage_of


def micro_dollars(amount: Any) -> int:
    """A recorded cost in micro-dollars, from dollars or an object with them; 0 if it is none. Agents write 0 for unknown."""
    if isinstance(amount, Mapping):
        amount = next((amount[name] for name in AMOUNTS if name in amount), None)
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 < amount <= MAX_DOLLARS:
        return 0
    return max(1, round(amount * MICRO))


def with_cost(usage: Usage | None, amount: Any) -> Usage | None:
    """The tokens of a call with its recorded cost in dollars."""
    cost = micro_dollars(amount)
    return replace(usage or Usage(), cost=cost) if cost else usage


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


def with_session_cost(entries: Iterable[Entry], amount: Any) -> list[Entry]:
    """A session's entries, for agents that record what a session cost, not what each call did.

    Each call gets a part of the cost, by its tokens; without any call, the agent's last record gets it. Costs that calls
    have already are part of the session's.
    """
    all_entries = list(entries)
    calls = [entry for entry in all_entries if isinstance(entry, Record) and entry.usage is not None]
    rest = micro_dollars(amount) - sum(call.usage.cost for call in calls if call.usage)
    unpriced = [call for call in calls if call.usage and not call.usage.cost]
    if not calls:
        unpriced = [entry for entry in all_entries if isinstance(entry, Record) and entry.kind in AGENT_KINDS][-1:]
    weights = [call.usage.total() if call.usage else 1 for call in unpriced]
    weights = weights if any(weights) else [1] * len(weights)
    for place, call in enumerate(unpriced if rest > 0 else ()):
        left = sum(weights[place:])
        part = rest * weights[place] // left if left else rest  # of what is left, so that all parts add up
        rest -= part
        call.usage = replace(call.usage or Usage(), cost=part)
    return all_entries
