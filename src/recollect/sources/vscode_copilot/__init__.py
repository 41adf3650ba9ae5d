"""VS Code keeps each chat with Copilot under <User>/workspaceStorage/<workspace>/chatSessions/, or in the global storage.

Evidence: the source code of VS Code (`chatModel`, `objectMutationLog`, to mid 2026), and published exported chats,
inspected by eye (Copilot Chat 0.31 to 0.44, and one of September 2026); no real session could be stored.
At first a chat was one JSON document; since early 2026 it is a `.jsonl` of operations on it: 0 sets the document, 1 sets
the value at a path, 2 truncates a list and appends to it, 3 deletes a value. The resulting document counts.
A request is one turn: the prompt, then the parts of the response. Tools appear twice, as parts (what the person saw) and in
the rounds of the result's metadata (what the model wrote and received); the rounds complete the parts. A sub-agent's tools
are among its parent's parts, marked with its id. A chat saved while the agent works is marked as cancelled. Two kinds of
requests are not prompts: a request with a `confirmation` is a click on a button such as "Continue", and a request that the
system initiated is about a background terminal. Of a response, only its end has a time.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import json_document, read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import UUID, as_count, as_object, parse_time, text_or_none
from recollect.sources.formats.vscode import EDITORS, path_of, user_folders
from recollect.sources.vscode_copilot.response import Response, listing

SET_ALL, SET, PUSH, DELETE = range(4)  # kinds of operations
COMPLETE, CANCELLED, FAILED = 1, 2, 3  # states of a response; 0 and 4 mean running


class Operation(Struct):
    kind: Any = None
    k: Any = None
    v: Any = None
    i: Any = None


class Chat(Struct, rename="camel"):
    session_id: Any = None
    custom_title: Any = None
    creation_date: Any = None
    requests: list[Any] = []


class Request(Struct, rename="camel"):
    request_id: str = ""
    timestamp: Any = None
    message: Any = None
    response: Any = None
    result: Any = None
    model_id: Any = None
    model_state: Any = None
    is_canceled: Any = None
    confirmation: Any = None
    is_system_initiated: Any = None
    prompt_tokens: Any = None
    completion_tokens: Any = None


class Workspace(Struct):
    folder: Any = None
    workspace: Any = None


# ---- homes and recognition


def homes(env: Mapping[str, str]) -> list[Path]:
    """The folders that hold only chats: a workspace's storage also holds the data of its extensions."""
    portable = [Path(env["VSCODE_PORTABLE"]) / "user-data/User"] if env.get("VSCODE_PORTABLE") else []
    users = [*user_folders(env, EDITORS), *portable]
    chats = [chats for user in users for chats in sorted(user.glob("workspaceStorage/*/chatSessions"))]
    return chats + [user / "globalStorage/emptyWindowChatSessions" for user in users]


def workspace_of(path: Path) -> list[Path]:
    return [path.parent.parent / "workspace.json"]


def is_chat(head: Head) -> bool:
    return _is_chat(head.first())


def is_operations(head: Head) -> bool:
    first = head.first()
    return first.get("kind") == SET_ALL and _is_chat(first.get("v"))


def _is_chat(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("requests"), list) and "responderUsername" in value


# ---- the document


def read_operations(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    chat: Any = None
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif isinstance(line.value, WrongShape):
            yield Problem(path, line.number, "not an operation")
        elif line.value.kind == SET_ALL:
            chat = line.value.v
        else:
            _apply(chat, line.value)
    document = _convert(chat, Chat)
    if document is not None:
        yield from read_chat(path, document)


def _apply(chat: Any, operation: Operation) -> None:
    """Apply an operation to the document. An operation on a missing path does nothing."""
    path = operation.k if isinstance(operation.k, list) else []
    holder = chat
    for step in path[:-1]:
        holder = _at(holder, step)
    if not path:
        return
    if operation.kind == SET:
        _put(holder, path[-1], operation.v)
    elif operation.kind == PUSH:
        before = listing(_at(holder, path[-1]))[: operation.i if isinstance(operation.i, int) else None]
        _put(holder, path[-1], before + listing(operation.v))
    elif operation.kind == DELETE:
        _put(holder, path[-1], None)


def _at(holder: Any, step: Any) -> Any:
    if isinstance(holder, dict):
        return holder.get(step) if isinstance(step, str) else None
    if isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder):
        return holder[step]
    return None


def _put(holder: Any, step: Any, value: Any) -> None:
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
    elif isinstance(holder, list) and isinstance(step, int) and 0 <= step <= len(holder):
        holder[step : step + 1] = [value]


