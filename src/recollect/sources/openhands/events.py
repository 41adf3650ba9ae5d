"""Reads events of OpenHands from 1.0 on: an event's `kind` is a message, an action or an observation of its SDK."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Record, Stop
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.values import as_object, as_text
from recollect.sources.openhands.progress import SessionProgress

QUIET = {
    "ConversationStateUpdateEvent", "CondensationRequest", "TokenEvent", "LLMCompletionLogEvent", "StreamingDeltaEvent",
    "AskUserRequestEvent", "AskUserResponseEvent",
}  # fmt: skip
STOPS = {
    "PauseEvent": Stop.INTERRUPT,
    "InterruptEvent": Stop.INTERRUPT,
    "ConversationErrorEvent": Stop.CRASH,
    "ConversationIterationLimitEvent": Stop.OTHER,
}
ENDED = {"completed", "failed"}


class Message(Struct):
    content: Any = None
    reasoning_content: Any = None
    thinking_blocks: Any = None


class Event(Struct):
    kind: str = ""
    source: Any = None
    llm_message: Any = None
    llm_response_id: Any = None
    system_prompt: Any = None
    dynamic_context: Any = None
    extended_content: Any = None
    thought: Any = None
    reasoning_content: Any = None
    thinking_blocks: Any = None
    action: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: Any = None
    observation: Any = None
    rejection_reason: Any = None
    rejection_source: Any = None
    error: Any = None
    detail: Any = None
    summary: Any = None
    title: str | None = None  # this and the following fields describe another agent's tool
    status: Any = None
    raw_input: Any = None
    raw_output: Any = None
    content: Any = None
    is_error: Any = False
    hook_event_type: Any = None
    hook_command: Any = None
    success: Any = True
    stdout: Any = None
    stderr: Any = None


def event_entries(builder: RecordBuilder, raw: str, progress: SessionProgress) -> Iterator[Entry]:
    event = decode_or_none(raw, Event) or Event()
    if isinstance(event.llm_response_id, str) and progress.is_new(event.llm_response_id):
        builder.usage = progress.usages.get(event.llm_response_id)
    match event.kind:
        case "MessageEvent":
            yield from _message(builder, event, progress)
        case "ActionEvent":
            yield from _action(builder, event)
        case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
            yield _observation(builder, event)
        case "SystemPromptEvent":
            yield builder.record(Kind.SYSTEM, text_of([event.system_prompt, event.dynamic_context]))
        case "ACPToolCallEvent":
            yield from _other_agent_tool(builder, event)
        case "Condensation" | "CondensationSummaryEvent":
            yield builder.record(Kind.COMPACTION, text_of(event.summary))
        case "HookExecutionEvent":
            texts = [event.hook_event_type, event.hook_command, event.stdout, event.stderr]
            yield builder.record(Kind.RUNTIME, text_of(texts), failed=event.success is False)
        case kind if kind in STOPS:
            failed = kind == "ConversationErrorEvent"
            yield builder.record(Kind.RUNTIME, text_of(event.detail) or kind, stop=STOPS[kind], failed=failed)
        case kind if kind in QUIET:
            yield Ignored(kind)
        case _:
            yield builder.unknown(raw)


def _message(builder: RecordBuilder, event: Event, progress: SessionProgress) -> Iterator[Record]:
    message = decode_or_none(as_text(event.llm_message), Message) or Message()
    text = text_of(message.content)
    if event.source == "user":
        yield progress.user_input(builder, text)
        if skills := text_of(event.extended_content):
            yield builder.record(Kind.SYSTEM, skills)
    elif event.source == "agent":
        if thoughts := _thoughts(message):
            yield builder.record(Kind.REASONING, thoughts)
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER)
    else:
        yield builder.record(Kind.SYSTEM, text)


def _thoughts(message: Message | Event) -> str:
    blocks = message.thinking_blocks if isinstance(message.thinking_blocks, list) else []
    return text_of(message.reasoning_content) or text_of(
        [block.get("thinking") for block in blocks if isinstance(block, dict)]
    )


def _action(builder: RecordBuilder, event: Event) -> Iterator[Record]:
    """Reads an action of the agent. After an invalid tool call there is no action, and an error follows."""
    if thoughts := _thoughts(event):
        yield builder.record(Kind.REASONING, thoughts)
    if text := text_of(event.thought).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text)
    action = as_object(event.action)
    if event.tool_name == "finish" and action:
        yield builder.record(Kind.ASSISTANT_RESPONSE, text_of(action.get("message")), stop=Stop.ANSWER)
    elif event.tool_name == "think" and action:
        yield builder.record(Kind.REASONING, text_of(action.get("thought")))
    else:
        yield builder.call(event.tool_name, event.tool_call_id, _arguments(event, action))


def _arguments(event: Event, action: dict[str, Any]) -> Any:
    """The arguments as the model wrote them; if they are not stored, as the agent parsed them."""
    match event.tool_call:
        case {"arguments": arguments} | {"function": {"arguments": arguments}}:
            return arguments
    return {name: value for name, value in action.items() if name != "kind"}


def _observation(builder: RecordBuilder, event: Event) -> Record | Ignored:
    call, tool = event.tool_call_id, event.tool_name
    if event.kind == "AgentErrorEvent":
        return builder.result(call, event.error, tool=tool, failed=True)
    if event.kind == "UserRejectObservation":
        stop = None if event.rejection_source == "hook" else Stop.CANCEL
        return builder.result(call, event.rejection_reason, tool=tool, failed=True, stop=stop)
    if tool in {"finish", "think"}:
        return Ignored(f"{tool} observed")
    observation = as_object(event.observation)
    code = code if isinstance(code := observation.get("exit_code"), int) and code >= 0 else None
    failed = bool(observation.get("is_error") or observation.get("error")) or code not in (0, None)
    return builder.result(call, event.observation, tool=tool, exit_code=code, failed=failed)


def _other_agent_tool(builder: RecordBuilder, event: Event) -> Iterator[Entry]:
    """Reads a tool that another agent used for this one. The event is repeated until the tool has ended."""
    if event.status not in ENDED:
        yield Ignored("ACPToolCallEvent")
        return
    failed = bool(event.is_error) or event.status == "failed"
    yield builder.call(event.title, event.tool_call_id, event.raw_input)
    yield builder.result(event.tool_call_id, event.raw_output or event.content, tool=event.title, failed=failed)
