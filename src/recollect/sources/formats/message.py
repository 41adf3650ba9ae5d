"""Reads messages in the two forms that most agents write: content blocks (Anthropic's) and chat messages (OpenAI's).

Each source decides which user texts are prompts; everything else about a message is the same for all sources.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from recollect.model import AGENT_KINDS, Entry, Kind, Problem, Record, Stop, TurnStart, Usage
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.injected import split_context
from recollect.sources.formats.values import arguments_of, as_text, text_or_none

MAX_DEPTH = 100  # levels of nesting: no tool result has more
TEXT_FIELDS = ("text", "content", "output", "result", "message", "error", "value", "markdown", "stdout", "stderr")
PICTURES = {"image", "image_url", "input_image", "document", "file", "audio", "binary", "redacted_thinking"}
THINKING = {"thinking", "redacted_thinking", "reasoning", "think", "thought"}
CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "toolCall"}
RESULTS = {"tool_result", "mcp_tool_result", "tool-result", "toolResult"}
COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|$)")  # a slash command, not a path


class RecordBuilder(Struct, kw_only=True):
    """Builds the records of one message. They share its time; each record's key is the message's key and a number.

    `key` is globally unique, or begins with the session: `f"{session}/{message_id}"`.
    """

    session: str
    key: str
    at: int | None = None
    line: int = 0
    model: str | None = None
    cwd: str | None = None
    branch: str | None = None
    usage: Usage | None = None  # assigned to the agent's first record
    count: int = 0

    def record(self, kind: Kind, text: str = "", **fields: Any) -> Record:
        number, self.count = self.count, self.count + 1
        record = Record(
            session=self.session,
            key=f"{self.key}.{number}",
            kind=kind,
            at=self.at,
            text=text,
            line=self.line,
            cwd=self.cwd,
            branch=self.branch,
            **fields,
        )
        if kind in AGENT_KINDS:
            record.model = self.model
            record.usage, self.usage = self.usage, None
        return record

    def prompt(self, text: str, **fields: Any) -> Record:
        return self.record(Kind.USER_INPUT, text, opens=TurnStart.PROMPT, **fields)

    def call(self, tool: str | None, call: str | None, arguments: Any, **fields: Any) -> Record:
        return self.record(Kind.TOOL_CALL, tool=tool, call=call, arguments=arguments_of(arguments), **fields)

    def result(self, call: str | None, output: Any, **fields: Any) -> Record:
        return self.record(Kind.TOOL_RESPONSE, text_of(output), call=call, **fields)

    def unknown(self, value: Any) -> Record:
        """A record of unknown kind, with the start of the value's text."""
        return self.record(Kind.UNKNOWN, as_text(value)[:2_000])


def read_each_line(
    lines: Iterable[Line | Problem], session: str, read: Callable[[RecordBuilder, Line], Iterator[Entry]]
) -> Iterator[Entry]:
    """The entries of a session whose lines have no ids: a line's number is the key of its records."""
    for place, line in enumerate(lines, 1):
        if isinstance(line, Problem):
            yield line
            continue
        builder = RecordBuilder(session=session, key=f"{session}@{place}", line=line.number)
        if isinstance(line.value, WrongShape):
            yield builder.unknown(line.raw.decode("utf-8", "replace"))
        else:
            yield from read(builder, line)


def text_of(content: Any, depth: int = 0, object_text: "ObjectText | None" = None) -> str:
    """The text of a string, a list of blocks, or any nesting of them. Pictures are named, never quoted.

    `object_text` extracts the text of an object, given the depth of its parts. The default takes the first known field.
    """
    if depth > MAX_DEPTH:
        return "[nested too deep]"
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(text for item in content if (text := text_of(item, depth + 1, object_text)))
        case dict():
            return (object_text or _object_text)(content, depth + 1)
        case _:
            return as_text(content)


ObjectText = Callable[[dict[str, Any], int], str]


def _object_text(content: dict[str, Any], depth: int) -> str:
    kind = content.get("type")
    if isinstance(kind, str) and kind in PICTURES:
        return f"[{kind}]"
    value = next((content[name] for name in TEXT_FIELDS if content.get(name) not in (None, "", [], {})), None)
    return text_of(value, depth) if value is not None else as_text(content) if content else ""


def read_prompt(builder: RecordBuilder, text: str) -> Iterator[Record]:
    """The records of a user text: a prompt, and the blocks around it as system events."""
    yield from _prompt_records(builder, *split_context(text), TurnStart.PROMPT)


def _prompt_records(builder: RecordBuilder, own: str, blocks: list[str], opens: TurnStart) -> Iterator[Record]:
    if own.strip():
        yield builder.record(Kind.USER_INPUT, own, opens=opens)
    for block in blocks:
        yield builder.record(Kind.SYSTEM, block)


