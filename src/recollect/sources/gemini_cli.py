"""Gemini CLI keeps one file per session under ~/.gemini/tmp/<project>/chats/.

Evidence: 4 real sessions of 0.23, and published samples of the JSON (to 0.39) and the JSONL (from 0.40) form.
To 0.39 the file is one JSON document, written anew after every step. From 0.40 on it is a log of lines: a header, messages,
`$set` patches of the header (which may bring messages), and `$rewindTo`. A message is written again under the same id when
its tools have answered, and the last one counts; what a rewind left behind was said all the same, and stays.
One `gemini` message is one answer of the API: its thoughts, its text, then its tool calls with their results. An answer
whose tokens were counted and that calls no tool ends the turn. The folder that the agent worked in is not in the file, only
in `.project_root` two folders above.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, field

from recollect.model import About, Entry, Kind, Noise, Problem, Record, Stop, TitleRank, Usage
from recollect.sources._container import Line, Misfit
from recollect.sources._head import Head
from recollect.sources._json import decoded, document, each
from recollect.sources._jsonl import every_line
from recollect.sources._message import Scribe, text_of
from recollect.sources._source import Document, Source, home_of
from recollect.sources._values import count, instant

INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
FAILED = {"error", "cancelled", "canceled"}
CANCELLED = "Request cancelled."


class Tokens(Struct):
    input: Any = 0
    output: Any = 0
    cached: Any = 0
    thoughts: Any = 0


class ToolCall(Struct):
    id: str | None = None
    name: str | None = None
    args: Any = None
    status: str | None = None
    result: Any = None
    result_display: Any = field(default=None, name="resultDisplay")
    timestamp: Any = None


class Thought(Struct):
    subject: str | None = None
    description: str | None = None


class Message(Struct, rename="camel"):
    id: str | None = None
    type: str = ""
    timestamp: Any = None
    content: Any = None
    display_content: Any = None
    thoughts: list[Thought] | None = None
    tokens: Tokens | None = None
    model: str | None = None
    tool_calls: list[ToolCall] | None = None


class Header(Struct, rename="camel"):
    """The document, the first line of a log, or what `$set` changes of it."""

    session_id: str | None = None
    kind: str | None = None
    summary: str | None = None
    directories: list[str] | None = None
    messages: list[Raw] = []


class Patch(Message, rename="camel"):
    """A line of the newer form: the header, a message, or a change."""

    session_id: str | None = None
    set: Raw = field(default=Raw(), name="$set")
    rewind_to: Any = field(default=None, name="$rewindTo")


def homes(env: Mapping[str, str]) -> list[Path]:
    root = Path(env["GEMINI_CLI_HOME"]) if env.get("GEMINI_CLI_HOME") else home_of(env)
    return [root / ".gemini/tmp"]


def is_log(path: Path) -> bool:
    return "chats" in path.parts[-3:-1]


def recognises(head: Head) -> bool:
    if is_qwens(head):
        return False
    return "projectHash" in head.first() or any("$set" in row or "$rewindTo" in row for row in head.objects())


def is_qwens(head: Head) -> bool:
    """Qwen Code began as a fork of this agent: its old documents differ by the name of the one who answers."""
    messages = head.first().get("messages")
    return isinstance(messages, list) and any(
        isinstance(message, dict) and message.get("type") == "qwen" for message in messages
    )


def project_root(path: Path) -> list[Path]:
    return [parent / ".project_root" for parent in list(path.parents)[1:3]]


def read_document(path: Path, header: Header) -> Iterable[Entry]:
    session = header.session_id or path.stem
    yield from _about(path, header, session)
    for place, message, raw in each(header.messages, Message):
        yield from _entries(message, raw, session, place)


def read_lines(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    """The log replayed: what was said last of every message, in the order in which they were begun."""
    header = Header()
    messages: dict[str, tuple[int, Message | None, str]] = {}
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        patch = line.value
        if isinstance(patch, Misfit):
            messages[f"@{line.number}"] = (line.number, None, line.raw.decode("utf-8", "replace"))
            continue
        change = decoded(patch.set, Header) if bytes(patch.set) else None
        if change is None and (patch.session_id or not (patch.type or patch.rewind_to)):
            change = decoded(line.raw, Header)
        if change is not None:
            header = _merged(header, change)
            for _, message, raw in each(change.messages, Message):
                _put(messages, line.number, message, raw)
            yield Noise("header" if patch.session_id else "$set")
        elif patch.rewind_to is not None:
            yield Noise("$rewindTo")
        else:
            _put(messages, line.number, patch, line.raw.decode("utf-8", "replace"))
    session = header.session_id or path.stem
    yield from _about(path, header, session)
    for number, message, raw in messages.values():
        yield from _entries(message, raw, session, number)


def _put(messages: dict[str, tuple[int, Message | None, str]], line: int, message: Message | None, raw: str) -> None:
    key = (message.id if message else None) or f"@{line}.{len(messages)}"
    first = messages[key][0] if key in messages else line
    messages[key] = (first, message, raw)


def _merged(header: Header, change: Header) -> Header:
    return Header(
        session_id=change.session_id or header.session_id,
        kind=change.kind or header.kind,
        summary=change.summary or header.summary,
        directories=change.directories or header.directories,
    )


def _about(path: Path, header: Header, session: str) -> Iterator[Entry]:
    parent = path.parent.name if header.kind == "subagent" and path.parent.name != "chats" else None
    yield About(
        session=session,
        title=header.summary,
        title_rank=TitleRank.SUMMARY,
        cwd=_folder(path, header),
        parent=parent,
    )


def _folder(path: Path, header: Header) -> str | None:
    for place in project_root(path):
        try:
            return place.read_text("utf-8").strip() or None
        except (OSError, UnicodeDecodeError):
            continue
    return header.directories[0] if header.directories else None


def _entries(message: Message | None, raw: str, session: str, place: int) -> Iterator[Record]:
    key = (message.id if message else None) or f"@{place}"
    scribe = Scribe(session=session, key=f"{session}/{key}", line=place)
    if message is None:
        yield scribe.unknown(raw)
        return
    scribe.at, scribe.model = instant(message.timestamp), message.model
    text = text_of(message.content)
    match message.type:
        case "user":
            if text.startswith(INJECTED):
                yield scribe.record(Kind.SYSTEM, text)
            else:
                yield scribe.prompt(text_of(message.display_content) or text)
        case "gemini" | "qwen":
            yield from _answer(scribe, message, text)
        case "info" | "warning":
            stop = Stop.INTERRUPT if text.startswith(CANCELLED) else None
            yield scribe.record(Kind.RUNTIME, text, stop=stop)
        case "error":
            yield scribe.record(Kind.RUNTIME, text, stop=Stop.CRASH, failed=True)
        case _:
            yield scribe.unknown(raw)


def _answer(scribe: Scribe, message: Message, text: str) -> Iterator[Record]:
    scribe.usage = _usage(message.tokens)
    for thought in message.thoughts or []:
        yield scribe.record(Kind.REASONING, "\n".join(part for part in (thought.subject, thought.description) if part))
    if text.strip():
        ended = message.tokens is not None and not message.tool_calls
        yield scribe.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER if ended else None)
    for call in message.tool_calls or []:
        yield scribe.call(call.name, call.id, call.args)
        if call.status in FAILED or call.result or call.status == "success":
            scribe.at = instant(call.timestamp) or scribe.at
            output = _output(call)
            yield scribe.result(call.id, output, tool=call.name, failed=call.status in FAILED)
    if not scribe.written:
        yield scribe.record(Kind.ASSISTANT_RESPONSE, text)


def _output(call: ToolCall) -> Any:
    results = call.result if isinstance(call.result, list) else [call.result]
    responses = [
        item["functionResponse"].get("response")
        if isinstance(item, dict) and isinstance(item.get("functionResponse"), dict)
        else item
        for item in results
        if item
    ]
    return responses or call.result_display


def _usage(tokens: Tokens | None) -> Usage | None:
    if tokens is None:
        return None
    cached, thoughts = count(tokens.cached), count(tokens.thoughts)
    return Usage(
        input=max(count(tokens.input) - cached, 0),
        output=count(tokens.output) + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )


SOURCE = Source(
    name="gemini-cli",
    title="Gemini CLI",
    formats=(
        Document(
            homes=homes,
            endings=(".json",),
            is_log=is_log,
            recognises=lambda head: recognises(head) and "messages" in head.first(),
            load=document(Header),
            read=read_document,
            beside=project_root,
        ),
        Document(
            homes=homes,
            endings=(".jsonl",),
            is_log=is_log,
            recognises=recognises,
            load=every_line(Patch),
            read=read_lines,
            beside=project_root,
        ),
    ),
    real_sessions=4,
)
