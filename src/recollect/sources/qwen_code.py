"""Qwen Code stores one `<session>.jsonl` per session under ~/.qwen/projects/<folder>/chats/.

Evidence: the project's own contract samples and published ones of 0.19 to 0.21; no real session was available.
A record has a frame like Claude Code's; the message in it has Gemini's form. One record is one API answer; a next record
with the same uuid continues it. The person's text is `displayText`; hooks and file references add the other parts of a
prompt. A rewind only names the record after which the history continues, so earlier messages stay. A compression repeats
history; only its summary is new. `/branch` copies records under their uuids into another session's log. A background agent
has a log under subagents/<session>/, with a `.meta.json` that names the call that started it. Early versions wrote Gemini
CLI's document, under ~/.qwen/tmp/<project>/chats/.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank, TurnStart, Usage
from recollect.sources import gemini_cli
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import home
from recollect.sources.formats.json import json_document
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.recognition import marked
from recollect.sources.formats.source import Document, Lines, ReaderState, Source
from recollect.sources.formats.values import as_count, as_object, parse_time, text_or_none
from recollect.sources.gemini_cli.shapes import Header

SESSION = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
TAGGED = ("<qwen:",)
SUMMARY = "<state_snapshot>"
FAILED = {"error", "failed", "cancelled", "canceled"}
NOT_TYPED = {"notification", "cron", "background_task_completed", "goal_runtime"}
NOT_FROM_PERSON = {"system", "goal_control", "goal_runtime"}
STOPS = {"completed": Stop.ANSWER, "cancelled": Stop.INTERRUPT, "error": Stop.CRASH}
BOOKKEEPING = {
    "agent_bootstrap",
    "agent_retry",
    "agent_session_ready",
    "at_command",
    "attribution_snapshot",
    "branch_checkpoint",
    "file_history_snapshot",
    "goal_state",
    "goal_turn_end",
    "rewind",
    "session_approval_mode",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_execution_engine",
    "session_model",
    "session_notes",
    "session_source",
    "session_sources_snapshot",
    "user_text_elements",
}
VARIABLES = ("QWEN_RUNTIME_DIR", "QWEN_HOME")


class ToolCallResult(Struct, rename="camel"):
    call_id: str | None = None
    status: str | None = None
    result_display: Any = None
    error: Any = None


class Content(Struct):
    parts: list[Any] = []


class ForkedFrom(Struct, rename="camel"):
    session_id: str | None = None


class Row(Struct, rename="camel"):
    uuid: str | None = None
    session_id: str | None = None
    timestamp: Any = None
    type: str = ""
    subtype: str | None = None
    provenance: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    message: Content | None = None
    model: str | None = None
    usage_metadata: dict[str, Any] | None = None
    tool_call_result: ToolCallResult | None = None
    system_payload: dict[str, Any] | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    forked_from: ForkedFrom | None = None


class AgentMeta(Struct, rename="camel"):
    agent_id: str | None = None
    description: str | None = None
    parent_session_id: str | None = None
    tool_use_id: str | None = None


class QwenState(ReaderState, kw_only=True):
    parent: str | None = None  # of a background agent or a fork, until it is reported
    uuid: str | None = None  # of the previous record
    event_count: int = 0  # of the previous record


def is_log(path: Path) -> bool:
    return path.parent.name == "chats" or path.parent.parent.name == "subagents"


def recognises(head: Head) -> bool:
    return any(
        row.get("uuid") is not None
        and ("systemPayload" in row or (isinstance(row.get("message"), dict) and "parts" in row["message"]))
        for row in head.objects()
    )


def begin(path: Path, first: list[Any]) -> QwenState:
    row = next((value for value in first if isinstance(value, Row)), Row())
    if row.is_sidechain and row.agent_id and row.session_id:
        return QwenState(session=f"{row.session_id}/agent-{row.agent_id}", parent=row.session_id)
    session = path.stem if SESSION.fullmatch(path.stem) else row.session_id or path.stem
    original = row.forked_from.session_id if row.forked_from else None
    return QwenState(session=session, copies_from=original, parent=original)


def read(line: Line, state: QwenState) -> Iterable[Entry]:
    row: Row = line.value
    builder = RecordBuilder(
        session=state.session,
        key=row.uuid or f"{state.session}@{line.number}",
        at=parse_time(row.timestamp),
        line=line.number,
        model=row.model,
        cwd=row.cwd,
        branch=row.git_branch,
    )
    if row.uuid is not None and row.uuid == state.uuid:
        builder.count = state.event_count
    reader = READERS.get(row.type)
    entries: list[Entry] = list(reader(builder, row)) if reader else [builder.unknown(line.raw.decode("utf-8", "replace"))]
    state.uuid, state.event_count = row.uuid, builder.count
    if state.parent is not None:
        entries.append(SessionMetadata(session=state.session, parent=state.parent, is_fork=state.copies_from is not None))
        state.parent = None
    return entries or [Ignored(f"empty {row.type}")]


# ---- the person's side


def _user(builder: RecordBuilder, row: Row) -> Iterator[Entry]:
    typed, added = _prompt_parts(row)
    if row.subtype in NOT_TYPED or row.provenance in NOT_FROM_PERSON:
        yield builder.record(Kind.SYSTEM, "\n\n".join([typed, *added]).strip())
        return
    if typed.strip():
        opens = TurnStart.NO if row.subtype == "mid_turn_user_message" else TurnStart.PROMPT
        yield builder.record(Kind.USER_INPUT, typed, opens=opens)
    for text in added:
        yield builder.record(Kind.SYSTEM, text)


def _prompt_parts(row: Row) -> tuple[str, list[str]]:
    """The text that the person typed, and the texts that were added to it."""
    texts = [text for part in _parts(row) if (text := gemini_cli.part_text(part)).strip()]
    display_text = row.system_payload.get("displayText") if row.system_payload else None
    return gemini_cli.split_added(texts, display_text if isinstance(display_text, str) else "", TAGGED)


def _parts(row: Row) -> list[Any]:
    return row.message.parts if row.message else []


# ---- the agent's side


def _assistant(builder: RecordBuilder, row: Row) -> Iterator[Record]:
    builder.usage = _usage(row.usage_metadata)
    parts = _parts(row)
    records = [record for part in parts for record in _agent_part(builder, part)]
    answers = [record for record in records if record.kind is Kind.ASSISTANT_RESPONSE]
    if answers and not any(record.kind is Kind.TOOL_CALL for record in records):
        answers[-1].stop = Stop.ANSWER
    yield from records


def _agent_part(builder: RecordBuilder, part: Any) -> Iterator[Record]:
    match part:
        case {"functionCall": dict(call)}:
            yield builder.call(text_or_none(call.get("name")), text_or_none(call.get("id")), call.get("args"))
        case {"text": str(text), "thought": True}:
            yield builder.record(Kind.REASONING, text)
        case {"text": str(text)}:
            if text.strip():
                yield builder.record(Kind.ASSISTANT_RESPONSE, text)
        case {"inlineData": _} | {"fileData": _}:
            yield builder.record(Kind.ASSISTANT_RESPONSE, gemini_cli.part_text(part))
        case _:
            yield builder.unknown(part)


def _usage(counts: dict[str, Any] | None) -> Usage | None:
    """The tokens of an answer. Google does not count thoughts as output, all others do; the total shows which case it is."""
    if not counts:
        return None
    cached, thoughts = as_count(counts.get("cachedContentTokenCount")), as_count(counts.get("thoughtsTokenCount"))
    prompt, answer = as_count(counts.get("promptTokenCount")), as_count(counts.get("candidatesTokenCount"))
    are_thoughts_separate = prompt + answer + thoughts <= as_count(counts.get("totalTokenCount"))
    return Usage(
        input=max(prompt - cached, 0),
        output=answer + thoughts if are_thoughts_separate else max(answer, thoughts),
        cache_read=cached,
        reasoning=thoughts,
    )


def _tool_result(builder: RecordBuilder, row: Row) -> Iterator[Record]:
    result = row.tool_call_result or ToolCallResult()
    responses = [part["functionResponse"] for part in _parts(row) if isinstance(part, dict) and "functionResponse" in part]
    for response in responses or [None]:
        fields = as_object(response)
        response_id = text_or_none(fields.get("id"))
        call = response_id if len(responses) > 1 and response_id else result.call_id or response_id or row.uuid
        output = fields.get("response")
        failed = result.status in FAILED or bool(result.error) or (isinstance(output, dict) and "error" in output)
        record = builder.result(call, output or result.result_display, tool=text_or_none(fields.get("name")), failed=failed)
        code = gemini_cli.EXIT_CODE.search(record.text)
        record.exit_code = int(code[1]) if code else None
        yield record


# ---- system records


def _system(builder: RecordBuilder, row: Row) -> Iterator[Entry]:
    payload = row.system_payload or {}
    match row.subtype:
        case "custom_title":
            rank = TitleRank.GENERATED if payload.get("titleSource") == "auto" else TitleRank.CUSTOM
            yield SessionMetadata(session=builder.session, title=text_or_none(payload.get("customTitle")), title_rank=rank)
        case "parent_session":
            yield SessionMetadata(session=builder.session, parent=text_or_none(payload.get("parentSessionId")))
        case "chat_compression":
            yield builder.record(Kind.COMPACTION, _summary(payload.get("compressedHistory")))
        case "slash_command":
            yield from _slash_command(builder, payload)
        case "turn_result":
            stop = STOPS.get(str(payload.get("state")), Stop.OTHER)
            text = text_of(payload.get("error")) or str(payload.get("state"))
            yield builder.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH)
        case "ui_telemetry":
            yield from _telemetry(builder, payload.get("uiEvent"))
        case subtype if subtype in BOOKKEEPING:
            yield Ignored(subtype or "system")
        case _:
            yield builder.unknown({"subtype": row.subtype, "systemPayload": payload})


def _summary(history: Any) -> str:
    """The summary in a compressed history. Its other contents are copies."""
    contents = history if isinstance(history, list) else []
    texts = (text_of(content.get("parts")) for content in contents if isinstance(content, dict))
    return next((text for text in texts if SUMMARY in text), "")


def _slash_command(builder: RecordBuilder, payload: dict[str, Any]) -> Iterator[Record]:
    if payload.get("phase") == "result":
        yield builder.record(Kind.RUNTIME, text_of(payload.get("outputHistoryItems")))
    else:
        yield builder.record(Kind.USER_INPUT, text_of(payload.get("rawCommand")), opens=TurnStart.COMMAND)


def _telemetry(builder: RecordBuilder, event: Any) -> Iterator[Entry]:
    """Telemetry repeats other records, except API errors, which are recorded nowhere else."""
    if isinstance(event, dict) and str(event.get("event.name")).endswith("api_error"):
        error = text_of(event.get("error_message") or event.get("error"))
        yield builder.record(Kind.RUNTIME, error, stop=Stop.CRASH, failed=True)
    else:
        yield Ignored("ui_telemetry")


READERS = {"user": _user, "assistant": _assistant, "tool_result": _tool_result, "system": _system}


# ---- files next to the logs


def read_meta(path: Path, meta: AgentMeta) -> Iterator[Entry]:
    if meta.agent_id and meta.parent_session_id:
        yield SessionMetadata(
            session=f"{meta.parent_session_id}/agent-{meta.agent_id}",
            title=meta.description,
            title_rank=TitleRank.GENERATED,
            parent=meta.parent_session_id,
            parent_call=meta.tool_use_id,
        )


SOURCE = Source(
    name="qwen-code",
    title="Qwen Code",
    formats=(
        Lines(
            homes=home(VARIABLES, ".qwen", "projects"),
            endings=(".jsonl",),
            is_log=is_log,
            shape=Row,
            state=QwenState,
            begin=begin,
            read=read,
            recognises=recognises,
        ),
        Document(
            homes=home(VARIABLES, ".qwen", "projects"),
            endings=(".meta.json",),
            recognises=marked("agentId", "agentType", "parentSessionId"),
            load=json_document(AgentMeta),
            read=read_meta,
        ),
        Document(
            homes=home(VARIABLES, ".qwen", "tmp"),
            endings=(".json",),
            is_log=gemini_cli.is_log,
            recognises=gemini_cli.is_qwen_code,
            load=json_document(Header),
            read=gemini_cli.read_document,
        ),
    ),
)
