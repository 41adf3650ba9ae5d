"""GitHub Copilot CLI keeps one `events.jsonl` per session under ~/.copilot/session-state/<session>/.

Evidence: 1 real session of 1.0.72 (634 records), 3 real ones of 0.0.354 with their paths scrubbed, published samples of
other versions, and the event schema of its SDK.
Before 1.0 the log was `session-state/<session>.jsonl`; before 0.0.343, one JSON document in `history-session-state/`. A
session resumed from such a document continues in a log that copies it, so here the document is a separate session.
`turn_start` and `turn_end` enclose one model call, not a turn. A tool call is written twice: as a request in the answer and
as the start of its execution, in either order. "User" messages with a `source` are injected; those delivered by `steering`
reached a working agent. A sub-agent's records are in its parent's log, marked with the call that started it or, since 1.0,
with the agent's id; the record that repeats its task may have no mark. `workspace.yaml` next to the log has the session's
name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.copilot_cli.shapes import CopilotState, Row, ToolRequest
from recollect.sources.copilot_cli.usage import answer_usage, shutdown_model, shutdown_usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.json import json_document, read_text
from recollect.sources.formats.message import RecordBuilder, read_chat_message, text_of
from recollect.sources.formats.source import Document, Lines, Source
from recollect.sources.formats.values import UUID, arguments_of, as_object, parse_time, text_or_none

EXIT_CODE = re.compile(r"exit(?:ed with)? (?:exit )?code (\d{1,9})>?\s*$")
FLAT_KEY = re.compile(r"^(\w+):[ \t]*(.*?)[ \t]*\n", re.MULTILINE)  # a complete line
BLOCK = re.compile(r"[|>][-+]?")  # YAML: the value is on the following lines
MAX_OPEN_CALLS = 256  # tool calls without a result that are remembered
MAX_OPEN_TASKS = 16  # calls that may start a sub-agent: in the background it starts after its call has ended
BOOKKEEPING = re.compile(
    r"hook\.|permission\.|assistant\.(turn_start|turn_end|intent|idle|usage|fusion|message_start|\w+_delta)|model\.|canvas|mcp"
    r"|commands?\."
    r"|user_input\.|elicitation\.|sampling\.|exit_plan_mode\.|auto_mode|external_tool\.|subagent\.(selected|deselected|configured)"
    r"|tool\.(execution_progress|execution_partial_result|search)|session\.(usage|truncation|compaction_start|plan_changed"
    r"|mode|todos|permissions|workspace_file|snapshot|idle|auto_mode|background|tools|skills|mcp|custom_agents|extensions"
    r"|remote|schedule|limits|managed|binary|autopilot|fusion|factory|context_cleared)"
)


class History(Struct, rename="camel"):
    """A session before 0.0.343."""

    session_id: str
    chat_messages: list[dict[str, Any]]
    start_time: Any = None


# ---- homes and recognition


def homes(env: Mapping[str, str]) -> list[Path]:
    return [root / "session-state" for root in _roots(env)]


def history_homes(env: Mapping[str, str]) -> list[Path]:
    return [root / "history-session-state" for root in _roots(env)]


def _roots(env: Mapping[str, str]) -> list[Path]:
    if env.get("COPILOT_HOME"):
        return [Path(env["COPILOT_HOME"])]
    state = [Path(env["XDG_STATE_HOME"]) / ".copilot"] if env.get("XDG_STATE_HOME") else []
    return [user_home(env) / ".copilot", *state]


def is_log(path: Path) -> bool:
    return path.name == "events.jsonl" or path.parent.name == "session-state"


def recognises(head: Head) -> bool:
    return any(str(row.get("type")).startswith("session.") and _is_event(row) for row in head.objects()) or (
        _is_event(head.first()) and str(head.first().get("type")).startswith(("user.", "assistant.", "tool.", "hook."))
    )


def _is_event(row: dict[str, Any]) -> bool:
    return isinstance(row.get("data"), dict) and "parentId" in row


def begin(path: Path, first: list[Any]) -> CopilotState:
    """The state to start with. The session's id is in the log's name, else in its first record."""
    name = path.parent.name if path.name == "events.jsonl" else path.stem
    ids = (row.data.session_id for row in first if isinstance(row, Row) and row.type == "session.start")
    id_inside = next((session for session in ids if isinstance(session, str) and session), None)
    id_in_name = UUID.search(name)
    return CopilotState(session=id_in_name[0] if id_in_name else id_inside or name)


# ---- events


def read(line: Line, state: CopilotState) -> Iterable[Entry]:
    row: Row = line.value
    session = _session_of(row, state)
    key = row.id if row.id and UUID.fullmatch(row.id) else f"{session}/{row.id}" if row.id else f"{session}@{line.offset}"
    builder = RecordBuilder(session=session, key=key, at=parse_time(row.timestamp), line=line.number)
    builder.usage = answer_usage(row.data, state)
    builder.model = text_or_none(row.data.model) or (state.model if session == state.session else None)
    reader = READERS.get(row.type)
    if reader is not None:
        return list(reader(builder, row, state)) or [Ignored(f"empty {row.type}")]
    if BOOKKEEPING.match(row.type):
        return [Ignored(row.type)]
    return [builder.unknown(line.raw.decode("utf-8", "replace"))]


def _session_of(row: Row, state: CopilotState) -> str:
    """The record's session: a sub-agent's session is named after the call that started it."""
    call = row.data.parent_tool_call_id or state.agents.get(row.agent or "") or row.agent
    return f"{state.session}/{call}" if call else state.session


def _start(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    context = as_object(row.data.context)
    location = context if context else {"cwd": row.data.cwd, "branch": row.data.branch}
    model = text_or_none(row.data.selected_model) or text_or_none(row.data.new_model)
    state.model = model or state.model
    folder, branch = text_or_none(location.get("cwd")), text_or_none(location.get("branch"))
    state.folder, state.branch = folder or state.folder, branch or state.branch
    yield SessionMetadata(session=state.session, cwd=folder, branch=branch, model=model, at=builder.at)


def _title(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    yield SessionMetadata(session=state.session, title=text_or_none(row.data.title), title_rank=TitleRank.GENERATED)


def _user(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    data = row.data
    text = text_of(data.content).strip() or _attachment_names(data.attachments)
    if repeated := next((call for call, task in state.assigned.items() if task == text), None):
        del state.assigned[repeated]
        yield Ignored("a sub-agent's task again")
    elif not text or (data.source not in (None, "", "user") and not _is_from_parent(builder, data.source, state)):
        if injected := text or text_of(data.transformed_content).strip():
            yield builder.record(Kind.SYSTEM, injected)
    elif data.delivery == "steering":
        yield builder.record(Kind.USER_INPUT, text)
    else:
        yield builder.prompt(text)


def _is_from_parent(builder: RecordBuilder, source: Any, state: CopilotState) -> bool:
    """Whether a message to a sub-agent comes from the agent that started it."""
    return builder.session != state.session and str(source).startswith("agent-")


def _attachment_names(attachments: Any) -> str:
    items = [item for item in attachments if isinstance(item, dict)] if isinstance(attachments, list) else []
    return "\n".join(f"[{item.get('displayName') or item.get('path') or item.get('type')}]" for item in items)


def _answer(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    data = row.data
    if (thought := text_of(data.reasoning_text).strip()) and thought != state.thought:
        yield builder.record(Kind.REASONING, thought)
    state.thought = ""
    if text := text_of(data.content).strip():
        ended = not data.tool_requests and data.phase != "commentary"
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER if ended else None)
    for request in data.tool_requests or []:
        yield from _call(builder, request, state)
    if builder.usage:  # an answer without text in the log used tokens too
        yield _usage_record(builder, "an answer without words")


def _usage_record(builder: RecordBuilder, text: str, stop: Stop | None = None) -> Record:
    """A runtime record with the message's tokens."""
    record = builder.record(Kind.RUNTIME, text, stop=stop)
    record.usage, builder.usage = builder.usage, None
    return record


