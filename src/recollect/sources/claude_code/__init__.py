"""Claude Code keeps one `<session>.jsonl` per session under ~/.claude/projects/<folder>/.

Evidence: 177 real sessions of versions 2.0.64 to 2.1.232 (chosen from 451), and published samples from 1.0.24 on.
One API message is spread over several lines, one block each; its usage is repeated and grows from line to line. The person
wrote one in ten "user" records; the others are tool results, reminders and echoes of commands. A prompt typed while the
agent works is first a `queue-operation`; if it was steered into the running turn, no user record follows. Sub-agents have
their own files (`subagents/agent-<id>.jsonl`); before, their records were inline (1.0) or inside progress records (up to
2.1.81). A resumed or backgrounded session begins with a copy of the old one. The copy has the same uuids, by which ingest
recognises it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TurnStart, Usage
from recollect.sources.claude_code.metadata import SIDE_RECORDS, attachment, stop_hook, system
from recollect.sources.claude_code.shapes import ApiUsage, Block, Message, Origin, Progress, Row, Spawned
from recollect.sources.claude_code.state import RECENT, ClaudeState, digest, keep_recent, record, session_of
from recollect.sources.claude_code.text import (
    INJECTED,
    LOCAL_OUTPUT,
    SHELL_OUTPUT,
    command_text,
    is_context_tag,
    result_text,
)
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.injected import split_context
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.source import Lines, Source
from recollect.sources.formats.usage import micro_dollars
from recollect.sources.formats.values import UUID, as_count, as_object, parse_iso_time

IFLOW_SESSION = re.compile(f"session-{UUID.pattern}", re.IGNORECASE)
AGENT = re.compile(r"[A-Za-z0-9_-]{1,64}")  # a sub-agent's id, if it can be part of a file name
FINAL = {"end_turn", "stop_sequence", "max_tokens", "refusal"}  # stop reasons after which the agent waits
OPEN_MESSAGES = 8  # API messages whose lines may be interleaved: parallel tools, at most 3 seen
EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b")
NOT_LOGS = {"tool-results", "memory"}  # folders with other files of a session
INTERRUPTED = "[Request interrupted by user"
EXIT_COMMANDS = {"/exit", "/quit"}
LAUNCHED = "async_launched"  # a background sub-agent: this result is not its answer
TRANSCRIPT = re.compile(rf"read the full transcript at:?\s+\S*?({UUID.pattern})\.jsonl", re.IGNORECASE)
TAIL = 1_000  # characters at the end of a text in which the path of the earlier transcript is searched
AUDIT = "audit.jsonl"  # in it, Cowork copies the same records
COMMAND = ("<command-name>", "<command-message>", "<bash-input>")


def homes(env: Mapping[str, str]) -> list[Path]:
    folders = [Path(part) for part in env.get("CLAUDE_CONFIG_DIR", "").split(",") if part]
    return [folder / "projects" for folder in folders or [user_home(env) / ".claude"]]


def is_log(path: Path) -> bool:
    return path.name != "journal.jsonl" and path.parent.name not in NOT_LOGS


def begin(path: Path, first: list[Any]) -> ClaudeState:
    """The state to start with. The session's id is in the file's name, else in the first record."""
    row = next((value for value in first[:1] if isinstance(value, Row)), Row())
    id_in_name = UUID.search(path.stem)
    session = id_in_name[0] if id_in_name else row.session_id or path.stem
    if path.stem.startswith("agent-") and row.is_sidechain:
        return ClaudeState(session=f"{row.session_id}/{path.stem}", agent=True, parent=row.session_id)
    rows = [value for value in first if isinstance(value, Row)]
    owners = (row.copied_from or row.session_id or session for row in rows)
    copied = next((owner for owner in owners if owner != session), None)
    root = next((row for row in rows if row.uuid), Row())
    return ClaudeState(session=session, copies_from=copied, continues=root.parent_uuid is not None)


def recognises(head: Head) -> bool:
    return head.path.name != AUDIT and any(_is_record(row) and not _is_of_other_agent(row) for row in head.objects())


def _is_record(row: dict[str, Any]) -> bool:
    """Whether Claude Code wrote this: a side record, a record of the tree or, in scrubbed logs, a message with a time."""
    kind, message = str(row.get("type")), row.get("message")
    if kind in SIDE_RECORDS or (kind in READERS and ("parentUuid" in row or row.get("uuid") is not None)):
        return True
    is_message = kind in {"user", "assistant"} and isinstance(message, dict) and "content" in message
    return is_message and isinstance(row.get("timestamp"), str)


def _is_of_other_agent(row: dict[str, Any]) -> bool:
    """Whether another agent wrote this: Qwen Code with Gemini's messages, or iFlow with its own session names."""
    message = row.get("message")
    is_qwen_code = (isinstance(message, dict) and "parts" in message) or "systemPayload" in row
    return is_qwen_code or IFLOW_SESSION.fullmatch(str(row.get("sessionId"))) is not None


