"""Reads the session log of Pi and of the agents derived from it: one JSON entry per line, a tree by `id` and `parentId`.

A header comes first; the entries after it are final. A fork begins with a copy of the original session's entries. The
copies have the same ids and times, which together are unique. Before version 2 there were no ids, and an entry is
identified by its time and content. Moving in the tree writes only the next entry, with another parent; earlier entries
remain. A prompt typed while the agent works has an earlier time than the entry before it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank, TurnStart
from recollect.sources.formats.container import Line
from recollect.sources.formats.injected import split_context
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_user_message, text_of
from recollect.sources.formats.source import ReaderState
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_count, as_object, as_text, parse_time
from recollect.sources.pi.results import YIELDS, is_final, result_in
from recollect.sources.pi.shapes import Message, Row

NAMED = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)")  # a log's name: the session's start and its id
SKILL = re.compile(r'<skill name="([^"]+)".*?</skill>\s*', re.DOTALL)
EXIT_CODE = re.compile(r"Command exited with code (\d{1,9})\s*$")
FINAL = {"stop", "length", "endTurn", "end_turn"}
BROKEN = {"aborted": Stop.INTERRUPT, "error": Stop.CRASH}
ERRORS = {"openclaw:prompt-error"}  # an extension writes it if the agent could not answer
PROGRAM = "openclaw"  # the provider of messages that the program sent in the agent's role
FAILED = {"error", "failed"}  # states of OpenClaw's tools that `isError` does not report
FROM_PARENT = "[task from parent]"
EXCERPT = 2_000  # characters of an extension's own data
QUIET = {
    "agent_status", "archive", "child_usage_attributed", "context_transform", "credential_pin", "ephemeral", "leaf",
    "session_state",
}  # fmt: skip

Split = Callable[[str], tuple[str, list[str]]]
"""Splits a text into the person's part and the context around it."""


class PiState(ReaderState):
    named: bool = False  # the session's id is final
    parent: str | None = None  # of a sub-agent, a fork or a continuation
    sub_agent: bool = False  # True even if its parent is unknown
    nests: bool = False  # ids of sub-agents begin with the session's id
    working: bool = False  # the agent has not ended its turn yet
    at: int | None = None  # the last entry's time
    title: tuple[str, int] | None = None  # from the line before the header
    yielded: dict[str, tuple[str, str | None]] = {}  # call -> (result, model) of `yield` calls without a response yet


# ---- the session


def begin(path: Path, first: list[Any]) -> PiState:
    """The state to start with. The session's id is in the header; before it is written, in the file's name."""
    header = header_of(first)
    original = _original(header)
    return PiState(
        session=header.id or session_named(path.name),
        named=header.id is not None,
        copies_from=original,
        parent=original,
    )


def _original(header: Row) -> str | None:
    """The session that this one was forked from or continues."""
    original = header.parent_session or header.branched_from
    return session_named(original) if original else None


def header_of(first: list[Any]) -> Row:
    return next((row for row in first if isinstance(row, Row) and row.type == "session"), Row())


def session_named(name: str) -> str:
    """The session's id, from a log's name or path on any system, or from the id itself."""
    stem = re.split(r"[/\\]", name)[-1].partition(".jsonl")[0]
    match = NAMED.fullmatch(stem)
    return match[1] if match else stem


# ---- reading


def without_skill(text: str) -> tuple[str, list[str]]:
    """A prompt in which the call of a skill replaces the skill's text, and that text."""
    skill = SKILL.match(text)
    if skill is None:
        return split_context(text)
    return f"/skill:{skill[1]} {text[skill.end() :]}".strip(), [skill[0].strip()]


def read(line: Line, state: PiState, split: Split = without_skill) -> Iterable[Entry]:
    row: Row = line.value
    message = row.message
    at = parse_time(row.timestamp) or (parse_time(message.timestamp) if message else None)
    builder = RecordBuilder(session=state.session, key=_key(row, line, state), at=at, line=line.number)
    if row.type == "session":
        return list(_header(row, state))
    if row.type == "message" and message is not None:
        entries = list(_message(message, builder, state, split))
    elif row.type in READERS:
        entries = list(READERS[row.type](row, builder, state))
    elif row.type in QUIET:
        return [Ignored(row.type)]
    else:
        entries = [builder.unknown(decode_or_none(line.raw, dict[str, Any]))]
    state.at = at or state.at
    return entries or [Ignored(f"empty {row.type}")]


def _key(row: Row, line: Line, state: PiState) -> str:
    stamp = row.timestamp if isinstance(row.timestamp, str) else None
    if row.id and stamp:
        return f"{row.id}@{stamp}"
    if row.id:
        return f"{state.session}/{row.id}"
    if stamp:
        return f"{stamp}#{blake2b(line.raw, digest_size=8).hexdigest()}"
    return f"{state.session}@{line.offset}"


