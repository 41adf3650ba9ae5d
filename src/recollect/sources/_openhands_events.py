"""OpenHands from 1.0 on: an event is of a `kind`, a message, an action or an observation of the agent's SDK."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Noise, Record, Stop
from recollect.sources._json import decoded
from recollect.sources._message import Scribe, text_of
from recollect.sources._openhands_talk import Talk
from recollect.sources._values import as_text

QUIET = {
    "ConversationStateUpdateEvent", "CondensationRequest", "TokenEvent", "LLMCompletionLogEvent", "StreamingDeltaEvent",
}  # fmt: skip


class Message(Struct):
    content: Any = None
    reasoning_content: Any = None


class Event(Struct):
    kind: str = ""
    source: Any = None
    llm_message: Any = None
    llm_response_id: Any = None
    system_prompt: Any = None
    thought: Any = None
    reasoning_content: Any = None
    action: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: Any = None
    observation: Any = None
    rejection_reason: Any = None
    error: Any = None
    detail: Any = None
    summary: Any = None


def event_entries(scribe: Scribe, raw: str, talk: Talk) -> Iterator[Entry]:
    event = decoded(raw, Event)
    if event is None:
        yield scribe.unknown(raw)
        return
    if isinstance(event.llm_response_id, str) and talk.is_new(event.llm_response_id):
        scribe.usage = talk.usages.get(event.llm_response_id)
    match event.kind:
        case "MessageEvent":
            yield from _message(scribe, event, talk)
        case "ActionEvent":
            yield from _action(scribe, event)
        case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
            yield _observation(scribe, event)
        case "SystemPromptEvent":
            yield scribe.record(Kind.SYSTEM, text_of(event.system_prompt))
        case "Condensation" | "CondensationSummaryEvent":
            yield scribe.record(Kind.COMPACTION, text_of(event.summary))
        case "PauseEvent" | "InterruptEvent":
            yield scribe.record(Kind.RUNTIME, event.kind, stop=Stop.INTERRUPT)
        case "ConversationErrorEvent":
            yield scribe.record(Kind.RUNTIME, text_of(event.detail), stop=Stop.CRASH, failed=True)
        case kind if kind in QUIET:
            yield Noise(kind)
        case _:
            yield scribe.unknown(raw)


def _message(scribe: Scribe, event: Event, talk: Talk) -> Iterator[Record]:
    message = decoded(as_text(event.llm_message), Message) or Message()
    words = text_of(message.content)
    if event.source == "user":
        yield talk.said(scribe, words)
    elif event.source == "agent":
        if thoughts := text_of(message.reasoning_content):
            yield scribe.record(Kind.REASONING, thoughts)
        yield scribe.record(Kind.ASSISTANT_RESPONSE, words, stop=Stop.ANSWER)
    else:
        yield scribe.record(Kind.SYSTEM, words)


def _action(scribe: Scribe, event: Event) -> Iterator[Record]:
    if thoughts := text_of(event.reasoning_content):
        yield scribe.record(Kind.REASONING, thoughts)
    if words := text_of(event.thought).strip():
        yield scribe.record(Kind.ASSISTANT_RESPONSE, words)
    action = event.action if isinstance(event.action, dict) else {}
    if event.tool_name == "finish":
        yield scribe.record(Kind.ASSISTANT_RESPONSE, text_of(action.get("message")), stop=Stop.ANSWER)
    elif event.tool_name == "think":
        yield scribe.record(Kind.REASONING, text_of(action.get("thought")))
    else:
        yield scribe.call(event.tool_name, event.tool_call_id, _arguments(event, action))


def _arguments(event: Event, action: dict[str, Any]) -> Any:
    """As the model gave them; if that was not kept, as the agent understood them."""
    match event.tool_call:
        case {"arguments": given} | {"function": {"arguments": given}}:
            return given
    return {name: value for name, value in action.items() if name != "kind"}


def _observation(scribe: Scribe, event: Event) -> Record | Noise:
    call, tool = event.tool_call_id, event.tool_name
    if event.kind == "AgentErrorEvent":
        return scribe.result(call, event.error, tool=tool, failed=True)
    if event.kind == "UserRejectObservation":
        return scribe.result(call, event.rejection_reason, tool=tool, failed=True, stop=Stop.CANCEL)
    if tool in {"finish", "think"}:
        return Noise(f"{tool} observed")
    seen = event.observation if isinstance(event.observation, dict) else {}
    code = code if isinstance(code := seen.get("exit_code"), int) and code >= 0 else None
    failed = bool(seen.get("is_error") or seen.get("error")) or code not in (0, None)
    return scribe.result(call, event.observation, tool=tool, exit_code=code, failed=failed)
