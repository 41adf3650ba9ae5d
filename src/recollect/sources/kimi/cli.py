"""Reads the logs of kimi-cli: the context that it sends to the model, and the wire that it sends to its interfaces.

A context has chat messages between checkpoints and token counts, without times or models. A tool's result begins with the
tool's own status, in <system>. The wire, added later, has the same and more, each line with its time: where both exist, the
context is ignored. A sub-agent's events are inside its parent's events; newer versions also give it its own wire, which is
then read instead.
"""

import re
from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.json import read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import (
    RecordBuilder,
    read_agent_message,
    read_chat_message,
    read_each_line,
    read_prompt_or_command,
    text_of,
)
from recollect.sources.formats.values import as_object, parse_time
from recollect.sources.kimi.session import Wire, exit_code_of, session_of, usage_of

WIRE = "wire.jsonl"
SPAWNED = re.compile(r"Transcript saved to: \S*?([^/\\\s]+\.jsonl)")
AGENT = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a sub-agent's id, if it can be part of a file name
COMPACTED = "<system>Previous context has been compacted"
INJECTED = ("<system>", "<notification")


class WorkDir(Struct):
    path: str = ""


class Projects(Struct):
    """~/.kimi/kimi.json"""

    work_dirs: list[WorkDir] = []


class Event(Struct, frozen=True):
    type: str = ""
    payload: dict[str, Any] = {}


class WireLine(Struct):
    type: str = ""
    timestamp: Any = None
    message: Event = Event()


def folder_of(path: Path) -> str | None:
    """The working folder, found in kimi.json: a session's parent folder is named after the digest of its path.

    kimi.json is not part of the log: it lists the folder before the session's first line is written, and changes with every
    session of any project.
    """
    for folder in path.parents:
        if folder.parent.name == "sessions":
            projects = read_sidecar(folder.parent.with_name("kimi.json"), Projects) or Projects()
            return next((work_dir.path for work_dir in projects.work_dirs if _digest(work_dir.path) == folder.name), None)
    return None


