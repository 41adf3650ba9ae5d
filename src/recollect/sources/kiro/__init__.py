"""Kiro, the CLI and the IDE, has stored sessions in four forms.

- CLI, first engine: `conversations_v2` in ~/.local/share/kiro-cli/data.sqlite3 (or in ~/Library/Application Support).
- CLI, second engine: ~/.kiro/sessions/cli/<id>.jsonl, one message per line; <id>.json has the title and each turn's end.
- Both, third engine: ~/.kiro/sessions/<folder>/sess_<id>/messages.jsonl, one event per line, and session.json.
- IDE, before the third engine: globalStorage/kiro.kiroagent/workspace-sessions/**.json and **.chat.

Evidence: published samples of the first two forms, and public code that reads or writes the others. No real session was
read. The second engine writes a message when it is complete; a message without a tool call ends the turn. Other ends of a
turn, and its tokens (often 0), are only in `<id>.json`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import config, config_homes, data_home, in_home
from recollect.sources.formats.json import json_document, read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Database, Document, Source
from recollect.sources.formats.sqlite import query
from recollect.sources.formats.values import as_count, as_object, parse_time, text_or_none
from recollect.sources.kiro import conversation, ide

ENDS = {"UserTurnEnd": Stop.ANSWER, "ToolUseRejected": Stop.CANCEL, "Error": Stop.CRASH, "Cancelled": Stop.INTERRUPT}
MESSAGES, SESSION = "messages.jsonl", "session.json"
EVENTS = {"user", "assistant", "tool_call", "tool_result", "usage_summary"}
EXIT_CODE = re.compile(r"\d{1,9}$")  # as in "exit status: 2"
CUTS = {"Clear", "ResetTo"}  # earlier messages are no longer sent to the model


class TurnEnd(Struct):
    """The end of a turn, in the file next to a log of the second engine."""

    message_ids: list[str | None] | None = None
    end_reason: str | None = None
    end_timestamp: Any = None
    input_token_count: Any = 0
    output_token_count: Any = 0


class Metadata(Struct):
    user_turn_metadatas: list[TurnEnd] | None = None


class State(Struct):
    conversation_metadata: Metadata | None = None
    rts_model_state: Any = None


class Info(Struct):
    """The file next to a log of the second engine."""

    cwd: str | None = None
    title: str | None = None
    parent_session_id: str | None = None
    session_state: State | None = None


class Block(Struct):
    kind: str | None = None
    data: Any = None


class Message(Struct):
    message_id: str | None = None
    content: list[Block] | None = None
    meta: Any = None
    summary: Any = None


class Row(Struct):
    kind: str | None = None
    data: Message | None = None


class EventInfo(Struct, rename="camel"):
    """The file next to a log of the third engine."""

    title: str | None = None
    model_id: str | None = None
    workspace_paths: list[str] | None = None


class Payload(Struct, rename="camel"):
    type: str | None = None
    content: Any = None
    operation_type: str | None = None
    reasoning_model_id: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    args: Any = None
    success: Any = None


class Event(Struct):
    id: str | None = None
    timestamp: Any = None
    payload: Payload | None = None


# ---- homes and recognition


def cli_homes(env: Mapping[str, str]) -> list[Path]:
    return [data_home(env) / "kiro-cli", *(home / "kiro-cli" for home in config_homes(env)[1:])]


def is_row(row: dict[str, Any]) -> bool:
    return "version" in row and isinstance(row.get("kind"), str) and "data" in row


def is_event(row: dict[str, Any]) -> bool:
    payload = row.get("payload")
    return "type" not in row and "timestamp" in row and isinstance(payload, dict) and str(payload.get("type")) in EVENTS


def recognises_rows(head: Head) -> bool:
    return is_row(head.first()) or {"session_id", "session_state"} <= head.first().keys()


def recognises_events(head: Head) -> bool:
    return is_event(head.first()) or {"workspacePaths", "lastModifiedAt"} <= head.first().keys()


def log_of(path: Path) -> Path | None:
    return path.with_suffix(".jsonl") if path.suffix == ".json" else None


def events_of(path: Path) -> Path | None:
    return path.with_name(MESSAGES) if path.name == SESSION else None


# ---- the second engine


def read_rows(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    session = path.stem
    info = read_sidecar(path.with_suffix(".json"), Info) or Info()
    state = info.session_state or State()
    yield SessionMetadata(
        session=session, title=info.title, title_rank=TitleRank.GENERATED, cwd=info.cwd, parent=info.parent_session_id
    )
    turns: list[list[tuple[str | None, list[Record]]]] = [[]]
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        row = line.value if isinstance(line.value, Row) else Row()
        if row.kind == "Prompt":
            turns.append([])
        message_id = row.data.message_id if row.data else None
        turns[-1].append((message_id, list(_row(_builder(session, line, message_id, _model(state)), row, line))))
    _set_turn_ends(turns, (state.conversation_metadata or Metadata()).user_turn_metadatas or [])
    for turn in turns:
        for _, records in turn:
            yield from records


def _builder(session: str, line: Line, message_id: str | None, model: str | None) -> RecordBuilder:
    key = f"{session}/{message_id}" if message_id else f"{session}@{line.number}"
    return RecordBuilder(session=session, key=key, line=line.number, model=model)


def _model(state: State) -> str | None:
    match state.rts_model_state:
        case {"model_info": {"model_id": str(model)}}:
            return model
        case _:
            return None


def _row(builder: RecordBuilder, row: Row, line: Line) -> Iterator[Record]:
    data = row.data or Message()
    blocks = data.content or []
    if isinstance(data.meta, dict):
        builder.at = parse_time(data.meta.get("timestamp"))
    match row.kind:
        case "Prompt":
            yield builder.prompt("\n\n".join(text for block in blocks if (text := _text(block))))
        case "AssistantMessage":
            yield from _answer(builder, blocks)
        case "ToolResults":
            yield from (_result(builder, block) for block in blocks)
        case "Compaction":
            yield builder.record(Kind.COMPACTION, text_of(data.summary))
        case str(kind) if kind in CUTS:
            yield builder.record(Kind.RUNTIME, kind)
        case _:
            yield builder.unknown(line.raw.decode("utf-8", "replace"))


def _text(block: Block) -> str:
    return f"[{block.kind}]" if block.kind == "image" else text_of(block.data)


def _answer(builder: RecordBuilder, blocks: list[Block]) -> Iterator[Record]:
    has_calls = any(block.kind == "toolUse" for block in blocks)
    for block in blocks:
        data = as_object(block.data)
        match block.kind:
            case "text":
                if text := text_of(block.data).strip():
                    yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=None if has_calls else Stop.ANSWER)
            case "thinking" | "reasoning":
                yield builder.record(Kind.REASONING, text_of(block.data))
            case "toolUse":
                yield builder.call(text_or_none(data.get("name")), text_or_none(data.get("toolUseId")), data.get("input"))
            case _:
                yield builder.unknown({"kind": block.kind, "data": block.data})


def _result(builder: RecordBuilder, block: Block) -> Record:
    if block.kind != "toolResult" or not isinstance(block.data, dict):
        return builder.unknown({"kind": block.kind, "data": block.data})
    parts = block.data.get("content")
    data = [part.get("data") if isinstance(part, dict) else part for part in parts] if isinstance(parts, list) else [parts]
    code = next((code for item in data if (code := EXIT_CODE.search(text_of(_part(item, "exit_status"))))), None)
    return builder.result(
        text_or_none(block.data.get("toolUseId")),
        [[_part(item, "stdout"), _part(item, "stderr")] if _part(item, "exit_status") else item for item in data],
        failed=str(block.data.get("status")).lower() == "error",
        exit_code=int(code[0]) if code else None,
    )


def _part(item: Any, name: str) -> Any:
    """A part of a shell command's output; None if the item is something else."""
    return item.get(name) if isinstance(item, dict) else None


