"""Reads OpenCode's messages: the person's with their attachments, the agent's with their steps and tools."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from recollect.model import AGENT_KINDS, Entry, Ignored, Kind, Record, SessionMetadata, Stop, Usage
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.usage import with_cost
from recollect.sources.formats.values import as_count, as_object, parse_time

ABORTED = "MessageAbortedError"
REFUSED = re.compile(r"The user (rejected permission to use this specific tool call\.$|dismissed this question)")
UNANSWERED = {"pending", "running"}
BOOKKEEPING = {"step-start", "snapshot", "agent"}  # "agent": the prompt also names a mentioned agent


class Message(Struct):
    id: str | None = None
    role: str = ""
    finish: str | None = None
    error: Any = None
    summary: Any = None  # of an answer: whether it summarises the session; of a prompt: its outcome
    tokens: Any = None
    cost: Any = None
    model_id: str | None = field(default=None, name="modelID")
    time: Any = None


class State(Struct):
    """The state of a tool call."""

    status: str | None = None
    input: Any = None
    output: Any = None
    error: Any = None
    metadata: dict[str, Any] | None = None
    time: Any = None


class Part(Struct):
    id: str | None = None
    type: str = ""
    text: Any = None
    synthetic: Any = None
    ignored: Any = None
    tool: str | None = None
    call: str | None = field(default=None, name="callID")
    state: State | None = None
    filename: Any = None
    mime: Any = None
    prompt: Any = None
    files: Any = None
    error: Any = None
    tokens: Any = None
    cost: Any = None
    time: Any = None
    json: str = field(default="", name="$json")  # the complete part, as it was written


class StoredMessage(Struct):
    """A message and its parts, as JSON. A name is the id of the row or the file's name; None if only the JSON has an id."""

    message: str
    parts: list[tuple[str | None, str]]
    name: str | None = None


class MessagePlace(Struct):
    """The place, time and model that a message's records share."""

    session: str
    message: str
    line: int
    at: int | None = None
    model: str | None = None

    def builder(self, part: str | None = None, at: int | None = None) -> RecordBuilder:
        key = f"{self.session}/{part or self.message}"
        return RecordBuilder(session=self.session, key=key, at=at or self.at, line=self.line, model=self.model)


def read_message(stored: StoredMessage, session: str, line: int) -> Iterator[Entry]:
    """The entries of one message."""
    message = decode_or_none(stored.message, Message)
    if message is None:
        yield MessagePlace(session, stored.name or f"@{line}", line).builder().unknown(stored.message)
        return
    at = _moment(message.time, "created")
    place = MessagePlace(session, message.id or stored.name or f"@{line}", line, at, message.model_id)
    parts = [_part(name or f"{place.message}.{number}", json) for number, (name, json) in enumerate(stored.parts)]
    match message.role:
        case "user":
            yield from _read_user(place, parts)
        case "assistant":
            yield from _read_agent(place, message, parts)
        case _:
            yield place.builder().unknown(stored.message)


def _part(name: str, json: str) -> Part:
    part = decode_or_none(json, Part) or Part()
    part.id, part.json = part.id or name, json
    return part


def _read_user(place: MessagePlace, parts: list[Part]) -> Iterator[Entry]:
    """A user message: the prompt with the names of its files, then the added parts."""
    texts = [text_of(part.prompt if part.type == "subtask" else part.text) for part in parts if _is_prompt(part)]
    files = [_file_name(part) for part in parts if part.type == "file"]
    prompt = "\n\n".join(text for text in texts if text.strip())
    if prompt or files:
        yield place.builder().prompt("\n".join([*([prompt] if prompt else []), *files]))
    for part in parts:
        builder = place.builder(part.id)
        match part.type:
            case "text" | "subtask" | "file" if part.type == "file" or _is_prompt(part):
                continue
            case "text":
                yield builder.record(Kind.SYSTEM, text_of(part.text))
            case "compaction":
                yield builder.record(Kind.RUNTIME, "compaction")
            case kind if kind in BOOKKEEPING:
                yield Ignored(kind)
            case _:
                yield builder.unknown(part.json)


def _is_prompt(part: Part) -> bool:
    return part.type == "subtask" or (part.type == "text" and not part.synthetic and not part.ignored)


def _file_name(part: Part) -> str:
    return f"[{part.filename or part.mime or 'file'}]"


def _read_agent(place: MessagePlace, message: Message, parts: list[Part]) -> Iterator[Entry]:
    """An agent message. A step's tokens are assigned to its first record."""
    records: list[Record] = []
    step_start = 0
    is_counted = False
    for part in parts:
        if part.type == "step-finish":
            _set_usage(records[step_start:], part.tokens, part.cost)
            step_start, is_counted = len(records), True
            yield Ignored("step-finish")
        elif part.type in BOOKKEEPING:
            yield Ignored(part.type)
        else:
            records += _read_part(place, part, is_summary=message.summary is True)
            yield from _child(place, part)
    records += _end_turn(place, message, parts, records)
    if not is_counted:
        _set_usage(records, message.tokens, message.cost)
    yield from records


