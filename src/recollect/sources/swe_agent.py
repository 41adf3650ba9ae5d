"""SWE-agent writes one trajectory per task, <instance>.traj in a folder per run, wherever the user chooses.

Evidence: 22 real trajectories of 0.5 to 1.0, most of them demonstrations that a person stepped through.
`trajectory` has the agent's thoughts, actions and observations, step by step. `history` has the messages that the model
got: without older output, but with the system prompt, the task, and tool calls by name and id. So a step is read from
`trajectory`, with details from `history`. A demonstration in the agent's prompt is not part of the session. There are no
times, and tokens are counted per run only. A hand-written demonstration may have only a `history`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import decode_each, decode_or_none, json_document
from recollect.sources.formats.message import RecordBuilder, read_chat_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import arguments_of, as_text

SHELL = "bash"  # the tool of an action that does not name one


class Step(Struct):
    """One answer of the model, its action and the observation."""

    action: Any = None
    observation: Any = None
    response: Any = None
    thought: Any = None
    state: Any = None


class Message(Struct):
    role: Any = None
    content: Any = None
    thought: Any = None
    action: Any = None
    is_demo: Any = None
    tool_calls: Any = None
    tool_call_ids: Any = None


class State(Struct):
    working_dir: str | None = None


class Info(Struct):
    exit_status: Any = None
    submission: Any = None
    model_stats: Any = None


class Trajectory(Struct):
    trajectory: list[Raw] = []
    history: list[Raw] = []
    info: Any = None
    replay_config: Any = None  # JSON, in later versions as text


def recognises(head: Head) -> bool:
    first = head.first()
    history = first.get("history")
    if not isinstance(history, list) or not history or not isinstance(history[0], dict):
        return False
    return isinstance(first.get("trajectory"), list) or {"role", "agent"} <= history[0].keys()


def read(path: Path, content: Trajectory) -> Iterable[Entry]:
    instance = path.name.removesuffix(".traj")
    session = f"{path.parent.name}/{instance}"
    model = _model(content.replay_config)
    yield SessionMetadata(session=session, title=instance, title_rank=TitleRank.SUMMARY, model=model)
    messages = [(place, message, raw) for place, message, raw in decode_each(content.history, Message)]
    if not content.trajectory:
        yield from _history(session, messages)
        return
    task = next((place for place, message, _ in messages if message and message.role == "assistant"), len(messages) + 1)
    yield from _history(session, [message for message in messages if message[0] < task])
    answers = [message for _, message, _ in messages if message and message.role == "assistant" and not message.is_demo]
    for place, step, raw in decode_each(content.trajectory, Step):
        answer = answers[place - 1] if place <= len(answers) else Message()
        yield from _step(session, place, step, raw, answer)
    yield from _end(session, content.info)


def _model(config: Any) -> str | None:
    match arguments_of(config):
        case {"agent": {"model": {"name": str(name)}}}:
            return name
        case _:
            return None


def _history(session: str, messages: list[tuple[int, Message | None, str]]) -> Iterator[Entry]:
    """The messages that the model got. The first user message is the task, the others are output."""
    is_task = True
    call: str | None = None
    for place, message, raw in messages:
        builder = RecordBuilder(session=session, key=f"{session}/history/{place}", line=place)
        if message is None:
            yield builder.unknown(raw)
        elif message.is_demo:
            yield Ignored("demonstration")
        elif message.role == "user" and is_task:
            is_task = False
            yield builder.prompt(text_of(message.content))
        elif message.role in ("user", "tool"):
            yield builder.result(call, message.content)
        elif message.role == "assistant":
            text = text_of(message.thought) or text_of(message.content)
            for record in _answer(builder, text, message.action, message):
                call = record.call or call
                yield record
        else:
            yield from read_chat_message(builder, {"role": message.role, "content": message.content})


def _step(session: str, place: int, step: Step | None, raw: str, answer: Message) -> Iterator[Entry]:
    builder = RecordBuilder(session=session, key=f"{session}/{place}", line=place)
    if step is None:
        yield builder.unknown(raw)
        return
    state = decode_or_none(as_text(step.state), State)
    builder.cwd = state.working_dir if state else None
    if text_of(answer.action).strip() != text_of(step.action).strip():
        answer = Message()  # only `trajectory` or `history` has this answer
    call: str | None = None
    for record in _answer(builder, text_of(step.thought) or text_of(step.response), step.action, answer):
        call = record.call
        yield record
    output = text_of(step.observation).strip("\n")
    if call and step.observation is not None:
        yield builder.result(call, output)
    elif output:
        yield builder.record(Kind.SYSTEM, output)


def _answer(builder: RecordBuilder, text: str, action: Any, answer: Message) -> Iterator[Record]:
    """An answer's text and actions: the model's tool calls, else one command line."""
    if text.strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text.strip())
    if isinstance(answer.tool_calls, list) and answer.tool_calls:
        yield from read_chat_message(builder, {"role": "assistant", "tool_calls": answer.tool_calls})
    elif command := text_of(action).strip():
        yield builder.call(SHELL, f"{builder.key}.call", {"command": command})


def _end(session: str, raw: Any) -> Iterator[Record]:
    info = decode_or_none(as_text(raw), Info)
    if info is None or not info.exit_status:
        return
    status = text_of(info.exit_status)
    builder = RecordBuilder(session=session, key=f"{session}/exit")
    text = "\n\n".join(part for part in (status, text_of(info.submission).strip()) if part)
    yield builder.record(Kind.RUNTIME, text, stop=_stop(status), usage=_usage(info.model_stats))


def _stop(status: str) -> Stop:
    if status.startswith("submitted"):
        return Stop.ANSWER
    return Stop.CRASH if "error" in status or "api" in status else Stop.OTHER


_usage = tokens(input="tokens_sent", output="tokens_received", cost="instance_cost")


SOURCE = Source(
    name="swe-agent",
    title="SWE-agent",
    formats=(Document(endings=(".traj",), recognises=recognises, load=json_document(Trajectory), read=read),),
    real_sessions=22,
)
