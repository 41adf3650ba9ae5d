"""Posit Assistant stores a folder per conversation: ~/.posit/assistant/workspaces/<workspace>/<conversation>/.

Evidence: published samples of three conversations, one of them of a sub-agent; no real session was read.
`conversation.json` is the tree that the app shows, with the conversation's metadata; `lm-messages.jsonl` has the messages
in order. Messages of an abandoned branch are stored too. A sub-agent's folder is in `subagents/` of its parent's folder.
The working folder is in the workspace's `workspace.json`. `index.json` and `ui-messages.jsonl` repeat the content of these
files.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop, TitleRank
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import in_home
from recollect.sources.formats.json import json_document, read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_user_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.tags import break_at_blocks
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import parse_time

TREE, LINES, WORKSPACE = "conversation.json", "lm-messages.jsonl", "workspace.json"
SUMMARY = re.compile(r"<(MESSAGESUMMARY)>")  # written for the list of conversations


class Root(Struct, frozen=True):
    id: str | None = None
    title: str | None = None
    summary: str | None = None
    timestamp: Any = None
    metadata: dict[str, Any] = {}


class Node(Struct, rename="camel"):
    lm_message_ids: list[Any] | None = None
    timestamp: Any = None


class Tree(Struct):
    root: Root = Root()
    messages: list[Node] = []


class Workspace(Struct):
    path: str | None = None


class Message(Struct):
    role: str | None = None
    content: Any = None
    options: Any = field(default=None, name="providerOptions")


class Row(Struct):
    id: Any = None
    message: Message | None = None


load_rows = json_lines(Row)


def recognises(head: Head) -> bool:
    first = head.first()
    if head.path.name == LINES:
        return {"id", "message"} <= first.keys()
    return {"schemaVersion", "root", "messages"} <= first.keys()


def parts(path: Path) -> list[Path]:
    return [path.with_name(LINES), *(folder / WORKSPACE for folder in list(path.parents)[1:4])]


def tree_of(path: Path) -> Path | None:
    return path.with_name(TREE) if path.name == LINES else None


def read(path: Path, tree: Tree) -> Iterable[Entry]:
    session = tree.root.id or path.parent.name
    yield _metadata(path, tree.root, session)
    times = {
        str(message_id): parse_time(node.timestamp) for node in tree.messages for message_id in node.lm_message_ids or []
    }
    for line in _rows(path.with_name(LINES)):
        if isinstance(line, Problem):
            yield line
            continue
        row = line.value if isinstance(line.value, Row) else Row()
        message = row.message or Message()
        details = _provider_details(message.options)
        key = f"{session}@{line.number}" if row.id is None else f"{session}/{row.id}"
        at = parse_time(details.get("timestamp")) or times.get(str(row.id))
        builder = RecordBuilder(
            session=session, key=key, at=at, line=line.number, model=text_of(details.get("modelId")) or None
        )
        builder.usage = _usage(details.get("usage"))
        yield from _message(builder, message, line.raw)


def _rows(path: Path) -> list[Any]:
    return list(load_rows(path)) if path.exists() else []


def _metadata(path: Path, root: Root, session: str) -> SessionMetadata:
    workspace = next((workspace for place in parts(path)[1:] if (workspace := read_sidecar(place, Workspace))), Workspace())
    parent, branch, task = (root.metadata.get(name) for name in ("parentTreeId", "gitBranch", "task"))
    titles = ((root.title, TitleRank.GENERATED), (root.summary, TitleRank.SUMMARY), (task, TitleRank.SUMMARY))
    title, rank = next(((title, rank) for title, rank in titles if isinstance(title, str) and title), (None, 0))
    return SessionMetadata(
        session=session,
        title=title,
        title_rank=rank,
        parent=parent if isinstance(parent, str) else None,
        cwd=workspace.path,
        branch=branch if isinstance(branch, str) else None,
    )


def _provider_details(options: Any) -> dict[str, Any]:
    """The provider's data of a message: its time, model and token counts."""
    match options:
        case {"providerMetadata": {"positai": dict(details)}}:
            return details
        case {"providerMetadata": dict(providers)}:
            return next((details for details in providers.values() if isinstance(details, dict)), {})
        case _:
            return {}


_usage = tokens(input="inputTokens", output="outputTokens", cache_read="cacheReadTokens", cache_write="cacheWriteTokens")


def _message(builder: RecordBuilder, message: Message, raw: bytes) -> Iterator[Record]:
    match message.role:
        case "user":
            yield from read_user_message(builder, message.content)
        case "assistant":
            yield from _answer(builder, message.content)
        case "tool":
            yield from _results(builder, message.content)
        case "system":
            yield builder.record(Kind.SYSTEM, text_of(message.content))
        case _:
            yield builder.unknown(raw.decode("utf-8", "replace"))


def _answer(builder: RecordBuilder, content: Any) -> Iterator[Record]:
    is_complete = builder.usage is not None  # the tokens of an answer are stored when it is complete
    records = list(read_agent_message(builder, content))
    has_calls = any(record.kind is Kind.TOOL_CALL for record in records)
    for record in records:
        if record.kind is Kind.ASSISTANT_RESPONSE:
            record.text = break_at_blocks(record.text, SUMMARY).strip()
            record.stop = Stop.ANSWER if is_complete and not has_calls else None
    yield from records or [builder.record(Kind.ASSISTANT_RESPONSE, "")]


def _results(builder: RecordBuilder, content: Any) -> Iterator[Record]:
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            yield builder.unknown(part)
            continue
        output = part.get("output")
        failed = isinstance(output, dict) and str(output.get("type")).startswith("error")
        tool, call = text_of(part.get("toolName")), text_of(part.get("toolCallId"))
        yield builder.result(call or None, output, tool=tool or None, failed=failed)


SOURCE = Source(
    name="posit-assistant",
    title="Posit Assistant",
    formats=(
        Document(
            homes=in_home(".posit/assistant/workspaces"),
            endings=(TREE,),
            recognises=recognises,
            load=json_document(Tree),
            read=read,
            sidecars=parts,
            owner=tree_of,
        ),
    ),
)
