"""mini-swe-agent writes one trajectory per task, <instance>.traj.json; `mini` stores its last one in its settings folder.

Evidence: 18 real trajectories of 2.2 (format 1.1, tool calls); published descriptions of format 1 and of
answers of the Responses API.
The file is rewritten after every step. Messages have the API's form, with the agent's data in `extra`: the time, the
provider's complete answer, a command's exit code. From version 2 on, commands are tool calls and the last message has the
role `exit`. Before, a command is the code block of an answer, its output is the next user message, and only `info` records
the end. A task's instruction is one message that contains the task.
`mini` overwrites its last trajectory with the next one, so a session is named after its file and its task.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import config
from recollect.sources.formats.json import decode_each, decode_or_none, json_document
from recollect.sources.formats.message import RecordBuilder, read_chat_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import litellm_usage, with_cost, with_session_cost
from recollect.sources.formats.values import as_object, as_text, parse_time

FORMAT = "mini-swe-agent"
COMMAND = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)
RETURN_CODE = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
INTERRUPTION = "UserInterruption"
FROM_PERSON = {INTERRUPTION, "UserRejection", "UserNewTask"}
STOPS = {
    "Submitted": Stop.ANSWER,
    "LimitsExceeded": Stop.OTHER,
    INTERRUPTION: Stop.INTERRUPT,
    "KeyboardInterrupt": Stop.INTERRUPT,
}


class Extra(Struct):
    cost: Any = None
    timestamp: Any = None
    response: Any = None
    returncode: Any = None
    exception_info: Any = None
    exit_status: Any = None
    interrupt_type: Any = None


class Message(Struct):
    """A message of the Chat API, or an answer (`output`) and a tool's output (`call_id`) of the Responses API."""

    role: Any = None
    type: Any = None
    content: Any = None
    tool_calls: Any = None
    tool_call_id: Any = None
    reasoning_content: Any = None
    call_id: Any = None
    output: Any = None
    extra: Any = None


class AgentConfig(Struct, frozen=True):
    instance_template: Any = None


class ModelConfig(Struct, frozen=True):
    model_name: str | None = None


class Environment(Struct, frozen=True):
    cwd: str | None = None


class Config(Struct):
    agent: AgentConfig = AgentConfig()
    model: ModelConfig = ModelConfig()
    environment: Environment = Environment()


class Info(Struct):
    config: Any = None
    model_stats: Any = None
    exit_status: Any = None
    submission: Any = None


class Trajectory(Struct):
    messages: list[Raw] = []
    info: Any = None
    instance_id: Any = None


class SessionProgress(Struct):
    """The state of a session that reading its next message needs."""

    at: int | None = None  # the last known time, or the first one to come
    has_task: bool = False
    call: str | None = None  # of a command in a code block
    has_ended: bool = False


def recognises(head: Head) -> bool:
    first = head.first()
    has_format = str(first.get("trajectory_format") or "").startswith(FORMAT)
    info = first.get("info")
    return isinstance(first.get("messages"), list) and (has_format or (isinstance(info, dict) and "mini_version" in info))


def read(path: Path, content: Trajectory) -> Iterable[Entry]:
    stats = as_object((decode_or_none(as_text(content.info), Info) or Info()).model_stats)
    return with_session_cost(_entries_of(path, content), stats.get("instance_cost"))


def _entries_of(path: Path, content: Trajectory) -> Iterator[Entry]:
    messages = list(decode_each(content.messages, Message))
    task = next((text_of(message.content) for _, message, _ in messages if message and message.role == "user"), None)
    if task is None:
        return
    info = decode_or_none(as_text(content.info), Info) or Info()
    config = decode_or_none(as_text(info.config), Config) or Config()
    session = _session_name(path, task)
    yield SessionMetadata(
        session=session,
        title=text_of(content.instance_id) or _without_template(task, text_of(config.agent.instance_template)),
        title_rank=TitleRank.SUMMARY,
        cwd=config.environment.cwd,
        model=config.model.model_name,
    )
    progress = SessionProgress(at=next((at for _, message, _ in messages if message and (at := _time(message))), None))
    for place, message, raw in messages:
        builder = RecordBuilder(session=session, key=f"{session}/{place}", line=place, model=config.model.model_name)
        if message is None:
            yield builder.unknown(raw)
        else:
            yield from _entries(builder, message, raw, progress)
    if info.exit_status and not progress.has_ended:
        yield _end(RecordBuilder(session=session, key=f"{session}/exit", at=progress.at), info.exit_status, info.submission)


