"""The session log of Pi, which its descendants write too: one JSON entry per line, a tree by `id` and `parentId`.

A header comes first; the entries after it are final. A fork begins with a copy of its original's entries under the same ids
and times, which together are unique; before version 2 there were no ids, and an entry is known by its time and content.
Moving about in the tree writes nothing but the next entry with another parent: what was left behind was said all the same.
A prompt that was typed while the agent worked says so by its own time, which is earlier than that of the entry before it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank, TurnStart, Usage
from recollect.sources.formats.container import Line
from recollect.sources.formats.injected import split_context
from recollect.sources.formats.json import decoded
from recollect.sources.formats.message import Scribe, agent_blocks, text_of, user_blocks
from recollect.sources.formats.source import Memory
from recollect.sources.formats.values import as_text, count, instant
from recollect.sources.pi.results import YIELDS, is_final, result_in
from recollect.sources.pi.shapes import ApiUsage, Message, Row

NAMED = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)")  # a log's name: when the session began, and its id
SKILL = re.compile(r'<skill name="([^"]+)".*?</skill>\s*', re.DOTALL)
EXIT_CODE = re.compile(r"Command exited with code (\d{1,9})\s*$")
FINAL = {"stop", "length", "endTurn", "end_turn"}
BROKEN = {"aborted": Stop.INTERRUPT, "error": Stop.CRASH}
ERRORS = {"openclaw:prompt-error"}  # what an extension writes where the agent could not answer at all
PROGRAM = "openclaw"  # what it sent itself, in the agent's name
FAILED = {"error", "failed"}  # how a tool of OpenClaw's says it, which does not count as an error there
FROM_PARENT = "[task from parent]"
EXCERPT = 2_000  # characters of what an extension keeps for itself
QUIET = {
    "agent_status", "archive", "child_usage_attributed", "context_transform", "credential_pin", "ephemeral", "leaf",
    "session_state",
}  # fmt: skip

Split = Callable[[str], tuple[str, list[str]]]
"""Tells what a person wrote from what was put around it."""


class PiMemory(Memory):
    named: bool = False  # whether the session's id is known for good
    parent: str | None = None  # of a sub-agent, a fork or a continuation
    sub_agent: bool = False  # also one whose parent is not known
    nests: bool = False  # whether sub-agents have the session's id in theirs
    working: bool = False  # the agent has not ended its turn
    at: int | None = None  # the last entry's time
    title: tuple[str, int] | None = None  # from the line in front of the header
    yielded: dict[str, tuple[str, str | None]] = {}  # (result, model) of calls that gave one and are not answered yet


# ---- which session it is


def begin(path: Path, first: list[Any]) -> PiMemory:
    """The header says which session it is; while it is not there yet, the file's name does."""
    header = header_of(first)
    original = _original(header)
    return PiMemory(
        session=header.id or session_named(path.name),
        named=header.id is not None,
        copies_from=original,
        parent=original,
    )


def _original(header: Row) -> str | None:
    """The session that this one was forked from, or goes on from."""
    named = header.parent_session or header.branched_from
    return session_named(named) if named else None


def header_of(first: list[Any]) -> Row:
    return next((row for row in first if isinstance(row, Row) and row.type == "session"), Row())


def session_named(place: str) -> str:
    """The session that a log is of, by the log's name or path on whichever system; or the id itself."""
    stem = re.split(r"[/\\]", place)[-1].partition(".jsonl")[0]
    named = NAMED.fullmatch(stem)
    return named[1] if named else stem


# ---- reading


def without_skill(text: str) -> tuple[str, list[str]]:
    """A prompt that called a skill holds the skill's text in place of the call."""
    skill = SKILL.match(text)
    if skill is None:
        return split_context(text)
    return f"/skill:{skill[1]} {text[skill.end() :]}".strip(), [skill[0].strip()]


def read(line: Line, memory: PiMemory, split: Split = without_skill) -> Iterable[Entry]:
    row: Row = line.value
    said = row.message
    at = instant(row.timestamp) or (instant(said.timestamp) if said else None)
    scribe = Scribe(session=memory.session, key=_key(row, line, memory), at=at, line=line.number)
    if row.type == "session":
        return list(_header(row, memory))
    if row.type == "message" and said is not None:
        entries = list(_message(said, scribe, memory, split))
    elif row.type in READERS:
        entries = list(READERS[row.type](row, scribe, memory))
    elif row.type in QUIET:
        return [Ignored(row.type)]
    else:
        entries = [scribe.unknown(decoded(line.raw, dict[str, Any]))]
    memory.at = at or memory.at
    return entries or [Ignored(f"empty {row.type}")]


def _key(row: Row, line: Line, memory: PiMemory) -> str:
    stamp = row.timestamp if isinstance(row.timestamp, str) else None
    if row.id and stamp:
        return f"{row.id}@{stamp}"
    if row.id:
        return f"{memory.session}/{row.id}"
    if stamp:
        return f"{stamp}#{blake2b(line.raw, digest_size=8).hexdigest()}"
    return f"{memory.session}@{line.offset}"


