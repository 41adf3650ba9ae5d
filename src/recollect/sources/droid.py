"""Factory Droid stores one `<session>.jsonl` per session under ~/.factory/sessions/<folder>/.

Evidence: 6 published samples of both forms, up to version 0.229; no real session was available.
Messages have Anthropic's content blocks: tool results are in user messages, and reminders surround prompts.
`<session>.settings.json` next to it has the model and the token counts of the whole session. The first line is rewritten
when the session gets a title. Since 0.229 the log records how a turn ended (`agent_turn_outcome`). A sub-agent has its
own session, which names the call that started it.
`droid exec --output-format stream-json` prints another form, which a person may have saved: one line per message, call and
result, and one for the completion, whose text repeats the last message.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.container import Line, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import in_home
from recollect.sources.formats.json import read_sidecar
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_prompt, read_user_message, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import tokens, with_total
from recollect.sources.formats.values import UUID, as_count, as_object, as_text, parse_time, text_or_none
from recollect.title import is_placeholder

EXIT_CODE = re.compile(r"\(exit code: (\d{1,9})\)")
REFUSED = re.compile(  # the tool result when the person refuses the call
    r"(?:error: )?(?:[\w ]{0,60}\b(?:cancell?ed|rejected|denied|declined|refused|aborted) by (?:the )?user"
    r"|(?:the )?user (?:has )?(?:cancell?ed|rejected|denied|declined|refused|aborted)\b)",
    re.IGNORECASE,
)
OUTCOMES = {
    "completed": Stop.ANSWER,
    "success": Stop.ANSWER,
    "end_turn": Stop.ANSWER,
    "stop_sequence": Stop.ANSWER,
    "max_tokens": Stop.ANSWER,
    "refusal": Stop.ANSWER,  # the model refuses: the refusal is its answer
    "refused": Stop.ANSWER,
    "rejected": Stop.CANCEL,  # the person rejects a tool call
    "permission_denied": Stop.CANCEL,
    "interrupted": Stop.INTERRUPT,
    "cancelled": Stop.INTERRUPT,
    "aborted": Stop.INTERRUPT,
    "error": Stop.CRASH,
    "failed": Stop.CRASH,
}
ROLES = ("user", "assistant")


class Row(Struct, rename="camel"):
    """A line of the store."""

    type: Any = None
    id: Any = None
    timestamp: Any = None
    message: Any = None
    title: Any = None
    session_title: Any = None
    cwd: Any = None
    parent: Any = None
    calling_session_id: Any = None
    calling_tool_use_id: Any = None
    summary_text: Any = None
    reason: Any = None


class Step(Struct, rename="camel"):
    """A line of the stream."""

    type: Any = None
    id: Any = None
    timestamp: Any = None
    session: Any = field(default=None, name="session_id")
    session_id: Any = None
    model: Any = None
    cwd: Any = None
    role: Any = None
    text: Any = None
    tool_call_id: Any = None
    tool_name: Any = None
    parameters: Any = None
    value: Any = None
    is_error: Any = None
    final_text: Any = None
    usage: Any = None
    message: Any = None


class Settings(Struct, rename="camel"):
    model: str | None = None
    token_usage: dict[str, Any] = {}


def settings_of(log: Path) -> list[Path]:
    return [log.with_suffix(".settings.json")]


def owner(changed: Path) -> Path | None:
    name = changed.name
    return changed.with_name(name.replace(".settings.json", ".jsonl")) if name.endswith(".settings.json") else None


# ---- the store


def is_store(head: Head) -> bool:
    return any(
        row.get("type") == "session_start" and "id" in row and ("cwd" in row or "title" in row or "owner" in row)
        for row in head.objects()
    )


def read_store(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    rows = [line.value for line in lines if isinstance(line, Line) and isinstance(line.value, Row)]
    session = next((as_text(row.id) for row in rows if row.type == "session_start" and row.id), path.stem)
    settings = read_sidecar(settings_of(path)[0], Settings) or Settings()
    entries = (entry for line in lines for entry in _store_line(line, session, settings))
    return with_total(entries, _usage(settings.token_usage) or Usage())


def _store_line(line: Line | Problem, session: str, settings: Settings) -> Iterator[Entry]:
    if isinstance(line, Problem):
        yield line
        return
    row, raw = line.value, line.raw.decode("utf-8", "replace")
    key = _key(session, row.id if isinstance(row, Row) else None, line.number)
    builder = RecordBuilder(session=session, key=key, line=line.number, model=settings.model)
    if isinstance(row, WrongShape):
        yield builder.unknown(raw)
        return
    builder.at = parse_time(row.timestamp)
    match row.type:
        case "session_start":
            yield from _metadata(row, session, settings)
        case "message":
            yield from _message(builder, row.message)
        case "compaction_state":
            yield builder.record(Kind.COMPACTION, text_of(row.summary_text))
        case "agent_turn_outcome":
            reason = as_text(row.reason)
            yield builder.record(Kind.RUNTIME, reason, stop=OUTCOMES.get(reason, Stop.OTHER))
        case "todo_state" | "session_settings":
            yield Ignored(row.type)
        case _:
            yield builder.unknown(raw)


def _key(session: str, native: Any, line: int) -> str:
    """The key of a record. A fork repeats its parent's messages under their ids; a UUID is unique across sessions."""
    if not isinstance(native, str) or not native:
        return f"{session}@{line}"
    return native if UUID.fullmatch(native) else f"{session}/{native}"


