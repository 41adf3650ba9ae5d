"""Reads a task of Cline, Roo Code or Kilo Code that has only `api_conversation_history.json`.

The interface's `ui_messages.json` may be missing: people copy the history alone, and some tools write no other file. The
history holds the messages to and from the model. The person's text is in tags, among tool results and details of the
environment. The agent also sends messages by tools: `attempt_completion` ends the turn.
"""

from collections.abc import Iterator
from typing import Any

from recollect.model import Entry, Ignored, Kind, Record, Stop
from recollect.sources.formats.injected import is_hook_tag, split_context
from recollect.sources.formats.message import RESULTS, THINKING, RecordBuilder, text_of
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_object, as_text, parse_time, text_or_none
from recollect.sources.tasks.entries import Task
from recollect.sources.tasks.history import (
    MESSAGE_TOOLS,
    Exchange,
    ModelMessage,
    blocks_in,
    calls_in,
    results_with_heading,
    texts_in,
    without_calls,
)
from recollect.sources.tasks.tools import build_result, with_server_name

TYPED = ("task", "feedback", "answer", "user_message")  # the tags around the person's text
ENVIRONMENT = "environment_details"
RESUMED = "[TASK RESUMPTION]"
MESSAGE_FIELD = {  # tools that send a message to the person -> the argument with its text
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "act_mode_respond": "response",
    "ask_followup_question": "question",
}
ENDS = {"attempt_completion", "plan_mode_respond"}  # the agent waits for the person after these


def is_conversation(entries: list[dict[str, Any]]) -> bool:
    """Whether a list is such a history: only these agents describe the environment in one of the first messages."""
    messages = [entry for entry in entries if entry.get("role") in ("user", "assistant") and "content" in entry]
    return bool(messages) and any(f"<{ENVIRONMENT}>" in text_of(entry["content"]) for entry in messages[:2])


def read_conversation(task: Task, history: list[ModelMessage], started_at: int | None) -> Iterator[Entry]:
    """The entries of a task. `started_at` is used as the time of its first message, if that has no time."""
    calls: list[Exchange] = []
    for place, message in enumerate(history):
        builder = RecordBuilder(session=task.session, key=f"{task.session}/api@{place + 1}", line=place + 1)
        builder.at = parse_time(message.ts) or (started_at if place == 0 else None)
        match message.role:
            case _ if message.is_summary is True:
                yield builder.record(Kind.COMPACTION, text_of(message.content))
            case "user":
                yield from _user_message(task, builder, message, calls, is_first=place == 0)
            case "assistant":
                builder.model, builder.usage = (
                    _model(task, message),
                    _usage(message.metrics.get("tokens") if isinstance(message.metrics, dict) else None),
                )
                answer = history[place + 1] if place + 1 < len(history) else None
                calls = calls_in(message, answer)
                yield from _agent_message(task, builder, message, calls, parse_time(answer.ts) if answer else None)
            case _:
                yield builder.unknown({"role": message.role, "content": message.content})
        if not builder.count:
            yield Ignored("message without words")


# ---- the agent


def _agent_message(
    task: Task, builder: RecordBuilder, message: ModelMessage, calls: list[Exchange], answered_at: int | None
) -> Iterator[Record]:
    task.waiting = False
    for block in blocks_in(message):
        if isinstance(block, dict) and text_or_none(block.get("type")) in THINKING:
            yield builder.record(Kind.REASONING, text_of(block.get("thinking") or block.get("text")))
    for text in texts_in(message):
        answer, thoughts = without_tag(without_calls(text), "thinking")
        yield from (builder.record(Kind.REASONING, thought) for thought in thoughts)
        if answer:
            yield builder.record(Kind.ASSISTANT_RESPONSE, answer)
    for call in calls:
        yield from _message_tool(task, builder, call) if call.tool in MESSAGE_TOOLS else _call(builder, call, answered_at)