def _header(row: Row, memory: PiMemory) -> Iterator[Entry]:
    if row.id and not memory.named:
        memory.session, memory.named = row.id, True
    memory.parent = memory.parent or _original(row)
    title, rank = memory.title or (text_of(row.title), _rank(row.title_source))
    yield SessionMetadata(
        session=memory.session,
        title=title,
        title_rank=rank,
        cwd=row.cwd,
        branch=_branch(row.git),
        model=row.model_id,
        parent=memory.parent,
    )


def _branch(git: Any) -> str | None:
    return git["branch"] if isinstance(git, dict) and isinstance(git.get("branch"), str) else None


def _rank(source: Any) -> int:
    return TitleRank.CUSTOM if source == "user" else TitleRank.GENERATED


# ---- messages


def _message(message: Message, scribe: Scribe, memory: PiMemory, split: Split) -> Iterator[Entry]:
    match message.role:
        case "user":
            yield from user_blocks(scribe, message.content, partial(_said, message=message, memory=memory, split=split))
        case "assistant":
            yield from _answer(message, scribe, memory)
        case "toolResult":
            yield from _result(message, scribe, memory)
        case "bashExecution" | "pythonExecution":
            yield from _executed(message, scribe, memory)
        case "branchSummary" | "compactionSummary":
            yield scribe.record(Kind.COMPACTION, text_of(message.summary))
        case "system" | "developer" | "custom" | "hookMessage" | "fileMention":
            if text := _instructions(message):
                yield scribe.record(Kind.SYSTEM, text)
        case _:
            yield scribe.unknown({"role": message.role, "content": message.content})


def _instructions(message: Message) -> str:
    """What the model is told; the newest Pi writes its system prompt in sections, and changes of the tools with no text."""
    sections = list(message.sections.values()) if isinstance(message.sections, dict) else None
    return text_of(message.content or message.files or sections)


def _said(scribe: Scribe, text: str, message: Message, memory: PiMemory, split: Split) -> Iterator[Record]:
    if _is_injected(message, memory):
        yield scribe.record(Kind.SYSTEM, text)
        return
    own, injected = split(text)
    if own.strip():
        yield _prompt(scribe, own, message, memory)
    for around in injected:
        yield scribe.record(Kind.SYSTEM, around)


def _is_injected(message: Message, memory: PiMemory) -> bool:
    """Whether the program speaks in the person's place. In a sub-agent's session, its parent is that person."""
    told_by = message.provenance if isinstance(message.provenance, dict) else {}
    return (
        message.synthetic is True
        or (message.attribution == "agent" and not memory.sub_agent)
        or told_by.get("kind") == "internal_system"
        or told_by.get("sourceTool") == "subagent_announce"
    )


def _prompt(scribe: Scribe, text: str, message: Message, memory: PiMemory) -> Record:
    typed = instant(message.timestamp)
    early = typed is not None and memory.at is not None and typed < memory.at
    steers = message.steering is True or (memory.working and early)
    memory.working = True
    return scribe.record(Kind.USER_INPUT, text, opens=TurnStart.NO if steers else TurnStart.PROMPT)


def _answer(message: Message, scribe: Scribe, memory: PiMemory) -> Iterator[Record]:
    scribe.model = message.model if message.provider != PROGRAM else None
    scribe.usage = _usage(message.usage)
    records = list(agent_blocks(scribe, message.content or []))
    reason = as_text(message.stop_reason)
    answered = reason in FINAL and not any(record.kind is Kind.TOOL_CALL for record in records)
    if answered:
        if not any(record.kind is Kind.ASSISTANT_RESPONSE for record in records):
            records.append(scribe.record(Kind.ASSISTANT_RESPONSE))
        [*_, last] = (record for record in records if record.kind is Kind.ASSISTANT_RESPONSE)
        last.stop = Stop.ANSWER
    yield from records
    if memory.nests:
        memory.yielded |= {
            record.call: (result_in(record.arguments or {}), record.model)
            for record in records
            if record.tool in YIELDS and record.call and is_final(record.arguments or {})
        }
    stop = BROKEN.get(reason)
    if stop is not None:
        text = text_of(message.error_message) or reason
        yield scribe.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH, usage=scribe.usage)
    memory.working = not answered and stop is None


def _usage(usage: ApiUsage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input=count(usage.input),
        output=count(usage.output),
        cache_read=count(usage.cache_read),
        cache_write=count(usage.cache_write),
        reasoning=count(usage.reasoning) or count(usage.reasoning_tokens),
    )