def _digest(path: str) -> str:
    return md5(path.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


# ---- the context

_load_messages = json_lines(dict[str, Any])


def load_context(path: Path) -> list[Line | Problem]:
    return [] if path.with_name(WIRE).exists() else _load_messages(path)


def read_context(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    session, parent = session_of(path)
    if lines:
        yield SessionMetadata(session=session, parent=parent, cwd=folder_of(path))
    yield from read_each_line(lines, session, _message)


def _message(builder: RecordBuilder, line: Line) -> Iterator[Entry]:
    message: dict[str, Any] = line.value
    match message.get("role"):
        case "_checkpoint" | "_usage" as role:
            yield Ignored(role)
        case "_system_prompt":
            yield builder.record(Kind.SYSTEM, text_of(message.get("content")))
        case "assistant" if text_of(message.get("content")).startswith(COMPACTED):
            yield builder.record(Kind.COMPACTION, text_of(message.get("content")))
        case "assistant":
            yield from read_chat_message(builder, message, stop=None if message.get("tool_calls") else Stop.ANSWER)
        case "tool":
            yield from _tool_message(builder, message)
        case _:
            yield from read_chat_message(builder, message, _read_user_text)


def _tool_message(builder: RecordBuilder, message: dict[str, Any]) -> Iterator[Entry]:
    for record in read_chat_message(builder, message):
        status = record.text.partition("</system>")[0] if record.text.startswith("<system>") else ""
        record.exit_code = exit_code_of(status)
        record.failed = record.exit_code is not None or status.startswith("<system>ERROR")
        yield record
        if spawned := SPAWNED.search(status):
            child, parent = session_of(Path(spawned[1]))
            if parent == builder.session:
                yield SessionMetadata(session=child, parent=parent, parent_call=record.call)


def _read_user_text(builder: RecordBuilder, text: str) -> Iterator[Record]:
    if text.startswith(COMPACTED):
        yield builder.record(Kind.COMPACTION, text)
    elif text.startswith(INJECTED):
        yield builder.record(Kind.SYSTEM, text)
    else:
        yield from read_prompt_or_command(builder, text)


# ---- the wire


def read_wire(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    session, parent = session_of(path)
    folder = folder_of(path)
    wires = {session: Wire(session=session)}
    yield SessionMetadata(session=session, parent=parent, cwd=folder)
    for place, line in enumerate(lines, 1):
        if isinstance(line, Problem):
            yield line
            continue
        builder = wires[session].builder(place, line)
        if isinstance(line.value, WrongShape):
            wires[session].add(builder.unknown(line.raw.decode("utf-8", "replace")))
        elif line.value.type == "metadata":
            yield Ignored("metadata")
        else:
            builder.at = parse_time(line.value.timestamp)
            _read_event(line.value.message, builder, wires[session], wires, path)
    for wire in wires.values():
        if wire.session != session:
            yield SessionMetadata(session=wire.session, parent=session, cwd=folder)
        yield from wire.entries


def _read_event(event: Event, builder: RecordBuilder, wire: Wire, wires: dict[str, Wire], path: Path) -> None:
    reader = READERS.get(event.type)
    if event.type == "SubagentEvent":
        _sub_agent(event.payload, builder, wire, wires, path)
    elif event.type in IGNORED:
        wire.add(Ignored(event.type))
    elif reader is None:
        wire.add(builder.unknown({"type": event.type, "payload": event.payload}))
    else:
        reader(builder, event.payload, wire)


def _sub_agent(payload: dict[str, Any], builder: RecordBuilder, wire: Wire, wires: dict[str, Wire], path: Path) -> None:
    event = payload.get("event")
    call = payload.get("parent_tool_call_id") or payload.get("task_tool_call_id")
    agent = payload.get("agent_id") or call
    if not isinstance(agent, str) or not isinstance(event, dict):
        wire.add(builder.unknown(payload))
        return
    child = f"{wire.session}/{agent}"
    if isinstance(call, str):
        wire.add(SessionMetadata(session=child, parent=wire.session, parent_call=call))
    if AGENT.fullmatch(agent) and (path.parent / "subagents" / agent / WIRE).exists():
        wire.add(Ignored("copy of a sub-agent's event"))
        return
    inner = event.get("payload")
    child_event = Event(str(event.get("type")), as_object(inner))
    child_wire = wires.setdefault(child, Wire(session=child))
    _read_event(
        child_event, RecordBuilder(session=child, key=builder.key, at=builder.at, line=builder.line), child_wire, wires, path
    )


def _turn_begin(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.begin_turn()
    wire.add(*_read_user_text(builder, text_of(payload.get("user_input"))))


def _steer(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.add(builder.record(Kind.USER_INPUT, text_of(payload.get("user_input"))))


def _turn_end(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    if wire.end_turn():
        wire.add(Ignored("TurnEnd"))
    else:
        wire.add(builder.record(Kind.RUNTIME, "TurnEnd", stop=Stop.OTHER))


def _step_begin(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.begin_step()
    wire.add(Ignored("StepBegin"))


def _interrupted(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.interrupt(builder.record(Kind.RUNTIME, "StepInterrupted", stop=Stop.INTERRUPT))


def _content(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.add(*read_agent_message(builder, [payload]))


def _call(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.add(*read_chat_message(builder, {"role": "assistant", "tool_calls": [payload]}))


def _result(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    value = payload.get("return_value") or payload.get("result")
    value = value if isinstance(value, dict) else {"output": value}
    call, message = payload.get("tool_call_id"), text_of(value.get("message"))
    record = builder.result(call if isinstance(call, str) else None, value.get("output") or message)
    record.failed = bool(value.get("is_error"))
    record.exit_code = exit_code_of(message)
    wire.add(record)


def _status(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.add_usage(usage_of(payload.get("token_usage")))
    wire.add(Ignored("StatusUpdate"))


def _compacted(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.add(builder.record(Kind.COMPACTION, ""))


def _approval(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    """Reads an approval. A refusal ends the turn, unless the person gave other instructions."""
    if payload.get("response") != "reject":
        wire.add(Ignored("ApprovalResponse"))
    elif feedback := text_of(payload.get("feedback")).strip():
        wire.add(builder.record(Kind.USER_INPUT, feedback))
    else:
        wire.interrupt(builder.record(Kind.RUNTIME, "reject", stop=Stop.CANCEL))


def _notification(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    texts = [text for name in ("title", "body") if (text := text_of(payload.get(name)))]
    wire.add(builder.record(Kind.SYSTEM, "\n".join(texts)))


def _plan(builder: RecordBuilder, payload: dict[str, Any], wire: Wire) -> None:
    wire.add(builder.record(Kind.RUNTIME, text_of(payload.get("content"))))


IGNORED = {
    "ApprovalRequest",
    "CompactionBegin",
    "HookResolved",
    "HookTriggered",
    "MCPLoadingBegin",
    "MCPLoadingEnd",
    "QuestionRequest",
    "ToolCallRequest",
}
READERS: dict[str, Callable[[RecordBuilder, dict[str, Any], Wire], None]] = {
    "TurnBegin": _turn_begin,
    "SteerInput": _steer,
    "TurnEnd": _turn_end,
    "StepBegin": _step_begin,
    "StepInterrupted": _interrupted,
    "ContentPart": _content,
    "ToolCall": _call,
    "ToolResult": _result,
    "StatusUpdate": _status,
    "CompactionEnd": _compacted,
    "ApprovalResponse": _approval,
    "ApprovalRequestResolved": _approval,
    "Notification": _notification,
    "PlanDisplay": _plan,
}