def _message_tool(task: Task, builder: RecordBuilder, call: Exchange) -> Iterator[Record]:
    ends = call.tool in ENDS
    task.waiting = ends
    if text := text_of(call.arguments.get(MESSAGE_FIELD[call.tool])).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER if ends else None)


def _call(builder: RecordBuilder, call: Exchange, answered_at: int | None) -> Iterator[Record]:
    call_id = call.call or f"{builder.key}.{builder.count}"
    yield builder.call(*with_server_name(call.tool, call.arguments, call_id))
    if call.output is not None:
        output, _ = _without_context(text_of(call.output))
        result = build_result(builder, call_id, output, is_command=call.tool == "execute_command", failed=call.failed)
        result.at = answered_at or result.at
        yield result


def _model(task: Task, message: ModelMessage) -> str | None:
    info = as_object(message.model_info)
    return as_text(info.get("modelId")) or task.model_at(parse_time(message.ts) or 0)


_usage = tokens(input="prompt", output="completion", cache_read="cached", cached_in_input=True)


# ---- the person, and the context around their text


def _user_message(
    task: Task, builder: RecordBuilder, message: ModelMessage, calls: list[Exchange], *, is_first: bool
) -> Iterator[Record]:
    texts = [_without_context(text) for text in texts_in(message)]
    own = [text for text, _ in texts]
    task.waiting = task.waiting or any(text.startswith(RESUMED) for text in own)
    answers = [
        text_of(block)
        for block in blocks_in(message)
        if isinstance(block, dict) and text_or_none(block.get("type")) in RESULTS
    ]
    typed = [part for text in [*own, *answers] for part in _typed(text)]
    images = sum(isinstance(block, dict) and block.get("type") == "image" for block in blocks_in(message))
    if is_first and not typed:
        typed, own = [text for text in own if text], []
    if typed:
        yield _user_text(task, builder, "\n\n".join([*typed, *["[image]"] * images]), is_first=is_first)
    if not any(call.output is not None for call in calls):
        for tool, output in results_with_heading(own):
            yield builder.result(None, output, tool=tool)
    yield from (builder.record(Kind.SYSTEM, notice) for notice in _notices(own))
    yield from (builder.record(Kind.SYSTEM, block) for _, blocks in texts for block in blocks)


def _user_text(task: Task, builder: RecordBuilder, text: str, *, is_first: bool) -> Record:
    opens, task.waiting = is_first or task.waiting, False
    return builder.prompt(text) if opens else builder.record(Kind.USER_INPUT, text)


def _typed(text: str) -> list[str]:
    """The parts of a text that the person typed: the contents of certain tags."""
    return [part for tag in TYPED for part in without_tag(text, tag)[1]] if "</" in text else []


def _notices(texts: list[str]) -> Iterator[str]:
    """The program's own texts: neither the person's texts nor tool results."""
    outputs = {output for _, output in results_with_heading(texts)}
    for text in texts:
        is_result = text in outputs or next(results_with_heading([text, "x"]), None) is not None
        if text and not is_result and not _typed(text):
            yield text


def _without_context(text: str) -> tuple[str, list[str]]:
    """A text without the blocks around it, and the blocks of hooks. The block about the environment is dropped."""
    own, blocks = split_context(text, lambda name: name == ENVIRONMENT or is_hook_tag(name))
    return own.strip(), [block for block in blocks if not block.startswith(f"<{ENVIRONMENT}")]


def without_tag(text: str, tag: str) -> tuple[str, list[str]]:
    """A text without its blocks in this tag, and the blocks' contents."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    outside, inside, place = [], [], 0
    while (start := text.find(opening, place)) >= 0 and (end := text.find(closing, start)) >= 0:
        outside.append(text[place:start])
        inside.append(text[start + len(opening) : end].strip())
        place = end + len(closing)
    return "".join([*outside, text[place:]]).strip(), [content for content in inside if content]