def _read_part(place: MessagePlace, part: Part, *, is_summary: bool) -> Iterator[Record]:
    builder = place.builder(part.id, _moment(part.time, "start"))
    match part.type:
        case "text" if text := text_of(part.text).strip():
            yield builder.record(Kind.COMPACTION if is_summary else Kind.ASSISTANT_RESPONSE, text)
        case "reasoning" if text := text_of(part.text).strip():
            yield builder.record(Kind.REASONING, text)
        case "text" | "reasoning":
            return  # it has started, and has no content yet
        case "tool":
            yield from _read_tool(builder, part)
        case "patch":
            yield builder.record(Kind.RUNTIME, "Changed files:\n" + text_of(part.files))
        case "file":
            yield builder.record(Kind.ASSISTANT_RESPONSE, _file_name(part))
        case "retry":
            yield builder.record(Kind.RUNTIME, _reason(part.error), failed=True)
        case "compaction":
            yield builder.record(Kind.RUNTIME, "compaction")
        case _:
            yield builder.unknown(part.json)


def _read_tool(builder: RecordBuilder, part: Part) -> Iterator[Record]:
    """A tool call, and its result as soon as there is one."""
    state = part.state or State(status="pending")
    builder.at = _moment(state.time, "start") or builder.at
    yield builder.call(part.tool, part.call, state.input)
    if state.status in UNANSWERED:
        return
    builder.at = _moment(state.time, "end") or builder.at
    failed = state.status == "error"
    output = text_of(state.error if failed else state.output)
    code = (state.metadata or {}).get("exit")
    yield builder.result(
        part.call,
        output,
        failed=failed,
        exit_code=as_count(code) if isinstance(code, int) else None,
        stop=Stop.CANCEL if failed and REFUSED.match(output) else None,
    )


def _child(place: MessagePlace, part: Part) -> Iterator[SessionMetadata]:
    metadata = part.state.metadata if part.tool == "task" and part.state else None
    child = (metadata or {}).get("sessionId")
    if isinstance(child, str) and child:
        yield SessionMetadata(session=child, parent=place.session, parent_call=part.call)


def _end_turn(place: MessagePlace, message: Message, parts: list[Part], records: list[Record]) -> Iterator[Record]:
    """Ends the turn, if the message did: by an error, or as an answer without further tool calls."""
    builder = place.builder(at=_moment(message.time, "completed"))
    if message.error:
        stop = Stop.INTERRUPT if _name(message.error) == ABORTED else Stop.CRASH
        yield builder.record(Kind.RUNTIME, _reason(message.error), stop=stop, failed=stop is Stop.CRASH)
        return
    finished = message.finish or _moment(message.time, "completed")
    if not finished or message.finish == "tool-calls" or message.summary is True or _calls_tools(parts):
        return
    answer = next((record for record in reversed(records) if record.kind is Kind.ASSISTANT_RESPONSE), None)
    if answer is not None:
        answer.stop = Stop.ANSWER
    else:
        yield builder.record(Kind.RUNTIME, f"finished: {message.finish or 'without a word'}", stop=Stop.OTHER)


def _calls_tools(parts: list[Part]) -> bool:
    """Whether the last step calls tools."""
    for part in reversed(parts):
        if part.type in {"tool", "step-start"}:
            return part.type == "tool"
    return False


def _reason(error: Any) -> str:
    data = error.get("data") if isinstance(error, dict) else None
    return ": ".join(text for text in (_name(error), text_of(data)) if text)


def _name(error: Any) -> str:
    return text_of(error.get("name")) if isinstance(error, dict) else ""


def _set_usage(records: list[Record], tokens: Any, cost: Any) -> None:
    first = next((record for record in records if record.kind in AGENT_KINDS), records[0] if records else None)
    if first is not None and isinstance(tokens, dict):
        first.usage = with_cost(_usage(tokens), cost)


def _usage(tokens: dict[str, Any]) -> Usage:
    """The tokens of a step. In counts with a `total`, output does not include reasoning; in older counts it does."""
    cached = tokens.get("cache")
    cache: dict[str, Any] = as_object(cached)
    reasoning = as_count(tokens.get("reasoning"))
    return Usage(
        input=as_count(tokens.get("input")),
        output=as_count(tokens.get("output")) + (reasoning if "total" in tokens else 0),
        cache_read=as_count(cache.get("read")),
        cache_write=as_count(cache.get("write")),
        reasoning=reasoning,
    )


def _moment(time: Any, name: str) -> int | None:
    return parse_time(time.get(name)) if isinstance(time, dict) else None
