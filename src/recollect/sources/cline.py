"""Cline stores a folder per task in its editor's storage or ~/.cline/data/tasks; its SDK stores sessions next to them.

Evidence: published types and samples of both forms; no real session was available.
`tasks.folder` describes a task. A session of the SDK is ~/.cline/data/sessions/<id>/<id>.messages.json, a document of
messages with content blocks; `<id>.json` next to it has folder, model and title. An answer with token counts and without a
tool call ends the turn. A sub-agent's messages are in the folder of the session that started it.
The person's text is in `<user_input>`, or in `<user_command>` after a slash, with notices and files around or in it.
`metadata` marks the user messages that are not from the person, and those sent while the agent was working
(`userRunSpan` 0).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, field

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank, TurnStart
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.json import decode_each, json_document, read_sidecar
from recollect.sources.formats.message import (
    ReadPrompt,
    RecordBuilder,
    read_agent_message,
    read_prompt,
    read_user_message,
    text_of,
)
from recollect.sources.formats.recognition import marked
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.tags import around_blocks, find_blocks, without_blocks
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_object, parse_time
from recollect.sources.formats.vscode import extension_storage
from recollect.sources.tasks.folder import task_format

EXTENSION = "saoudrizwan.claude-dev"
MESSAGES = ".messages.json"
TYPED = re.compile(r"<(user_input)\b[^<>]*>")
COMMAND = re.compile(r"\s*<user_command\b[^>]*\bslash=\"([^\"]+)\"[^>]*>(.*)</user_command>\s*", re.DOTALL)
ADDED = re.compile(r"<(mode_notice(?=>)|file_content\b)[^<>]*>")
COMPACTIONS = {"compaction", "compaction_summary", "auto_compaction", "manual_compaction", "compaction_budget_emergency"}
NOT_PERSON = {"system", "status", "error"}  # display roles
NOTICES = {"completion_reminder", "loop_detection_notice", "mistake_stop_notice", "recovery_notice"}
CONTINUED = ("[TASK RESUMPTION]", "The user approved switching to act mode. Continue with the approved plan now.")


class Message(Struct, rename="camel"):
    id: str | None = None
    role: Any = None
    content: Any = None
    ts: Any = None
    metadata: Any = None
    model_info: Any = None
    metrics: Any = None


class Conversation(Struct, rename="camel"):
    agent: Any = None
    session_id: str | None = None
    messages: list[Raw] = []


class Manifest(Struct):
    """The session's own description."""

    cwd: str | None = None
    workspace_root: str | None = None
    model: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def data_folder(env: Mapping[str, str]) -> Path:
    if env.get("CLINE_DATA_DIR"):
        return Path(env["CLINE_DATA_DIR"])
    return (Path(env["CLINE_DIR"]) if env.get("CLINE_DIR") else user_home(env) / ".cline") / "data"


def task_homes(env: Mapping[str, str]) -> list[Path]:
    return [folder / "tasks" for folder in (data_folder(env), *extension_storage(env, EXTENSION))]


def session_homes(env: Mapping[str, str]) -> list[Path]:
    folder = env.get("CLINE_SESSION_DATA_DIR")
    return [Path(folder) if folder else data_folder(env) / "sessions"]


def manifest_of(log: Path) -> list[Path]:
    return [log.with_name(log.name.removesuffix(MESSAGES) + ".json")]


def owner(changed: Path) -> Path | None:
    return changed.with_name(changed.stem + MESSAGES) if changed.suffix == ".json" else None


def read(path: Path, conversation: Conversation) -> Iterable[Entry]:
    name = path.name.removesuffix(MESSAGES)
    is_lead = conversation.agent is None or conversation.agent == "lead"
    session = conversation.session_id or name if is_lead else f"{conversation.session_id or path.parent.name}/{name}"
    manifest = read_sidecar(manifest_of(path)[0], Manifest) or Manifest()
    title = manifest.metadata.get("title")
    yield SessionMetadata(
        session=session,
        title=title if isinstance(title, str) else None,
        title_rank=TitleRank.GENERATED,
        parent=None if is_lead else conversation.session_id or path.parent.name,
        cwd=manifest.cwd or manifest.workspace_root,
        model=manifest.model,
    )
    for place, message, raw in decode_each(conversation.messages, Message):
        key = f"{session}/{message.id}" if message and message.id else f"{session}@{place}"
        builder = RecordBuilder(session=session, key=key, line=place)
        yield from _message(builder, message) if message else [builder.unknown(raw)]


