"""From a method of the client to a request, and from its answer to a value."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from recollect.client._json import decoded
from recollect.client._wire import Answer, Listener, Wire
from recollect.client.errors import InternalError
from recollect.client.results import ToolResult

Result = TypeVar("Result")


async def ask(wire: Wire, shape: type[Result], method: str, listener: Listener | None = None, /, **params: Any) -> Result:
    """Ask with what was said (None is what was not), and take the answer for what it should be."""
    said = {name: value for name, value in params.items() if value is not None}
    return _shaped(method, await wire.request(method, said, listener), shape)


async def any_request(wire: Wire, method: str, params: Mapping[str, Any] | None) -> Any:
    """Any method, as it is; its answer as plain values."""
    return _shaped(method, await wire.request(method, dict(params or {})), object)


async def call_tool(wire: Wire, name: str, arguments: Mapping[str, Any] | None) -> ToolResult:
    return _shaped(name, await wire.tool(name, dict(arguments or {})), ToolResult)


def _shaped(asked: str, answer: Answer, shape: type[Result]) -> Result:
    try:
        return decoded(answer, shape)
    except (ValueError, RecursionError) as reason:
        told = f"The answer to {asked} is not one that this client can read: {reason}"
        raise InternalError("INTERNAL_ERROR", told) from reason


def words(command: Sequence[str] | None) -> Any:
    """A text is not taken apart into letters: the server will say what is wrong with it."""
    return command if command is None or isinstance(command, str) else list(command)


def labelled(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if labels is None else dict(labels)
