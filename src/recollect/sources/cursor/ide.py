"""Reads conversations in Cursor's editor: <User>/globalStorage/state.vscdb, table `cursorDiskKV`, of up to several GB.

`composerData:<conversation>` lists the messages in order; they are rows `bubbleId:<conversation>:<bubble>`. Messages that
are missing in the list were undone. Before 2025 the messages were in the conversation itself.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, read_prompt, text_of
from recollect.sources.formats.values import arguments_of, as_count, as_object, parse_time, text_or_none

RECENT_MS = 3_600_000  # bubbles are checked if their conversation changed this recently, compared to the newest one
USER, AGENT = 1, 2  # types of bubbles
STOPS = {"completed": Stop.ANSWER, "aborted": Stop.INTERRUPT, "error": Stop.CRASH}
DONE = {"completed", "error", "cancelled", "canceled", "rejected"}  # states of a tool call that has ended
CONVERSATIONS = """
    SELECT substr(key, 14), updated, status, messages, size
      FROM (SELECT key,
                   coalesce(json_extract(value, '$.lastUpdatedAt'), json_extract(value, '$.createdAt')) AS updated,
                   json_extract(value, '$.status') AS status,
                   json_array_length(value, '$.fullConversationHeadersOnly') AS messages,
                   length(value) AS size
              FROM (SELECT key, CAST(value AS TEXT) AS value
                      FROM cursorDiskKV
                     WHERE key >= 'composerData:' AND key < 'composerData;')
             WHERE json_valid(value))"""
BUBBLES = "FROM cursorDiskKV WHERE key >= 'bubbleId:' || ?1 || ':' AND key < 'bubbleId:' || ?1 || ';'"


class BubbleHeader(Struct, rename="camel"):
    bubble_id: str = ""


class Conversation(Struct, rename="camel"):
    name: Any = None
    created_at: Any = None
    last_updated_at: Any = None
    status: Any = None
    full_conversation_headers_only: list[BubbleHeader] | None = None
    conversation: list[Any] | None = None
    model_config: Any = None
    workspace_identifier: Any = None
    subagent_info: Any = None


class Tool(Struct, rename="camel"):
    name: str | None = None
    tool_call_id: str | None = None
    status: Any = None
    params: Any = None
    raw_args: Any = None
    result: Any = None
    error: Any = None
    user_decision: Any = None


class Bubble(Struct, rename="camel"):
    bubble_id: str = ""
    type: Any = None
    text: Any = None
    created_at: Any = None
    timing_info: Any = None
    thinking: Any = None
    model_info: Any = None
    token_count: Any = None
    error_details: Any = None
    tool: Tool | None = field(default=None, name="toolFormerData")


def sessions(db: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Every conversation with values that change with it; for recent ones, also the size of their bubbles."""
    rows = db.execute(CONVERSATIONS).fetchall()
    newest = max((parse_time(updated) or 0 for _, updated, *_ in rows), default=0)
    for session, updated, *values in rows:
        bubble_size = None
        if (parse_time(updated) or 0) >= newest - RECENT_MS:
            bubble_size = db.execute(f"SELECT total(length(value)) {BUBBLES}", (session,)).fetchone()[0]
        yield session, updated, *values, bubble_size