def _result(message: Message, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    memory.working = True
    details = message.details if isinstance(message.details, dict) else {}
    text = text_of(message.content)
    code = _exit_code(details.get("exitCode"), text)
    failed = message.is_error is True or details.get("status") in FAILED or bool(code)
    result = memory.yielded.pop(message.tool_call_id or "", None)
    yield scribe.result(message.tool_call_id, text, tool=message.tool_name, failed=failed, exit_code=code)
    if result is not None and message.is_error is not True:
        yield from _yielded(*result, scribe, memory)
    if memory.nests and message.tool_name == "task":
        for agent in _agents(details):
            child = f"{memory.session}/{agent}"
            yield SessionMetadata(session=child, parent=memory.session, parent_call=message.tool_call_id)


def _yielded(result: str, model: str | None, scribe: Scribe, memory: PiMemory) -> Iterator[Record]:
    """The end of a sub-agent, whose result was accepted."""
    memory.working = False
    if result:
        scribe.model = model
        yield scribe.record(Kind.ASSISTANT_RESPONSE, result, stop=Stop.ANSWER)
    else:
        yield scribe.record(Kind.RUNTIME, "yield", stop=Stop.ANSWER)


def _exit_code(given: Any, text: str) -> int | None:
    if isinstance(given, int):
        return count(given)
    found = EXIT_CODE.search(text[-100:])
    return int(found[1]) if found else None


def _agents(details: dict[str, Any]) -> set[str]:
    """The sub-agents that a task began, by the names of their logs."""
    told = [one for key in ("progress", "results") if isinstance(details.get(key), list) for one in details[key]]
    return {one["id"] for one in told if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _executed(message: Message, scribe: Scribe, memory: PiMemory) -> Iterator[Record]:
    """What the person ran without the agent."""
    shell = message.role == "bashExecution"
    typed = f"!{text_of(message.command)}" if shell else f"${text_of(message.code)}"
    yield scribe.record(Kind.USER_INPUT, typed, opens=TurnStart.NO if memory.working else TurnStart.COMMAND)
    code = _exit_code(message.exit_code, "")
    tool = "bash" if shell else "python"
    yield scribe.record(Kind.TOOL_RESPONSE, text_of(message.output), tool=tool, exit_code=code, failed=bool(code))


# ---- the other entries


def _title_slot(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    if title := text_of(row.title):  # else the header may have one
        memory.title = (title, _rank(row.source))
    yield Ignored("title")


def _title(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    named = row.type == "session_info"
    rank = TitleRank.CUSTOM if named else _rank(row.source)
    yield SessionMetadata(session=memory.session, title=text_of(row.name if named else row.title), title_rank=rank)


def _summary(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    yield scribe.record(Kind.COMPACTION, text_of(row.summary), usage=_usage(row.usage))


def _noted(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    """A change that the person or the program made beside the conversation."""
    values = (row.model, row.model_id, row.thinking_level, row.service_tier, row.mode, row.label, row.reason)
    value = next((value for value in (*values, row.injected_rules) if value), None)
    yield scribe.record(Kind.RUNTIME, f"{row.type}: {as_text(value)}" if value else row.type)


def _custom(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    """What an extension keeps for itself, and how the session's program ended."""
    if row.custom_type == "tool_execution_start":
        yield Ignored("tool_execution_start")  # the call itself is in the agent's message
        return
    stop = None
    if row.custom_type in ERRORS:
        stop = Stop.CRASH
    elif row.custom_type == "session_exit" and memory.working:
        stop = Stop.EXIT
    memory.working = memory.working and stop is None
    text = f"{row.custom_type}: {as_text(row.data)}"[:EXCERPT]
    yield scribe.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH)


def _custom_message(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    """What an extension tells the agent; for a sub-agent of Prime, also what its parent does."""
    text = text_of(row.content)
    if not text.strip():
        return
    details = row.details if isinstance(row.details, dict) else {}
    if memory.sub_agent and details.get("fromRelationship") == "parent":
        yield _prompt(scribe, text.removeprefix(FROM_PARENT).strip(), Message(), memory)
    else:
        yield scribe.record(Kind.SYSTEM, text)


def _session_init(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    """Only a sub-agent's session has it. Its task comes again, as a prompt."""
    memory.sub_agent = True
    memory.parent = memory.parent or memory.copies_from
    if memory.parent is not None:
        yield SessionMetadata(session=memory.session, parent=memory.parent)
    yield scribe.record(Kind.SYSTEM, text_of(row.system_prompt))


def _git_state(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    yield SessionMetadata(session=memory.session, branch=_branch(row.git))


def _model_usage(row: Row, scribe: Scribe, memory: PiMemory) -> Iterator[Entry]:
    """A call beside the conversation, such as the one for a title."""
    yield scribe.record(Kind.RUNTIME, f"model_usage: {as_text(row.purpose)}", usage=_usage(row.usage))


READERS: dict[str, Callable[[Row, Scribe, PiMemory], Iterator[Entry]]] = {
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
        ("model_change", "thinking_level_change", "service_tier_change", "mode_change", "label", "ttsr_injection"), _noted
    ),
    **dict.fromkeys(("reset", "reset_boundary"), _noted),
}
