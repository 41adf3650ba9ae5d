"""Codex keeps one `rollout-<time>-<id>.jsonl` per session under ~/.codex/sessions/YYYY/MM/DD/; cold ones become `.zst`.

Evidence: 77 real sessions of versions 0.118 to 0.144, and published samples from before 0.42 and of 0.146.
Most messages are written twice: as a response item (what the model saw) and as an event (what was shown). Of a prompt, the
item comes first; of an answer, the event; either may be missing. So the first of the two is stored, and the second, its
"twin", is ignored. A record's key is its line's offset: rollouts only grow. `task_started` and `task_complete` bound the
turns; a second prompt between them steers. A forked session begins with its parent's complete history, with new times
within milliseconds. Token counts are running totals, which a fork inherits from its parent.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from recollect.model import Entry, Ignored, SessionMetadata, TitleRank
from recollect.sources.codex import event_shapes, item_shapes, messages, shapes, tools, turns
from recollect.sources.codex.shapes import Envelope
from recollect.sources.codex.state import LOG, CodexState, at, decode_shape, runtime, unknown
from recollect.sources.codex.titles import Naming
from recollect.sources.codex.titles import read as read_titles
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import home
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.recognition import marked
from recollect.sources.formats.source import Document, Lines, Source
from recollect.sources.formats.values import UUID, parse_iso_time

COPY_GAP = 1000  # milliseconds: copied history is written without a pause, the next prompt comes later
NOTICES = {"deprecation_notice", "guardian_warning", "model_reroute", "stream_error", "undo_completed", "warning"}
QUIET = {
    "account/rateLimits/updated", "additional_tools", "agent_reasoning_section_break", "background_event",
    "codex/event/raw_item", "collab_agent_interaction_end", "collab_close_end", "collab_resume_end",
    "collab_waiting_end", "compaction", "compaction_summary", "compaction_trigger", "context_compaction",
    "ghost_snapshot", "guardian_assessment", "hook_completed", "inter_agent_communication_metadata",
    "mcp_startup_complete", "mcp_startup_update", "other", "plan_update", "raw_response_item", "security_risk_score",
    "session_configured", "shutdown_complete", "sub_agent_activity", "terminal_interaction", "thread_settings_applied",
    "token_usage_record", "turn_diff", "turn_moderation_metadata", "world_state",
}  # fmt: skip
BODY = {
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
}  # a rollout begins with one of these only if its start was lost
QUIET_ENDINGS = ("_begin", "_delta", "_request", "_started")


# ---- recognition and sessions


def begin(path: Path, first: list[Any]) -> CodexState:
    metas = [meta for meta in map(_meta, first) if meta]
    thread = next((meta.id for meta in metas if meta.id), None) or _header_id(first) or _id_in_name(path)
    copied = metas[0].forked_from_id if metas else None
    if len(first) > 1 and (second := _meta(first[1])) and second.id != thread:
        copied = copied or second.id
    lost_start = bool(first) and isinstance(first[0], Envelope) and first[0].type in BODY
    return CodexState(session=thread, thread=thread, copies_from=copied, continues=lost_start)


def _meta(value: Any) -> shapes.SessionMeta | None:
    if not isinstance(value, Envelope) or value.type != "session_meta":
        return None
    meta: shapes.SessionMeta | None = decode_shape(shapes.SESSION_META, value.payload)
    return meta


def _header_id(first: list[Any]) -> str | None:
    """The session's id in the first line of the oldest rollouts: `{"id", "timestamp", "instructions"}` without a type."""
    head = first[0] if first else None
    return head.id if isinstance(head, Envelope) and _is_header(head) else None


def _is_header(value: Envelope) -> bool:
    return value.type is None and isinstance(value.id, str) and value.instructions != shapes.NOTHING


def _id_in_name(path: Path) -> str:
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl")
    uuid = UUID.search(stem)
    return uuid.group() if uuid else stem


def recognises(head: Head) -> bool:
    return any(
        (str(row.get("type")) in READERS and isinstance(row.get("payload"), dict))
        or row.get("record_type") == "state"
        or ("type" not in row and isinstance(row.get("id"), str) and "instructions" in row)
        for row in head.objects()
    )


