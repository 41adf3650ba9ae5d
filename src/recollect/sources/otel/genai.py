"""Reads an operation by the semantic conventions for generative AI, in all variants that are in use.

The current conventions put messages with `parts` into `gen_ai.input.messages` and `gen_ai.output.messages`; up to 1.36
every message was an event (`gen_ai.user.message`, `gen_ai.choice`), in the span or as a log record. OpenLLMetry numbers its
attributes (`gen_ai.prompt.0.role`), and so does OpenInference (`llm.input_messages.0.message.role`).
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from msgspec import Struct

from recollect.model import Usage
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.values import as_count, as_object
from recollect.sources.otel.otlp import Operation, SpanEvent

CONVERSATION = "gen_ai.conversation.id"
MODEL_CALLS = {"chat", "text_completion", "completion", "generate_content"}
AGENT_RUNS = {"invoke_agent", "invoke_workflow", "agent", "workflow", "chain"}
TOOL_RUNS = {"execute_tool", "tool"}
SPAN_KINDS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type")
WRAPPERS = re.compile(r"\.(?:message|tool_call|message_content)(?=\.)")  # OpenInference repeats the noun after each number
MESSAGE = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
DETAILS = "gen_ai.client.inference.operation.details"
RESULT_PARTS = ("tool_call_response", "tool_call_result", "server_tool_call_response")
CALL_PARTS = ("tool_call", "server_tool_call")
REASONING_PARTS = ("reasoning", "thinking")
MEDIA_PARTS = ("blob", "file", "uri", "image", "audio", "video")
FINISHED = {"stop", "end_turn", "stop_sequence", "length", "max_tokens", "content_filter"}

STRUCTURED: Any = list[Any] | dict[str, Any]

Message = dict[str, Any]


class Role(Enum):
    """The kind of an operation."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"


class Tool(Struct, frozen=True):
    name: str | None
    call: str | None
    arguments: Any
    result: Any


def role_of(operation: Operation) -> Role | None:
    """Whether a span is a model call, a tool run, or an agent run around both; None for any other span."""
    attributes = operation.attributes
    kind = next((str(attributes[name]).lower() for name in SPAN_KINDS if attributes.get(name)), None)
    if kind in MODEL_CALLS or kind == "llm":
        return Role.MODEL
    if kind in TOOL_RUNS:
        return Role.TOOL
    if kind in AGENT_RUNS:
        return Role.AGENT
    if kind is not None:
        return None
    if "gen_ai.tool.name" in attributes:
        return Role.TOOL
    has_messages = any(name.startswith(("gen_ai.prompt", "gen_ai.input.messages")) for name in attributes)
    return Role.MODEL if has_messages or any(_is_message(event) for event in operation.events) else None


def _is_message(event: SpanEvent) -> bool:
    return event.name in {DETAILS, "gen_ai.choice"} or MESSAGE.fullmatch(event.name) is not None


def inputs(operation: Operation) -> list[Message]:
    """The input messages of a model call: usually the complete conversation so far."""
    attributes = _attributes_of(operation)
    instructions = _structured(attributes.get("gen_ai.system_instructions") or attributes.get("gen_ai.system.instructions"))
    system = [{"role": "system", "parts": instructions if isinstance(instructions, list) else [instructions]}]
    messages = (
        _messages(attributes.get("gen_ai.input.messages"))
        or _numbered(attributes, "gen_ai.prompt.")
        or _numbered(attributes, "llm.input_messages.")
        or [message for event in operation.events for message in _input_messages(event)]
        or _messages(attributes.get("gen_ai.prompt"))
    )
    return [*(system if instructions else []), *messages]


def outputs(operation: Operation) -> list[Message]:
    """The output messages of a model call: usually one."""
    attributes = _attributes_of(operation)
    messages = (
        _messages(attributes.get("gen_ai.output.messages"))
        or _numbered(attributes, "gen_ai.completion.")
        or _numbered(attributes, "llm.output_messages.")
        or [message for event in operation.events for message in _output_messages(event)]
        or _messages(attributes.get("gen_ai.completion"))
    )
    return [{"role": "assistant", **message} for message in messages]


def _attributes_of(operation: Operation) -> dict[str, Any]:
    """The attributes of a span and of its events."""
    from_events = [
        event.attributes for event in operation.events if event.name == DETAILS or event.name.startswith("gen_ai.content")
    ]
    return {name: value for attributes in (*from_events, operation.attributes) for name, value in attributes.items()}


