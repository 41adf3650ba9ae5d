"""Gemini CLI keeps one file per session under ~/.gemini/tmp/<project>/chats/.

Evidence: 4 real sessions of 0.23, a published one of 0.46, and published samples of the JSON (to 0.39) and the JSONL (from
0.40) form.
Up to 0.39 the file is one JSON document, rewritten after every step. From 0.40 on it is a log of lines: a header, messages,
`$set` patches of the header (which may contain messages), and `$rewindTo`. A message is written again under the same id
when its tools have finished; the last version counts. Messages before a rewind are stored too.
After a resume or a compression, `$set` may contain the complete history in the API's form: only its new messages count. In
that form thoughts and calls are parts of the content. All results of a message are at each of its calls, and again in the
user's role.
One `gemini` message is one API answer: its thoughts, its text, then its tool calls with their results. An answer with token
counts and without a tool call ends the turn. The working folder is not in the file, only in `.project_root` two folders
above.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, TurnStart
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import home
from recollect.sources.formats.injected import is_hook_tag, split_context
from recollect.sources.formats.json import decode_each, decode_or_none, json_document
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_object, as_text, parse_time
from recollect.sources.gemini_cli.shapes import Header, Message, Patch, ToolCall

CONTEXT_TAG = "session_context"
INJECTED = (  # starts of texts that the program added
    "This is the Gemini CLI. We are setting up the context",
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
    "System: Please continue.",
)
REFERENCES = "--- Content from referenced files ---"  # followed by the files that an @ in the prompt names
SUMMARY, SUMMARY_TAKEN = "<state_snapshot>", "Got it. Thanks for the additional context!"
SHELL = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n\nThis produced the following result:\n```\n(.*)\n```\s*",
    re.DOTALL,
)
SHELL_TOOL = "run_shell_command"
SHELL_CODE = re.compile(r"Command exited with code (\d{1,9})\.")
EXIT_CODE = re.compile(r"^Exit Code: (\d{1,9})$", re.MULTILINE)
THOUGHT = "[Thought: true]"  # follows a thought if the content is one text
REFUSED = {"cancelled", "canceled"}
FAILED = {"error", *REFUSED}
CANCELLED = "Request cancelled."


class SessionProgress(Struct):
    """The state of reading a session's messages."""

    calls: set[str] = set()
    answered: set[str] = set()
    ended: bool = False  # the turn has its answer


def is_log(path: Path) -> bool:
    return "chats" in path.parts[-3:-1]


def recognises(head: Head) -> bool:
    if is_qwen_code(head):
        return False
    return "projectHash" in head.first() or any("$set" in row or "$rewindTo" in row for row in head.objects())


def is_qwen_code(head: Head) -> bool:
    """Whether Qwen Code, which began as a fork, wrote the file: in its old documents answers have the type `qwen`."""
    messages = head.first().get("messages")
    return isinstance(messages, list) and any(
        isinstance(message, dict) and message.get("type") == "qwen" for message in messages
    )


def project_root(path: Path) -> list[Path]:
    return [parent / ".project_root" for parent in list(path.parents)[1:3]]


def read_document(path: Path, header: Header) -> Iterable[Entry]:
    session = header.session_id or path.stem
    yield from _session_metadata(path, header, session)
    yield from _without_launches(decode_each(header.messages, Message), session)


