"""gptme stores a folder per conversation under ~/.local/share/gptme/logs/: `conversation.jsonl` and `config.toml`.

Evidence: one published sample and the code that writes the files, up to September 2026; no real session was read.
The log is rewritten when a message is edited or undone, and messages have no ids. A tool is called by a code block in the
answer's text that names it (```shell), or by a line `@shell(call-1): {…}`. Its output comes back as messages of the role
`system` (`tool` in some). A code block without output was not run, and stays text. Answers are written when they are
complete. `metadata` marks the messages that gptme itself wrote around a compaction, and the reason why it stopped.
`branches/`, `views/` and `events.jsonl` next to the log are other or shortened versions of it, and are not read.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, TurnStart, Usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import data
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.tags import around_blocks, find_blocks
from recollect.sources.formats.usage import tokens, with_cost
from recollect.sources.formats.values import as_object, parse_time

LOG, CONFIG = "conversation.jsonl", "config.toml"
FIELDS = {
    "role", "content", "timestamp", "files", "file_hashes", "pinned", "hide", "quiet", "ui_only", "ephemeral_ttl",
    "call_id", "metadata",
}  # fmt: skip
ROLES = {"system", "user", "assistant", "tool"}
THOUGHT = re.compile(r"<(think|thinking)>")
SIGNATURE = re.compile(r"<!--\s*think-sig:.*?-->\s*", re.DOTALL)
FENCE = re.compile(r"^```([\w.+/-]+)([^\n`]*)\n", re.MULTILINE)
FENCE_END = re.compile(r"^```[ \t]*$", re.MULTILINE)
CALL = re.compile(r"^@(\w+)\(([\w.:-]+)\):\s*(\{(?:(?!^@\w+\().)*\})\s*$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"/[a-z][a-z-]*(\s|$)")
INTERRUPTED = ("Interrupted", "User hit Ctrl-C", "User interrupted")
FAILED = ("Error", "Failed")
LIMIT = "max_steps_stop"
COMPACTION = ("compaction_artifact", "result_stubs")
REMINDER = ("compaction_checkpoint_view", "compaction_reminder_view", "compaction_checkpoint_failed_view")
WRITTEN_BY_GPTME = {LIMIT, *COMPACTION, *REMINDER, "prompt_generation", "resume_key"}  # marks


class Message(Struct):
    role: str | None = None
    content: Any = None
    timestamp: Any = None
    hide: Any = False
    pinned: Any = False
    ui_only: Any = False
    call_id: str | None = None
    metadata: Any = None

    def marks(self) -> dict[str, Any]:
        return as_object(self.metadata)

    def may_be_output(self) -> bool:
        """Whether this message may be a tool's output."""
        is_ordinary = not (self.hide or self.pinned or self.ui_only or WRITTEN_BY_GPTME & self.marks().keys())
        return self.role in {"system", "tool"} and is_ordinary and not text_of(self.content).startswith(INTERRUPTED)


def recognises(head: Head) -> bool:
    first = head.first()
    is_message = {"role", "content", "timestamp"} <= first.keys() <= FIELDS and str(first["role"]) in ROLES
    return head.path.name == LOG and is_message


def log_of(path: Path) -> Path | None:
    return path.with_name(LOG) if path.name == CONFIG else None