def _structured(value: Any) -> Any:
    """A value, decoded if it is written as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        inner = decode_or_none(value, STRUCTURED)
        return value if inner is None else inner
    return value


def _messages(value: Any) -> list[Message]:
    value = _structured(value)
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, dict) else {"role": "user", "content": item} for item in items if item]


def _numbered(attributes: dict[str, Any], prefix: str) -> list[Message]:
    """Messages from numbered attributes such as `gen_ai.prompt.0.content`."""
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if name.startswith(prefix):
            *path, last = WRAPPERS.sub("", name.removeprefix(prefix)).split(".")
            place = root
            for step in path:
                inner = place.setdefault(step, {})
                place = as_object(inner)
            place[last] = value
    items = _as_list(root)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _as_list(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _as_list(item) for name, item in value.items()}
    if inner and all(name.isdecimal() for name in inner):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner


def _input_messages(event: SpanEvent) -> Iterator[Message]:
    """The message of an event, if it is an input. A tool message's `id` is the call that it answers."""
    if name := MESSAGE.fullmatch(event.name):
        body = _body(event)
        call = {"tool_call_id": body.get("id")} if name[1] == "tool" else {}
        yield {"role": name[1], **call, **body}


def _output_messages(event: SpanEvent) -> Iterator[Message]:
    """The message of an event, if it is a choice of the model."""
    if event.name == "gen_ai.choice":
        body = _body(event)
        message = _structured(body.get("message"))
        yield {**body, **(message if isinstance(message, dict) else {"content": message or body.get("content")})}


def _body(event: SpanEvent) -> Message:
    for value in (event.body, event.attributes.get("gen_ai.event.content")):
        value = _structured(value)
        if isinstance(value, dict):
            return value
        if value:
            return {"content": value}
    return {name: _structured(value) for name, value in event.attributes.items()}


def as_chat(message: Message) -> Message:
    """A message of any variant as a chat message with content blocks."""
    role = message.get("role")
    if isinstance(message.get("parts"), list):
        blocks = [_block(part, str(role)) for part in message["parts"]]
        return {"role": "user" if role == "tool" else role, "content": blocks}
    content = _structured(message.get("content") or message.get("contents"))
    return {**message, "content": content, "tool_calls": _structured(message.get("tool_calls"))}


def _block(part: Any, role: str) -> Any:
    if not isinstance(part, dict):
        return {"type": "tool_result", "content": part} if role == "tool" else {"type": "text", "text": part}
    kind = part.get("type")
    if kind in RESULT_PARTS or role == "tool":
        output = next((part[name] for name in ("response", "result", "content") if name in part), None)
        return {"type": "tool_result", "tool_use_id": part.get("id"), "content": output}
    if kind in CALL_PARTS:
        return {**part, "type": "tool_call"}
    if kind in REASONING_PARTS:
        return {"type": "thinking", "thinking": part.get("content")}
    if kind in MEDIA_PARTS:
        return {"type": "text", "text": f"[{part.get('modality') or kind}]"}
    return {"type": "text", "text": part["content"]} if "content" in part else part


def tool_of(operation: Operation) -> Tool:
    """The tool that ran. Without a name in the attributes, it has the span's name."""
    attributes = operation.attributes
    return Tool(
        name=_first_text(attributes, "gen_ai.tool.name", "tool.name", "traceloop.entity.name") or operation.name or None,
        call=_first_text(attributes, "gen_ai.tool.call.id", "tool_call.id", "tool.id"),
        arguments=_first(
            attributes, "gen_ai.tool.call.arguments", "tool.parameters", "input.value", "traceloop.entity.input"
        ),
        result=_structured(_first(attributes, "gen_ai.tool.call.result", "output.value", "traceloop.entity.output")),
    )


def model_of(operation: Operation) -> str | None:
    return _first_text(_attributes_of(operation), "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")


def is_finished(operation: Operation, messages: list[Message]) -> bool:
    """Whether a finish reason says that the model's answer is complete."""
    reasons = _structured(_attributes_of(operation).get("gen_ai.response.finish_reasons"))
    all_reasons = [
        *(reasons if isinstance(reasons, list) else [reasons]),
        *(message.get("finish_reason") for message in messages),
    ]
    return any(isinstance(reason, str) and reason.lower() in FINISHED for reason in all_reasons)


def usage_of(operation: Operation) -> Usage | None:
    """The tokens of an operation. By the conventions, input includes cached tokens; not all agents follow them."""
    attributes = _attributes_of(operation)
    total = _count(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
    output = _count(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
    read = _count(
        attributes,
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    )
    write = _count(
        attributes,
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    )
    reasoning = _count(
        attributes,
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
    )
    if not total and not output:
        return None
    uncached = total - read - write if total >= read + write else total
    return Usage(input=uncached, output=output, cache_read=read, cache_write=write, reasoning=reasoning)


def _first(attributes: dict[str, Any], *names: str) -> Any:
    return next((attributes[name] for name in names if attributes.get(name)), None)


def _first_text(attributes: dict[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := attributes.get(name), str) and value), None)


def _count(attributes: dict[str, Any], *names: str) -> int:
    value = _first(attributes, *names)
    return as_count(int(value) if isinstance(value, str) and value.isdecimal() else value)
