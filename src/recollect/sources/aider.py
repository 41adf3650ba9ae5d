r"""Aider appends every chat of a project to <project>/.aider.chat.history.md.

Evidence: 3 real histories of v0.47 to v0.86 (2024 to 2025), one of them with 1,133 chats.
`# aider chat started at <local time>` begins a chat. Lines that start with `#### ` are from the person, lines with `> `
from the program, all others from the model. Aider ends its own lines with two spaces. This distinguishes a prompt from a
heading of the model, and a program message from a quotation. If an editor has stripped the spaces, only the marks are left.
A message of several lines has the mark only on its first line, and ends with the two spaces.
Only the start of a chat has a time; nothing has an id. Many chats are launches without any message: they are skipped.
`/ask` and `/help` are written twice, as typed and as sent. Interrupted text follows `^C`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TurnStart, Usage
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import read_text
from recollect.sources.formats.message import RecordBuilder
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import micro_dollars
from recollect.sources.formats.values import parse_time

HISTORY = ".aider.chat.history.md"
STARTED = "# aider chat started at "
START = re.compile(rf"{STARTED}(\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
BEGINS = re.compile(rf"^{START.pattern}$", re.MULTILINE)
PROMPT, MESSAGE, MODEL = "#### ", "> ", ""
LINE_END = "  "  # of Aider's own lines
MODEL_NAME = re.compile(r"^(?:Main model|Models?): ([^\s,]+)", re.MULTILINE)
COST = "> Tokens: "  # follows every answer
TOKENS = re.compile(r"^Tokens: .*?received.*", re.MULTILINE)
DOLLARS = re.compile(r"Cost: \$([\d.,]*\d) (?:message|request)")
AMOUNT = re.compile(r"(?<![\d.,])([\d.,]*\d)([kM]?) (sent|cached|cache hit|cache write|received)")
SCALE = {"": 1, "k": 1_000, "M": 1_000_000}
FAILURE = re.compile(r"^(?:litellm\.\S*Error|Unexpected error)", re.MULTILINE)
RETRY, CTRL_C, EXIT = "Retrying in", "^C again to exit", "^C KeyboardInterrupt"
INJECTED = "# Fix any errors below, if possible."
NOTHING = "<blank>"  # Enter without any text
THOUGHTS = re.compile(r"\A[\s-]*► \*\*THINKING\*\*(.*?)^[\s-]{0,200}► \*\*ANSWER\*\*", re.DOTALL | re.MULTILINE)


class Part(Struct):
    """Consecutive lines of one speaker."""

    speaker: str
    line: int
    lines: list[str]

    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")


class ChatProgress(Struct):
    """The state of a chat that reading its next part needs."""

    is_waiting: bool = False  # the last prompt has no complete answer yet
    is_interrupted: bool = False
    command: Record | None = None  # the slash command just typed
    answer: Record | None = None  # the last answer, whose tokens are not counted yet
    model: str | None = None


def recognises(head: Head) -> bool:
    return BEGINS.search(head.text) is not None


def read(path: Path, content: str) -> Iterable[Entry]:
    """All chats in order. Text before the first start line belongs to a chat whose beginning is missing."""
    lines = content.split("\n")
    if lines[-1].startswith(("#", ">")):
        lines.pop()  # still being written: it may become a start line, a prompt or a message
    starts = [place for place, line in enumerate(lines) if START.fullmatch(line)]
    if not starts:
        yield Problem(path, 1, "contains no start of a chat")
        return
    is_strict = any(line.startswith(PROMPT) and line.endswith(LINE_END) for line in lines)
    names = Counter[str]()
    for start, end in zip([-1, *starts], [*starts, len(lines)], strict=True):
        started = lines[start].removeprefix(STARTED).strip() if start >= 0 else "before"
        names[started] += 1
        session = f"{path.parent.name}/{started}" + (f"#{names[started]}" if names[started] > 1 else "")
        parts = list(_parts(lines[start + 1 : end], start + 2, is_strict=is_strict))
        yield from _chat(path, session, parts, parse_time(started))


def _parts(lines: list[str], first: int, *, is_strict: bool) -> Iterator[Part]:
    """The parts of a chat with their speakers. Consecutive lines with the same mark are one part."""
    part = Part(MODEL, first, [])
    place = 0
    while place < len(lines):
        speaker = _speaker(lines, place, is_strict=is_strict)
        end = _end_of_message(lines, place) if speaker == MESSAGE and is_strict else place
        if speaker != part.speaker:
            yield part
            part = Part(speaker, first + place, [])
        part.lines += [line.removeprefix(speaker).rstrip() for line in lines[place : end + 1]]
        place = end + 1
    yield part


def _speaker(lines: list[str], place: int, *, is_strict: bool) -> str:
    line = lines[place]
    for mark in (PROMPT, MESSAGE):
        if line.startswith(mark) and (not is_strict or line.endswith(LINE_END)):
            return mark
    if is_strict and line.startswith(MESSAGE) and _end_of_message(lines, place) > place:
        return MESSAGE
    return MODEL


def _end_of_message(lines: list[str], place: int) -> int:
    """The last line of the message that begins here, or its first line if another message begins before it ends."""
    for end in range(place, len(lines)):
        line = lines[end]
        if end > place and line.startswith(COST):
            return place
        if line.endswith(LINE_END) and not line.isspace():
            return place if end > place and line.startswith((PROMPT, MESSAGE)) else end
    return place


def _chat(path: Path, session: str, parts: list[Part], at: int | None) -> Iterator[Entry]:
    parts = [part for part in parts if part.text()]
    if not parts:
        return
    if all(part.speaker == MESSAGE for part in parts):
        yield Ignored("launch without a word")
        return
    # A copy may be anywhere; the history itself is in the folder that the agent worked in.
    yield SessionMetadata(session=session, cwd=str(path.parent) if path.name == HISTORY else None)
    progress = ChatProgress()
    for number, part in enumerate(parts, 1):
        builder = RecordBuilder(session=session, key=f"{session}/{number}", at=at, line=part.line, model=progress.model)
        yield from SPEAKERS[part.speaker](builder, part.text(), progress)


def _prompt(builder: RecordBuilder, text: str, progress: ChatProgress) -> Iterator[Entry]:
    command, progress.command = progress.command, None
    progress.answer, progress.is_interrupted = None, False
    if command is not None and (question := command.text.partition(" ")[2].strip()) and question in text:
        command.opens, progress.is_waiting = TurnStart.PROMPT, True
        yield Ignored("sent as typed") if text.strip() == question else builder.record(Kind.SYSTEM, text)
    elif text.strip() == NOTHING:
        yield Ignored(NOTHING)
    elif text.startswith(INJECTED):
        progress.is_waiting = True
        yield builder.record(Kind.SYSTEM, text)
    elif text.startswith(("/", "!")):
        progress.command = builder.record(Kind.USER_INPUT, text, opens=TurnStart.COMMAND)
        yield progress.command
    else:
        progress.is_waiting = True
        yield builder.prompt(text.strip())


def _message(builder: RecordBuilder, text: str, progress: ChatProgress) -> Iterator[Entry]:
    """A message of the program: the model in use, the cost of an answer, or an interruption by Ctrl-C."""
    progress.command = None
    if model := MODEL_NAME.search(text):
        progress.model = model.group(1)
    if (cost := TOKENS.search(text)) and progress.answer is not None:
        progress.answer.usage = _usage(cost.group())
        progress.answer.stop = progress.answer.stop or Stop.ANSWER
        progress.is_waiting, progress.answer = False, None
    stop, failed = None, False
    if progress.is_waiting and (CTRL_C in text or EXIT in text):
        stop, progress.is_waiting, progress.is_interrupted = Stop.INTERRUPT, False, True
    elif EXIT in text:
        stop = Stop.EXIT
    elif FAILURE.search(text) and RETRY not in text.rpartition("\n")[2]:
        stop, failed = Stop.CRASH, True
    yield builder.record(Kind.RUNTIME, text, stop=stop, failed=failed)


def _answer(builder: RecordBuilder, text: str, progress: ChatProgress) -> Iterator[Entry]:
    if thoughts := THOUGHTS.match(text):
        yield builder.record(Kind.REASONING, thoughts.group(1).strip())
        text = text[thoughts.end() :]
    progress.answer = builder.record(Kind.ASSISTANT_RESPONSE, text.strip())
    progress.command = None
    if progress.is_interrupted:
        progress.answer.stop, progress.is_interrupted = Stop.INTERRUPT, False
    yield progress.answer


SPEAKERS = {PROMPT: _prompt, MESSAGE: _message, MODEL: _answer}


def _usage(cost: str) -> Usage:
    """Some models count cached tokens as sent, some do not; if `sent` is the larger number, it includes them."""
    amounts = {what: round(float(number.replace(",", "")) * SCALE[unit]) for number, unit, what in AMOUNT.findall(cost)}
    sent, written = amounts.get("sent", 0), amounts.get("cache write", 0)
    cached = amounts.get("cache hit", 0) + amounts.get("cached", 0)
    if sent >= cached + written:
        sent -= cached + written
    usage = Usage(input=sent, output=amounts.get("received", 0), cache_read=cached, cache_write=written)
    dollars = DOLLARS.search(cost)
    return replace(usage, cost=micro_dollars(float(dollars[1].replace(",", "")))) if dollars else usage


SOURCE = Source(
    name="aider",
    title="Aider",
    formats=(Document(in_projects=(HISTORY,), endings=(".md",), recognises=recognises, load=read_text, read=read),),
    real_sessions=684,
)