def read(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    session = path.parent.name
    yield _metadata(session, path.with_name(CONFIG))
    yield from (line for line in lines if isinstance(line, Problem))
    decoded = [line for line in lines if isinstance(line, Line)]
    messages = [line.value if isinstance(line.value, Message) else Message() for line in decoded]
    calls: list[Record] = []
    for place, (line, message) in enumerate(zip(decoded, messages, strict=True)):
        builder = RecordBuilder(
            session=session, key=f"{session}@{line.number}", at=parse_time(message.timestamp), line=line.number
        )
        if message.role == "assistant":
            outputs = len(list(takewhile(Message.may_be_output, messages[place + 1 :])))
            records = list(_answer(builder, message, outputs=outputs))
            calls = [record for record in records if record.kind is Kind.TOOL_CALL]
            yield from records
        elif message.may_be_output() and calls:
            yield _output(builder, message, calls)
        else:
            yield _other(builder, message, line)


def _metadata(session: str, config: Path) -> SessionMetadata:
    try:
        chat = tomllib.loads(config.read_text("utf-8")).get("chat")
    except (OSError, ValueError):
        chat = None
    chat = as_object(chat)
    return SessionMetadata(
        session=session,
        title=text_of(chat.get("name")) or None,
        title_rank=TitleRank.GENERATED,
        cwd=text_of(chat.get("workspace")) or None,
        model=text_of(chat.get("model")) or None,
    )


def _answer(builder: RecordBuilder, message: Message, *, outputs: int) -> Iterator[Record]:
    metadata = message.marks()
    builder.model, builder.usage = text_of(metadata.get("model")) or None, _usage(metadata)
    text = SIGNATURE.sub("", text_of(message.content))
    for thought in find_blocks(text, THOUGHT):
        yield builder.record(Kind.REASONING, thought.text.strip())
    first, *others = around_blocks(text, THOUGHT)
    text = "".join([first, *(part.lstrip() for part in others)])
    calls = list(_calls(text)) if outputs else []
    text = _without(text, [place for place, *_ in calls])
    if text.strip() or not calls:
        yield builder.record(Kind.ASSISTANT_RESPONSE, text.strip(), stop=None if outputs else Stop.ANSWER)
    for _, tool, call_id, arguments in calls:
        yield builder.call(tool, call_id or f"{builder.key}.{builder.count}", arguments)


def _calls(text: str) -> Iterator[tuple[slice, str, str | None, Any]]:
    """(place in the text, tool, id, arguments) of every tool call in an answer."""
    for call in CALL.finditer(text):
        yield slice(*call.span()), call[1], call[2], call[3]
    place = 0
    while (fence := FENCE.search(text, place)) and (end := FENCE_END.search(text, fence.end())):
        arguments = {"args": fence[2].strip(), "content": text[fence.end() : end.start()].rstrip("\n")}
        yield slice(fence.start(), end.end()), fence[1], None, {name: value for name, value in arguments.items() if value}
        place = end.end()


def _without(text: str, places: list[slice]) -> str:
    """The text without these slices, which may overlap."""
    parts, end = [], 0
    for place in sorted(places, key=lambda place: place.start):
        parts.append(text[end : place.start])
        end = max(end, place.stop)
    return "".join([*parts, text[end:]])


def _usage(metadata: dict[str, Any]) -> Usage | None:
    """The token counts: in `usage`, or in early versions next to the model."""
    counts = metadata["usage"] if isinstance(metadata.get("usage"), dict) else metadata
    return with_cost(_read_counts(counts) if "output_tokens" in counts else None, metadata.get("cost"))


_read_counts = tokens(
    input="input_tokens",
    output="output_tokens",
    cache_read="cache_read_tokens",
    cache_write="cache_creation_tokens",
    reasoning="reasoning_tokens",
)


def _output(builder: RecordBuilder, message: Message, calls: list[Record]) -> Record:
    """The output of the call that the message names, else of the next call. The last call may have several outputs."""
    tool = message.marks().get("tool")
    answered = next((call for call in calls if call.call == message.call_id or call.tool == tool), calls[0])
    if len(calls) > 1:
        calls.remove(answered)
    text = text_of(message.content)
    return builder.result(answered.call, text, tool=answered.tool, failed=text.startswith(FAILED))


def _other(builder: RecordBuilder, message: Message, line: Line) -> Record:
    text = text_of(message.content)
    match message.role:
        case "system" if LIMIT in message.marks():
            return builder.record(Kind.RUNTIME, text, stop=Stop.OTHER)
        case "system" if any(mark in message.marks() for mark in COMPACTION):
            return builder.record(Kind.COMPACTION, text)
        case "user" if message.hide or any(mark in message.marks() for mark in REMINDER):
            return builder.record(Kind.SYSTEM, text)
        case "user" if COMMAND.match(text):
            return builder.record(Kind.USER_INPUT, text, opens=TurnStart.COMMAND)
        case "user":
            return builder.prompt(text)
        case "system" | "tool" if message.ui_only:
            return builder.record(Kind.RUNTIME, text)
        case "system" if text.startswith(INTERRUPTED):
            return builder.record(Kind.RUNTIME, text, stop=Stop.INTERRUPT)
        case "system":
            return builder.record(Kind.SYSTEM, text)
        case "tool":
            return builder.result(message.call_id, text, failed=text.startswith(FAILED))
        case _:
            return builder.unknown(line.raw.decode("utf-8", "replace"))


SOURCE = Source(
    name="gptme",
    title="gptme",
    formats=(
        Document(
            homes=data("GPTME_LOGS_HOME", "gptme/logs"),
            endings=(LOG,),
            recognises=recognises,
            load=json_lines(Message),
            read=read,
            sidecars=lambda path: [path.with_name(CONFIG)],
            owner=log_of,
        ),
    ),
)
