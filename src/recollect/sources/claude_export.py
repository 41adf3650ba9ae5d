"""Claude.ai's data export; its conversations are in `conversations.json`.

Evidence: published conversations from real exports of 2026, and readers of older ones; no own export was read.
The file is a list of conversations, read one at a time; browser extensions save a single conversation in the same shape.
Other files of the export (`projects.json`, `users.json`, `memories.json`) have no conversation and are not recognised.
One `assistant` message is a complete turn: its thoughts, texts, tool calls and their results, in order, each with its own
times. `text` repeats all of that as one string and is used only if there are no blocks. In older exports tool calls have no
ids: a result then answers the call before it. A complete last text block ends the turn. Pasted or attached content comes as
extracted text with the prompt. There are no token counts and no model names.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import decode_each, decode_or_none, json_items, numbered, wrong_shape
from recollect.sources.formats.message import CALLS, RESULTS, RecordBuilder, read_agent_message, read_user_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import parse_time

BOOKKEEPING = ("token_budget", "flag")  # blocks without content
INTERRUPTED = ("user_canceled", "cancelled")


class Message(Struct):
    uuid: str | None = None
    sender: Any = None
    text: Any = None
    content: Any = None
    created_at: Any = None
    attachments: list[Any] = []
    files: list[Any] = []
    stop_reason: Any = None  # in single conversations only


class Conversation(Struct):
    uuid: str
    name: str | None = None
    model: str | None = None
    chat_messages: list[Raw] = []


def recognises(head: Head) -> bool:
    items = head.values[0] if head.values and isinstance(head.values[0], list) else head.values[:1]
    return any(isinstance(item, dict) and "chat_messages" in item and "uuid" in item for item in items)


def read(path: Path, item: tuple[int, Raw]) -> Iterable[Entry]:
    place, raw = item
    conversation = decode_or_none(raw, Conversation)
    if conversation is None:
        yield wrong_shape(path, place, raw)
        return
    session = conversation.uuid
    yield SessionMetadata(session=session, title=conversation.name, title_rank=TitleRank.GENERATED, model=conversation.model)
    for number, message, text in decode_each(conversation.chat_messages, Message):
        builder = RecordBuilder(session=session, key=f"{session}@{number}", line=place)
        if message is None:
            yield builder.unknown(text)
        else:
            yield from _entries(builder, message)


def _entries(builder: RecordBuilder, message: Message) -> Iterator[Entry]:
    builder.key = message.uuid or builder.key
    builder.at = parse_time(message.created_at)
    blocks = _blocks(message)
    match message.sender:
        case "human":
            yield from _human(builder, message, blocks)
        case "assistant":
            yield from _assistant(builder, message, blocks)
        case _:
            yield builder.unknown({"sender": message.sender, "content": blocks})


def _blocks(message: Message) -> list[Any]:
    blocks = message.content if isinstance(message.content, list) else []
    return blocks or [{"type": "text", "text": message.text}]


def _human(builder: RecordBuilder, message: Message, blocks: list[Any]) -> Iterator[Entry]:
    attachments = [item for item in [*message.attachments, *message.files] if isinstance(item, dict)]
    names = [{"type": "text", "text": f"[attachment: {item.get('file_name')}]"} for item in attachments]
    yield from read_user_message(builder, [*blocks, *names])
    for item in attachments:
        if text := text_of(item.get("extracted_content")):
            yield builder.record(Kind.SYSTEM, f"{item.get('file_name')}\n\n{text}")
    if not builder.count:
        yield Ignored("empty message")


def _assistant(builder: RecordBuilder, message: Message, blocks: list[Any]) -> Iterator[Entry]:
    records: list[Record] = []
    for block in _with_call_ids(blocks, builder.key):
        if isinstance(block, dict):
            builder.at = parse_time(block.get("start_timestamp")) or builder.at
            if block.get("type") in BOOKKEEPING:
                yield Ignored(block["type"])
                continue
        records += read_agent_message(builder, [block])
    if records:
        records[-1].stop = _stop(message, blocks[-1])
    yield from records
    if not records:
        yield Ignored("empty message")


def _stop(message: Message, last: Any) -> Stop | None:
    if message.stop_reason:
        return Stop.INTERRUPT if message.stop_reason in INTERRUPTED else Stop.ANSWER
    is_finished = isinstance(last, dict) and last.get("type") == "text" and last.get("stop_timestamp")
    return Stop.ANSWER if is_finished else None


def _with_call_ids(blocks: list[Any], key: str) -> Iterator[Any]:
    """The blocks, with an id on each call and on its result."""
    call: Any = None
    for number, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in CALLS:
            call = block.get("id") or f"{key}.{number}"
            yield {**block, "id": call}
        elif kind in RESULTS and not block.get("tool_use_id"):
            yield {**block, "tool_use_id": call}
        else:
            yield block


SOURCE = Source(
    name="claude-export",
    title="Claude.ai export",
    formats=(Document(endings=(".json",), recognises=recognises, load=json_items, split=numbered, read=read),),
)
