"""Reads the messages of the person and the agent in a task of Cline, Roo Code or Kilo Code.

The agent waits for the person after `completion_result`, `plan_mode_respond`, an error, and when a task is resumed. Then
feedback is a new prompt; at any other time it steers the running turn. An answer chosen from a list is in the question
(`selected`).
"""

from collections.abc import Callable, Iterator

from recollect.model import Kind, Record, Stop
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.values import as_text
from recollect.sources.tasks.entries import Message, Task, plain, reason


def prompt(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    """The task's first prompt."""
    task.waiting = False
    yield builder.prompt(_with_attachments(message))


def _feedback(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    text, was_waiting, task.waiting, task.completed = _with_attachments(message), task.waiting, False, False
    if text:
        yield builder.prompt(text) if was_waiting else builder.record(Kind.USER_INPUT, text)


def _with_attachments(message: Message) -> str:
    images = message.images if isinstance(message.images, list) else []
    files = message.files if isinstance(message.files, list) else []
    return "\n".join(
        [message.text_without_marks(), *("[image]" for _ in images), *(f"[{as_text(file)}]" for file in files)]
    ).strip()


def _changed(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    """The person's changes to an edit before accepting it."""
    yield builder.record(Kind.USER_INPUT, text_of(message.json().get("diff")) or message.text_without_marks())


def _text(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    if thoughts := text_of(message.reasoning).strip():
        yield builder.record(Kind.REASONING, thoughts)
    if text := message.text_without_marks():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text)


def _image(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    yield builder.record(Kind.ASSISTANT_RESPONSE, "[image]")


def _reasoning(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    if text := message.text_without_marks():
        yield builder.record(Kind.REASONING, text)


def _completion(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    """Reads a result. The agent then asks an empty question about it; a command that shows it may come in between."""
    was_waiting, task.waiting, task.completed = task.waiting, True, True
    if text := message.text_without_marks():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER)
    elif not was_waiting:
        yield builder.record(Kind.RUNTIME, plain(message.name()), stop=Stop.ANSWER)


def _question(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    fields = message.json()
    if question := text_of(fields.get("question")) if fields else message.text_without_marks():
        yield builder.record(Kind.ASSISTANT_RESPONSE, question)
    if picked := text_of(fields.get("selected")):
        yield builder.record(Kind.USER_INPUT, picked)


def _plan(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    fields = message.json()
    task.waiting = True
    if plan := text_of(fields.get("response")) if fields else message.text_without_marks():
        yield builder.record(Kind.ASSISTANT_RESPONSE, plan, stop=Stop.ANSWER)
    if picked := text_of(fields.get("selected")):
        task.waiting = False
        yield builder.prompt(picked)


def _failed(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    task.waiting = True
    text = reason(message.text_without_marks()) or plain(message.name())
    yield builder.record(Kind.RUNTIME, text, stop=Stop.CRASH, failed=True)


def _compaction(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    condensed = message.context_condense
    summary = text_of(condensed.get("summary")) if isinstance(condensed, dict) else ""
    yield builder.record(Kind.COMPACTION, summary or message.text_without_marks() or plain(message.name()))


SPEECH: dict[str, Callable[[Task, RecordBuilder, Message], Iterator[Record]]] = {
    "task": prompt,
    "user_feedback": _feedback,
    "user_feedback_diff": _changed,
    "text": _text,
    "act_mode_respond": _text,
    "image": _image,
    "reasoning": _reasoning,
    "completion_result": _completion,
    "followup": _question,
    "plan_mode_respond": _plan,
    "api_req_failed": _failed,
    "mistake_limit_reached": _failed,
    "payment_required_prompt": _failed,
    "condense": _compaction,
    "compaction": _compaction,
    "summarize_task": _compaction,
    "condense_context": _compaction,
    "sliding_window_truncation": _compaction,
}
