"""iFlow stores one `session-<id>.jsonl` per session under ~/.iflow/projects/<folder>/.

Evidence: one redacted capture of 1.0 and published captures of other people.
A record has Claude Code's frame; a tool result in it has Gemini CLI's form. An answer is written in pieces, one per tool
call, and a piece begins with the call that ended the piece before it, so repeated calls are ignored. The last piece of an
answer (`response-<time>`, without a tool's name) ends the turn if it has no call. Token counts are mostly 0.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, Kind, Record, Stop, Usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import in_home
from recollect.sources.formats.message import (
    RecordBuilder,
    read_agent_message,
    read_prompt_or_command,
    read_user_message,
    text_of,
)
from recollect.sources.formats.source import Lines, ReaderState, Source
from recollect.sources.formats.values import as_count, parse_time

SESSION = re.compile(r"session-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
RECENT = 64  # calls that are remembered; a piece only repeats the last one


class Message(Struct, frozen=True):
    id: str | None = None
    content: Any = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class ToolUseResult(Struct, rename="camel"):
    tool_name: str | None = None
    status: str | None = None


class Row(Struct, rename="camel"):
    uuid: str | None = None
    session_id: str | None = None
    timestamp: Any = None
    type: str = ""
    message: Message = Message()
    cwd: str | None = None
    git_branch: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    tool_use_result: ToolUseResult | None = None


class IFlowState(ReaderState, kw_only=True):
    calls: list[str] = []


def is_log(path: Path) -> bool:
    return path.name.startswith("session-")


def recognises(head: Head) -> bool:
    return any(
        row.get("uuid") is not None
        and SESSION.fullmatch(str(row.get("sessionId"))) is not None
        and isinstance(row.get("message"), dict)
        and "parts" not in row["message"]
        for row in head.objects()
    )


def begin(path: Path, first: list[Any]) -> IFlowState:
    row = next((value for value in first if isinstance(value, Row)), Row())
    return IFlowState(session=path.stem if SESSION.fullmatch(path.stem) else row.session_id or path.stem)


def read(line: Line, state: IFlowState) -> Iterable[Entry]:
    row: Row = line.value
    builder = RecordBuilder(
        session=state.session,
        key=row.uuid or f"{state.session}@{line.number}",
        at=parse_time(row.timestamp),
        line=line.number,
        model=row.message.model,
        cwd=row.cwd,
        branch=row.git_branch,
    )
    entries: list[Entry] = []
    match row.type:
        case "user":
            entries += _user(builder, row)
        case "assistant":
            entries += _assistant(builder, row, state)
        case _:
            entries.append(builder.unknown(line.raw.decode("utf-8", "replace")))
    return entries or [Ignored(f"empty {row.type}")]


def _user(builder: RecordBuilder, row: Row) -> Iterator[Record]:
    content = row.message.content
    if row.is_meta or row.is_compact_summary:
        yield builder.record(Kind.COMPACTION if row.is_compact_summary else Kind.SYSTEM, text_of(content))
        return
    result = row.tool_use_result or ToolUseResult()
    for record in read_user_message(builder, _unwrap_results(content), read_prompt_or_command):
        if record.kind is Kind.TOOL_RESPONSE:
            record.tool = result.tool_name
            record.failed = record.failed or result.status not in {"success", None}
        yield record


def _unwrap_results(content: Any) -> Any:
    """The blocks of a message. Tool results are extracted from their function responses."""
    if not isinstance(content, list):
        return content
    return [
        {**block, "content": _output(block.get("content"))}
        if isinstance(block, dict) and block.get("type") == "tool_result"
        else block
        for block in content
    ]


def _output(content: Any) -> Any:
    match content:
        case {"responseParts": parts}:
            return _output(parts) or content.get("resultDisplay")
        case {"functionResponse": {"response": response}}:
            return response
        case list():
            return [_output(part) for part in content]
        case _:
            return content


def _assistant(builder: RecordBuilder, row: Row, state: IFlowState) -> Iterator[Record | Ignored]:
    builder.usage = _usage(row.message.usage)
    blocks = row.message.content if isinstance(row.message.content, list) else [row.message.content]
    calls = [block.get("id") for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    is_final = not calls and "-tool-" not in (row.message.id or "")
    for record in read_agent_message(builder, blocks, Stop.ANSWER if is_final else None):
        if record.call in state.calls:
            yield Ignored("repeated call")
            continue
        if record.call:
            state.calls = [*state.calls[-RECENT:], record.call]
        yield record


def _usage(counts: dict[str, Any] | None) -> Usage | None:
    usage = Usage(input=as_count((counts or {}).get("input_tokens")), output=as_count((counts or {}).get("output_tokens")))
    return usage if usage != Usage() else None


SOURCE = Source(
    name="iflow",
    title="iFlow",
    formats=(
        Lines(
            homes=in_home(".iflow/projects"),
            endings=(".jsonl",),
            is_log=is_log,
            shape=Row,
            state=IFlowState,
            begin=begin,
            read=read,
            recognises=recognises,
        ),
    ),
)
