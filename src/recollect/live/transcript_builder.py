"""Turns the outputs of a runner into events to send and messages to commit."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from recollect.errors import AgentFault
from recollect.lenient_json import encode_replaced
from recollect.live.runners import (
    AnswerText,
    InjectedContext,
    Output,
    ReasoningText,
    RunnerState,
    TokenUsage,
    ToolCall,
    ToolResult,
    TurnEnded,
)
from recollect.model import Usage, now_ms, timestamp
from recollect.redact import redact_all
from recollect.store.live import Message

MAX_TEXT = 32 << 20  # characters of one turn: a program that writes more is out of control
CHARS_PER_TOKEN = 4  # to estimate tokens that the agent does not report

Event = dict[str, Any]


def user_message(prompt: str, at: int) -> Message:
    return {"role": "user", "content": prompt, "created_at": timestamp(at)}


def context_message(text: str, at: int) -> Message:
    """What an agent got with a prompt besides the person's words."""
    return {**user_message(text, at), "injected": True}


def notice_message(kind: str, text: str, at: int) -> Message:
    """A message from neither user nor agent: how a turn without an answer ended."""
    return {"role": "system_notice", "content": text, "kind": kind, "created_at": timestamp(at)}


def encode_messages(messages: Sequence[Message], *, redact: bool) -> list[bytes]:
    """Messages as they are stored: without secrets, and with surrogates replaced, which are not valid text."""
    return [encode_replaced(redact_all(message) if redact else message) for message in messages]


class TranscriptBuilder:
    """Builds the messages of one running turn. Each output is also sent as an event."""

    def __init__(self, session: str, prompt: str, ordinal: int, sequence: int, on_event: Callable[[Event], None]) -> None:
        self.prompt = prompt
        self.ordinal = ordinal
        self.sequence = sequence
        self.tool_calls = 0
        self.stop_reason = "end_turn"
        self._context_length = 0
        self.runner_state: dict[str, Any] | None = None
        self._session = session
        self._on_event = on_event
        self._reported_usage: Usage | None = None
        self._length = 0
        self.began_at = now_ms()
        self._messages: list[Message] = [user_message(prompt, self.began_at)]
        self._chunks: list[str] = []  # text to append to the last block
        self.emit("turn_started", turn=ordinal)

    def emit(self, event_type: str, **fields: Any) -> None:
        """Send an event with the next number."""
        self.sequence += 1
        self._on_event({"session_id": self._session, "sequence": self.sequence, "type": event_type, **fields})

    def add(self, output: Output) -> None:
        """Add one output of the runner."""
        match output:
            case AnswerText(text, quoted):
                self._append_text("text", text, **({"quoted": True} if quoted else {}))
                self.emit("text_delta", delta=text)
            case InjectedContext(text):
                self._context_length += len(text)
                self._messages.append(context_message(text, now_ms()))
            case ReasoningText(text):
                self._append_text("reasoning", text)
                self.emit("reasoning_delta", delta=text)
            case ToolCall(identity, name, arguments):
                self._count_text(_length(arguments))
                self.tool_calls += 1
                self._flush()
                self._assistant_blocks().append({"type": "tool_use", "id": identity, "name": name, "input": arguments})
                self.emit("tool_call", id=identity, name=name, input=arguments)
            case ToolResult(identity, content, is_error, exit_code):
                self._count_text(len(content))
                result: dict[str, Any] = {"content": content, "is_error": is_error}
                result |= {} if exit_code is None else {"exit_code": exit_code}
                self._tool_results().append({"tool_use_id": identity, **result})
                self.emit("tool_result", id=identity, **result)
            case TokenUsage(usage):
                self._reported_usage = usage
            case RunnerState(state):
                self.runner_state = state
            case TurnEnded(reason):
                self.stop_reason = reason

    # ---- results

    def has_context(self) -> bool:
        """Whether the agent got context with the prompt."""
        return self._context_length > 0

    def text(self) -> str:
        """The answer: the agent's last text, which may come before the last tool call."""
        self._flush()
        texts = (message["content"] for message in reversed(self._messages) if message["role"] == "assistant")
        return next(filter(None, texts), "")

    def usage(self) -> dict[str, Any]:
        """Tokens as the agent reports them, else an estimate from the length of the texts."""
        if self._reported_usage is not None:
            return usage_of(self._reported_usage)
        read = len(self.prompt) + self._context_length
        estimate = Usage(input=-(-read // CHARS_PER_TOKEN), output=-(-self._length // CHARS_PER_TOKEN))
        return {**usage_of(estimate), "estimated": True}

    def messages(self) -> list[Message]:
        """All messages of a finished turn. The last one is an answer, which may be empty."""
        self._flush()
        if self._messages[-1]["role"] != "assistant":
            self._assistant_blocks()
            self._flush()
        last = self._messages[-1]
        return [*self._messages[:-1], {**last, "stop_reason": self.stop_reason, "usage": self.usage()}]

    def failed_messages(self, kind: str, text: str) -> list[Message]:
        """All messages of a turn that did not finish, with a notice of how it ended."""
        self._flush()
        return [*self._messages, notice_message(kind, text, now_ms())]

    # ---- messages

    def _append_text(self, block_type: str, text: str, **fields: Any) -> None:
        self._count_text(len(text))
        blocks = self._assistant_blocks()
        if not blocks or blocks[-1]["type"] != block_type:
            self._flush()
            blocks.append({"type": block_type, "text": "", **fields})
        self._chunks.append(text)

    def _count_text(self, length: int) -> None:
        self._length += length
        if self._length > MAX_TEXT:
            raise AgentFault(f"The agent wrote more than {MAX_TEXT >> 20} million characters in one turn.")

    def _assistant_blocks(self) -> list[dict[str, Any]]:
        """The blocks of the current assistant message; a new message begins after tool results."""
        if self._messages[-1]["role"] != "assistant":
            self._flush()
            self._messages.append({"role": "assistant", "content": "", "blocks": [], "created_at": timestamp(now_ms())})
        blocks: list[dict[str, Any]] = self._messages[-1]["blocks"]
        return blocks

    def _tool_results(self) -> list[dict[str, Any]]:
        self._flush()
        if self._messages[-1]["role"] != "tool_results":
            self._messages.append({"role": "tool_results", "content": "", "results": [], "created_at": timestamp(now_ms())})
        results: list[dict[str, Any]] = self._messages[-1]["results"]
        return results

    def _flush(self) -> None:
        """Write collected chunks into their block, and update the plain text of the last message."""
        last = self._messages[-1]
        if last["role"] == "assistant":
            if self._chunks:
                last["blocks"][-1]["text"] += "".join(self._chunks)
                self._chunks = []
            last["content"] = "".join(block["text"] for block in last["blocks"] if block["type"] == "text")
        elif last["role"] == "tool_results":
            last["content"] = "\n".join(result["content"] for result in last["results"])


def _length(arguments: Any) -> int:
    """The length of a tool's arguments as JSON; 0 if they cannot be encoded, which committing reports."""
    try:
        return len(msgspec.json.encode(arguments))
    except (RecursionError, UnicodeError):
        return 0


def usage_of(usage: Usage) -> dict[str, Any]:
    """Usage as it is stored and sent."""
    return {**usage.counts(), "total_tokens": usage.total()}


def sum_usage(total: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
    """The sum of two usages; estimated if either is."""
    counts = {name: total.get(name, 0) + usage[name] for name in usage if name != "estimated"}
    return {**counts, "estimated": True} if total.get("estimated") or usage.get("estimated") else counts