def read(line: Line, state: ClaudeState) -> Iterable[Entry]:
    row: Row = line.value
    state.at = parse_iso_time(row.timestamp) or state.at
    reader = READERS.get(row.type)
    entries: list[Entry] = list(reader(row, line, state)) if reader else [_unknown(row, line, state)]
    if state.parent is not None:
        entries.append(SessionMetadata(session=state.session, parent=state.parent))
        state.parent = None
    for entry in entries:
        if isinstance(entry, Record):
            entry.at = state.at
            state.prompted |= entry.opens is TurnStart.PROMPT and entry.session == state.session
    return entries or [Ignored(f"empty {row.type}")]


# ---- unknown records


def _unknown(row: Row, line: Line, state: ClaudeState) -> Record:
    return record(row, line, state.session, 0, Kind.UNKNOWN, line.raw[:2000].decode("utf-8", "replace"))


# ---- the person's side


def _user(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    session = session_of(row, state)
    if session != state.session:
        yield from _sub_agent(row, state, session)
    blocks = _blocks(row)
    place = 0
    for block in blocks:
        if block.type in RESULT_BLOCKS:
            yield _result(row, line, session, place, block)
            place += 1
    if place:
        yield from _spawned(row, line, blocks, state)
    others = [block for block in blocks if block.type not in RESULT_BLOCKS]
    for text, kind, fields in _user_texts(row, others, answering=bool(place)):
        if not state.prompted and (continued := _continued(text)) and continued != state.session:
            yield SessionMetadata(session=session, parent=continued, is_fork=True)
        yield record(row, line, session, place, kind, text, **fields)
        place += 1


def _blocks(row: Row) -> list[Block]:
    content = row.message.content if isinstance(row.message, Message) else row.message or row.content
    if isinstance(content, str):
        return [Block(type="text", text=content)]
    if not isinstance(content, list):
        return []
    return [
        Block(type="text", text=block) if isinstance(block, str) else block
        for block in content
        if isinstance(block, str | Block)
    ]


def _result(row: Row, line: Line, session: str, place: int, block: Block) -> Record:
    text = result_text(block.content)
    failed = bool(block.is_error)
    code = EXIT_CODE.match(text) if failed else None
    exit_code = int(code[1]) if code else None
    return record(
        row, line, session, place, Kind.TOOL_RESPONSE, text, call=block.tool_use_id, failed=failed, exit_code=exit_code
    )


def _continued(text: str) -> str | None:
    """The session that a summary or a plan comes from: both end with the path of its transcript."""
    transcript = TRANSCRIPT.search(text, max(0, len(text) - TAIL))
    return transcript[1] if transcript else None


def _user_texts(row: Row, blocks: list[Block], *, answering: bool) -> Iterator[tuple[str, Kind, dict[str, Any]]]:
    """(text, kind, other fields) of a user record: usually one; a prompt may have injected blocks around it."""
    own: list[str] = []
    injected: list[str] = []
    for block in blocks:
        block_text = (block.text or "") if block.type == "text" else f"[{block.type}]"
        text, context = split_context(block_text, is_context_tag)
        injected += context
        if text.startswith(INJECTED) and not row.is_compact_summary:
            injected.append(text)
        elif text.strip():
            own.append(text)
    if own:  # first, so that the blocks around a prompt are in the turn that it opens
        yield _classify_text("\n\n".join(own), row, answering=answering)
    yield from ((text, Kind.SYSTEM, {}) for text in injected)


def _classify_text(text: str, row: Row, *, answering: bool) -> tuple[str, Kind, dict[str, Any]]:
    injected = row.prompt_source == "system" or (isinstance(row.origin, Origin) and row.origin.kind == "task-notification")
    if row.is_compact_summary:
        return text, Kind.COMPACTION, {}
    if text.startswith(INTERRUPTED):
        return text, Kind.RUNTIME, {"stop": Stop.INTERRUPT}
    if text.startswith(LOCAL_OUTPUT):
        return text, Kind.SYSTEM, {"opens": TurnStart.ECHO}
    if row.is_meta or injected or text.startswith(SHELL_OUTPUT):
        return text, Kind.SYSTEM, {}
    if text.startswith(COMMAND):
        command = command_text(text)
        stop = Stop.EXIT if command in EXIT_COMMANDS else None
        return command, Kind.USER_INPUT, {"opens": TurnStart.COMMAND, "stop": stop}
    return text, Kind.USER_INPUT, {"opens": TurnStart.NO if answering else TurnStart.PROMPT}


# ---- the agent's side


def _assistant(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    message = row.message if isinstance(row.message, Message) else Message(content=[*_blocks(row)])
    session = session_of(row, state)
    state.stop_hooks_ran = state.stop_hooks_ran and session != state.session
    if message.model == "<synthetic>" or row.is_api_error_message:
        text = result_text([msgspec.to_builtins(block) for block in _blocks(row)])
        stop = Stop.CRASH if row.is_api_error_message else None
        yield record(row, line, session, 0, Kind.RUNTIME, text, stop=stop, failed=stop is not None)
        return
    usage = _usage(message, row.cost_usd, state)
    for place, block in enumerate(_blocks(row)):
        if _is_repeated(message, block, state):
            yield Ignored("repeated block")
            continue
        entry = _agent_block(row, line, session, place, block, message)
        if entry is None:
            yield Ignored("empty block")
            continue
        entry.usage, usage = usage, None
        if entry.kind is Kind.TOOL_CALL and entry.call and entry.arguments and "prompt" in entry.arguments:
            state.tasks[digest(str(entry.arguments["prompt"]))] = entry.call
            keep_recent(state.tasks, RECENT)
        yield entry
    if usage is not None:  # the line has only a blank or repeated block, but its tokens count
        yield record(row, line, session, len(_blocks(row)), Kind.RUNTIME, model=message.model, usage=usage)


def _agent_block(row: Row, line: Line, session: str, place: int, block: Block, message: Message) -> Record | None:
    model = message.model
    match block.type:
        case "text":
            if not (block.text or "").strip():
                return None
            stop = Stop.ANSWER if message.stop_reason in FINAL else None
            stop = Stop.INTERRUPT if row.is_aborted_mid_stream else stop
            return record(row, line, session, place, Kind.ASSISTANT_RESPONSE, block.text or "", model=model, stop=stop)
        case "thinking" | "redacted_thinking":
            return record(row, line, session, place, Kind.REASONING, block.thinking or "", model=model)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            arguments = block.input if isinstance(block.input, dict) else {"input": block.input}
            tool, call = block.name, block.id
            return record(row, line, session, place, Kind.TOOL_CALL, tool=tool, call=call, arguments=arguments, model=model)
        case kind if kind in RESULT_BLOCKS or kind.endswith("_tool_result"):
            return _result(row, line, session, place, block)
        case _:
            return record(row, line, session, place, Kind.UNKNOWN, result_text([msgspec.to_builtins(block)]))


def _usage(message: Message, cost: Any, state: ClaudeState) -> Usage | None:
    """The tokens and the cost that this line adds to those of earlier lines of its API message."""
    if message.usage is None:
        return None
    total = replace(_counts(message.usage), cost=micro_dollars(cost))
    if message.id is None:
        return total
    before = state.usage.pop(message.id, Usage())
    total = replace(total, cost=max(total.cost, before.cost))  # not every line repeats it
    state.usage[message.id] = total
    keep_recent(state.usage, OPEN_MESSAGES)
    return total - before if total != before else None


def _counts(usage: ApiUsage) -> Usage:
    return Usage(
        input=as_count(usage.input_tokens),
        output=as_count(usage.output_tokens),
        cache_read=as_count(usage.cache_read_input_tokens),
        cache_write=as_count(usage.cache_creation_input_tokens),
        cache_write_1h=as_count(as_object(usage.cache_creation).get("ephemeral_1h_input_tokens")),
    )


def _is_repeated(message: Message, block: Block, state: ClaudeState) -> bool:
    """Whether the block was already read: old versions repeated blocks of an API message under a new uuid."""
    payload = block.id or block.text or block.thinking
    if message.id is None or not payload:
        return False
    mark = digest(f"{message.id} {block.type} ", payload)
    if mark in state.blocks:
        return True
    state.blocks = [*state.blocks[-RECENT:], mark]
    return False


# ---- sub-agents


def _sub_agent(row: Row, state: ClaudeState, session: str) -> Iterator[SessionMetadata]:
    """A sub-agent's parent and the call that started it, found by the prompt that the side chain's first record repeats."""
    if row.parent_uuid is None and (text := "\n\n".join(block.text or "" for block in _blocks(row))):
        call = state.tasks.pop(digest(text), None)
        yield SessionMetadata(session=session, parent=state.session, parent_call=call)


def _spawned(row: Row, line: Line, blocks: list[Block], state: ClaudeState) -> Iterator[Entry]:
    result = None
    if b'"agentId"' in bytes(row.tool_use_result):
        result = decode_or_none(row.tool_use_result, Spawned)
    if result is not None and result.agent_id:
        child = f"{state.session}/agent-{result.agent_id}"
        yield SessionMetadata(session=child, parent=state.session, parent_call=blocks[0].tool_use_id)
    for block in blocks:
        if block.tool_use_id in state.running and (result is None or result.status != LAUNCHED):
            child = state.running.pop(block.tool_use_id or "")
            if not _has_own_file(line.path, state.session, child.rpartition("/agent-")[2]):
                yield _finished(row, line, child, block, result, state)


def _finished(row: Row, line: Line, child: str, block: Block, result: Spawned | None, state: ClaudeState) -> Record:
    """The end of a sub-agent without its own file: its last answer is the result that its parent received."""
    answer = result_text(result.content if result and result.content else block.content)
    is_known = state.last_words.pop(child, None) == digest(answer)
    if block.is_error:
        entry = record(row, line, child, 0, Kind.RUNTIME, answer, stop=Stop.CANCEL, failed=True)
    elif is_known or not answer.strip():
        entry = record(row, line, child, 0, Kind.RUNTIME, "finished", stop=Stop.ANSWER)
    else:
        entry = record(row, line, child, 0, Kind.ASSISTANT_RESPONSE, answer, stop=Stop.ANSWER)
        entry.model = state.models.get(child)
    entry.key = f"{child}/result-{block.tool_use_id}"
    return entry


def _progress(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    """Progress is ignored, except the end of a turn and the records of a sub-agent without its own file."""
    data = bytes(row.data)
    progress = decode_or_none(data, Progress) if b'"agent_progress"' in data or b'"Stop"' in data else None
    if progress is not None and progress.type == "hook_progress" and progress.hook_event == "Stop":
        yield stop_hook(row, line, state)
        return
    if progress is None or progress.type != "agent_progress":
        yield Ignored("progress")
        return
    inner = progress.message
    if not progress.agent_id or not isinstance(inner, Row) or _has_own_file(line.path, state.session, progress.agent_id):
        yield Ignored("copy of a sub-agent's record")
        return
    inner.is_sidechain, inner.agent_id = True, progress.agent_id
    inner.cwd, inner.git_branch = row.cwd, row.git_branch
    child = session_of(inner, state)
    yield SessionMetadata(session=child, parent=state.session, parent_call=row.parent_tool_use_id)
    if row.parent_tool_use_id:
        state.running[row.parent_tool_use_id] = child
        keep_recent(state.running, RECENT)
    for entry in read(Line(line.path, line.offset, line.number, inner, line.raw), state):
        if isinstance(entry, Record) and entry.model:
            state.models[child] = entry.model
            keep_recent(state.models, RECENT)
        if isinstance(entry, Record) and entry.kind is Kind.ASSISTANT_RESPONSE:
            state.last_words[child] = digest(entry.text)
            keep_recent(state.last_words, RECENT)
        yield entry


def _has_own_file(path: Path, session: str, agent: str) -> bool:
    if AGENT.fullmatch(agent) is None:
        return False
    name = f"agent-{agent}.jsonl"
    return path.with_name(name).exists() or path.with_name(session).joinpath("subagents", name).exists()


RESULT_BLOCKS = {"tool_result", "mcp_tool_result"}
READERS = {
    "user": _user,
    "assistant": _assistant,
    "system": system,
    "attachment": attachment,
    "progress": _progress,
    **SIDE_RECORDS,
}

SOURCE = Source(
    name="claude-code",
    title="Claude Code",
    formats=(
        Lines(
            homes=homes,
            endings=(".jsonl",),
            is_log=is_log,
            shape=Row,
            state=ClaudeState,
            begin=begin,
            read=read,
            recognises=recognises,
        ),
    ),
    real_sessions=177,
)