def _metadata(row: Row, session: str, settings: Settings) -> Iterator[Entry]:
    session_title = text_or_none(row.session_title)
    if session_title and is_placeholder(session_title):
        session_title = None
    title = session_title or text_or_none(row.title)
    yield SessionMetadata(
        session=session,
        title=title,
        title_rank=TitleRank.GENERATED if session_title else TitleRank.SUMMARY,
        parent=as_text(row.calling_session_id) or as_text(row.parent) or None,
        parent_call=as_text(row.calling_tool_use_id) or None,
        is_fork=not as_text(row.calling_session_id),
        cwd=row.cwd if isinstance(row.cwd, str) else None,
        model=settings.model,
    )
    yield Ignored("session_start")


def _message(builder: RecordBuilder, message: Any) -> Iterator[Record]:
    fields = as_object(message)
    content, role = fields.get("content"), fields.get("role")
    builder.model = as_text(fields.get("modelId")) or builder.model
    if fields.get("hookEventName"):
        yield builder.record(Kind.RUNTIME, text_of(fields.get("hookResults")) or as_text(fields["hookEventName"]))
    elif role == "user" and fields.get("visibility") in ("llm_only", "user_only"):
        yield builder.record(Kind.SYSTEM if fields["visibility"] == "llm_only" else Kind.RUNTIME, text_of(content))
    elif role == "user":
        yield from (_add_outcome(record) for record in read_user_message(builder, content))
    elif role == "assistant":
        yield from read_agent_message(builder, content, _stop_of(fields))
    if not builder.count:
        yield builder.record(Kind.RUNTIME, "") if role in ROLES else builder.unknown(message)


def _stop_of(message: dict[str, Any]) -> Stop | None:
    """The outcome of the turn that an agent message ends, if the message records it."""
    reason = text_or_none(message.get("stopReason")) or text_or_none(message.get("stop_reason"))
    return OUTCOMES.get(reason or "")


def _add_outcome(record: Record) -> Record:
    """The record; a tool result gets the outcome that its text states. A call that the person refused ends the turn."""
    if record.kind is not Kind.TOOL_RESPONSE:
        return record
    if _is_refused(record):
        record.failed, record.stop = True, Stop.CANCEL
    if code := EXIT_CODE.search(record.text[:200]):
        record.exit_code = int(code[1])
        record.failed = record.failed or record.exit_code != 0
    return record


def _is_refused(answer: Record) -> bool:
    """Whether the person refused the call. The output of a tool that ran may contain the same words."""
    text = answer.text[:200].lstrip()
    return (answer.failed or text.startswith("Error:")) and REFUSED.match(text) is not None