def _convert(value: Any, shape: Any) -> Any:
    """The value in this shape; None if it has another shape."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return None


# ---- the chat


def read_chat(path: Path, chat: Chat) -> Iterator[Entry]:
    session = _session_of(path, chat)
    if session is None:
        return
    title = chat.custom_title if isinstance(chat.custom_title, str) else None
    yield SessionMetadata(session=session, title=title, title_rank=TitleRank.GENERATED, cwd=_folder(path))
    for place, value in enumerate(chat.requests, 1):
        request = _convert(value, Request)
        builder = RecordBuilder(session=session, key=f"{session}@{place}", line=place)
        if request is None:
            yield builder.unknown(value)
            continue
        if request.request_id:
            is_unique = UUID.search(request.request_id) is not None
            builder.key = request.request_id if is_unique else f"{session}/{request.request_id}"
        yield from _request(builder, request)


def _session_of(path: Path, chat: Chat) -> str | None:
    """The session's id. An exported chat has no id: its first request identifies it."""
    if isinstance(chat.session_id, str) and chat.session_id:
        return chat.session_id
    if UUID.fullmatch(path.stem):
        return path.stem
    first = _convert(chat.requests[0], Request) if chat.requests else None
    return first.request_id or None if first is not None else None


def _folder(path: Path) -> str | None:
    workspaces = [read_sidecar(place, Workspace) for place in workspace_of(path) if path.parent.name == "chatSessions"]
    workspace = next((workspace for workspace in workspaces if workspace is not None), Workspace())
    if folder := path_of(workspace.folder):
        return folder
    workspace_file = path_of(workspace.workspace)  # lists several folders
    return workspace_file.rpartition("/")[0] or None if workspace_file else None


def _request(builder: RecordBuilder, request: Request) -> Iterator[Entry]:
    result = as_object(request.result)
    metadata = as_object(result.get("metadata"))
    builder.at = parse_time(request.timestamp)
    builder.model = text_or_none(metadata.get("resolvedModel")) or text_or_none(request.model_id)
    yield _prompt(builder, request)
    builder.usage = _usage(request, result, metadata)
    parts = request.response if isinstance(request.response, list) else []
    records = list(Response(builder, metadata).read(parts))
    state = as_object(request.model_state).get("value")
    error = as_object(result.get("errorDetails"))
    is_complete = (state == COMPLETE or (state is None and bool(result))) and not error and not request.is_canceled
    answers = [record for record in records if isinstance(record, Record) and record.session == builder.session]
    texts = [record for record in answers if record.kind is Kind.ASSISTANT_RESPONSE]
    builder.at = parse_time(as_object(request.model_state).get("completedAt")) or builder.at
    for record in (texts or answers)[-1:]:
        record.stop = Stop.ANSWER if is_complete else None
        record.at = builder.at if record is answers[-1] else record.at
    yield from records
    if summary := text_of(as_object(metadata.get("summary")).get("text")):
        yield builder.record(Kind.COMPACTION, summary)
    if request.is_canceled or state == CANCELLED:
        yield builder.record(Kind.RUNTIME, text_of(error.get("message")) or "Canceled", stop=Stop.INTERRUPT)
    elif error or state == FAILED:
        yield builder.record(Kind.RUNTIME, text_of(error.get("message")) or "Failed", stop=Stop.CRASH, failed=True)


def _prompt(builder: RecordBuilder, request: Request) -> Record:
    prompt = _prompt_text(request.message)
    if request.is_system_initiated:
        return builder.record(Kind.SYSTEM, prompt)
    return builder.record(Kind.USER_INPUT, prompt) if request.confirmation else builder.prompt(prompt)


def _prompt_text(message: Any) -> str:
    if isinstance(message, dict) and not message.get("text"):
        return "".join(text_of(part) for part in listing(message.get("parts")))
    return text_of(message)


def _usage(request: Request, result: dict[str, Any], metadata: dict[str, Any]) -> Usage | None:
    counts = as_object(result.get("usage"))
    tokens_in = (
        as_count(metadata.get("promptTokens")) or as_count(counts.get("promptTokens")) or as_count(request.prompt_tokens)
    )
    tokens_out = (
        as_count(metadata.get("outputTokens"))
        or as_count(counts.get("completionTokens"))
        or as_count(request.completion_tokens)
    )
    return Usage(input=tokens_in, output=tokens_out) if tokens_in or tokens_out else None


def _document(ending: str, **fields: Any) -> Document:
    usual_place = ".config/Code/User/workspaceStorage/*/chatSessions"
    return Document(homes=homes, usual_place=usual_place, endings=(ending,), sidecars=workspace_of, **fields)


SOURCE = Source(
    name="vscode-copilot",
    title="VS Code Copilot Chat",
    formats=(
        _document(".json", recognises=is_chat, load=json_document(Chat), read=read_chat),
        _document(".jsonl", recognises=is_operations, load=json_lines(Operation), read=read_operations),
    ),
)
