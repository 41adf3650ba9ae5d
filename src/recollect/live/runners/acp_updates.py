"""What an agent tells of its turn, as outputs of ours.

A call is told in several updates: many agents name it first and say with what only later. It is passed on once its input is
known, or it runs, or something else happens; never twice. What it gave back is passed on once the call is over and has given
something, or something else happens; again only where more of it comes later.
A plan is reasoning: as a call it would cut an answer in two that it comes in the middle of.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AudioContentBlock,
    ContentToolCallContent,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
    ResourceContentBlock,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)
from acp.schema import (
    ToolCall as ReportedCall,
)
from acp.schema import Usage as Reported

from recollect.live.runners.runner import AnswerText, Output, ReasoningText, ToolCall, ToolResult
from recollect.model import Usage
from recollect.sources.formats.values import as_count

MAX_TERMINAL = 10_000_000  # characters that are kept of what one command prints in a terminal
REJECTED = "Permission for this call was rejected."
MAX_URI = 200  # characters of an address that are shown: some hold a whole file
PLAN_BOXES = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]"}  # before an entry of a plan

Block: TypeAlias = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)
ToolContent: TypeAlias = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent
Update: TypeAlias = AgentMessageChunk | AgentThoughtChunk | AgentPlanUpdate | ToolCallStart | ToolCallProgress
UPDATES: Mapping[Any, type[Update]] = {
    "agent_message_chunk": AgentMessageChunk,
    "agent_thought_chunk": AgentThoughtChunk,
    "plan": AgentPlanUpdate,
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
    content: list[ToolContent] = field(default_factory=list)
    terminal: "_Terminal" = field(default_factory=lambda: _Terminal())
    status: Literal["pending", "in_progress", "completed", "failed"] = "pending"
    is_rejected: bool = False
    is_emitted: bool = False
    is_shown: bool = False  # what it gave back was told as the agent shows it, of which the raw output is another form
    returned: str | None = None  # what was told of it

    def is_over(self) -> bool:
        return self.status in ("completed", "failed")

    def has_input(self) -> bool:
        """Whether it is known what the call is given. OpenCode 1.18 names the folder first and the command later."""
        return bool(self.input) and not (isinstance(self.input, dict) and self.input.keys() == {"cwd"})

    def has_output(self) -> bool:
        return self.output is not None or bool(self.content) or self.terminal.has_news

    def apply(self, update: ReportedCall | ToolCallUpdate) -> None:
        """An update says only what has changed."""
        self.title = update.title or self.title
        self.kind = update.kind or self.kind
        self.status = self.status if self.is_over() else update.status or self.status
        self.input = self.input if update.raw_input is None else update.raw_input
        self.output = self.output if update.raw_output is None or self.is_shown else update.raw_output
        self.content = self.content if update.content is None else update.content
        self.terminal.apply(update.field_meta or {})

    def reject(self) -> None:
        """What an agent shows when it asks for permission is what it wants to do: once that is refused, it is no result."""
        self.is_rejected, self.status = True, "failed"
        self.output, self.content = None, []

    def tool_call(self) -> ToolCall:
        self.is_emitted = True
        return ToolCall(self.id, self.title or self.kind or "tool", self.input)

    def result(self) -> Iterator[ToolResult]:
        """What it gave back, unless that was told already. What is told is let go of: it may hold whole files."""
        text = self._text() or (REJECTED if self.is_rejected else "")
        self.is_shown = self.is_shown or not self._has_only_terminals()
        self.output, self.content, self.terminal.has_news = None, [], False
        if self.returned is None or text not in ("", self.returned):
            self.returned = text
            yield ToolResult(self.id, text, is_error=self.status == "failed", exit_code=self.terminal.exit_code)

    def _text(self) -> str:
        if self.terminal.is_used and self._has_only_terminals() and (self.terminal.text() or self.output is None):
            return self.terminal.text()
        if self.output is not None and self._has_only_terminals():
            return self.output if isinstance(self.output, str) else json.dumps(self.output, ensure_ascii=False)
        return "\n".join(map(_content_text, self.content))

    def _has_only_terminals(self) -> bool:
        """A terminal has its text elsewhere, so what else came back says more."""
        return all(isinstance(piece, TerminalToolCallContent) for piece in self.content)


@dataclass
class _Terminal:
    """A terminal that the agent runs itself, which is told beside the protocol: by `_meta` of a call's updates.

    Evidence: codex-acp 2.6.0 (`terminal_info`, `terminal_output_delta`, `terminal_exit`).
    """

    is_used: bool = False
    has_news: bool = False
    exit_code: int | None = None
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0

    def apply(self, meta: Mapping[str, Any]) -> None:
        for name, told in meta.items():
            match name, told:
                case "terminal_info", dict():
                    self.is_used = True
                case "terminal_output", {"data": str(data)}:
                    self._pieces, self._length = [], 0
                    self._print(data)
                case "terminal_output_delta", {"data": str(data)}:
                    self._print(data)
                case "terminal_exit", {"exit_code": int(code)} if abs(code) < 2**31:
                    self.is_used, self.has_news, self.exit_code = True, True, code

    def text(self) -> str:
        return "".join(self._pieces)

    def _print(self, data: str) -> None:
        self.is_used = self.has_news = True
        self._pieces.append(data[: MAX_TERMINAL - self._length])
        self._length += len(self._pieces[-1])


class UpdateTranslator:
    """The updates of a turn; it remembers its calls and its plan."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._plan = ""
        self._last: Output | None = None

    def translate(self, update: dict[str, Any]) -> Iterator[Output]:
        """The outputs that an update stands for; none, for a kind of update that is not about what is said or done."""
        yield from self._track(self._translate(update))

    def call(self, update: ReportedCall | ToolCallUpdate) -> Iterator[Output]:
        yield from self._track(self._call_outputs(update))

    def reject(self, call_id: str) -> Iterator[Output]:
        """We refused a call. Agents may say so in a result of their own, in words, or not at all."""
        self._calls[call_id].reject()
        yield from self._track(self._pending_calls())

    def end(self) -> Iterator[Output]:
        """What is left when the turn is over, also of calls that are not."""
        yield from self._pending()
        for call in self._calls.values():
            if call.has_output():
                yield from call.result()

    def _track(self, outputs: Iterator[Output]) -> Iterator[Output]:
        for output in outputs:
            self._last = output
            yield output

    def _translate(self, update: dict[str, Any]) -> Iterator[Output]:
        kind = update.get("sessionUpdate")
        if not isinstance(kind, str) or kind not in UPDATES:
            return
        match UPDATES[kind].model_validate(update):
            case AgentMessageChunk(content=block):
                yield from self._pending()
                yield AnswerText(_text(block))
            case AgentThoughtChunk(content=block):
                yield from self._pending()
                yield ReasoningText(_text(block))
            case AgentPlanUpdate(entries=entries):
                yield from self._plan_outputs("".join(f"{PLAN_BOXES[entry.status]} {entry.content}\n" for entry in entries))
            case ToolCallStart() | ToolCallProgress() as told:
                yield from self._call_outputs(told)

    def _plan_outputs(self, plan: str) -> Iterator[Output]:
        """A plan is told whole whenever it changes, on lines of its own among what else is thought."""
        if plan == self._plan:
            return
        yield from self._pending()
        self._plan = plan
        yield ReasoningText(("\n" if isinstance(self._last, ReasoningText) else "") + f"Plan:\n{plan}")

    def _call_outputs(self, update: ReportedCall | ToolCallUpdate) -> Iterator[Output]:
        call = self._calls.setdefault(update.tool_call_id, _Call(update.tool_call_id))
        call.apply(update)
        if not call.is_emitted and (call.has_input() or call.status != "pending"):
            yield from self._pending_results()
            yield call.tool_call()
        if call.is_over() and call.has_output():
            yield from call.result()

    def _pending(self) -> Iterator[Output]:
        """What is over without having given anything back, and the calls that wait to be told."""
        yield from self._pending_results()
        yield from self._pending_calls()

    def _pending_calls(self) -> Iterator[Output]:
        yield from (call.tool_call() for call in self._calls.values() if not call.is_emitted)

    def _pending_results(self) -> Iterator[Output]:
        for call in self._calls.values():
            if call.is_over() and call.is_emitted and call.returned is None:
                yield from call.result()


def to_usage(usage: Reported) -> Usage:
    """Ours counts what was reasoned among what came out; of theirs, the sum tells whether it does too."""
    taken, given, reasoned = map(as_count, (usage.input_tokens, usage.output_tokens, usage.thought_tokens))
    read, written = as_count(usage.cached_read_tokens), as_count(usage.cached_write_tokens)
    is_apart = usage.total_tokens >= taken + given + reasoned + read + written
    output = given + (reasoned if is_apart else 0)
    return Usage(input=taken, output=output, cache_read=read, cache_write=written, reasoning=reasoned)


def _text(block: Block) -> str:
    match block:
        case TextContentBlock(text=text):
            return text
        case ResourceContentBlock(uri=uri):
            return f"[{uri[:MAX_URI]}]"
        case EmbeddedResourceContentBlock(resource=resource):
            return f"[{resource.uri[:MAX_URI]}]"
    return f"[{block.type}]"


def _content_text(piece: ToolContent) -> str:
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
