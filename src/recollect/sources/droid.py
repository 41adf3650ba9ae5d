"""Factory Droid keeps one `<session>.jsonl` per session under ~/.factory/sessions/<folder>/.

Evidence: 6 samples of both forms that others published, to version 0.229; no real session was at hand.
The store has Anthropic's content blocks: answers of tools come in user messages, and reminders are wrapped around prompts.
`<session>.settings.json` beside it says the model and the tokens, of the whole session only. The first line is written anew
when the session gets a title. How a turn ended is said since 0.229 alone (`agent_turn_outcome`). A sub-agent has a session
of its own, and names the call that began it.
`droid exec --output-format stream-json` prints another form, which somebody may have saved: one line for each message, call,
answer, and for the completion, whose text repeats the last message.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from recollect.model import Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.container import Line, Misfit
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import beside
from recollect.sources.formats.jsonl import every_line
from recollect.sources.formats.message import Scribe, agent_blocks, prompt_or_system, text_of, user_blocks
from recollect.sources.formats.source import Document, Source, home_of
from recollect.sources.formats.totals import with_total
from recollect.sources.formats.values import UUID, as_text, count, instant, word
from recollect.title import is_placeholder

EXIT_CODE = re.compile(r"\(exit code: (\d{1,9})\)")
REFUSED = re.compile(  # what a tool answers where the person did not let it run
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
    "refusal": Stop.ANSWER,  # the model's, which is its answer
    "refused": Stop.ANSWER,
    "rejected": Stop.CANCEL,  # the person's, of a tool
    "permission_denied": Stop.CANCEL,
    "interrupted": Stop.INTERRUPT,
    "cancelled": Stop.INTERRUPT,
    "aborted": Stop.INTERRUPT,
    "error": Stop.CRASH,
    "failed": Stop.CRASH,
}
SPOKEN = ("user", "assistant")


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


def homes(env: Mapping[str, str]) -> list[Path]:
    return [home_of(env) / ".factory/sessions"]


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
    settings = beside(settings_of(path)[0], Settings) or Settings()
    entries = (entry for line in lines for entry in _store_line(line, session, settings))
    return with_total(entries, _usage(settings.token_usage))


def _store_line(line: Line | Problem, session: str, settings: Settings) -> Iterator[Entry]:
    if isinstance(line, Problem):
        yield line
        return
    row, raw = line.value, line.raw.decode("utf-8", "replace")
    key = _key(session, row.id if isinstance(row, Row) else None, line.number)
    scribe = Scribe(session=session, key=key, line=line.number, model=settings.model)
    if isinstance(row, Misfit):
        yield scribe.unknown(raw)
        return
    scribe.at = instant(row.timestamp)
    match row.type:
        case "session_start":
            yield from _about(row, session, settings)
        case "message":
            yield from _message(scribe, row.message)
        case "compaction_state":
            yield scribe.record(Kind.COMPACTION, text_of(row.summary_text))
        case "agent_turn_outcome":
            reason = as_text(row.reason)
            yield scribe.record(Kind.RUNTIME, reason, stop=OUTCOMES.get(reason, Stop.OTHER))
        case "todo_state" | "session_settings":
            yield Ignored(row.type)
        case _:
            yield scribe.unknown(raw)


def _key(session: str, native: Any, line: int) -> str:
    """A fork repeats the messages of its parent under their ids, which are the world's where they are UUIDs."""
    if not isinstance(native, str) or not native:
        return f"{session}@{line}"
    return native if UUID.fullmatch(native) else f"{session}/{native}"


def _about(row: Row, session: str, settings: Settings) -> Iterator[Entry]:
    named = word(row.session_title)
    named = None if named is None or is_placeholder(named) else named
    title = named or word(row.title)
    yield SessionMetadata(
        session=session,
        title=title,
        title_rank=TitleRank.GENERATED if named else TitleRank.SUMMARY,
        parent=as_text(row.calling_session_id) or as_text(row.parent) or None,
        parent_call=as_text(row.calling_tool_use_id) or None,
        cwd=row.cwd if isinstance(row.cwd, str) else None,
        model=settings.model,
    )
    yield Ignored("session_start")


def _message(scribe: Scribe, message: Any) -> Iterator[Record]:
    said = message if isinstance(message, dict) else {}
    content, role = said.get("content"), said.get("role")
    scribe.model = as_text(said.get("modelId")) or scribe.model
    if said.get("hookEventName"):
        yield scribe.record(Kind.RUNTIME, text_of(said.get("hookResults")) or as_text(said["hookEventName"]))
    elif role == "user" and said.get("visibility") in ("llm_only", "user_only"):
        yield scribe.record(Kind.SYSTEM if said["visibility"] == "llm_only" else Kind.RUNTIME, text_of(content))
    elif role == "user":
        yield from (_ended(record) for record in user_blocks(scribe, content))
    elif role == "assistant":
        yield from agent_blocks(scribe, content, _stop_of(said))
    if not scribe.written:
        yield scribe.record(Kind.RUNTIME, "") if role in SPOKEN else scribe.unknown(message)


def _stop_of(message: dict[str, Any]) -> Stop | None:
    """How a message of the agent ended its turn, where it says so."""
    reason = word(message.get("stopReason")) or word(message.get("stop_reason"))
    return OUTCOMES.get(reason or "")


