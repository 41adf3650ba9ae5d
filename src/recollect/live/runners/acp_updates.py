"""Translates the updates of an ACP agent into outputs of a runner.

A tool call comes in several updates: many agents send its name first and its input later. It is emitted once: when its
input is known, when it runs, or when another output follows. Its result is emitted when the call has ended with output, or
when another output follows; a second time only if more output comes later.
A plan becomes reasoning: as a tool call it would cut an answer in two.
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
from acp.schema import Usage as ReportedUsage

from recollect.live.runners.runner import AnswerText, Output, ReasoningText, ToolCall, ToolResult
from recollect.model import Usage
from recollect.sources.formats.values import as_count

MAX_TERMINAL = 10_000_000  # characters that are stored of one command's terminal output
REJECTED = "Permission for this call was rejected."
MAX_URI = 200  # characters of an address that are shown: some contain a whole file
PLAN_BOXES = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]"}  # before each entry of a plan

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
    """A tool call, as the updates so far describe it."""

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
    is_shown: bool = False  # its content was emitted as the result; the raw output is the same in another form
    emitted_result: str | None = None

    def is_over(self) -> bool:
        return self.status in ("completed", "failed")

    def has_input(self) -> bool:
        """Whether the input is known. OpenCode 1.18 sends the folder first and the command later."""
        return bool(self.input) and not (isinstance(self.input, dict) and self.input.keys() == {"cwd"})

    def has_output(self) -> bool:
        return self.output is not None or bool(self.content) or self.terminal.has_news

    def apply(self, update: ReportedCall | ToolCallUpdate) -> None:
        """Apply an update, which only has the changed fields."""
        self.title = update.title or self.title
        self.kind = update.kind or self.kind
        self.status = self.status if self.is_over() else update.status or self.status
        self.input = self.input if update.raw_input is None else update.raw_input
        self.output = self.output if update.raw_output is None or self.is_shown else update.raw_output
        self.content = self.content if update.content is None else update.content
        self.terminal.apply(update.field_meta or {})

    def reject(self) -> None:
        """Drop the content that the agent sent with its request for permission: it was a plan, not a result."""
        self.is_rejected, self.status = True, "failed"
        self.output, self.content = None, []

    def tool_call(self) -> ToolCall:
        self.is_emitted = True
        return ToolCall(self.id, self.title or self.kind or "tool", self.input)

    def result(self) -> Iterator[ToolResult]:
        """Its result, unless it was emitted already. Emitted content is freed: it may contain whole files."""
        text = self._text() or (REJECTED if self.is_rejected else "")
        self.is_shown = self.is_shown or not self._has_only_terminals()
        self.output, self.content, self.terminal.has_news = None, [], False
        if self.emitted_result is None or text not in ("", self.emitted_result):
            self.emitted_result = text
            yield ToolResult(self.id, text, is_error=self.status == "failed", exit_code=self.terminal.exit_code)

    def _text(self) -> str:
        if self.terminal.is_used and self._has_only_terminals() and (self.terminal.text() or self.output is None):
            return self.terminal.text()
        if self.output is not None and self._has_only_terminals():
            return self.output if isinstance(self.output, str) else json.dumps(self.output, ensure_ascii=False)
        return "\n".join(map(_content_text, self.content))

    def _has_only_terminals(self) -> bool:
        """Whether the content is only references to terminals, whose text is elsewhere."""
        return all(isinstance(piece, TerminalToolCallContent) for piece in self.content)


@dataclass
class _Terminal:
    """A terminal that the agent runs itself, reported outside the protocol in `_meta` of a call's updates.

    Evidence: codex-acp 2.6.0 (`terminal_info`, `terminal_output_delta`, `terminal_exit`).
    """

    is_used: bool = False
    has_news: bool = False
    exit_code: int | None = None
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0

    def apply(self, meta: Mapping[str, Any]) -> None:
        for name, value in meta.items():
            match name, value:
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
    """Translates the updates of one turn; remembers its tool calls and its plan."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._plan = ""
        self._last: Output | None = None

    def translate(self, update: dict[str, Any]) -> Iterator[Output]:
        """The outputs for an update; none for kinds that are about neither text nor tools."""
        yield from self._track(self._translate(update))

    def call(self, update: ReportedCall | ToolCallUpdate) -> Iterator[Output]:
        yield from self._track(self._call_outputs(update))

    def reject(self, call_id: str) -> Iterator[Output]:
        """Note that we rejected a call. The agent may report that in a result, in its text, or not at all."""
        self._calls[call_id].reject()
        yield from self._track(self._pending_calls())

    def end(self) -> Iterator[Output]:
        """The remaining outputs at the end of the turn, also of calls that have not ended."""
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
            case ToolCallStart() | ToolCallProgress() as call:
                yield from self._call_outputs(call)

    def _plan_outputs(self, plan: str) -> Iterator[Output]:
        """The whole plan whenever it changes, as separate lines of the reasoning."""
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
        """Results of calls that ended without output, and calls that were not emitted yet."""
        yield from self._pending_results()
        yield from self._pending_calls()

    def _pending_calls(self) -> Iterator[Output]:
        yield from (call.tool_call() for call in self._calls.values() if not call.is_emitted)

    def _pending_results(self) -> Iterator[Output]:
        for call in self._calls.values():
            if call.is_over() and call.is_emitted and call.emitted_result is None:
                yield from call.result()


def to_usage(usage: ReportedUsage) -> Usage:
    """The agent's usage as ours, whose output includes reasoning. The agent's total shows whether its output does, too."""
    input_, output, reasoning = map(as_count, (usage.input_tokens, usage.output_tokens, usage.thought_tokens))
    read, written = as_count(usage.cached_read_tokens), as_count(usage.cached_write_tokens)
    is_separate = usage.total_tokens >= input_ + output + reasoning + read + written
    output += reasoning if is_separate else 0
    return Usage(input=input_, output=output, cache_read=read, cache_write=written, reasoning=reasoning)


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
    """The removed and the added lines, without equal lines at both ends."""
    head = sum(1 for _ in takewhile(bool, map(str.__eq__, old, new)))
    old, new = old[head:], new[head:]
    tail = sum(1 for _ in takewhile(bool, map(str.__eq__, reversed(old), reversed(new))))
    old, new = old[: len(old) - tail], new[: len(new) - tail]
    return "\n".join([f"{path}:{head + 1}", *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
