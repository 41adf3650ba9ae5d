"""Reads conversations of Kiro CLI's first engine: JSON values in its database, or in files written by `/save`.

A history is a list of pairs: an input (by the person or a tool) and the agent's answer. A `Response` has no tool call and
ends the turn.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.jsonl import EXCERPT
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.sqlite import select
from recollect.sources.formats.values import as_object, parse_time

SESSIONS = """
    SELECT conversation_id, max(updated_at), total(length(value))
      FROM conversations_v2
     GROUP BY conversation_id"""


class Conversation(Struct):
    conversation_id: str | None = None
    history: list[Any] = []
    latest_summary: Any = None
    model_info: Any = None


class User(Struct):
    content: Any = None
    env_context: Any = None
    timestamp: Any = None


class Exchange(Struct):
    user: User | None = None
    assistant: Any = None
    request_metadata: Any = None


def read_row(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    """The entries of a conversation. It has one row per folder in which it was continued; the last row is complete."""
    rows = select(db, "conversations_v2", ("key", "value"), "WHERE conversation_id = ? ORDER BY updated_at", (session,))
    for row in rows[-1:]:
        conversation = decode_or_none(row["value"], Conversation)
        if conversation is None:
            yield Problem(path, 0, f"the conversation {session} is not JSON of a known shape", str(row["value"])[:EXCERPT])
            return
        yield SessionMetadata(session=session, cwd=row["key"] if isinstance(row["key"], str) else None)
        yield from _conversation(session, conversation)


def read_file(path: Path, conversation: Conversation) -> Iterator[Entry]:
    yield from _conversation(conversation.conversation_id or path.stem, conversation)


def _conversation(session: str, conversation: Conversation) -> Iterator[Entry]:
    model = conversation.model_info.get("model_id") if isinstance(conversation.model_info, dict) else None
    exchanges = [_exchange(raw) for raw in conversation.history]
    if summary := _summary(conversation.latest_summary):
        started = next((exchange.user.timestamp for exchange in exchanges if exchange and exchange.user), None)
        yield RecordBuilder(session=session, key=f"{session}@summary", at=parse_time(started)).record(
            Kind.COMPACTION, summary
        )
    for place, (exchange, raw) in enumerate(zip(exchanges, conversation.history, strict=True), 1):
        builder = RecordBuilder(session=session, key=f"{session}@{place}", line=place, model=text_of(model) or None)
        if exchange is None:
            yield builder.unknown(raw)
        else:
            yield from _read_exchange(builder, exchange)


def _summary(summary: Any) -> str:
    """The summary that replaced earlier messages: text, or a pair of text and request."""
    return text_of(summary[0] if isinstance(summary, list) and summary else summary)


def _exchange(raw: Any) -> Exchange | None:
    if isinstance(raw, list) and len(raw) >= 2:  # written by early versions
        raw = {"user": raw[0], "assistant": raw[1]}
    try:
        return convert(raw, Exchange)
    except ValidationError:
        return None


def _read_exchange(builder: RecordBuilder, exchange: Exchange) -> Iterator[Record]:
    kind, message = _variant(exchange.assistant)
    if message_id := message.get("message_id"):
        builder.key = f"{builder.session}/{message_id}"
    if exchange.user is not None:
        builder.at = parse_time(exchange.user.timestamp)
        builder.cwd = _folder(exchange.user.env_context)
        yield from _user(builder, exchange.user)
    builder.at = _end_time(exchange.request_metadata) or builder.at
    if text := text_of(message.get("content")).strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER if kind == "Response" else None)
    uses = message.get("tool_uses")
    for use in uses if isinstance(uses, list) else []:
        use = use if isinstance(use, dict) else {"args": use}
        yield builder.call(text_of(use.get("name")) or None, text_of(use.get("id")) or None, use.get("args"))
    if kind not in {"Response", "ToolUse", ""}:
        yield builder.unknown(exchange.assistant)
    if not builder.count:
        yield builder.record(Kind.RUNTIME, "")


def _variant(value: Any) -> tuple[str, dict[str, Any]]:
    """(variant, content) of a Rust enum as JSON: an object with one key, which names the variant."""
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        return kind, as_object(content)
    return "", {}


def _user(builder: RecordBuilder, user: User) -> Iterator[Record]:
    kind, content = _variant(user.content)
    results = content.get("tool_use_results")
    for result in results if isinstance(results, list) else []:
        result = result if isinstance(result, dict) else {"content": result}
        blocks = result.get("content")
        output = [_variant_value(block) for block in blocks] if isinstance(blocks, list) else blocks
        failed = str(result.get("status")).lower() == "error"
        stop = Stop.CANCEL if kind == "CancelledToolUses" else None
        yield builder.result(text_of(result.get("tool_use_id")) or None, output, failed=failed, stop=stop)
    if prompt := text_of(content.get("prompt")):
        yield builder.prompt(prompt)
    elif user.content is not None and not isinstance(results, list):  # without input the agent continues
        yield builder.unknown(user.content)


def _variant_value(block: Any) -> Any:
    return next(iter(block.values()), "") if isinstance(block, dict) else block


def _folder(context: Any) -> str | None:
    match context:
        case {"env_state": {"current_working_directory": str(folder)}}:
            return folder
        case _:
            return None


def _end_time(metadata: Any) -> int | None:
    return parse_time(metadata.get("stream_end_timestamp_ms")) if isinstance(metadata, dict) else None