def _set_turn_ends(turns: list[list[tuple[str | None, list[Record]]]], ends: list[TurnEnd]) -> None:
    """Set the end of each turn, which is found by its messages' ids or, without ids, by its position."""
    prompted = [turn for turn in turns if turn and turn[0][1] and turn[0][1][0].kind is Kind.USER_INPUT]
    by_id = {name: records for turn in turns for name, records in turn if name}
    for place, end in enumerate(ends):
        ids = [name for name in end.message_ids or [] if name]
        if ids and ids[-1] in by_id:
            _end_turn([record for name in ids for record in by_id.get(name, [])], end)
        elif not ids and place < len(prompted):
            _end_turn([record for _, records in prompted[place] for record in records], end)


def _end_turn(records: list[Record], end: TurnEnd) -> None:
    for last in records[-1:]:
        last.stop = ENDS.get(end.end_reason or "", last.stop)
        last.at = last.at or parse_time(end.end_timestamp)
    usage = Usage(input=as_count(end.input_token_count), output=as_count(end.output_token_count))
    outputs = [record for record in records if record.kind in {Kind.ASSISTANT_RESPONSE, Kind.REASONING, Kind.TOOL_CALL}]
    if outputs and usage != Usage():
        outputs[-1].usage = usage


# ---- the third engine