def _header(row: Row, state: PiState) -> Iterator[Entry]:
    if row.id and not state.named:
        state.session, state.named = row.id, True
    state.parent = state.parent or _original(row)
    title, rank = state.title or (text_of(row.title), _rank(row.title_source))
    yield SessionMetadata(
        session=state.session,
        title=title,
        title_rank=rank,
        cwd=row.cwd,
        branch=_branch(row.git),
        model=row.model_id,
        parent=state.parent,
        is_fork=not state.sub_agent,
    )


def _branch(git: Any) -> str | None:
    return git["branch"] if isinstance(git, dict) and isinstance(git.get("branch"), str) else None


def _rank(source: Any) -> int:
    return TitleRank.CUSTOM if source == "user" else TitleRank.GENERATED


# ---- messages


def _message(message: Message, builder: RecordBuilder, state: PiState, split: Split) -> Iterator[Entry]:
    match message.role:
        case "user":
            yield from read_user_message(
                builder, message.content, partial(_read_user_text, message=message, state=state, split=split)
            )
        case "assistant":
            yield from _answer(message, builder, state)
        case "toolResult":
            yield from _result(message, builder, state)
        case "bashExecution" | "pythonExecution":
            yield from _executed(message, builder, state)
        case "branchSummary" | "compactionSummary":
            yield builder.record(Kind.COMPACTION, text_of(message.summary))
        case "system" | "developer" | "custom" | "hookMessage" | "fileMention":
            if text := _instructions(message):
                yield builder.record(Kind.SYSTEM, text)
        case _:
            yield builder.unknown({"role": message.role, "content": message.content})


def _instructions(message: Message) -> str:
    """The text of a system prompt. The newest Pi writes it in sections, and changes of tools without text."""
    sections = list(message.sections.values()) if isinstance(message.sections, dict) else None
    return text_of(message.content or message.files or sections)


def _read_user_text(builder: RecordBuilder, text: str, message: Message, state: PiState, split: Split) -> Iterator[Record]:
    if _is_injected(message, state):
        yield builder.record(Kind.SYSTEM, text)
        return
    own, injected = split(text)
    if own.strip():
        yield _prompt(builder, own, message, state)
    for block in injected:
        yield builder.record(Kind.SYSTEM, block)


def _is_injected(message: Message, state: PiState) -> bool:
    """Whether the program wrote a user message. In a sub-agent's session, its parent counts as the person."""
    provenance = as_object(message.provenance)
    return (
        message.synthetic is True
        or (message.attribution == "agent" and not state.sub_agent)
        or provenance.get("kind") == "internal_system"
        or provenance.get("sourceTool") == "subagent_announce"
    )


def _prompt(builder: RecordBuilder, text: str, message: Message, state: PiState) -> Record:
    typed_at = parse_time(message.timestamp)
    is_early = typed_at is not None and state.at is not None and typed_at < state.at
    steers = message.steering is True or (state.working and is_early)
    state.working = True
    return builder.record(Kind.USER_INPUT, text, opens=TurnStart.NO if steers else TurnStart.PROMPT)


def _answer(message: Message, builder: RecordBuilder, state: PiState) -> Iterator[Record]:
    builder.model = message.model if message.provider != PROGRAM else None
    builder.usage = _usage(message.usage)
    records = list(read_agent_message(builder, message.content or []))
    reason = as_text(message.stop_reason)
    is_final_answer = reason in FINAL and not any(record.kind is Kind.TOOL_CALL for record in records)
    if is_final_answer:
        if not any(record.kind is Kind.ASSISTANT_RESPONSE for record in records):
            records.append(builder.record(Kind.ASSISTANT_RESPONSE))
        [*_, last] = (record for record in records if record.kind is Kind.ASSISTANT_RESPONSE)
        last.stop = Stop.ANSWER
    yield from records
    if state.nests:
        state.yielded |= {
            record.call: (result_in(record.arguments or {}), record.model)
            for record in records
            if record.tool in YIELDS and record.call and is_final(record.arguments or {})
        }
    stop = BROKEN.get(reason)
    if stop is not None:
        text = text_of(message.error_message) or reason
        yield builder.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH, usage=builder.usage)
    state.working = not is_final_answer and stop is None


# `reasoningTokens` is Oh My Pi's name
_usage = tokens(
    input="input",
    output="output",
    cache_read="cacheRead",
    cache_write="cacheWrite",
    reasoning=("reasoning", "reasoningTokens"),
    cost="cost",
)


