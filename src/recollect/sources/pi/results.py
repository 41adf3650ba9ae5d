"""Reads the result of a sub-agent of Oh My Pi: the arguments of a `yield` call, which its parent receives.

The call is `{"result": {"data": …}}` or `{"result": {"error": "…"}}`; some models omit `result`, or write it as text. If
`type` is a list, the call has only a part of the result. Without data, the last message is the result.
"""

from typing import Any

from recollect.sources.formats.message import text_of
from recollect.sources.formats.values import arguments_of, as_text

YIELDS = {"yield", "submit_result"}  # the tool's name today, and until spring 2026


def is_final(arguments: dict[str, Any]) -> bool:
    """Whether a call returns the complete result, after which the agent ends."""
    return not isinstance(arguments.get("type"), list)


def result_in(arguments: dict[str, Any]) -> str:
    """The result of a call as text; empty if the last message is the result."""
    fields = arguments_of(arguments.get("result")) or arguments
    result = next((fields[key] for key in ("data", "error") if fields.get(key) not in (None, "", {}, [])), None)
    if isinstance(result, dict) and len(result) == 1 and isinstance(only := next(iter(result.values())), str):
        return only
    return as_text(result) if isinstance(result, dict) else text_of(result)