def _time(message: Message) -> int | None:
    extra = decode_or_none(as_text(message.extra), Extra)
    return parse_time(extra.timestamp) if extra else None


def _session_name(path: Path, task: str) -> str:
    digest = blake2b(task.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{path.parent.name}/{path.name.removesuffix('.json').removesuffix('.traj')}/{digest}"


def _without_template(task: str, template: str) -> str:
    """A task without the text that its template puts before it."""
    return task.removeprefix(template.partition("{{task}}")[0]).strip()


def _entries(builder: RecordBuilder, message: Message, raw: str, progress: SessionProgress) -> Iterator[Entry]:
    extra = decode_or_none(as_text(message.extra), Extra) or Extra()
    builder.at = progress.at = parse_time(extra.timestamp) or progress.at
    if message.type == "function_call_output":
        yield _result(builder, message.call_id, message.output, extra)
    elif isinstance(message.output, list):
        builder.usage = _usage(extra, raw)
        yield from _answer(builder, message.output)
    elif message.role == "exit":
        progress.has_ended = True
        yield _end(builder, extra.exit_status, message.content)
    elif message.role == "tool":
        yield _result(builder, message.tool_call_id, message.content, extra)
    elif message.role == "user":
        yield from _user(builder, message, extra, progress)
    elif message.role == "assistant":
        builder.usage = _usage(extra, raw)
        yield from _chat_answer(builder, message, progress)
    else:
        yield from read_chat_message(builder, {"role": message.role, "content": message.content})


def _user(builder: RecordBuilder, message: Message, extra: Extra, progress: SessionProgress) -> Iterator[Record]:
    """The first message is the task. Later ones are interruptions, outputs, or notes about an unusable answer."""
    call, progress.call = progress.call, None
    text = text_of(message.content)
    if extra.interrupt_type == INTERRUPTION:
        yield builder.record(Kind.RUNTIME, INTERRUPTION, stop=Stop.INTERRUPT)
    if not progress.has_task or extra.interrupt_type in FROM_PERSON:
        progress.has_task = True
        yield builder.prompt(text)
    elif call:
        yield _result(builder, call, message.content, extra)
    else:
        yield builder.record(Kind.SYSTEM, text)


def _chat_answer(builder: RecordBuilder, message: Message, progress: SessionProgress) -> Iterator[Record]:
    answer = {"role": "assistant", "content": message.content, "reasoning_content": message.reasoning_content}
    yield from read_chat_message(builder, {**answer, "tool_calls": message.tool_calls})
    commands = [] if message.tool_calls else COMMAND.findall(text_of(message.content))
    if len(commands) == 1:
        progress.call = f"{builder.key}.call"
        yield builder.call("bash", progress.call, {"command": commands[0]})


def _answer(builder: RecordBuilder, items: list[Any]) -> Iterator[Record]:
    """An answer of the Responses API."""
    for item in items:
        match item:
            case {"type": "reasoning"}:
                if thoughts := text_of(item.get("summary")):
                    yield builder.record(Kind.REASONING, thoughts)
            case {"type": "message"}:
                yield builder.record(Kind.ASSISTANT_RESPONSE, text_of(item.get("content")))
            case {"type": "function_call"}:
                yield builder.call(text_of(item.get("name")), text_of(item.get("call_id")), item.get("arguments"))
            case _:
                yield builder.unknown(item)


def _result(builder: RecordBuilder, call: Any, output: Any, extra: Extra) -> Record:
    text = text_of(output)
    tag = RETURN_CODE.search(text)
    code = extra.returncode if isinstance(extra.returncode, int) else int(tag[1]) if tag else None
    failed = bool(extra.exception_info) or code not in (0, None)
    return builder.result(text_of(call) or None, text, exit_code=code, failed=failed)


def _end(builder: RecordBuilder, status: Any, submission: Any) -> Record:
    status = text_of(status)
    stop = STOPS.get(status, Stop.CRASH)
    text = "\n\n".join(part for part in (status, text_of(submission).strip()) if part)
    return builder.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH)


def _usage(extra: Extra, raw: str) -> Usage | None:
    response = extra.response if isinstance(extra.response, dict) else decode_or_none(raw, dict[str, Any]) or {}
    return with_cost(litellm_usage(response.get("usage")), extra.cost)


SOURCE = Source(
    name="mini-swe-agent",
    title="mini-swe-agent",
    formats=(
        Document(
            homes=config("MSWEA_GLOBAL_CONFIG_DIR", "mini-swe-agent"),
            endings=(".traj.json",),
            recursive=False,
            recognises=recognises,
            load=json_document(Trajectory),
            read=read,
        ),
    ),
    real_sessions=18,
)
