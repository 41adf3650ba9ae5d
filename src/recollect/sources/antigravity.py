"""Antigravity writes one transcript per conversation: <home>/brain/<id>/.system_generated/logs/transcript[_full].jsonl.

The home is ~/.gemini/antigravity (the app), antigravity-ide or antigravity-cli.
Evidence: one trimmed capture and a sample of the CLI; no complete real session was read.
`transcript_full.jsonl` is complete, `transcript.jsonl` cuts long fields: if both exist, the full one is read. A line is a
step. A `PLANNER_RESPONSE` is one answer of the model with its tool calls, which have no ids. The steps that follow are the
results; their type is named after the tool. The values of a call's arguments are JSON inside JSON. The person's text is in
`<USER_REQUEST>`, next to notes of the app. The conversation itself (`conversations/*.pb`, `*.db`) is encrypted or protobuf
and is not read. The Markdown files in `brain/` are the agent's work, not a log.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Problem, Record, Stop
from recollect.sources.formats.container import Line
from recollect.sources.formats.homes import all_of, in_home
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.recognition import marked
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.tags import break_at_blocks, find_blocks
from recollect.sources.formats.values import parse_time

HOMES = ("antigravity", "antigravity-cli", "antigravity-ide")
SHORT, FULL = "transcript.jsonl", "transcript_full.jsonl"
REQUEST = re.compile(r"<(USER_REQUEST)>\n?")
MODEL = re.compile(r"`Model Selection` from .*? to (.+?)\.?\s*$", re.MULTILINE)
STEP_OF_TOOL = {  # tools whose step has another name
    "list_dir": "LIST_DIRECTORY",
    "write_file": "CODE_ACTION",
    "write_to_file": "CODE_ACTION",
    "replace_file_content": "CODE_ACTION",
    "multi_replace_file_content": "CODE_ACTION",
}
NOTES = {"SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE", "USER_SETTINGS_CHANGE", "KNOWLEDGE_ARTIFACTS"}
STOPPED = {"CANCELED", "CANCELLED", "INTERRUPTED"}


class ToolCall(Struct):
    name: str | None = None
    args: Any = None


class Step(Struct):
    step_index: Any = None
    source: str | None = None
    type: str | None = None
    status: str | None = None
    created_at: Any = None
    content: Any = None
    thinking: Any = None
    tool_calls: list[ToolCall] | None = None


class SessionProgress(Struct):
    """The state of reading a transcript: open tool calls and the chosen model."""

    session: str
    calls: dict[str, str] = {}  # type of the step that is the result, by the id that Recollect gave the call
    keys: dict[str, int] = {}  # the number of earlier steps with the same key
    model: str | None = None

    def builder(self, step: Step, line: Line) -> RecordBuilder:
        key = f"{self.session}/{step.step_index if isinstance(step.step_index, int) else f'@{line.number}'}"
        repetition = self.keys[key] = self.keys.get(key, -1) + 1
        key += f"~{repetition}" if repetition else ""
        return RecordBuilder(
            session=self.session, key=key, at=parse_time(step.created_at), line=line.number, model=self.model
        )

    def take_call(self, kind: str) -> str | None:
        """Remove the call whose result is a step of this type: the oldest with that type, else the oldest of all."""
        call = next((call for call, step in self.calls.items() if step == kind), next(iter(self.calls), None))
        return call if call is not None and self.calls.pop(call) else None


def is_log(path: Path) -> bool:
    in_logs = path.parts[-3:-1] == (".system_generated", "logs")
    return in_logs and (path.name == FULL or (path.name == SHORT and not path.with_name(FULL).exists()))


def read(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    in_place = path.parts[-3:-1] == (".system_generated", "logs")
    progress = SessionProgress(path.parents[2].name if in_place else path.stem)
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif not isinstance(line.value, Step):
            yield RecordBuilder(session=progress.session, key=f"{progress.session}@{line.number}", line=line.number).unknown(
                line.raw.decode("utf-8", "replace")
            )
        else:
            yield from _step(progress, line.value, line)


def _step(progress: SessionProgress, step: Step, line: Line) -> Iterator[Entry]:
    builder = progress.builder(step, line)
    text = text_of(step.content)
    match step.type:
        case "USER_INPUT":
            yield from _request(progress, builder, text)
        case "PLANNER_RESPONSE":
            yield from _answer(progress, builder, step, text)
        case "CHECKPOINT":
            yield builder.record(Kind.COMPACTION, text)
        case "CONVERSATION_HISTORY":
            yield Ignored("conversation history")
        case "ERROR_MESSAGE":
            yield builder.record(Kind.RUNTIME, text, stop=Stop.CRASH, failed=True)
        case str(kind) if kind in NOTES or (step.source == "SYSTEM" and text):
            yield builder.record(Kind.SYSTEM, text)
        case str(kind) if step.source != "SYSTEM" and text:
            yield _result(progress, builder, step, kind, text)
        case _:
            yield builder.unknown(line.raw.decode("utf-8", "replace"))


def _request(progress: SessionProgress, builder: RecordBuilder, text: str) -> Iterator[Record]:
    """The person's prompt. Notes that the app added to it become a system record."""
    prompt = "\n\n".join(block.text.removesuffix("\n") for block in find_blocks(text, REQUEST)) or text
    notes = break_at_blocks(text, REQUEST).strip() if prompt != text else ""
    yield builder.prompt(prompt)
    if notes:
        yield builder.record(Kind.SYSTEM, notes)
    if selection := MODEL.search(notes):
        progress.model = selection[1]


def _answer(progress: SessionProgress, builder: RecordBuilder, step: Step, text: str) -> Iterator[Record]:
    if thoughts := text_of(step.thinking).strip():
        yield builder.record(Kind.REASONING, thoughts)
    if text.strip():
        is_final = step.status == "DONE" and not step.tool_calls
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=_stop(step) or (Stop.ANSWER if is_final else None))
    progress.calls.clear()  # calls without a result by now never get one
    for tool_call in step.tool_calls or []:
        call = f"{builder.key}.{builder.count}"
        name = tool_call.name or "tool"
        progress.calls[call] = STEP_OF_TOOL.get(name, name.upper())
        yield builder.call(tool_call.name, call, _decode_arguments(tool_call.args))
    if not builder.count:
        yield builder.record(Kind.ASSISTANT_RESPONSE, "", stop=_stop(step))


def _decode_arguments(args: Any) -> Any:
    """Arguments with decoded values: in the log, each value is JSON as text."""
    if not isinstance(args, dict):
        return args
    return {name: _decode_value(value) for name, value in args.items()}


def _decode_value(value: Any) -> Any:
    decoded = decode_or_none(value, object) if isinstance(value, str) else None
    return value if decoded is None else decoded


def _result(progress: SessionProgress, builder: RecordBuilder, step: Step, kind: str, text: str) -> Record:
    failed = step.status in STOPPED or step.status == "ERROR"
    call = progress.take_call(kind)
    tool = None if call else kind.lower()
    return builder.result(call, text, tool=tool, failed=failed, stop=_stop(step))


def _stop(step: Step) -> Stop | None:
    return Stop.INTERRUPT if step.status in STOPPED else None


SOURCE = Source(
    name="antigravity",
    title="Antigravity",
    formats=(
        Document(
            homes=all_of(*(in_home(f".gemini/{name}/brain") for name in HOMES)),
            endings=(".jsonl",),
            is_log=is_log,
            recognises=marked("step_index", "source", "type", "status"),
            load=json_lines(Step),
            read=read,
        ),
    ),
)
