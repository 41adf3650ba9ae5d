"""Cline keeps one folder per task in its editor's storage or ~/.cline/data/tasks, and since its SDK, sessions beside them.

Evidence: published types and samples of both forms; no real session was at hand.
What a task consists of is told in `_task_folder`. A session of the SDK is ~/.cline/data/sessions/<id>/<id>.messages.json, a
document of messages with content blocks; `<id>.json` beside it says folder, model and title. An answer whose tokens were
counted and that calls no tool ends the turn. A sub-agent's messages lie in the folder of the session that called it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, field

from recollect.model import About, Entry, Kind, Record, Stop, TitleRank, Usage
from recollect.sources._head import Head
from recollect.sources._json import beside, document, each
from recollect.sources._message import Scribe, agent_blocks, prompt_or_system, user_blocks
from recollect.sources._source import Document, Source, home_of
from recollect.sources._task_folder import task_format
from recollect.sources._values import count, instant
from recollect.sources._vscode import extension_storage

EXTENSION = "saoudrizwan.claude-dev"
MESSAGES = ".messages.json"
TYPED = re.compile(r"\s*<user_input[^>]*>(.*)</user_input>\s*", re.DOTALL)


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
    return (Path(env["CLINE_DIR"]) if env.get("CLINE_DIR") else home_of(env) / ".cline") / "data"


def task_homes(env: Mapping[str, str]) -> list[Path]:
    return [folder / "tasks" for folder in (data_folder(env), *extension_storage(env, EXTENSION))]


def session_homes(env: Mapping[str, str]) -> list[Path]:
    return [data_folder(env) / "sessions"]


def recognises(head: Head) -> bool:
    first = head.first()
    return {"version", "sessionId", "messages"} <= first.keys() and "agent" in first


def manifest_of(log: Path) -> list[Path]:
    return [log.with_name(log.name.removesuffix(MESSAGES) + ".json")]


def owner(changed: Path) -> Path | None:
    return changed.with_name(changed.stem + MESSAGES) if changed.suffix == ".json" else None


def read(path: Path, conversation: Conversation) -> Iterable[Entry]:
    name = path.name.removesuffix(MESSAGES)
    lead = conversation.agent is None or conversation.agent == "lead"
    session = conversation.session_id or name if lead else f"{conversation.session_id or path.parent.name}/{name}"
    manifest = beside(manifest_of(path)[0], Manifest) or Manifest()
    title = manifest.metadata.get("title")
    yield About(
        session=session,
        title=title if isinstance(title, str) else None,
        title_rank=TitleRank.GENERATED,
        parent=None if lead else conversation.session_id or path.parent.name,
        cwd=manifest.cwd or manifest.workspace_root,
        model=manifest.model,
    )
    for place, message, raw in each(conversation.messages, Message):
        key = f"{session}/{message.id}" if message and message.id else f"{session}@{place}"
        scribe = Scribe(session=session, key=key, line=place)
        yield from _message(scribe, message) if message else [scribe.unknown(raw)]


def _message(scribe: Scribe, message: Message) -> Iterator[Record]:
    scribe.at = instant(message.ts)
    info = message.model_info if isinstance(message.model_info, dict) else {}
    scribe.model = info["id"] if isinstance(info.get("id"), str) else None
    shown = message.metadata if isinstance(message.metadata, dict) else {}
    match message.role:
        case "user" if shown.get("displayOnly") or shown.get("displayRole") == "system":
            yield from user_blocks(scribe, message.content, lambda scribe, text: iter([scribe.record(Kind.SYSTEM, text)]))
        case "user":
            yield from user_blocks(scribe, message.content, _typed)
        case "assistant":
            scribe.usage = _usage(message.metrics)
            records = list(agent_blocks(scribe, message.content))
            if scribe.usage is None and message.metrics and not any(said.kind is Kind.TOOL_CALL for said in records):
                for said in records[-1:]:
                    said.stop = Stop.ANSWER
            yield from records
        case _:
            yield scribe.unknown({"role": message.role, "content": message.content})
    if not scribe.written:
        yield scribe.record(Kind.RUNTIME, "")


def _typed(scribe: Scribe, text: str) -> Iterator[Record]:
    typed = TYPED.fullmatch(text)
    yield from prompt_or_system(scribe, typed[1].strip() if typed else text)


def _usage(metrics: Any) -> Usage | None:
    if not isinstance(metrics, dict):
        return None
    return Usage(
        input=count(metrics.get("inputTokens")),
        output=count(metrics.get("outputTokens")),
        cache_read=count(metrics.get("cacheReadTokens")),
        cache_write=count(metrics.get("cacheWriteTokens")),
    )


SOURCE = Source(
    name="cline",
    title="Cline",
    formats=(
        task_format("cline", task_homes, EXTENSION),
        Document(
            homes=session_homes,
            endings=(MESSAGES,),
            recognises=recognises,
            load=document(Conversation),
            read=read,
            beside=manifest_of,
            owner=owner,
        ),
    ),
)