def _result(message: Message, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    state.working = True
    details = as_object(message.details)
    text = text_of(message.content)
    code = _exit_code(details.get("exitCode"), text)
    failed = message.is_error is True or details.get("status") in FAILED or bool(code)
    result = state.yielded.pop(message.tool_call_id or "", None)
    yield builder.result(message.tool_call_id, text, tool=message.tool_name, failed=failed, exit_code=code)
    if result is not None and message.is_error is not True:
        yield from _end_sub_agent(*result, builder, state)
    if state.nests and message.tool_name == "task":
        for agent in _agents(details):
            child = f"{state.session}/{agent}"
            yield SessionMetadata(session=child, parent=state.session, parent_call=message.tool_call_id)


def _end_sub_agent(result: str, model: str | None, builder: RecordBuilder, state: PiState) -> Iterator[Record]:
    """The end of a sub-agent after its result was accepted."""
    state.working = False
    if result:
        builder.model = model
        yield builder.record(Kind.ASSISTANT_RESPONSE, result, stop=Stop.ANSWER)
    else:
        yield builder.record(Kind.RUNTIME, "yield", stop=Stop.ANSWER)


def _exit_code(value: Any, text: str) -> int | None:
    if isinstance(value, int):
        return as_count(value)
    code = EXIT_CODE.search(text[-100:])
    return int(code[1]) if code else None


def _agents(details: dict[str, Any]) -> set[str]:
    """The sub-agents that a task started, by the names of their logs."""
    runs = [run for key in ("progress", "results") if isinstance(details.get(key), list) for run in details[key]]
    return {run["id"] for run in runs if isinstance(run, dict) and isinstance(run.get("id"), str)}


def _executed(message: Message, builder: RecordBuilder, state: PiState) -> Iterator[Record]:
    """Reads a command that the person ran without the agent."""
    is_shell = message.role == "bashExecution"
    typed = f"!{text_of(message.command)}" if is_shell else f"${text_of(message.code)}"
    yield builder.record(Kind.USER_INPUT, typed, opens=TurnStart.NO if state.working else TurnStart.COMMAND)
    code = _exit_code(message.exit_code, "")
    tool = "bash" if is_shell else "python"
    yield builder.record(Kind.TOOL_RESPONSE, text_of(message.output), tool=tool, exit_code=code, failed=bool(code))


# ---- the other entries


def _title_slot(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    if title := text_of(row.title):  # else the header may have one
        state.title = (title, _rank(row.source))
    yield Ignored("title")


def _title(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    is_info = row.type == "session_info"
    rank = TitleRank.CUSTOM if is_info else _rank(row.source)
    yield SessionMetadata(session=state.session, title=text_of(row.name if is_info else row.title), title_rank=rank)


def _summary(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    yield builder.record(Kind.COMPACTION, text_of(row.summary), usage=_usage(row.usage))


def _setting(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    """Reads a change of settings by the person or the program."""
    values = (row.model, row.model_id, row.thinking_level, row.service_tier, row.mode, row.label, row.reason)
    value = next((value for value in (*values, row.injected_rules) if value), None)
    yield builder.record(Kind.RUNTIME, f"{row.type}: {as_text(value)}" if value else row.type)


def _custom(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    """Reads an extension's own data, and the end of the agent's program."""
    if row.custom_type == "tool_execution_start":
        yield Ignored("tool_execution_start")  # the call itself is in the agent's message
        return
    stop = None
    if row.custom_type in ERRORS:
        stop = Stop.CRASH
    elif row.custom_type == "session_exit" and state.working:
        stop = Stop.EXIT
    state.working = state.working and stop is None
    text = f"{row.custom_type}: {as_text(row.data)}"[:EXCERPT]
    yield builder.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH)


def _custom_message(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    """Reads a message of an extension to the agent; for a sub-agent of Prime, also a message of its parent."""
    text = text_of(row.content)
    if not text.strip():
        return
    details = as_object(row.details)
    if state.sub_agent and details.get("fromRelationship") == "parent":
        yield _prompt(builder, text.removeprefix(FROM_PARENT).strip(), Message(), state)
    else:
        yield builder.record(Kind.SYSTEM, text)


def _session_init(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    """Reads the start of a sub-agent's session. Its task follows as a prompt."""
    state.sub_agent = True
    state.parent = state.parent or state.copies_from
    if state.parent is not None:
        yield SessionMetadata(session=state.session, parent=state.parent)
    yield builder.record(Kind.SYSTEM, text_of(row.system_prompt))


def _git_state(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    yield SessionMetadata(session=state.session, branch=_branch(row.git))


def _model_usage(row: Row, builder: RecordBuilder, state: PiState) -> Iterator[Entry]:
    """Reads the tokens of a model call outside the conversation, such as for a title."""
    yield builder.record(Kind.RUNTIME, f"model_usage: {as_text(row.purpose)}", usage=_usage(row.usage))


READERS: dict[str, Callable[[Row, RecordBuilder, PiState], Iterator[Entry]]] = {
    "title": _title_slot,
    "title_change": _title,
    "session_info": _title,
    "compaction": _summary,
    "branch_summary": _summary,
    "custom": _custom,
    "custom_message": _custom_message,
    "session_init": _session_init,
    "git_state": _git_state,
    "model_usage": _model_usage,
    **dict.fromkeys(
        ("model_change", "thinking_level_change", "service_tier_change", "mode_change", "label", "ttsr_injection"), _setting
    ),
    **dict.fromkeys(("reset", "reset_boundary"), _setting),
}
