"""One turn while it runs: what the agent says and does becomes events for those who listen, and messages to commit."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from recollect.errors import AgentFault
from recollect.lenient_json import encode_replaced
from recollect.live.runners import (
    AnswerText,
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

MOST_TEXT = 32 << 20  # characters of one turn: a program that writes more is out of hand
TOKEN = 4  # characters, where nothing better is known

Event = dict[str, Any]


def asked(prompt: str, at: int) -> Message:
    return {"role": "user", "content": prompt, "created_at": timestamp(at)}


def notice(kind: str, text: str, at: int) -> Message:
    """What was not said by anybody: how a turn ended that did not end with an answer."""
    return {"role": "system_notice", "content": text, "kind": kind, "created_at": timestamp(at)}


def bodies_of(messages: Sequence[Message], *, redact: bool) -> list[bytes]:
    """Messages as they are kept: without secrets, and without halves of surrogate pairs, which are no text."""
    return [encode_replaced(redact_all(message) if redact else message) for message in messages]


class TranscriptBuilder:
    """What came of a turn so far."""

    def __init__(self, session: str, prompt: str, ordinal: int, sequence: int, tell: Callable[[Event], None]) -> None:
        self.prompt = prompt
        self.ordinal = ordinal
        self.sequence = sequence
        self.tool_calls = 0
        self.stop_reason = "end_turn"
        self.kept: dict[str, Any] | None = None
        self._session = session
        self._tell = tell
        self._told: Usage | None = None
        self._length = 0
        self.began_at = now_ms()
        self._messages: list[Message] = [asked(prompt, self.began_at)]
        self._pieces: list[str] = []  # of the block that is being said
        self.emit("turn_started", turn=ordinal)

    def emit(self, noun: str, **more: Any) -> None:
        self.sequence += 1
        self._tell({"session_id": self._session, "sequence": self.sequence, "type": noun, **more})

    def take(self, output: Output) -> None:
        match output:
            case AnswerText(text, quoted):
                self._say("text", text, **({"quoted": True} if quoted else {}))
                self.emit("text_delta", delta=text)
            case ReasoningText(text):
                self._say("reasoning", text)
                self.emit("reasoning_delta", delta=text)
            case ToolCall(identity, name, given):
                self._grow(_length(given))
                self.tool_calls += 1
                self._settle()
                self._blocks().append({"type": "tool_use", "id": identity, "name": name, "input": given})
                self.emit("tool_call", id=identity, name=name, input=given)
            case ToolResult(identity, content, is_error, exit_code):
                self._grow(len(content))
                told: dict[str, Any] = {"content": content, "is_error": is_error}
                told |= {} if exit_code is None else {"exit_code": exit_code}
                self._results().append({"tool_use_id": identity, **told})
                self.emit("tool_result", id=identity, **told)
            case TokenUsage(usage):
                self._told = usage
            case RunnerState(state):
                self.kept = state
            case TurnEnded(reason):
                self.stop_reason = reason

    # ---- what it came to

    def text(self) -> str:
        """The answer: what was said last, which may be before the last tool was called."""
        self._settle()
        said = (message["content"] for message in reversed(self._messages) if message["role"] == "assistant")
        return next(filter(None, said), "")

    def usage(self) -> dict[str, Any]:
        """Tokens, as the agent tells them; else by the length of what was said."""
        if self._told is not None:
            return usage_of(self._told)
        return {**usage_of(Usage(input=-(-len(self.prompt) // TOKEN), output=-(-self._length // TOKEN))), "estimated": True}

    def messages(self) -> list[Message]:
        """All of it. A finished turn has an answer, if only an empty one."""
        self._settle()
        if self._messages[-1]["role"] != "assistant":
            self._blocks()
            self._settle()
        last = self._messages[-1]
        return [*self._messages[:-1], {**last, "stop_reason": self.stop_reason, "usage": self.usage()}]

    def broken_off(self, kind: str, text: str) -> list[Message]:
        """All of a turn that did not finish, with how it ended."""
        self._settle()
        return [*self._messages, notice(kind, text, now_ms())]

    # ---- messages

    def _say(self, noun: str, text: str, **more: Any) -> None:
        self._grow(len(text))
        blocks = self._blocks()
        if not blocks or blocks[-1]["type"] != noun:
            self._settle()
            blocks.append({"type": noun, "text": "", **more})
        self._pieces.append(text)

    def _grow(self, more: int) -> None:
        self._length += more
        if self._length > MOST_TEXT:
            raise AgentFault(f"The agent wrote more than {MOST_TEXT >> 20} million characters in one turn.")

    def _blocks(self) -> list[dict[str, Any]]:
        """The blocks of the assistant's message under way; a new one begins after the results of tools."""
        if self._messages[-1]["role"] != "assistant":
            self._settle()
            self._messages.append({"role": "assistant", "content": "", "blocks": [], "created_at": timestamp(now_ms())})
        blocks: list[dict[str, Any]] = self._messages[-1]["blocks"]
        return blocks

    def _results(self) -> list[dict[str, Any]]:
        self._settle()
        if self._messages[-1]["role"] != "tool_results":
            self._messages.append({"role": "tool_results", "content": "", "results": [], "created_at": timestamp(now_ms())})
        results: list[dict[str, Any]] = self._messages[-1]["results"]
        return results

    def _settle(self) -> None:
        """Put what was said in pieces into its block, and the plain text of messages beside their parts."""
        last = self._messages[-1]
        if last["role"] == "assistant":
            if self._pieces:
                last["blocks"][-1]["text"] += "".join(self._pieces)
                self._pieces = []
            last["content"] = "".join(block["text"] for block in last["blocks"] if block["type"] == "text")
        elif last["role"] == "tool_results":
            last["content"] = "\n".join(result["content"] for result in last["results"])


def _length(given: Any) -> int:
    """How long what a tool is given would be as text; what can be no text is refused when it is to be kept."""
    try:
        return len(msgspec.json.encode(given))
    except (RecursionError, UnicodeError):
        return 0


def usage_of(usage: Usage) -> dict[str, Any]:
    return {**usage.counts(), "total_tokens": usage.total()}


def added(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The tokens of two stretches of a session; an estimate if any part is one."""
    counts = {name: before.get(name, 0) + more[name] for name in more if name != "estimated"}
    return {**counts, "estimated": True} if before.get("estimated") or more.get("estimated") else counts