def _ended(record: Record) -> Record:
    """An answer of a tool that says in its text how the call ended. A call that the person refused ends the turn."""
    if record.kind is not Kind.TOOL_RESPONSE:
        return record
    if _is_refused(record):
        record.failed, record.stop = True, Stop.CANCEL
    if code := EXIT_CODE.search(record.text[:200]):
        record.exit_code = int(code[1])
        record.failed = record.failed or record.exit_code != 0
    return record


def _is_refused(answer: Record) -> bool:
    """Whether the person did not let a tool run. A tool that ran may print such words as well."""
    text = answer.text[:200].lstrip()
    return (answer.failed or text.startswith("Error:")) and REFUSED.match(text) is not None


def _usage(tokens: dict[str, Any]) -> Usage:
    return Usage(
        input=count(tokens.get("inputTokens")),
        output=count(tokens.get("outputTokens")),
        cache_read=count(tokens.get("cacheReadTokens")),
        cache_write=count(tokens.get("cacheCreationTokens")),
        reasoning=count(tokens.get("thinkingTokens")),
    )


# ---- the stream


def is_stream(head: Head) -> bool:
    return any(
        ("session_id" in row or "sessionId" in row)
        and (
            (row.get("type") == "message" and row.get("role") in SPOKEN and isinstance(row.get("text"), str))
            or (row.get("type") == "completion" and "finalText" in row)
        )
        for row in head.objects()
    )


def read_stream(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    steps = [line.value for line in lines if isinstance(line, Line) and isinstance(line.value, Step)]
    session = next((as_text(step.session or step.session_id) for step in steps if step.session or step.session_id), None)
    said = ""  # by the agent, last
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        scribe = Scribe(session=session or path.stem, key=f"{session or path.stem}@{line.number}", line=line.number)
        if isinstance(line.value, Misfit):
            yield scribe.unknown(line.raw.decode("utf-8", "replace"))
            continue
        step: Step = line.value
        scribe.at = instant(step.timestamp)
        if step.type == "message" and step.role == "assistant":
            said = text_of(step.text)
        yield from _step(scribe, step, said, line.raw)


def _step(scribe: Scribe, step: Step, said: str, raw: bytes) -> Iterator[Entry]:
    call = as_text(step.tool_call_id) or as_text(step.id) or None
    match step.type:
        case "system":
            cwd, model = (value if isinstance(value, str) else None for value in (step.cwd, step.model))
            yield SessionMetadata(session=scribe.session, cwd=cwd, model=model)
            yield Ignored("system")
        case "message" if step.role == "user":
            yield from prompt_or_system(scribe, text_of(step.text))
        case "message" if step.role == "assistant":
            yield scribe.record(Kind.ASSISTANT_RESPONSE, text_of(step.text))
        case "reasoning":
            yield scribe.record(Kind.REASONING, text_of(step.text))
        case "tool_call":
            yield scribe.call(as_text(step.tool_name) or None, call, step.parameters)
        case "tool_result":
            yield _stream_result(scribe, call, step)
        case "completion":
            yield _completion(scribe, step, said)
        case "error":
            yield scribe.record(Kind.RUNTIME, text_of(step.message), stop=Stop.CRASH, failed=True)
        case _:
            yield scribe.unknown(raw.decode("utf-8", "replace"))


def _stream_result(scribe: Scribe, call: str | None, step: Step) -> Record:
    code = step.value.get("exitCode") if isinstance(step.value, dict) else None
    exit_code = count(code) if isinstance(code, int) else None
    answer = scribe.result(call, step.value, exit_code=exit_code, failed=bool(step.is_error) or bool(exit_code))
    answer.stop = Stop.CANCEL if _is_refused(answer) else None
    return answer


def _completion(scribe: Scribe, step: Step, said: str) -> Record:
    tokens = step.usage if isinstance(step.usage, dict) else {}
    usage = Usage(
        input=count(tokens.get("input_tokens")),
        output=count(tokens.get("output_tokens")),
        cache_read=count(tokens.get("cache_read_input_tokens")),
        cache_write=count(tokens.get("cache_creation_input_tokens")),
        reasoning=count(tokens.get("thinking_tokens")),
    )
    scribe.usage = usage if tokens else None
    text = text_of(step.final_text)
    if step.is_error:
        failure = scribe.record(Kind.RUNTIME, text, stop=Stop.CRASH, failed=True)
        failure.usage = scribe.usage
        return failure
    if text and text != said:
        return scribe.record(Kind.ASSISTANT_RESPONSE, text, stop=Stop.ANSWER)
    end = scribe.record(Kind.RUNTIME, "completion", stop=Stop.ANSWER)
    end.usage = scribe.usage
    return end


SOURCE = Source(
    name="droid",
    title="Factory Droid",
    formats=(
        Document(
            homes=homes,
            endings=(".jsonl",),
            recognises=is_store,
            load=every_line(Row),
            read=read_store,
            beside=settings_of,
            owner=owner,
        ),
        Document(endings=(".jsonl",), recognises=is_stream, load=every_line(Step), read=read_stream),
    ),
)
