"""ChatGPT's data export; its conversations are in `conversations.json`.

Evidence: published conversations from real exports of 2025 and 2026, and descriptions of the layout; no own export was read.
The file is a list of conversations, up to hundreds of megabytes, and is read one conversation at a time. Newer exports
split it into `conversations-000.json` and so on; browser extensions save a single conversation. Other files of the export
(`user.json`, `shared_conversations.json`, `message_feedback.json`) have no conversation and are not recognised.
A conversation is a tree: an edited prompt or a second answer starts another branch. All branches are stored, each after the
message that it answers. A message to a `recipient` other than `all` calls a tool of that name, and the tool's answer is its
child. The person's custom instructions (`user_editable_context`) are a hidden message in the user's role. There are no
token counts.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import decode_or_none, json_items, numbered, wrong_shape
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import parse_time

ALL_RECIPIENTS = {"all", "", None}  # recipients that are not a tool
TEXT_FIELDS = (
    "parts",
    "text",
    "result",
    "summary",
    "content",
    "assets",
)  # of content of any type
CONTEXT = ("user_profile", "user_instructions", "model_set_context", "repo_summary", "structured_context")
FAILED = ("failed", "error", "cancelled")


class Author(Struct, frozen=True):
    role: str = ""
    name: str | None = None


class Message(Struct):
    id: str | None = None
    author: Author = Author()
    create_time: Any = None
    content: dict[str, Any] = {}
    end_turn: Any = None
    recipient: str | None = None
    metadata: dict[str, Any] = {}


class Node(Struct):
    parent: str | None = None
    children: list[str] = []
    message: Message | None = None


class Conversation(Struct):
    id: str | None = None
    conversation_id: str | None = None
    title: str | None = None
    create_time: Any = None
    default_model_slug: str | None = None
    mapping: dict[str, Raw] = {}


Nodes = dict[str, Node | None]


def recognises(head: Head) -> bool:
    items = head.values[0] if head.values and isinstance(head.values[0], list) else head.values[:1]
    return any(isinstance(item, dict) and _is_conversation(item) for item in items)


def _is_conversation(item: dict[str, Any]) -> bool:
    return isinstance(item.get("mapping"), dict) and ("current_node" in item or "conversation_id" in item)


def read(path: Path, item: tuple[int, Raw]) -> Iterable[Entry]:
    place, raw = item
    conversation = decode_or_none(raw, Conversation)
    if conversation is None:
        yield wrong_shape(path, place, raw)
        return
    session = conversation.conversation_id or conversation.id or next(iter(conversation.mapping), None)
    if session is None:
        yield Ignored("empty conversation")
        return
    yield SessionMetadata(
        session=session,
        title=conversation.title,
        title_rank=TitleRank.GENERATED,
        model=conversation.default_model_slug,
    )
    nodes = {name: decode_or_none(node, Node) for name, node in conversation.mapping.items()}
    started_at = parse_time(conversation.create_time)  # for hidden messages, which have no time
    for name in _tree_order(nodes):
        builder = RecordBuilder(session=session, key=f"{session}/{name}", at=started_at, line=place)
        yield from _entries(builder, nodes, name, conversation.mapping[name])


def _tree_order(nodes: Nodes) -> Iterator[str]:
    """Every node once: after its parent, an older branch before a newer one."""
    seen: set[str] = set()
    roots = [name for name, node in nodes.items() if node is None or node.parent not in nodes]
    for start in [*roots, *nodes]:
        stack = [start]
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            yield name
            node = nodes[name]
            children = node.children if node else []
            stack += [child for child in reversed(children) if child in nodes]


def _entries(builder: RecordBuilder, nodes: Nodes, name: str, raw: Raw) -> Iterator[Entry]:
    node = nodes[name]
    if node is None:
        yield builder.unknown(bytes(raw).decode("utf-8", "replace"))
        return
    message = node.message
    if message is None:
        yield Ignored("root")
        return
    builder.key = message.id or builder.key
    builder.at = parse_time(message.create_time) or builder.at
    model = message.metadata.get("model_slug")
    builder.model = model if isinstance(model, str) else None
    match message.author.role:
        case "user":
            yield from _user(builder, message)
        case "assistant":
            yield from _assistant(builder, message)
        case "tool":
            yield _tool(builder, message, _call_above(nodes, node))
        case "system":
            yield from _context(builder, message)
        case _:
            yield builder.unknown(bytes(raw).decode("utf-8", "replace"))


def _user(builder: RecordBuilder, message: Message) -> Iterator[Entry]:
    kind = message.content.get("content_type")
    if kind == "user_editable_context" or message.metadata.get("is_visually_hidden_from_conversation"):
        yield from _context(builder, message)
        return
    attached = message.metadata.get("attachments")
    names = [item.get("name") for item in attached if isinstance(item, dict)] if isinstance(attached, list) else []
    yield builder.prompt("\n".join([_text(message.content), *(f"[attachment: {name}]" for name in names)]).strip())


def _context(builder: RecordBuilder, message: Message) -> Iterator[Entry]:
    """Context that the app put before the conversation. Most of these messages are empty."""
    data = message.metadata.get("user_context_message_data")
    values = [*(message.content.get(name) for name in CONTEXT), data if isinstance(data, dict) else None]
    text = _text(message.content) or "\n\n".join(text for value in values if (text := text_of(_values(value))))
    yield builder.record(Kind.SYSTEM, text) if text.strip() else Ignored("empty message")


def _values(context: Any) -> Any:
    return list(context.values()) if isinstance(context, dict) else context


def _assistant(builder: RecordBuilder, message: Message) -> Iterator[Entry]:
    text = _text(message.content)
    kind = message.content.get("content_type")
    if kind == "reasoning_recap":
        yield Ignored("reasoning_recap")  # only says how long the model thought
    elif kind == "thoughts":
        yield builder.record(Kind.REASONING, _thoughts(message.content.get("thoughts")))
    elif kind == "model_editable_context":
        yield from _context(builder, message)
    elif _is_call(message):
        yield builder.call(message.recipient, builder.key, text)
    elif text.strip() or _stop(message):
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=_stop(message))
    else:
        yield Ignored("empty message")


def _is_call(message: Message | None) -> bool:
    return message is not None and message.author.role == "assistant" and message.recipient not in ALL_RECIPIENTS


def _stop(message: Message) -> Stop | None:
    finish = message.metadata.get("finish_details")
    if isinstance(finish, dict) and finish.get("type") == "interrupted":
        return Stop.INTERRUPT
    return Stop.ANSWER if message.end_turn is True else None


def _thoughts(thoughts: Any) -> str:
    parts = [
        part
        for thought in (thoughts if isinstance(thoughts, list) else [])
        if isinstance(thought, dict)
        for name in ("summary", "content")
        if (part := text_of(thought.get(name)))
    ]
    return "\n".join(parts)


def _tool(builder: RecordBuilder, message: Message, call: str | None) -> Record:
    result = message.metadata.get("aggregate_result")
    status = str(result.get("status")) if isinstance(result, dict) else ""
    failed = message.content.get("content_type") == "system_error" or status.startswith(FAILED)
    return builder.result(call, _text(message.content), tool=message.author.name or None, failed=failed)


def _call_above(nodes: Nodes, node: Node) -> str | None:
    """The call that a tool message answers: the nearest ancestor that called a tool."""
    for _ in range(len(nodes)):
        above = nodes.get(node.parent or "")
        if above is None or above.message is None or above.message.author.role in {"user", "system"}:
            return None
        if _is_call(above.message):
            return above.message.id
        node = above
    return None


def _text(content: dict[str, Any]) -> str:
    value = next((content[name] for name in TEXT_FIELDS if content.get(name)), None)
    parts = value if isinstance(value, list) else [value]
    text = "\n".join(text for part in parts if (text := _part(part)))
    source = " ".join(str(content[name]) for name in ("title", "url") if content.get(name))
    return f"{source}\n{text}" if source else text


def _part(part: Any) -> str:
    if isinstance(part, dict) and not part.get("text"):
        return f"[{str(part.get('content_type', 'file')).partition('_asset')[0]}]"
    return text_of(part)


SOURCE = Source(
    name="chatgpt-export",
    title="ChatGPT export",
    formats=(Document(endings=(".json",), recognises=recognises, load=json_items, split=numbered, read=read),),
)
