"""Reads the wire of kimi-code: records from which kimi-code rebuilds an agent's state.

A prompt is written twice, as the prompt of a turn and as a message of the context; so are a step's tokens, at its end and
as a usage record. A fork is a copy of the complete folder under a new name, with a mark after the copied part; `state.json`
names the original session. Records before the mark belong to that session. A sub-agent that shares its parent's context, as
for a side question (/btw), begins with a copy of that context. A newer version rewrites an old file completely.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Problem, SessionMetadata, Stop, TurnStart
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.json import read_sidecar
from recollect.sources.formats.message import (
    RecordBuilder,
    read_agent_message,
    read_chat_message,
    read_prompt_or_command,
    text_of,
)
from recollect.sources.formats.values import as_text, parse_time
from recollect.sources.kimi.session import Wire, exit_code_of, session_of, usage_of

FINAL = {"end_turn", "max_tokens", "filtered"}  # finish reasons after which the agent waits
ENDS = {"cancelled": Stop.INTERRUPT, "aborted": Stop.INTERRUPT, "failed": Stop.CRASH, "error": Stop.CRASH}
STATE = "state.json"
FORKED = "forked"  # the mark after the copied part
SIDE_QUESTION = "btw"  # answered by a copy of the agent
NO_SESSION = ""  # of records that were copied more than once
GIT_CONTEXT = re.compile(r"<git-context>.*?</git-context>\s*", re.DOTALL)
SPAWNED = re.compile(r"^agent_id: (agent-\d+)$", re.MULTILINE)


class Origin(Struct, frozen=True, rename="camel"):
    kind: str = "user"
    name: str = ""
    variant: str = ""
    phase: str = ""
    trigger: str = ""
    skill_name: str = ""
    skill_args: str = ""
    command_name: str = ""
    command_args: str = ""


class Message(Struct, frozen=True, rename="camel"):
    role: str = ""
    content: Any = None
    tool_calls: Any = None
    tool_call_id: Any = None
    origin: Origin = Origin()


class LoopEvent(Struct, frozen=True, rename="camel"):
    type: str = ""
    part: Any = None
    name: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    call_id: str | None = None
    args: Any = None
    input: Any = None
    result: Any = None
    usage: Any = None
    finish_reason: str | None = None


class Row(Struct, rename="camel"):
    type: str = ""
    time: Any = None
    input: Any = None
    origin: Origin = Origin()
    message: Message = Message()
    event: LoopEvent = LoopEvent()
    cwd: str | None = None
    environment_disclosure: Any = None
    model: str | None = None
    model_alias: str | None = None
    usage: Any = None
    usage_scope: str | None = None
    summary: Any = None
    reason: str | None = None
    objective: Any = None
    result: Any = None
    tool_name: Any = None
    action: Any = None


class ForkState(Struct, rename="camel"):
    """The session that a session was forked from, in its state.json."""

    forked_from: str | None = None


def state_of(path: Path) -> list[Path]:
    return [path.parents[2] / STATE] if path.parent.parent.name == "agents" else []


def wire_of(state: Path) -> Path | None:
    return state.parent / "agents/main/wire.jsonl" if state.name == STATE else None


def read(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    session, parent = session_of(path)
    owners = _owners(path, session, lines)
    wire = Wire(session=owners.pop(0))
    wire.add(SessionMetadata(session=session, parent=parent))
    own_start = _own_start(lines) if parent else 0
    for place, line in enumerate(lines, 1):
        if isinstance(line, Problem):
            wire.add(line)
        elif place < own_start and isinstance(line.value, Row) and line.value.type == "context.append_message":
            wire.add(Ignored("copied from the parent"))
        elif _is_fork(line):
            wire.session = owners.pop(0)
            wire.begin_turn()
            wire.add(Ignored(FORKED))
        elif wire.session == NO_SESSION:
            wire.add(Ignored("copied twice"))
        elif isinstance(line.value, WrongShape):
            wire.add(wire.builder(place, line).unknown(line.raw.decode("utf-8", "replace")))
        else:
            _read_row(line, place, wire)
    yield from wire.entries


def _owners(path: Path, session: str, lines: list[Line | Problem]) -> list[str]:
    """The sessions of a file's parts: the last part is the session's own, earlier parts belong to the copied sessions."""
    forks = sum(isinstance(line, Line) and _is_fork(line) for line in lines)
    fork = next((state for place in state_of(path) if (state := read_sidecar(place, ForkState))), ForkState())
    _, _, agent = session.partition("/")
    original = "/".join(part for part in (fork.forked_from, agent) if part) if fork.forked_from else session
    return [*[NO_SESSION] * (forks - 1), *[original] * min(forks, 1), session]


def _own_start(lines: list[Line | Problem]) -> int:
    """The number of a sub-agent's first own line. The lines before it are a copy of its parent's context."""
    rows = ((place, line.value) for place, line in enumerate(lines, 1) if isinstance(line, Line))
    return next((place for place, row in rows if isinstance(row, Row) and _begins_sub_agent(row)), 0)


def _begins_sub_agent(row: Row) -> bool:
    origin = row.origin if row.type == "turn.prompt" else row.message.origin
    is_triggered = origin.kind == "system_trigger" and origin.name in {"subagent", SIDE_QUESTION}
    return is_triggered or (origin.kind == "injection" and origin.variant == SIDE_QUESTION)


def _is_fork(line: Line) -> bool:
    return isinstance(line.value, Row) and line.value.type == FORKED


def _read_row(line: Line, place: int, wire: Wire) -> None:
    row: Row = line.value
    builder = wire.builder(place, line, parse_time(row.time))
    if row.type in IGNORED:
        wire.add(Ignored(row.type))
    elif reader := READERS.get(row.type):
        reader(builder, row, wire)
    else:
        wire.add(builder.unknown(line.raw.decode("utf-8", "replace")))


# ---- metadata


def _settings(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    disclosure = row.environment_disclosure
    cwd = row.cwd or (disclosure.get("cwd") if isinstance(disclosure, dict) else None)
    wire.model = row.model_alias or wire.model
    if isinstance(cwd, str):
        wire.add(SessionMetadata(session=wire.session, cwd=cwd))
    wire.add(Ignored(row.type))


def _request(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    wire.model = row.model or row.model_alias or wire.model
    wire.add(Ignored(row.type))


# ---- input of the agent


def _prompt(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    text = text_of(row.input)
    wire.begin_turn()
    wire.repeated.append(text)
    _read_input(builder, text, row.origin, wire)


def _steer(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    text = text_of(row.input)
    wire.repeated.append(text)
    wire.add(builder.record(Kind.USER_INPUT if row.origin.kind == "user" else Kind.SYSTEM, text))


def _append_message(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    message = row.message
    text = text_of(message.content)
    if message.role != "user":
        chat = {
            "role": message.role,
            "content": message.content,
            "tool_calls": message.tool_calls,
            "tool_call_id": message.tool_call_id,
        }
        wire.add(*read_chat_message(builder, chat))
    elif text in wire.repeated:
        wire.repeated.remove(text)
        wire.add(Ignored("copy of a prompt"))
    else:
        _read_input(builder, text, message.origin, wire)


def _read_input(builder: RecordBuilder, text: str, origin: Origin, wire: Wire) -> None:
    match origin:
        case Origin(kind="user"):
            wire.add(*read_prompt_or_command(builder, text))
        case Origin(kind="system_trigger", name="subagent"):
            context = GIT_CONTEXT.match(text)
            wire.add(builder.prompt(text[context.end() :] if context else text))
            if context:
                wire.add(builder.record(Kind.SYSTEM, context[0].strip()))
        case Origin(kind="skill_activation" | "plugin_command", trigger="user-slash"):
            name, arguments = origin.skill_name or origin.command_name, origin.skill_args or origin.command_args
            wire.add(builder.record(Kind.USER_INPUT, f"/{name} {arguments}".strip(), opens=TurnStart.COMMAND))
            wire.add(builder.record(Kind.SYSTEM, text))
        case Origin(kind="shell_command", phase="input"):
            wire.add(builder.record(Kind.USER_INPUT, text, opens=TurnStart.COMMAND))
        case Origin(kind="compaction_summary"):
            wire.add(builder.record(Kind.COMPACTION, text))
        case _:
            wire.add(builder.record(Kind.SYSTEM, text))


# ---- output of the agent


def _loop_event(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    event = row.event
    match event.type:
        case "step.begin":
            wire.begin_step()
            wire.add(Ignored("step.begin"))
        case "content.part":
            wire.add(*read_agent_message(builder, [event.part]))
        case "tool.call":
            arguments = event.input if event.args is None else event.args
            wire.add(builder.call(event.name or event.tool_name, event.tool_call_id or event.call_id, arguments))
        case "tool.result":
            _result(builder, event, wire)
        case "step.end":
            _step_end(builder, event, wire)
        case _:
            wire.add(builder.unknown({"type": row.type, "event": event.type}))


def _result(builder: RecordBuilder, event: LoopEvent, wire: Wire) -> None:
    result = event.result if isinstance(event.result, dict) else {"output": event.result}
    record = builder.result(event.tool_call_id or event.call_id, result.get("output"))
    record.failed = bool(result.get("isError"))
    record.exit_code = exit_code_of(record.text) if record.failed else None
    wire.add(record)
    if record.text.startswith("agent_id: "):
        root = wire.session.partition("/")[0]
        for spawned in SPAWNED.finditer(record.text):
            wire.add(SessionMetadata(session=f"{root}/{spawned[1]}", parent=root, parent_call=record.call))


def _step_end(builder: RecordBuilder, event: LoopEvent, wire: Wire) -> None:
    wire.add_usage(usage_of(event.usage))
    if event.finish_reason in FINAL and not wire.end_turn():
        wire.add(builder.record(Kind.RUNTIME, event.finish_reason or "", stop=Stop.OTHER))
    else:
        wire.add(Ignored("step.end"))


def _usage(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    if row.usage_scope != "turn":
        wire.usage = usage_of(row.usage)
    wire.add(Ignored(row.type))


def _compaction(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    wire.add(builder.record(Kind.COMPACTION, text_of(row.summary), usage=wire.usage))
    wire.usage = None


# ---- ends of turns


def _cancel(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    wire.interrupt(builder.record(Kind.RUNTIME, row.type, stop=Stop.INTERRUPT))


def _ended(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    stop = ENDS.get(row.reason or "")
    if wire.stopped or (stop is None and wire.end_turn()):
        wire.add(Ignored(row.type))
    else:
        end = builder.record(Kind.RUNTIME, row.reason or row.type, stop=stop or Stop.OTHER, failed=stop is Stop.CRASH)
        wire.interrupt(end)


def _approval(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    decision = row.result.get("decision") if isinstance(row.result, dict) else None
    if decision == "approved":
        wire.add(Ignored(row.type))
    else:
        wire.add(builder.record(Kind.RUNTIME, f"{decision}: {as_text(row.action) or as_text(row.tool_name)}"))


def _goal(builder: RecordBuilder, row: Row, wire: Wire) -> None:
    wire.add(builder.record(Kind.RUNTIME, text_of(row.objective)))


IGNORED = {
    "context.clear",
    "context.undo",
    "full_compaction.begin",
    "full_compaction.cancel",
    "full_compaction.complete",
    "goal.clear",
    "goal.update",
    "llm.tools_snapshot",
    "mcp.tools_discovered",
    "metadata",
    "micro_compaction.apply",
    "permission.set_mode",
    "plan_mode.cancel",
    "plan_mode.enter",
    "plan_mode.exit",
    "plugin.session_start",
    "runtime.set_binding",
    "swarm_mode.enter",
    "swarm_mode.exit",
    "token_counting.measured",
    "token_counting.turn_recorded",
    "tools.register_user_tool",
    "tools.set_active_tools",
    "tools.unregister_user_tool",
    "tools.update_store",
}
READERS: dict[str, Callable[[RecordBuilder, Row, Wire], None]] = {
    "config.update": _settings,
    "profile.bind": _settings,
    "llm.request": _request,
    "turn.prompt": _prompt,
    "turn.steer": _steer,
    "context.append_message": _append_message,
    "context.append_loop_event": _loop_event,
    "usage.record": _usage,
    "context.apply_compaction": _compaction,
    "turn.cancel": _cancel,
    "turn.ended": _ended,
    "permission.record_approval_result": _approval,
    "goal.create": _goal,
}