def read_events(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    session = path.parent.name if path.name == MESSAGES else path.stem
    info = read_sidecar(path.with_name(SESSION), EventInfo) or EventInfo()
    folder = next(iter(info.workspace_paths or []), None)
    yield SessionMetadata(session=session, title=info.title, title_rank=TitleRank.GENERATED, cwd=folder, model=info.model_id)
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        event = line.value if isinstance(line.value, Event) else Event()
        builder = _builder(session, line, event.id, info.model_id)
        builder.at = parse_time(event.timestamp)
        yield _event(builder, event.payload or Payload(), line)


def _event(builder: RecordBuilder, payload: Payload, line: Line) -> Record:
    builder.model = payload.reasoning_model_id or builder.model
    match payload.type:
        case "user":
            return builder.prompt(text_of(payload.content))
        case "assistant":
            is_thought = (payload.operation_type or "Say").lower().startswith(("think", "reason"))
            return builder.record(Kind.REASONING if is_thought else Kind.ASSISTANT_RESPONSE, text_of(payload.content))
        case "tool_call":
            return builder.call(payload.tool_name, payload.tool_call_id, payload.args)
        case "tool_result":
            return builder.result(payload.tool_call_id, payload.content, failed=payload.success is False)
        case "usage_summary":  # written when the answer to a prompt is complete
            return builder.record(Kind.RUNTIME, "usage summary", stop=Stop.ANSWER)
        case _:
            return builder.unknown(line.raw.decode("utf-8", "replace"))


SOURCE = Source(
    name="kiro",
    title="Kiro",
    formats=(
        Document(
            homes=in_home(".kiro/sessions"),
            endings=(".jsonl",),
            is_log=lambda path: path.name != MESSAGES,
            recognises=recognises_rows,
            load=json_lines(Row),
            read=read_rows,
            sidecars=lambda path: [path.with_suffix(".json")],
            owner=log_of,
        ),
        Document(
            homes=in_home(".kiro/sessions"),
            endings=(MESSAGES,),
            recognises=recognises_events,
            load=json_lines(Event),
            read=read_events,
            sidecars=lambda path: [path.with_name(SESSION)],
            owner=events_of,
        ),
        Database(
            homes=cli_homes,
            endings=("data.sqlite3",),
            recursive=False,
            recognises=lambda head: "conversations_v2" in head.tables,
            sessions=query(conversation.SESSIONS),
            read=conversation.read_row,
        ),
        Document(
            endings=(".json",),
            recognises=lambda head: {"conversation_id", "history"} <= head.first().keys(),
            load=json_document(conversation.Conversation),
            read=conversation.read_file,
        ),
        Document(
            homes=config((), "Kiro/User/globalStorage/kiro.kiroagent"),
            endings=(".json",),
            is_log=lambda path: "workspace-sessions" in path.parts and path.name != ide.LIST,
            recognises=lambda head: {"sessionId", "history", "workspaceDirectory"} <= head.first().keys(),
            load=json_document(ide.Session),
            read=ide.read_session,
        ),
        Document(
            homes=config((), "Kiro/User/globalStorage/kiro.kiroagent"),
            endings=(".chat",),
            recognises=lambda head: {"executionId", "chat"} <= head.first().keys(),
            load=json_document(ide.Chat),
            read=ide.read_chat,
        ),
    ),
)
