"""The shapes of a Codex rollout's response items: the model's input and output."""

from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from recollect.sources.codex.shapes import NOTHING, Block, Content


class Item(Struct, tag_field="type", tag="item"):
    pass


class Message(Item, tag="message"):
    role: str | None = None
    content: Content = None
    message: str | None = None


class InterAgentMessage(Item, tag="agent_message"):
    content: Content = None


class Reasoning(Item, tag="reasoning"):
    summary: Content = None
    content: Content = None
    text: str | None = None


class NamedFunction(Struct):
    name: str | None = None


class FunctionCall(Item, tag="function_call"):
    name: str | None = None
    namespace: str | None = None
    function: NamedFunction | None = None
    arguments: Any = None
    call_id: str | None = None


class ToolCall(FunctionCall, tag="tool_call"):
    pass


class CustomToolCall(Item, tag="custom_tool_call"):
    name: str | None = None
    namespace: str | None = None
    input: Any = None
    call_id: str | None = None


class LocalShellCall(Item, tag="local_shell_call"):
    id: str | None = None
    call_id: str | None = None
    action: Any = None


class WebSearchCall(Item, tag="web_search_call"):
    id: str | None = None
    action: dict[str, Any] | None = None


class ToolSearchCall(Item, tag="tool_search_call"):
    call_id: str | None = None
    arguments: Any = None


class ImageGenerationCall(Item, tag="image_generation_call"):
    id: str | None = None
    revised_prompt: str | None = None


class OutputObject(Struct):
    """An output in its older form, an object."""

    text: str | None = None
    content: Content = None
    success: bool | None = None


class FunctionCallOutput(Item, tag="function_call_output"):
    call_id: str | None = None
    output: list[Block | str] | OutputObject | str | None = None


class CustomToolCallOutput(FunctionCallOutput, tag="custom_tool_call_output"):
    pass


class LocalShellCallOutput(FunctionCallOutput, tag="local_shell_call_output"):
    pass


class ToolSearchOutput(Item, tag="tool_search_output"):
    call_id: str | None = None
    tools: Raw = NOTHING


class ToolResult(Item, tag="tool_result"):
    name: str | None = None
    call_id: str | None = None
    result: Any = None


class FunctionResult(ToolResult, tag="function_result"):
    pass


ITEM = Decoder(
    Message | InterAgentMessage | Reasoning | FunctionCall | ToolCall | CustomToolCall | LocalShellCall | WebSearchCall
    | ToolSearchCall | ImageGenerationCall | FunctionCallOutput | CustomToolCallOutput | LocalShellCallOutput
    | ToolSearchOutput | ToolResult | FunctionResult
)  # fmt: skip