def _message(builder: RecordBuilder, message: Message) -> Iterator[Record]:
    builder.at = parse_time(message.ts)
    info = as_object(message.model_info)
    builder.model = info["id"] if isinstance(info.get("id"), str) else None
    metadata = as_object(message.metadata)
    match message.role:
        case "user" if metadata.get("kind") in COMPACTIONS:
            yield from read_user_message(builder, message.content, _read_as(Kind.COMPACTION))
        case "user" if (
            metadata.get("displayOnly") or metadata.get("displayRole") in NOT_PERSON or metadata.get("kind") in NOTICES
        ):
            yield from read_user_message(builder, message.content, _read_as(Kind.SYSTEM))
        case "user":
            is_mid_turn = metadata.get("userRunSpan") == 0
            yield from read_user_message(builder, message.content, _read_mid_turn_prompt if is_mid_turn else _read_typed)
        case "error":
            yield builder.record(Kind.RUNTIME, text_of(message.content), stop=Stop.CRASH, failed=True)
        case "assistant":
            builder.usage = _usage(message.metrics)
            records = list(read_agent_message(builder, message.content))
            if builder.usage is None and message.metrics and not any(record.kind is Kind.TOOL_CALL for record in records):
                for record in records[-1:]:
                    record.stop = Stop.ANSWER
            yield from records
        case _:
            yield builder.unknown({"role": message.role, "content": message.content})
    if not builder.count:
        yield builder.record(Kind.RUNTIME, "")


def _read_as(kind: Kind) -> ReadPrompt:
    return lambda builder, text: iter([builder.record(kind, text)])


def _read_typed(builder: RecordBuilder, text: str) -> Iterator[Record]:
    typed, added = _split_typed(text)
    if command := COMMAND.fullmatch(typed):
        yield builder.record(Kind.USER_INPUT, f"/{command[1]} {command[2].strip()}".strip(), opens=TurnStart.COMMAND)
    elif typed.startswith(CONTINUED):
        yield builder.record(Kind.SYSTEM, typed)
    elif typed:
        yield from read_prompt(builder, typed)
    yield from (builder.record(Kind.SYSTEM, block) for block in added)


def _read_mid_turn_prompt(builder: RecordBuilder, text: str) -> Iterator[Record]:
    typed, added = _split_typed(text)
    if typed:
        yield builder.record(Kind.USER_INPUT, typed)
    yield from (builder.record(Kind.SYSTEM, block) for block in added)


def _split_typed(text: str) -> tuple[str, list[str]]:
    """The text that the person typed, and the blocks that were added to it."""
    if "<user_" not in text and "<mode_notice>" not in text:
        return text.strip(), []
    added = [text[block.start : block.end] for block in find_blocks(text, ADDED)]
    text = without_blocks(text, ADDED)
    typed = [block.text for block in find_blocks(text, TYPED)]
    return "".join(chain(*zip_longest(around_blocks(text, TYPED), typed, fillvalue=""))).strip(), added


_usage = tokens(
    input="inputTokens",
    output="outputTokens",
    cache_read="cacheReadTokens",
    cache_write="cacheWriteTokens",
    cost="cost",
    cached_in_input=True,
)


SOURCE = Source(
    name="cline",
    title="Cline",
    formats=(
        task_format("cline", task_homes, EXTENSION),
        Document(
            homes=session_homes,
            endings=(MESSAGES,),
            recognises=marked("version", "sessionId", "messages", "agent"),
            load=json_document(Conversation),
            read=read,
            sidecars=manifest_of,
            owner=owner,
        ),
    ),
)
