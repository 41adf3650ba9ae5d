"""Amp stores a copy of each thread in ~/.local/share/amp/threads/T-<uuid>.json; the original is on its server.

Evidence: published descriptions and readers, and the code of Amp's own program; no real thread was available.
The file is rewritten as the thread grows. Only the person's messages have a time of their own (`meta.sentAt`); an agent
message gets the time of its token counts or of its first block. A tool's output is in the next user message, inside `run`.
`state` says how an answer ended. For OpenAI models, `cacheCreationInputTokens` counts input that was not cached at all.
Older versions of the extension stored threads in the editor's storage.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from msgspec import Raw, Struct

from recollect.model import Entry, Kind, Record, SessionMetadata, Stop, TitleRank, TurnStart, Usage
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import all_of, data
from recollect.sources.formats.json import decode_each, json_document
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_user_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.values import as_count, as_object, as_text, parse_time
from recollect.sources.formats.vscode import extension_homes

FINAL = {"end_turn", "stop", "stop_sequence", "max_tokens", "refusal"}
STATES = {"cancelled": Stop.INTERRUPT, "error": Stop.CRASH}
FAILED_RUNS = {"error": None, "cancelled": Stop.INTERRUPT, "rejected-by-user": Stop.CANCEL}
UNCACHED = ("gpt", "openai/", "o3", "o4", "codex")  # models whose counts follow OpenAI


class Message(Struct, rename="camel"):
    role: Any = None
    message_id: Any = None
    content: Any = None
    meta: Any = None
    usage: Any = None
    state: Any = None


class Thread(Struct, rename="camel"):
    id: str | None = None
    created: Any = None
    title: str | None = None
    messages: list[Raw] = []
    env: Any = None
    relationships: Any = None


def is_log(path: Path) -> bool:
    return path.name.startswith("T-")


def recognises(head: Head) -> bool:
    first = head.first()
    return as_text(first.get("id")).startswith("T-") and isinstance(first.get("messages"), list)


def read(path: Path, thread: Thread) -> Iterable[Entry]:
    session = thread.id or path.stem
    tree = _tree(thread.env)
    repository = as_object(tree.get("repository"))
    yield SessionMetadata(
        session=session,
        title=thread.title,
        title_rank=TitleRank.GENERATED,
        parent=_parent(thread.relationships),
        is_fork=True,
        cwd=_folder(tree.get("uri")),
        branch=as_text(repository.get("ref")).removeprefix("refs/heads/") or None,
    )
    for place, message, raw in decode_each(thread.messages, Message):
        number = message.message_id if message and message.message_id is not None else f"@{place}"
        builder = RecordBuilder(session=session, key=f"{session}/{as_text(number)}", line=place)
        if place == 1:
            builder.at = parse_time(thread.created)
        yield from _message(builder, message) if message else [builder.unknown(raw)]


def _tree(env: Any) -> dict[str, Any]:
    trees = as_object(as_object(env).get("initial")).get("trees")
    return as_object(trees[0]) if isinstance(trees, list) and trees else {}


def _folder(uri: Any) -> str | None:
    if not isinstance(uri, str) or not uri.startswith("file:"):
        return None
    try:
        return unquote(urlparse(uri).path) or None
    except ValueError:  # an invalid host
        return None


def _parent(relationships: Any) -> str | None:
    """The thread from which this one was handed off or forked. `role` is the role of this thread, not of the other one."""
    relations = [as_object(item) for item in relationships] if isinstance(relationships, list) else []
    from_others = (item for item in relations if item.get("role") == "child" and item.get("type") != "mention")
    return next((as_text(item.get("threadID")) or None for item in from_others), None)


def _message(builder: RecordBuilder, message: Message) -> Iterator[Record]:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    usage = as_object(message.usage)
    builder.at = _time(message, blocks) or builder.at
    match message.role:
        case "user":
            results = [block for block in blocks if as_object(block).get("type") == "tool_result"]
            yield from (_result(builder, block) for block in results)
            yield from read_user_message(builder, [block for block in blocks if block not in results])
        case "assistant":
            builder.model, builder.usage = as_text(usage.get("model")) or None, _usage(usage)
            yield from _answer(builder, blocks, as_object(message.state))
        case "info":
            for block in blocks:
                yield from _info(builder, as_object(block))
        case _:
            yield builder.unknown({"role": message.role, "content": message.content})
    if not builder.count:
        yield builder.record(Kind.RUNTIME, as_text(as_object(message.state).get("type")))


def _time(message: Message, blocks: list[Any]) -> int | None:
    starts = (parse_time(as_object(block).get("startTime")) for block in blocks)
    sent = parse_time(as_object(message.meta).get("sentAt")) or parse_time(as_object(message.usage).get("timestamp"))
    return sent or next((at for at in starts if at), None)


def _answer(builder: RecordBuilder, blocks: list[Any], state: dict[str, Any]) -> Iterator[Record]:
    yield from read_agent_message(builder, blocks, Stop.ANSWER if as_text(state.get("stopReason")) in FINAL else None)
    kind = as_text(state.get("type"))
    if stop := STATES.get(kind):
        reason = text_of(state.get("error")) or kind
        yield builder.record(Kind.RUNTIME, reason, stop=stop, failed=stop is Stop.CRASH)


def _result(builder: RecordBuilder, block: dict[str, Any]) -> Record:
    run = as_object(block.get("run"))
    status = as_text(run.get("status"))
    output = next((run[part] for part in ("result", "error", "reason", "progress") if run.get(part)), status)
    exit_code = as_object(run.get("result")).get("exitCode")
    return builder.result(
        as_text(block.get("toolUseID")) or None,
        output,
        failed=status in FAILED_RUNS or (isinstance(exit_code, int) and exit_code != 0),
        exit_code=as_count(exit_code) if isinstance(exit_code, int) else None,
        stop=FAILED_RUNS.get(status),
    )


def _info(builder: RecordBuilder, block: dict[str, Any]) -> Iterator[Record]:
    match block.get("type"):
        case "summary":
            yield builder.record(Kind.COMPACTION, text_of(as_object(block.get("summary")).get("summary")))
        case "manual_bash_invocation":  # the person runs it outside the conversation
            command = as_text(as_object(block.get("args")).get("cmd"))
            yield builder.record(Kind.USER_INPUT, f"$ {command}", opens=TurnStart.COMMAND)
            yield builder.record(Kind.SYSTEM, text_of(as_object(block.get("toolRun")).get("result")))
        case "text":
            yield builder.record(Kind.RUNTIME, text_of(block))
        case _:
            yield builder.unknown(block)


def _usage(usage: dict[str, Any]) -> Usage | None:
    if not usage:
        return None
    uncached, written = as_count(usage.get("inputTokens")), as_count(usage.get("cacheCreationInputTokens"))
    if as_text(usage.get("model")).startswith(UNCACHED):
        uncached, written = uncached + written, 0
    return Usage(
        input=uncached,
        output=as_count(usage.get("outputTokens")),
        cache_read=as_count(usage.get("cacheReadInputTokens")),
        cache_write=written,
    )


SOURCE = Source(
    name="amp",
    title="Amp",
    formats=(
        Document(
            homes=all_of(data((), "amp/threads"), extension_homes("sourcegraph.amp", "threads3")),
            usual_place=".local/share/amp/threads",
            endings=(".json",),
            is_log=is_log,
            recognises=recognises,
            load=json_document(Thread),
            read=read,
        ),
    ),
)
