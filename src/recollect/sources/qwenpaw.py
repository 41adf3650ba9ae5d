"""QwenPaw (CoPaw until 2026) stores one document per session under ~/.qwenpaw/workspaces/<agent>/sessions/.

Evidence: published samples, and the program's own source; no real session was available.
A document is the saved state of an agent: pairs of a message and its marks, rewritten after every turn. A message has
content blocks; tool results are messages of the system. Times have no zone. A session is named after its file, whose name
is only unique in its agent's folder. The names of the chats are in `chats.json` next to the sessions folder.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, field

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.json import decode_each, json_document
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_user_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import parse_time

UNSAFE = re.compile(r'[\\/:*?"<>|]')  # in a file name; written as --
UNNAMED = "New Chat"


class Message(Struct):
    id: str | None = None
    role: str = ""
    content: Any = None
    timestamp: Any = None


class Memory(Struct, frozen=True):
    content: list[Raw] = []
    summary: str | None = field(default=None, name="_compressed_summary")


class Agent(Struct, frozen=True):
    memory: Memory = Memory()


class AgentState(Struct):
    agent: Agent = Agent()


class Chat(Struct):
    name: str | None = None
    session_id: str = ""
    user_id: str = ""
    channel: str = ""


class Chats(Struct):
    chats: list[Chat] = []


def workspaces(env: Mapping[str, str]) -> list[Path]:
    configured = env.get("QWENPAW_WORKING_DIR") or env.get("COPAW_WORKING_DIR")
    roots = [Path(configured)] if configured else [user_home(env) / ".qwenpaw", user_home(env) / ".copaw"]
    return [folder for root in roots for folder in (root, *sorted(root.glob("workspaces/*")))]


def homes(env: Mapping[str, str]) -> list[Path]:
    return [workspace / "sessions" for workspace in workspaces(env)]


def recognises(head: Head) -> bool:
    agent = head.first().get("agent")
    memory = agent.get("memory") if isinstance(agent, dict) else None
    return isinstance(memory, dict) and isinstance(memory.get("content"), list)


def session_of(path: Path) -> str:
    """The session's id: the agent's folder and the file's name."""
    parts = path.with_suffix("").parts
    if "sessions" not in parts[1:-1]:
        return path.stem
    place = len(parts) - 1 - parts[::-1].index("sessions", 1)
    return "/".join((parts[place - 1], *parts[place + 1 :]))


def read(path: Path, state: AgentState) -> Iterator[Entry]:
    session = session_of(path)
    pairs = list(decode_each(state.agent.memory.content, tuple[Message, Any]))
    if summary := state.agent.memory.summary:  # of removed messages
        first = next((pair[0].timestamp for _, pair, _ in pairs if pair), None)
        yield RecordBuilder(session=session, key=f"{session}/summary", at=parse_time(first)).record(Kind.COMPACTION, summary)
    for place, pair, raw in pairs:
        builder = RecordBuilder(session=session, key=f"{session}@{place}", line=place)
        if pair is None:
            yield builder.unknown(raw)
            continue
        message = pair[0]
        builder.key = f"{session}/{message.id}" if message.id else builder.key
        builder.at = parse_time(message.timestamp)
        yield from _message(builder, message)


def _message(builder: RecordBuilder, message: Message) -> Iterator[Record]:
    match message.role:
        case "user":
            yield from read_user_message(builder, message.content)
        case "assistant":
            yield from read_agent_message(builder, message.content, None if _has_calls(message.content) else Stop.ANSWER)
        case "system":
            blocks = message.content if isinstance(message.content, list) else [message.content]
            for block in blocks:
                yield _system_block(builder, block)
        case _:
            yield builder.unknown({"role": message.role, "content": message.content})


def _has_calls(content: Any) -> bool:
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)


def _system_block(builder: RecordBuilder, block: Any) -> Record:
    match block:
        case {"type": "tool_result", "id": str(call)}:
            tool = block.get("name")
            return builder.result(call, block.get("output"), tool=tool if isinstance(tool, str) else None)
        case _:
            return builder.record(Kind.SYSTEM, text_of(block))


def recognises_chats(head: Head) -> bool:
    chats = head.first().get("chats")
    return isinstance(chats, list) and any(
        isinstance(chat, dict) and {"session_id", "channel"} <= chat.keys() for chat in chats
    )


def read_chats(path: Path, document: Chats) -> Iterator[Entry]:
    """The names of sessions. Newer versions store sessions in a folder per channel, so both places get the name."""
    for chat in document.chats:
        if not chat.name or chat.name == UNNAMED or not chat.session_id:
            continue
        file = "_".join(UNSAFE.sub("--", part) for part in (chat.user_id, chat.session_id) if part)
        for place in (file, f"{chat.channel}/{file}"):
            yield SessionMetadata(session=f"{path.parent.name}/{place}", title=chat.name, title_rank=TitleRank.GENERATED)


SOURCE = Source(
    name="qwenpaw",
    title="QwenPaw",
    formats=(
        Document(homes=homes, endings=(".json",), recognises=recognises, load=json_document(AgentState), read=read),
        Document(
            homes=workspaces,
            endings=("chats.json",),
            recursive=False,
            recognises=recognises_chats,
            load=json_document(Chats),
            read=read_chats,
        ),
    ),
)
