"""A task of Cline, Roo Code or Kilo Code of which only `api_conversation_history.json` is left.

The interface's `ui_messages.json` may be missing: people copy the history alone, and some tools write nothing else. The
history holds the messages to and from the model. The person's text is in tags, among tool results and details of the
environment. The agent also sends messages by tools: `attempt_completion` ends the turn.
"""

from collections.abc import Iterator
from typing import Any

from recollect.model import Entry, Ignored, Kind, Record, Stop
from recollect.sources.formats.injected import is_hook_tag, split_context
from recollect.sources.formats.message import RESULTS, THINKING, RecordBuilder, text_of
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_text, parse_time, text_or_none
from recollect.sources.tasks.entries import Task
from recollect.sources.tasks.history import (
    SPOKEN,
    Exchange,
    ModelMessage,
    blocks_in,
    calls_in,
    headed,
    texts_in,
    without_calls,
)
from recollect.sources.tasks.tools import answered, of_its_server

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
    """Whether a list begins like such a history: only these agents describe the environment in a user message."""
    messages = [entry for entry in entries if entry.get("role") in ("user", "assistant") and "content" in entry]
    return bool(messages) and any(f"<{ENVIRONMENT}>" in text_of(entry["content"]) for entry in messages[:2])


def read_conversation(task: Task, history: list[ModelMessage], started_at: int | None) -> Iterator[Entry]:
    """The entries of a task. `started_at` is the time of its first message, if that has none."""
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
        words, thoughts = without_tag(without_calls(text), "thinking")
        yield from (builder.record(Kind.REASONING, thought) for thought in thoughts)
        if words:
            yield builder.record(Kind.ASSISTANT_RESPONSE, words)
    for call in calls:
        yield from _message_tool(task, builder, call) if call.tool in SPOKEN else _called(builder, call, answered_at)


def _message_tool(task: Task, builder: RecordBuilder, call: Exchange) -> Iterator[Record]:
    ends = call.tool in ENDS
    task.waiting = ends
    if words := text_of(call.arguments.get(MESSAGE_FIELD[call.tool])).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, words, stop=Stop.ANSWER if ends else None)


def _called(builder: RecordBuilder, call: Exchange, answered_at: int | None) -> Iterator[Record]:
    native = call.call or f"{builder.key}.{builder.count}"
    yield builder.call(*of_its_server(call.tool, call.arguments, native))
    if call.output is not None:
        output, _ = _without_context(text_of(call.output))
        result = answered(builder, native, output, is_command=call.tool == "execute_command", failed=call.failed)
        result.at = answered_at or result.at
        yield result


def _model(task: Task, message: ModelMessage) -> str | None:
    info = message.model_info if isinstance(message.model_info, dict) else {}
    return as_text(info.get("modelId")) or task.model_at(parse_time(message.ts) or 0)


_usage = tokens(input="prompt", output="completion", cache_read="cached", cached_in_input=True)


# ---- the person, and the context around their text


def _user_message(
    task: Task, builder: RecordBuilder, message: ModelMessage, calls: list[Exchange], *, is_first: bool
) -> Iterator[Record]:
    texts = [_without_context(text) for text in texts_in(message)]
    own = [words for words, _ in texts]
    task.waiting = task.waiting or any(text.startswith(RESUMED) for text in own)
    answers = [
        text_of(block)
        for block in blocks_in(message)
        if isinstance(block, dict) and text_or_none(block.get("type")) in RESULTS
    ]
    typed = [words for text in [*own, *answers] for words in _typed(text)]
    images = sum(isinstance(block, dict) and block.get("type") == "image" for block in blocks_in(message))
    if is_first and not typed:
        typed, own = [text for text in own if text], []
    if typed:
        yield _user_text(task, builder, "\n\n".join([*typed, *["[image]"] * images]), is_first=is_first)
    if not any(call.output is not None for call in calls):
        for tool, output in headed(own):
            yield builder.result(None, output, tool=tool)
    yield from (builder.record(Kind.SYSTEM, notice) for notice in _notices(own))
    yield from (builder.record(Kind.SYSTEM, block) for _, blocks in texts for block in blocks)


def _user_text(task: Task, builder: RecordBuilder, words: str, *, is_first: bool) -> Record:
    opens, task.waiting = is_first or task.waiting, False
    return builder.prompt(words) if opens else builder.record(Kind.USER_INPUT, words)


def _typed(text: str) -> list[str]:
    """The typed parts of a text. If a tag begins it and another ends it, everything between is the person's."""
    return [words for tag in TYPED for words in without_tag(text, tag)[1]] if "</" in text else []


def _notices(texts: list[str]) -> Iterator[str]:
    """The program's own texts: neither the person's nor tool results."""
    answered = {output for _, output in headed(texts)}
    for text in texts:
        is_answer = text in answered or next(headed([text, "x"]), None) is not None
        if text and not is_answer and not _typed(text):
            yield text


def _without_context(text: str) -> tuple[str, list[str]]:
    """A text without the blocks around it, and the texts of hooks. The environment block is dropped."""
    own, blocks = split_context(text, lambda name: name == ENVIRONMENT or is_hook_tag(name))
    return own.strip(), [block for block in blocks if not block.startswith(f"<{ENVIRONMENT}")]


def without_tag(text: str, tag: str) -> tuple[str, list[str]]:
    """A text without its blocks in this tag, and the blocks' contents."""
    opened, closed = f"<{tag}>", f"</{tag}>"
    outside, inside, place = [], [], 0
    while (start := text.find(opened, place)) >= 0 and (end := text.find(closed, start)) >= 0:
        outside.append(text[place:start])
        inside.append(text[start + len(opened) : end].strip())
        place = end + len(closed)
    return "".join([*outside, text[place:]]).strip(), [words for words in inside if words]