# ---- one line


def read(line: Line, state: CodexState) -> list[Entry]:
    value = line.value
    if not isinstance(value, Envelope):
        return unknown(line, state)
    if value.type == "session_meta":
        return _session_meta(value, line, state)
    if state.copying and not _is_own(value, state):
        return [Ignored("copied history")]
    state.copying, state.begun = False, True
    return READERS.get(value.type or "", _flat)(value, line, state)


def _item(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    part = decode_shape(item_shapes.ITEM, value.payload)
    return _read_unshaped(value.payload, line, state) if part is None else PART_READERS[type(part)](part, line, state)


def _event(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    part = decode_shape(event_shapes.EVENT, value.payload)
    return _read_unshaped(value.payload, line, state) if part is None else PART_READERS[type(part)](part, line, state)


def _inter_agent_communication(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    part = decode_shape(INTER_AGENT, value.payload)
    return unknown(line, state) if part is None else messages.inter_agent(part, line, state, LOG)


def _flat(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    """Reads a line without an envelope, as in the oldest rollouts, or a line of an unknown type."""
    if value.record_type == "state":
        return [Ignored("state")]
    if _is_header(value):
        return [_session_metadata(decode_shape(shapes.SESSION_META, line.raw) or shapes.SessionMeta(), value, state)]
    part = decode_shape(item_shapes.ITEM, line.raw) or decode_shape(event_shapes.EVENT, line.raw)
    return _read_unshaped(line.raw, line, state) if part is None else PART_READERS[type(part)](part, line, state)


def _read_unshaped(raw: Raw | bytes, line: Line, state: CodexState) -> list[Entry]:
    """Reads a record without a type, or of a type without a declared shape."""
    loose: shapes.LooseRecord | None = decode_shape(shapes.LOOSE_RECORD, raw)
    if loose is None:
        return unknown(line, state)
    if loose.type is None:
        decoder = _decoder_for(loose)
        part = decoder and decode_shape(decoder, raw)
        return PART_READERS[type(part)](part, line, state) if part else unknown(line, state)
    if loose.type in NOTICES:
        notice = next((text for text in (loose.message, loose.summary, loose.text) if isinstance(text, str)), "")
        return runtime(line, state, f"{loose.type.replace('_', ' ')}: {notice}".removesuffix(": "))
    if loose.type in QUIET or loose.type.endswith(QUIET_ENDINGS):
        return [Ignored(loose.type.replace("_", " "))]
    return unknown(line, state)


def _decoder_for(loose: shapes.LooseRecord) -> "msgspec.json.Decoder[Any] | None":
    if loose.role:
        return MESSAGE
    if loose.output != shapes.NOTHING:
        return OUTPUT
    return FUNCTION_CALL if loose.name else None


# ---- the session and its forks


def _session_meta(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    meta = _meta(value)
    if meta is None:
        return unknown(line, state)
    if meta.id is not None and meta.id != state.thread:
        state.copying = state.copying or not state.begun
        return [Ignored("copied history" if state.copying else "another session's header")]
    if not state.begun and state.copied_at is None:
        state.copied_at, state.own_from = at(value), meta.subagent_history_start_ordinal
        state.forked = meta.forked_from_id is not None
        refers_to_history = meta.history_base not in (shapes.NOTHING, shapes.NULL)
        state.copying = state.own_from is not None or (state.forked and not refers_to_history)
    return [_session_metadata(meta, value, state)]


def _session_metadata(meta: shapes.SessionMeta, value: Envelope, state: CodexState) -> SessionMetadata:
    state.cwd = meta.cwd
    state.born_at = state.born_at or parse_iso_time(meta.timestamp) or at(value)
    spawned_by = meta.parent_thread_id or _spawned_by(meta.source)
    parent = spawned_by or meta.forked_from_id
    return SessionMetadata(
        session=state.session,
        parent=parent if parent != state.thread else None,
        is_fork=spawned_by is None and not _is_sub_agent(meta.source),
        cwd=meta.cwd,
        branch=meta.git.branch if meta.git else None,
        at=parse_iso_time(meta.timestamp) or at(value),
    )


def _is_sub_agent(source: Any) -> bool:
    return isinstance(source, dict) and "subagent" in source


def _spawned_by(source: Any) -> str | None:
    match source:
        case {"subagent": {"thread_spawn": {"parent_thread_id": str(parent)}}}:
            return parent
        case _:
            return None


def _is_own(value: Envelope, state: CodexState) -> bool:
    """Whether a line belongs to the fork itself: the copied history ends before it.

    The log may give the ordinal of its first own line. Otherwise ids decide: turns and sessions have UUIDs of version 7,
    which begin with the time, and a parent's turns are older than the fork. Without such ids, a pause decides.
    """
    copied: shapes.CopiedRecord = decode_shape(shapes.COPIED_RECORD, value.payload) or shapes.CopiedRecord()
    if state.own_from is not None and isinstance(value.ordinal, int):
        own = value.ordinal >= state.own_from
    elif _begins_turn(value, copied) and _is_timed(copied.turn_id) and _is_timed(state.thread):
        state.copied_turns = True
        own = str(copied.turn_id)[:13] >= state.thread[:13]
    else:
        own = _after_pause(at(value), state)
    if not own and copied.type == "token_count":
        turns.count_new_tokens(copied.info, state)
    return own


def _begins_turn(value: Envelope, copied: shapes.CopiedRecord) -> bool:
    return value.type == "turn_context" or copied.type in ("task_started", "turn_started")


def _after_pause(when: int | None, state: CodexState) -> bool:
    """Whether this time comes after a pause in the copied history."""
    before = state.copied_at
    if when is None or before is None:
        state.copied_at = before or when
        return False
    state.copied_at = max(when, before)
    return when - before > COPY_GAP and not state.copied_turns


def _is_timed(uuid: str | None) -> bool:
    """Whether an id is a UUID of version 7, which begins with the time."""
    return uuid is not None and len(uuid) == 36 and uuid[14] == "7"


def _turn_context(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    context: shapes.TurnContext | None = decode_shape(shapes.TURN_CONTEXT, value.payload)
    if context is None:
        return unknown(line, state)
    before = state.cwd, state.model
    state.cwd, state.model = context.cwd or state.cwd, context.model or state.model
    if before == (state.cwd, state.model):
        return [Ignored("turn boundary")]
    return [SessionMetadata(session=state.session, cwd=state.cwd, model=state.model, at=at(value))]


def _thread_name(part: event_shapes.ThreadNameUpdated, line: Line, state: CodexState) -> list[Entry]:
    session = state.session if part.thread_id in (None, state.thread) else part.thread_id
    return [SessionMetadata(session=session, title=part.thread_name, title_rank=TitleRank.CUSTOM, at=at(line.value))]


# ---- readers by record type


def _item_completed(part: event_shapes.ItemCompleted, line: Line, state: CodexState) -> list[Entry]:
    item = decode_shape(event_shapes.TURN_ITEM, part.item)
    return [Ignored("turn item")] if item is None else PART_READERS[type(item)](item, line, state)


READERS: dict[str, Callable[[Envelope, Line, CodexState], list[Entry]]] = {
    "session_meta": _session_meta,
    "turn_context": _turn_context,
    "response_item": _item,
    "event_msg": _event,
    "compacted": turns.compacted,
    "inter_agent_communication": _inter_agent_communication,
}
PART_READERS: dict[type, Callable[[Any, Line, CodexState], list[Entry]]] = {
    item_shapes.Message: messages.message,
    item_shapes.InterAgentMessage: messages.inter_agent,
    item_shapes.Reasoning: messages.reasoning,
    item_shapes.FunctionCall: tools.function_call,
    item_shapes.ToolCall: tools.function_call,
    item_shapes.CustomToolCall: tools.custom_tool_call,
    item_shapes.LocalShellCall: tools.local_shell_call,
    item_shapes.WebSearchCall: tools.web_search_call,
    item_shapes.ToolSearchCall: tools.tool_search_call,
    item_shapes.ImageGenerationCall: tools.image_generation_call,
    item_shapes.FunctionCallOutput: tools.function_call_output,
    item_shapes.CustomToolCallOutput: tools.function_call_output,
    item_shapes.LocalShellCallOutput: tools.function_call_output,
    item_shapes.ToolSearchOutput: tools.tool_search_output,
    item_shapes.ToolResult: tools.tool_result,
    item_shapes.FunctionResult: tools.tool_result,
    event_shapes.UserMessage: messages.user_message,
    event_shapes.AgentMessage: messages.agent_message,
    event_shapes.AgentReasoning: messages.agent_reasoning,
    event_shapes.AgentReasoningRaw: messages.agent_reasoning,
    event_shapes.TokenCount: turns.token_count,
    event_shapes.TaskStarted: turns.task_started,
    event_shapes.TurnStarted: turns.task_started,
    event_shapes.TaskComplete: turns.task_complete,
    event_shapes.TurnComplete: turns.task_complete,
    event_shapes.TurnCompleted: turns.task_complete,
    event_shapes.TurnAborted: turns.turn_aborted,
    event_shapes.Error: turns.error,
    event_shapes.ExecCommandEnd: tools.exec_command_end,
    event_shapes.PatchApplyEnd: tools.patch_apply_end,
    event_shapes.McpToolCallEnd: tools.mcp_tool_call_end,
    event_shapes.WebSearchEnd: tools.web_search_end,
    event_shapes.ImageGenerationEnd: tools.image_generation_end,
    event_shapes.ViewImage: tools.view_image,
    event_shapes.DynamicToolRequest: tools.dynamic_tool_request,
    event_shapes.DynamicToolResponse: tools.dynamic_tool_response,
    event_shapes.CollabSpawnEnd: tools.spawn_end,
    event_shapes.ContextCompacted: turns.context_compacted,
    event_shapes.ThreadNameUpdated: _thread_name,
    event_shapes.EnteredReviewMode: turns.entered_review,
    event_shapes.ExitedReviewMode: turns.exited_review,
    event_shapes.ThreadGoalUpdated: turns.goal,
    event_shapes.ThreadRolledBack: turns.rolled_back,
    event_shapes.ItemCompleted: _item_completed,
    event_shapes.UserTurnItem: messages.user_turn_item,
    event_shapes.AgentTurnItem: messages.agent_turn_item,
    event_shapes.PlanTurnItem: messages.plan_turn_item,
    event_shapes.ReasoningTurnItem: messages.reasoning_turn_item,
    event_shapes.CompactionTurnItem: turns.context_compacted,
    event_shapes.CommandTurnItem: tools.exec_command_end,
    event_shapes.FileChangeTurnItem: tools.patch_apply_end,
    event_shapes.SearchTurnItem: tools.web_search_end,
    event_shapes.ExtensionTurnItem: tools.web_search_end,
    event_shapes.McpTurnItem: tools.mcp_turn_item,
}
MESSAGE = msgspec.json.Decoder(item_shapes.Message)
INTER_AGENT = msgspec.json.Decoder(item_shapes.InterAgentMessage)
OUTPUT = msgspec.json.Decoder(item_shapes.FunctionCallOutput)
FUNCTION_CALL = msgspec.json.Decoder(item_shapes.FunctionCall)

SOURCE = Source(
    name="codex",
    title="Codex",
    formats=(
        Lines(
            homes=home("CODEX_HOME", ".codex", "sessions", "archived_sessions"),
            endings=(".jsonl", ".jsonl.zst"),
            shape=Envelope,
            state=CodexState,
            begin=begin,
            read=read,
            recognises=recognises,
        ),
        Document(
            homes=home("CODEX_HOME", ".codex"),
            endings=("session_index.jsonl",),
            recursive=False,
            load=json_lines(Naming),
            read=read_titles,
            recognises=marked("id", "thread_name"),
        ),
    ),
    real_sessions=77,
)