def read(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    value = db.execute("SELECT value FROM cursorDiskKV WHERE key = 'composerData:' || ?", (session,)).fetchone()
    conversation = decode_or_none(value[0], Conversation) if value else None
    if conversation is None:
        return
    yield _session_metadata(session, conversation)
    model = text_or_none(as_object(conversation.model_config).get("modelName"))
    count = 0
    for place, bubble in enumerate(_bubbles(db, session, conversation), 1):
        at = parse_time(conversation.created_at) if place == 1 else None  # bubbles had no times before 2025
        builder = RecordBuilder(session=session, key=f"{session}@{place}", at=at, line=place, model=model)
        for record in _bubble(builder, bubble):
            count += 1
            yield record
    if count and (stop := STOPS.get(str(conversation.status))):
        builder = RecordBuilder(session=session, key=f"{session}#end", at=parse_time(conversation.last_updated_at))
        yield builder.record(Kind.RUNTIME, str(conversation.status), stop=stop, failed=stop is Stop.CRASH)


def _session_metadata(session: str, conversation: Conversation) -> SessionMetadata:
    return SessionMetadata(
        session=session,
        title=text_or_none(conversation.name),
        title_rank=TitleRank.GENERATED,
        parent=text_or_none(as_object(conversation.subagent_info).get("parentComposerId")),
        parent_call=session.removeprefix("task-") if session.startswith("task-") else None,
        cwd=text_or_none(as_object(as_object(conversation.workspace_identifier).get("uri")).get("fsPath")),
        at=parse_time(conversation.created_at),
    )


def _bubbles(db: sqlite3.Connection, session: str, conversation: Conversation) -> Iterator[Any]:
    """The messages in the order of the list; without a list, the messages in the conversation itself."""
    if not conversation.full_conversation_headers_only:
        yield from conversation.conversation or []
        return
    start = len(f"bubbleId:{session}:")
    rows = {str(key)[start:]: value for key, value in db.execute(f"SELECT key, value {BUBBLES}", (session,))}
    for header in conversation.full_conversation_headers_only:
        value = rows.get(header.bubble_id)
        if value is not None:
            yield decode_or_none(value, dict) or {"bubbleId": header.bubble_id, "damaged": str(value)}


def _bubble(builder: RecordBuilder, value: Any) -> Iterator[Record]:
    try:
        bubble = msgspec.convert(value, Bubble)
    except msgspec.ValidationError:
        yield builder.unknown(value)
        return
    if bubble.bubble_id:
        builder.key = f"{builder.session}/{bubble.bubble_id}"
    builder.at = (
        parse_time(bubble.created_at) or parse_time(as_object(bubble.timing_info).get("clientStartTime")) or builder.at
    )
    model = text_or_none(as_object(bubble.model_info).get("modelName"))
    builder.model = model if model not in {None, "default"} else builder.model
    if bubble.type == USER:
        yield from read_prompt(builder, text_of(bubble.text).strip() or "[no text]")
    elif bubble.type == AGENT:
        yield from _answer(builder, bubble)
    else:
        yield builder.unknown(value)


def _answer(builder: RecordBuilder, bubble: Bubble) -> Iterator[Record]:
    tokens_in, tokens_out = (as_count(as_object(bubble.token_count).get(name)) for name in ("inputTokens", "outputTokens"))
    builder.usage = Usage(input=tokens_in, output=tokens_out) if tokens_in or tokens_out else None
    if thought := text_of(bubble.thinking).strip():
        yield builder.record(Kind.REASONING, thought)
    if text := text_of(bubble.text).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text)
    if bubble.tool is not None and bubble.tool.name:
        yield from _tool(builder, bubble.tool)
    if error := text_of(bubble.error_details).strip():
        yield builder.record(Kind.RUNTIME, error, failed=True)


def _tool(builder: RecordBuilder, tool: Tool) -> Iterator[Record]:
    yield builder.call(tool.name, tool.tool_call_id, arguments_of(tool.raw_args) or tool.params)
    if text_or_none(tool.status) not in DONE:
        return
    result = decode_or_none(tool.result, dict) if isinstance(tool.result, str) else tool.result
    error = decode_or_none(tool.error, dict) if isinstance(tool.error, str) else tool.error
    outcome, fault = as_object(result), as_object(error)
    code = outcome.get("exitCode") if isinstance(outcome.get("exitCode"), int) else outcome.get("exitCodeV2")
    message = fault.get("modelVisibleErrorMessage") or fault.get("clientVisibleErrorMessage") or error or tool.error
    yield builder.result(
        tool.tool_call_id,
        text_of(result or tool.result) or text_of(message),
        tool=tool.name,
        failed=tool.status != "completed" or tool.user_decision == "rejected",
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
    )