def read_prompt_or_command(builder: RecordBuilder, text: str) -> Iterator[Record]:
    """Like `read_prompt`, for agents that log slash commands as they were typed."""
    own, blocks = split_context(text)
    yield from _prompt_records(builder, own, blocks, TurnStart.COMMAND if COMMAND.match(own) else TurnStart.PROMPT)


ReadPrompt = Callable[[RecordBuilder, str], Iterator[Record]]


def read_user_message(builder: RecordBuilder, content: Any, read_text: ReadPrompt = read_prompt) -> Iterator[Record]:
    """The records of a user message with content blocks: tool results, and its texts as one prompt, read by `read_text`."""
    blocks = content if isinstance(content, list) else [content]
    results = [block for block in blocks if isinstance(block, dict) and text_or_none(block.get("type")) in RESULTS]
    for block in results:
        yield _result(builder, block)
    texts = [split_context(text) for block in blocks if block not in results and (text := text_of(block)).strip()]
    if prompt := "\n\n".join(own for own, _ in texts if own.strip()):
        yield from read_text(builder, prompt)
    for _, context in texts:
        yield from (builder.record(Kind.SYSTEM, block) for block in context)


def read_agent_message(builder: RecordBuilder, content: Any, stop: Stop | None = None) -> Iterator[Record]:
    """The records of an agent message with content blocks. The last text gets `stop`, if the agent waits after it."""
    blocks = content if isinstance(content, list) else [content]
    records = [record for block in blocks for record in _agent_block(builder, block)]
    if stop is not None:
        last_text = next((record for record in reversed(records) if record.kind is Kind.ASSISTANT_RESPONSE), None)
        for record in [last_text] if last_text else records[-1:]:
            record.stop = stop
    yield from records


def _agent_block(builder: RecordBuilder, block: Any) -> Iterator[Record]:
    if isinstance(block, str):
        block = {"type": "text", "text": block}
    if not isinstance(block, dict):
        return
    kind = text_or_none(block.get("type"))
    if kind in THINKING:
        yield builder.record(Kind.REASONING, text_of(block.get("thinking") or block.get("text") or block.get("think")))
    elif kind in CALLS:
        name = block.get("name") or block.get("toolName")
        call = block.get("id") or block.get("toolCallId")
        arguments = next((block[key] for key in ("input", "arguments", "args") if key in block), None)
        yield builder.call(text_or_none(name), text_or_none(call), arguments)
    elif kind in RESULTS:
        yield _result(builder, block)
    elif kind == "text" or "text" in block:
        if text := text_of(block.get("text")).strip():
            yield builder.record(Kind.ASSISTANT_RESPONSE, text)
    elif block:
        yield builder.unknown(block)


def _result(builder: RecordBuilder, block: dict[str, Any]) -> Record:
    call = block.get("tool_use_id") or block.get("toolUseId") or block.get("toolUseID") or block.get("toolCallId")
    output = next((block[key] for key in ("content", "output", "result") if key in block), None)
    failed = bool(block.get("is_error") or block.get("isError"))
    return builder.result(text_or_none(call), output, failed=failed)


def read_chat_message(
    builder: RecordBuilder, message: dict[str, Any], read_text: ReadPrompt = read_prompt, stop: Stop | None = None
) -> Iterator[Record]:
    """The records of a chat message, by its role: system, user, assistant (with `tool_calls`) or tool."""
    content = message.get("content")
    match message.get("role"):
        case "user" | "human":
            yield from read_user_message(builder, content, read_text)
        case "assistant" | "model" | "agent":
            thoughts = message.get("reasoning_content") or message.get("reasoning") or message.get("thinking")
            if text := text_of(thoughts).strip():
                yield builder.record(Kind.REASONING, text)
            calls = message.get("tool_calls")
            yield from read_agent_message(builder, content or [], stop)
            for call in calls if isinstance(calls, list) else []:
                yield _chat_call(builder, call)
        case "tool" | "function" | "toolResult":
            call = message.get("tool_call_id") or message.get("toolCallId") or message.get("call_id")
            yield builder.result(text_or_none(call), content, tool=text_or_none(message.get("name")))
        case "system" | "developer":
            if text := text_of(content).strip():
                yield builder.record(Kind.SYSTEM, text)
        case _:
            yield builder.unknown(message)


def _chat_call(builder: RecordBuilder, call: Any) -> Record:
    if not isinstance(call, dict):
        return builder.unknown(call)
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    arguments = next((inner[key] for key in ("arguments", "input", "args") if key in inner), None)
    return builder.call(text_or_none(inner.get("name")), text_or_none(call.get("id") or call.get("call_id")), arguments)