def _shutdown(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    builder.usage = shutdown_usage(row.data, state)
    if model := shutdown_model(row.data):
        yield SessionMetadata(session=state.session, model=model)
    yield _usage_record(builder, text_of(row.data.reason) or row.type, Stop.EXIT)


def _call(builder: RecordBuilder, request: ToolRequest, state: CopilotState) -> Iterator[Entry]:
    """A tool call, unless it was already read."""
    call = request.tool_call_id
    if call in state.calls:
        yield Ignored("a tool call again")
        return
    if call:
        state.calls = [*state.calls[1 - MAX_OPEN_CALLS :], call]
        if task := text_or_none(arguments_of(request.arguments).get("prompt")):
            state.tasks = dict([*list(state.tasks.items())[1 - MAX_OPEN_TASKS :], (call, task)])
    yield builder.call(request.name, call, request.arguments)


def _execution(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    yield from _call(builder, ToolRequest(row.data.tool_call_id, row.data.tool_name, row.data.arguments), state)


def _result(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    data = row.data
    call = data.tool_call_id
    state.calls = [other for other in state.calls if other != call]
    output = text_of(data.result) or text_of(data.error)
    code = EXIT_CODE.search(output[-100:])
    yield builder.result(call, output, failed=data.success is False, exit_code=int(code[1]) if code else None)


def _thought(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    state.thought = text_of(row.data.content).strip()
    if state.thought:
        yield builder.record(Kind.REASONING, state.thought)


def _agent_started(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    call = row.data.tool_call_id or row.agent
    if not call:
        return
    if row.agent:
        state.agents[row.agent] = call
    builder.session = f"{state.session}/{call}"
    yield SessionMetadata(
        session=builder.session, parent=state.session, parent_call=call, cwd=state.folder, branch=state.branch
    )
    if task := state.tasks.pop(call, None):
        state.assigned[call] = task.strip()
        yield builder.prompt(task)


def _agent_ended(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    call = row.data.tool_call_id or state.agents.get(row.agent or "")
    if call:
        state.agents = {agent: parent_call for agent, parent_call in state.agents.items() if parent_call != call}
        state.assigned.pop(call, None)
        builder.session = f"{state.session}/{call}"
        if model := text_or_none(row.data.model):
            yield SessionMetadata(session=builder.session, model=model)
        failed = row.type == "subagent.failed"
        text = text_of(row.data.error) or row.type
        yield builder.record(Kind.RUNTIME, text, stop=Stop.CRASH if failed else Stop.ANSWER, failed=failed)


def _compaction(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
    summary = text_of(row.data.summary_content)
    if row.data.success is False or not summary:
        yield builder.record(Kind.RUNTIME, text_of(row.data.error) or row.type, failed=row.data.success is False)
    else:
        yield builder.record(Kind.COMPACTION, summary)


Reader = Callable[[RecordBuilder, Row, CopilotState], Iterator[Entry]]


def text_reader(kind: Kind, stop: Stop | None = None, *, failed: bool = False) -> Reader:
    """A reader of events that have only a text."""

    def reader(builder: RecordBuilder, row: Row, state: CopilotState) -> Iterator[Entry]:
        data = row.data
        text = next((text for text in (data.content, data.message, data.reason, data.summary) if text), row.type)
        yield builder.record(kind, text_of(text), stop=stop, failed=failed)

    return reader


READERS: dict[str, Reader] = {
    "session.start": _start,
    "session.resume": _start,
    "session.context_changed": _start,
    "session.model_change": _start,
    "session.title_changed": _title,
    "session.info": text_reader(Kind.RUNTIME),
    "session.warning": text_reader(Kind.RUNTIME),
    "session.handoff": text_reader(Kind.SYSTEM),
    "session.error": text_reader(Kind.RUNTIME, Stop.CRASH, failed=True),
    "session.shutdown": _shutdown,
    "session.task_complete": text_reader(Kind.RUNTIME, Stop.ANSWER),
    "session.compaction_complete": _compaction,
    "abort": text_reader(Kind.RUNTIME, Stop.INTERRUPT),
    "system.message": text_reader(Kind.SYSTEM),
    "system.notification": text_reader(Kind.SYSTEM),
    "skill.invoked": text_reader(Kind.SYSTEM),
    "user.message": _user,
    "assistant.message": _answer,
    "assistant.reasoning": _thought,
    "tool.user_requested": _execution,
    "tool.execution_start": _execution,
    "tool.execution_complete": _result,
    "subagent.started": _agent_started,
    "subagent.completed": _agent_ended,
    "subagent.failed": _agent_ended,
}


# ---- other files and older formats


def is_workspace(head: Head) -> bool:
    return head.path.name == "workspace.yaml" and {"id", "cwd"} <= {key for key, _ in FLAT_KEY.findall(head.text)}


def read_workspace(path: Path, content: str) -> Iterator[Entry]:
    """The session's name and folder. Only the flat keys of the YAML are read."""
    fields = {key: value.strip("\"'") for key, value in FLAT_KEY.findall(content)}
    id_in_path = UUID.search(path.parent.name)
    session = id_in_path[0] if id_in_path else fields.get("id")
    if session:
        title = _yaml_value(content, "name") or _yaml_value(content, "summary")
        rank = TitleRank.CUSTOM if fields.get("user_named") == "true" else TitleRank.GENERATED
        yield SessionMetadata(
            session=session, title=title, title_rank=rank, cwd=fields.get("cwd") or None, branch=fields.get("branch") or None
        )


def _yaml_value(content: str, key: str) -> str | None:
    """The value of a key, which may be on the following lines."""
    entry = re.search(rf"^{key}:[ \t]*(.*)\n((?:[ \t]+.*\n)*)", content, re.MULTILINE)
    if entry is None:
        return None
    value = entry[2] if BLOCK.fullmatch(entry[1].strip()) else entry[1]
    return value.strip().strip("\"'") or None


def is_history(head: Head) -> bool:
    first = head.first()
    return isinstance(first.get("sessionId"), str) and isinstance(first.get("chatMessages"), list)


def read_history(path: Path, history: History) -> Iterator[Record]:
    session = f"history/{history.session_id}"
    at = parse_time(history.start_time)
    for place, message in enumerate(history.chat_messages, 1):
        builder = RecordBuilder(session=session, key=f"{session}@{place}", at=at if place == 1 else None, line=place)
        yield from read_chat_message(builder, message)


SOURCE = Source(
    name="copilot-cli",
    title="GitHub Copilot CLI",
    formats=(
        Lines(
            homes=homes,
            endings=(".jsonl",),
            is_log=is_log,
            recognises=recognises,
            shape=Row,
            state=CopilotState,
            begin=begin,
            read=read,
        ),
        Document(homes=homes, endings=("workspace.yaml",), recognises=is_workspace, load=read_text, read=read_workspace),
        Document(
            homes=history_homes, endings=(".json",), recognises=is_history, load=json_document(History), read=read_history
        ),
    ),
    real_sessions=4,
)