def read_lines(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    """Replays a log: the entries of every message's last version, in the order of their first versions."""
    header = Header()
    messages: dict[str, tuple[int, Message | None, str]] = {}
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        patch = line.value
        if isinstance(patch, WrongShape):
            messages[f"@{line.number}"] = (line.number, None, line.raw.decode("utf-8", "replace"))
            continue
        change = decode_or_none(patch.set, Header) if bytes(patch.set) else None
        if change is None and (patch.session_id or not (patch.type or patch.rewind_to)):
            change = decode_or_none(line.raw, Header)
        if change is not None:
            header = _merged(header, change)
            for _, message, raw in decode_each(change.messages, Message):
                if message is None or message.id not in messages:
                    _put(messages, line.number, message, raw)
            yield Ignored("header" if patch.session_id else "$set")
        elif patch.rewind_to is not None:
            yield Ignored("$rewindTo")
        else:
            _put(messages, line.number, patch, line.raw.decode("utf-8", "replace"))
    session = header.session_id or path.stem
    yield from _session_metadata(path, header, session)
    yield from _without_launches(messages.values(), session)


def _without_launches(messages: Iterable[tuple[int, Message | None, str]], session: str) -> Iterator[Entry]:
    """The entries of the messages. If all records are context, they become ignored entries.

    Over ACP the program writes a file with only context whenever it starts, in addition to the requested session's.
    """
    progress = SessionProgress()
    entries = [entry for place, message, raw in messages for entry in _entries(message, raw, session, place, progress)]
    is_launch = all(entry.kind is Kind.SYSTEM for entry in entries if isinstance(entry, Record))
    yield from (Ignored("launch") if is_launch and isinstance(entry, Record) else entry for entry in entries)


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


def _session_metadata(path: Path, header: Header, session: str) -> Iterator[Entry]:
    parent = path.parent.name if header.kind == "subagent" and path.parent.name != "chats" else None
    yield SessionMetadata(
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


def _entries(message: Message | None, raw: str, session: str, place: int, progress: SessionProgress) -> Iterator[Entry]:
    key = (message.id if message else None) or f"@{place}"
    builder = RecordBuilder(session=session, key=f"{session}/{key}", line=place)
    if message is None:
        yield builder.unknown(raw)
        return
    builder.at, builder.model = parse_time(message.timestamp), message.model
    match message.type:
        case "user":
            yield from _user(builder, message, progress)
        case "gemini" | "qwen":
            yield from _answer(builder, message, progress)
        case "info" | "warning":
            text = text_of(message.content)
            stop = Stop.INTERRUPT if text.startswith(CANCELLED) else None
            yield builder.record(Kind.RUNTIME, text, stop=stop)
        case "error":
            stop = None if progress.ended else Stop.CRASH  # after a turn's answer, it is a failed command
            yield builder.record(Kind.RUNTIME, text_of(message.content), stop=stop, failed=True)
        case _:
            yield builder.unknown(raw)


# ---- the person's side


def _user(builder: RecordBuilder, message: Message, progress: SessionProgress) -> Iterator[Entry]:
    parts = _parts(message.content)
    responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
    texts = [text for part in parts if "functionResponse" not in part and (text := part_text(part)).strip()]
    text = "\n".join(texts)
    for response in responses:
        yield from _late_result(builder, response, progress)
    if responses and not texts:
        return
    if SUMMARY in text and not message.display_content:
        yield builder.record(Kind.COMPACTION, text)
    elif shell := SHELL.fullmatch(text):
        yield from _shell(builder, shell[1], shell[2])
    else:
        typed, added = split_added(texts, text_of(message.display_content), INJECTED)
        if typed.strip() or not added:
            progress.ended = False
            yield builder.prompt(typed)
        for context in added:
            yield builder.record(Kind.SYSTEM, context)


def _parts(content: Any) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else [content]
    return [part if isinstance(part, dict) else {"text": part} for part in parts if part]


def part_text(part: Any) -> str:
    if isinstance(part, dict) and ("inlineData" in part or "fileData" in part):
        data = part.get("inlineData") or part.get("fileData")
        return f"[{data.get('mimeType') or 'file'}]" if isinstance(data, dict) else "[file]"
    return text_of(part)


def _is_context_tag(name: str) -> bool:
    return name == CONTEXT_TAG or is_hook_tag(name)


def split_added(texts: list[str], shown: str, openings: tuple[str, ...]) -> tuple[str, list[str]]:
    """The typed part of a prompt's texts, and the added parts: separate texts, or blocks around a text."""
    if shown.strip():
        return shown, [text for text in texts if text.strip() != shown.strip()]
    end = next((place for place, text in enumerate(texts) if text.strip() == REFERENCES), len(texts))
    parts = [("", [text]) if text.startswith(openings) else split_context(text, _is_context_tag) for text in texts[:end]]
    typed = [own for own, _ in parts if own.strip()]
    added = [block for _, blocks in parts for block in blocks]
    return "\n\n".join(typed), added + ["\n".join(texts[end:])] * (end < len(texts))


def _late_result(builder: RecordBuilder, response: Any, progress: SessionProgress) -> Iterator[Entry]:
    """Reads a result in the API's form. It is a copy if the call already has its result."""
    fields = as_object(response)
    call = as_text(fields.get("id"))
    if call in progress.answered:
        yield Ignored("copy of a result")
        return
    progress.answered.add(call)
    output = fields.get("response")
    failed = isinstance(output, dict) and bool(output.get("error"))
    yield builder.result(call or None, output, tool=as_text(fields.get("name")) or None, failed=failed)


def _shell(builder: RecordBuilder, command: str, output: str) -> Iterator[Record]:
    """Reads a command that the person ran without the agent."""
    yield builder.record(Kind.USER_INPUT, f"!{command}", opens=TurnStart.COMMAND)
    exit_code = SHELL_CODE.match(output)
    code = int(exit_code[1]) if exit_code else None
    yield builder.record(Kind.TOOL_RESPONSE, output, tool=SHELL_TOOL, exit_code=code, failed=bool(code))


# ---- the agent's side


def _answer(builder: RecordBuilder, message: Message, progress: SessionProgress) -> Iterator[Entry]:
    builder.usage = _usage(message.tokens)
    thoughts, text = _thoughts_and_text(message)
    if text == SUMMARY_TAKEN and message.tokens is None:
        yield builder.record(Kind.SYSTEM, text)
        return
    for thought in thoughts:
        yield builder.record(Kind.REASONING, thought)
    calls = [*(message.tool_calls or []), *_calls_inside(message, progress)]
    progress.ended = bool(text.strip()) and message.tokens is not None and not calls
    if text.strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER if progress.ended else None)
    refused = any(call.status in REFUSED for call in calls)
    for place, call in enumerate(calls, 1):
        progress.calls.add(call.id or "")
        yield builder.call(call.tool(), call.id, call.args)
        if call.status in FAILED or call.result or call.status == "success":
            progress.answered.add(call.id or "")
            builder.at = parse_time(call.timestamp) or builder.at
            record = builder.result(call.id, _output(call), tool=call.tool(), failed=call.status in FAILED)
            code = EXIT_CODE.search(record.text) if call.name == SHELL_TOOL else None
            record.exit_code = int(code[1]) if code else None
            record.stop = Stop.CANCEL if refused and place == len(calls) else None
            yield record
        if call.agent_id:
            yield SessionMetadata(session=call.agent_id, parent=builder.session, parent_call=call.id)
    if not builder.count:
        yield builder.record(Kind.ASSISTANT_RESPONSE, text)


def _thoughts_and_text(message: Message) -> tuple[list[str], str]:
    """The thoughts of an answer, each once, and the answer without them."""
    own = ["\n".join(part for part in (thought.subject, thought.description) if part) for thought in message.thoughts or []]
    inside: list[str] = []
    if isinstance(message.content, str):
        *inside, text = message.content.split(THOUGHT)
    else:
        parts = [part for part in _parts(message.content) if "functionCall" not in part]
        inside = [part_text(part) for part in parts if part.get("thought")]
        text = "\n".join(shown for part in parts if not part.get("thought") and (shown := part_text(part)))
    known = {_plain(thought) for thought in own}
    return own + [thought.strip() for thought in inside if _plain(thought) not in known], text


def _plain(thought: str) -> str:
    return " ".join(thought.replace("*", "").split())


def _calls_inside(message: Message, progress: SessionProgress) -> list[ToolCall]:
    """The calls that are only in the content of an answer."""
    known = progress.calls | {call.id or "" for call in message.tool_calls or []}
    parts = [part["functionCall"] for part in _parts(message.content) if isinstance(part.get("functionCall"), dict)]
    calls = [ToolCall(id=as_text(part.get("id")), name=as_text(part.get("name")), args=part.get("args")) for part in parts]
    return [call for call in calls if call.id not in known]


def _output(call: ToolCall) -> Any:
    """The result of a call, without the results of the message's other calls."""
    results = [item for item in (call.result if isinstance(call.result, list) else [call.result]) if item]
    own = [item for item in results if (response := _response(item)) is not None and response.get("id") == call.id]
    others = [item for item in results if (response := _response(item)) is not None and response.get("id") != call.id]
    chosen = own if own and others else results
    outputs = [part_text(item) if (response := _response(item)) is None else response.get("response") for item in chosen]
    return outputs or call.result_display


def _response(item: Any) -> dict[str, Any] | None:
    response = item.get("functionResponse") if isinstance(item, dict) else None
    return response if isinstance(response, dict) else None


_usage = tokens(
    input="input",
    output="output",
    cache_read="cached",
    reasoning="thoughts",
    cached_in_input=True,
    reasoning_in_output=False,
)


SOURCE = Source(
    name="gemini-cli",
    title="Gemini CLI",
    formats=(
        Document(
            homes=home("GEMINI_CLI_HOME", "", ".gemini/tmp"),
            endings=(".json",),
            is_log=is_log,
            recognises=lambda head: recognises(head) and "messages" in head.first(),
            load=json_document(Header),
            read=read_document,
            sidecars=project_root,
        ),
        Document(
            homes=home("GEMINI_CLI_HOME", "", ".gemini/tmp"),
            endings=(".jsonl",),
            is_log=is_log,
            recognises=recognises,
            load=json_lines(Patch),
            read=read_lines,
            sidecars=project_root,
        ),
    ),
    real_sessions=4,
)
