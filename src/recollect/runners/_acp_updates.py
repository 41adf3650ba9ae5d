"""What an agent tells of its turn, as outputs of ours.

A call is told in several updates: many agents name it first and say with what only later. It is passed on once its input is
known, or it runs, or something else happens; never twice.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AudioContentBlock,
    ContentToolCallContent,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
    ResourceContentBlock,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCall,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from acp.schema import Usage as Reported

from recollect.model import Usage
from recollect.runners._runner import Called, Output, Returned, Said, Thought
from recollect.sources._values import bounded

URI = 200  # characters of an address that are shown: some hold a whole file

Block: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)
Piece: TypeAlias = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent
UPDATES: Mapping[Any, type[AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress]] = {
    "agent_message_chunk": AgentMessageChunk,
    "agent_thought_chunk": AgentThoughtChunk,
    "tool_call": ToolCallStart,
    "tool_call_update": ToolCallProgress,
}


@dataclass
class _Call:
    """What is known of a call so far."""

    id: str
    title: str = ""
    kind: str = ""
    input: Any = None
    output: Any = None
    content: list[Piece] = field(default_factory=list)
    status: Literal["pending", "in_progress", "completed", "failed"] = "pending"
    is_told: bool = False
    is_over: bool = False

    def learn(self, update: ToolCall | ToolCallUpdate) -> None:
        """An update says only what has changed."""
        self.title = update.title or self.title
        self.kind = update.kind or self.kind
        self.status = update.status or self.status
        self.input = self.input if update.raw_input is None else update.raw_input
        self.output = self.output if update.raw_output is None else update.raw_output
        self.content = self.content if update.content is None else update.content

    def result(self) -> str:
        """What it gave back, as text. A terminal has its text elsewhere, so what else came back says more."""
        if self.output is not None and all(isinstance(piece, TerminalToolCallContent) for piece in self.content):
            return self.output if isinstance(self.output, str) else json.dumps(self.output, ensure_ascii=False)
        return "\n".join(map(_piece, self.content))


class Updates:
    """The updates of a turn; it remembers its calls."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    def read(self, update: dict[str, Any]) -> Iterator[Output]:
        """The outputs that an update stands for; none, for a kind of update that is not about what is said or done."""
        kind = update.get("sessionUpdate")
        if not isinstance(kind, str) or kind not in UPDATES:
            return
        match UPDATES[kind].model_validate(update):
            case AgentMessageChunk(content=block):
                yield from self.rest()
                yield Said(_text(block))
            case AgentThoughtChunk(content=block):
                yield from self.rest()
                yield Thought(_text(block))
            case ToolCallStart() | ToolCallProgress() as told:
                yield from self.call(told)

    def call(self, update: ToolCall | ToolCallUpdate) -> Iterator[Output]:
        call = self._calls.setdefault(update.tool_call_id, _Call(update.tool_call_id))
        if call.is_over:
            return
        call.learn(update)
        if not call.is_told and (call.input or call.status != "pending"):
            yield _called(call)
        if call.status in ("completed", "failed"):
            yield Returned(call.id, call.result(), is_error=call.status == "failed")
            self._calls[call.id] = _Call(call.id, is_told=True, is_over=True)

    def rest(self) -> Iterator[Output]:
        """The calls that wait to be told."""
        yield from (_called(call) for call in self._calls.values() if not call.is_told)


def spent(usage: Reported) -> Usage:
    """Ours counts what was reasoned among what came out; of theirs, the sum tells whether it does too."""
    taken, given, reasoned = map(bounded, (usage.input_tokens, usage.output_tokens, usage.thought_tokens))
    read, written = bounded(usage.cached_read_tokens), bounded(usage.cached_write_tokens)
    is_apart = usage.total_tokens >= taken + given + reasoned + read + written
    output = given + (reasoned if is_apart else 0)
    return Usage(input=taken, output=output, cache_read=read, cache_write=written, reasoning=reasoned)


def _called(call: _Call) -> Called:
    call.is_told = True
    return Called(call.id, call.title or call.kind or "tool", call.input)


def _text(block: Block) -> str:
    match block:
        case TextContentBlock(text=text):
            return text
        case ResourceContentBlock(uri=uri):
            return f"[{uri[:URI]}]"
        case EmbeddedResourceContentBlock(resource=resource):
            return f"[{resource.uri[:URI]}]"
    return f"[{block.type}]"


def _piece(piece: Piece) -> str:
    match piece:
        case ContentToolCallContent(content=block):
            return _text(block)
        case FileEditToolCallContent(path=path, old_text=old, new_text=new):
            return _diff(path, (old or "").splitlines(), new.splitlines())
    return f"[terminal {piece.terminal_id}]"


def _diff(path: str, old: list[str], new: list[str]) -> str:
    """What was taken out and what was put in, between the lines that are the same at both ends."""
    head = sum(1 for _ in takewhile(bool, map(str.__eq__, old, new)))
    old, new = old[head:], new[head:]
    tail = sum(1 for _ in takewhile(bool, map(str.__eq__, reversed(old), reversed(new))))
    old, new = old[: len(old) - tail], new[: len(new) - tail]
    return "\n".join([f"{path}:{head + 1}", *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
