"""Reads Kiro IDE's sessions: `workspace-sessions/<folder>/<id>.json`; before that, a `.chat` file per step of an answer.

The session file may have only one word of an answer; then the model's text is in the message's prompt log. The agent's
actions are in execution logs of another format, which are not read. Only `.chat` files have times, one pair per file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Record, SessionMetadata, TitleRank
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.values import parse_time

LIST = "sessions.json"  # lists the sessions of a folder with their titles
SYSTEM = ("# System Prompt", "# Identity", "<identity>", "## Included Rules", "You are operating in a workspace")
SCRIPTED_ANSWER = "I will follow these instructions."  # a scripted answer in the model's role
WRAP = "<kiro-ide-message>", "</kiro-ide-message>"


class Message(Struct, frozen=True):
    role: str | None = None
    content: Any = None
    id: str | None = None


class HistoryItem(Struct, rename="camel"):
    message: Message = Message()
    prompt_logs: Any = None


class Session(Struct, rename="camel"):
    session_id: str | None = None
    title: str | None = None
    workspace_directory: str | None = None
    history: list[HistoryItem] = []


class Chat(Struct, rename="camel"):
    execution_id: str | None = None
    chat: list[Message] = []
    metadata: dict[str, Any] = {}


def read_session(path: Path, stored: Session) -> Iterator[Entry]:
    session = stored.session_id or path.stem
    yield SessionMetadata(
        session=session, title=stored.title, title_rank=TitleRank.GENERATED, cwd=stored.workspace_directory
    )
    for place, item in enumerate(stored.history, 1):
        message = item.message
        key = f"{session}/{message.id}" if message.id else f"{session}@{place}"
        builder = RecordBuilder(session=session, key=key, line=place)
        yield _message(builder, message, _completions(item.prompt_logs) or text_of(message.content))


def _completions(logs: Any) -> str:
    """The model's texts in a message's prompt logs."""
    logs = logs if isinstance(logs, list) else []
    return "\n\n".join(text for log in logs if isinstance(log, dict) and (text := text_of(log.get("completion")).strip()))


def read_chat(path: Path, chat: Chat) -> Iterator[Entry]:
    session = chat.execution_id or path.stem
    model = text_of(chat.metadata.get("modelId")) or None
    started, ended = parse_time(chat.metadata.get("startTime")), parse_time(chat.metadata.get("endTime"))
    for place, message in enumerate(chat.chat, 1):
        at = ended if place == len(chat.chat) else started
        builder = RecordBuilder(session=session, key=f"{session}@{place}", at=at, line=place, model=model)
        yield _message(builder, message, text_of(message.content))


def _message(builder: RecordBuilder, message: Message, answer: str) -> Record:
    text = text_of(message.content).strip()
    match message.role:
        case "user" | "human" if text.startswith(SYSTEM):
            return builder.record(Kind.SYSTEM, text)
        case "user" | "human":
            return builder.prompt(text.removeprefix(WRAP[0]).removesuffix(WRAP[1]).strip())
        case "bot" if text == SCRIPTED_ANSWER:
            return builder.record(Kind.SYSTEM, text)
        case "assistant" | "bot":
            return builder.record(Kind.ASSISTANT_RESPONSE, answer)
        case "tool":
            return builder.result(None, text)
        case "system":
            return builder.record(Kind.SYSTEM, text)
        case _:
            return builder.unknown({"role": message.role, "content": message.content})