_usage = tokens(
    input="inputTokens",
    output="outputTokens",
    cache_read="cacheReadTokens",
    cache_write="cacheCreationTokens",
    reasoning="thinkingTokens",
)


# ---- the stream


def is_stream(head: Head) -> bool:
    return any(
        ("session_id" in row or "sessionId" in row)
        and (
            (row.get("type") == "message" and row.get("role") in ROLES and isinstance(row.get("text"), str))
            or (row.get("type") == "completion" and "finalText" in row)
        )
        for row in head.objects()
    )


def read_stream(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    steps = [line.value for line in lines if isinstance(line, Line) and isinstance(line.value, Step)]
    session = next((as_text(step.session or step.session_id) for step in steps if step.session or step.session_id), None)
    last_text = ""  # the agent's last message
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        builder = RecordBuilder(session=session or path.stem, key=f"{session or path.stem}@{line.number}", line=line.number)
        if isinstance(line.value, WrongShape):
            yield builder.unknown(line.raw.decode("utf-8", "replace"))
            continue
        step: Step = line.value
        builder.at = parse_time(step.timestamp)
        if step.type == "message" and step.role == "assistant":
            last_text = text_of(step.text)
        yield from _step(builder, step, last_text, line.raw)


def _step(builder: RecordBuilder, step: Step, last_text: str, raw: bytes) -> Iterator[Entry]:
    call = as_text(step.tool_call_id) or as_text(step.id) or None
    match step.type:
        case "system":
            cwd, model = (value if isinstance(value, str) else None for value in (step.cwd, step.model))
            yield SessionMetadata(session=builder.session, cwd=cwd, model=model)
            yield Ignored("system")
        case "message" if step.role == "user":
            yield from read_prompt(builder, text_of(step.text))
        case "message" if step.role == "assistant":
            yield builder.record(Kind.ASSISTANT_RESPONSE, text_of(step.text))
        case "reasoning":
            yield builder.record(Kind.REASONING, text_of(step.text))
        case "tool_call":
            yield builder.call(as_text(step.tool_name) or None, call, step.parameters)
        case "tool_result":
            yield _stream_result(builder, call, step)
        case "completion":
            yield _completion(builder, step, last_text)
        case "error":
            yield builder.record(Kind.RUNTIME, text_of(step.message), stop=Stop.CRASH, failed=True)
        case _:
            yield builder.unknown(raw.decode("utf-8", "replace"))


def _stream_result(builder: RecordBuilder, call: str | None, step: Step) -> Record:
    code = step.value.get("exitCode") if isinstance(step.value, dict) else None
    exit_code = as_count(code) if isinstance(code, int) else None
    answer = builder.result(call, step.value, exit_code=exit_code, failed=bool(step.is_error) or bool(exit_code))
    answer.stop = Stop.CANCEL if _is_refused(answer) else None
    return answer


_stream_usage = tokens(
    input="input_tokens",
    output="output_tokens",
    cache_read="cache_read_input_tokens",
    cache_write="cache_creation_input_tokens",
    reasoning="thinking_tokens",
)


def _completion(builder: RecordBuilder, step: Step, last_text: str) -> Record:
    builder.usage = _stream_usage(step.usage) if step.usage else None
    text = text_of(step.final_text)
    if step.is_error:
        failure = builder.record(Kind.RUNTIME, text, stop=Stop.CRASH, failed=True)
        failure.usage = builder.usage
        return failure
    if text and text != last_text:
        return builder.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER)
    end = builder.record(Kind.RUNTIME, "completion", stop=Stop.ANSWER)
    end.usage = builder.usage
    return end


SOURCE = Source(
    name="droid",
    title="Factory Droid",
    formats=(
        Document(
            homes=in_home(".factory/sessions"),
            endings=(".jsonl",),
            recognises=is_store,
            load=json_lines(Row),
            read=read_store,
            sidecars=settings_of,
            owner=owner,
        ),
        Document(endings=(".jsonl",), recognises=is_stream, load=json_lines(Step), read=read_stream),
    ),
)
