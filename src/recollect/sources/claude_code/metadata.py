"""Reads Claude Code's records around the conversation: titles, settings, prompt queue, system notes, attachments."""

import re
from collections.abc import Iterator
from typing import Any

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank
from recollect.redact import redact
from recollect.sources.claude_code.shapes import Row
from recollect.sources.claude_code.state import RECENT, ClaudeState, digest, record, session_of
from recollect.sources.claude_code.text import INJECTED, attachment_text, command_text, error_text, result_text
from recollect.sources.formats.container import Line
from recollect.sources.formats.json import decode_or_none
from recollect.sources.formats.message import COMMAND

STOP_HOOKS = "stop hooks ran"
PICTURE = re.compile(r"\[(?:image|document)(?: #\d+)?\]", re.IGNORECASE)


def title(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    title, rank = {
        "summary": (row.summary, TitleRank.SUMMARY),
        "ai-title": (row.ai_title, TitleRank.GENERATED),
        "agent-name": (row.agent_name, TitleRank.AGENT),
        "custom-title": (row.custom_title, TitleRank.CUSTOM),
    }[row.type]
    yield SessionMetadata(
        session=state.session, title=title, title_rank=rank, leaf=f"{row.leaf_uuid}.0" if row.leaf_uuid else None
    )


def setting(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    if state.at is None:  # settings from before the first message
        yield Ignored(row.type)
        return
    match row.type:
        case "permission-mode":
            text = f"permission mode: {row.permission_mode}"
        case "mode":
            text = f"mode: {row.mode}"
        case "pr-link":
            text = f"pull request: {row.pr_url}"
        case _:
            text = row.type
    yield record(row, line, state.session, 0, Kind.RUNTIME, text)


def bookkeeping(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    yield Ignored(row.type)


def queue(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    """Reads queued prompts. After `dequeue` a user record follows; after `remove` (steered in) there may be none."""
    content = result_text(row.content)
    match row.operation:
        case "enqueue":
            state.queue.append(content)
        case "popAll":
            state.queue.clear()
        case "dequeue" if state.queue:
            state.queue.pop(0)
        case "remove" if state.queue:
            marks = [_mark(queued) for queued in state.queue]
            at = marks.index(_mark(content)) if _mark(content) in marks else 0
            yield from _steer(state.queue.pop(at), row, line, state)
            return
    yield Ignored("prompt queue")


def _mark(text: str) -> str:
    """A digest that identifies a queued prompt.

    Images and secrets do not count: only one of its two records has the images, and secrets are redacted between two syncs.
    """
    return digest(" ".join(redact(PICTURE.sub(" ", text)).split()))


def _steer(text: str, row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    mark = _mark(text)
    if mark in state.attached:
        state.attached.remove(mark)
        yield Ignored("prompt queue")
    else:
        state.steered = [*state.steered, mark][-RECENT:]
        yield _queued(text, row, line, state)


def _queued(text: str, row: Row, line: Line, state: ClaudeState) -> Record:
    kind = Kind.SYSTEM if text.startswith(INJECTED) or COMMAND.match(text) else Kind.USER_INPUT
    return record(row, line, state.session, 0, kind, text)


def stop_hook(row: Row, line: Line, state: ClaudeState) -> Entry:
    """The end of a turn, at the first hook that runs after it: up to 2.1.81 there may be no other sign of the end."""
    if state.stop_hooks_ran:
        return Ignored("progress")
    state.stop_hooks_ran = True
    return record(row, line, session_of(row, state), 0, Kind.RUNTIME, STOP_HOOKS, stop=Stop.ANSWER)


def system(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    session = session_of(row, state)
    text = result_text(row.content)
    match row.subtype:
        case "compact_boundary":
            yield Ignored("compaction boundary")  # the summary that follows is the compaction
        case "microcompact_boundary":
            yield record(row, line, session, 0, Kind.COMPACTION, text)
        case "turn_duration":
            duration = f"turn took {(row.duration_ms or 0) / 1000:.1f} s"
            yield record(row, line, session, 0, Kind.RUNTIME, duration, stop=Stop.ANSWER)
        case "stop_hook_summary":
            errors = "; ".join(result_text(error) for error in row.hook_errors or [])
            yield record(row, line, session, 0, Kind.RUNTIME, errors or STOP_HOOKS, stop=Stop.ANSWER)
        case "api_error" | "error":
            is_last_try = row.max_retries is not None and (row.retry_attempt or 0) >= row.max_retries > 0
            stop = Stop.CRASH if is_last_try else None
            yield record(row, line, session, 0, Kind.RUNTIME, error_text(row.error) or text, stop=stop, failed=True)
        case "local_command":
            output = command_text(text) if text.startswith("<command-") else text
            yield record(row, line, session, 0, Kind.SYSTEM, output)
        case "away_summary" | "informational" | "scheduled_task_fire":
            yield record(row, line, session, 0, Kind.SYSTEM, text)
        case _:
            yield record(row, line, session, 0, Kind.RUNTIME, text or row.subtype or "system")


def attachment(row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    attachment: dict[str, Any] = decode_or_none(row.attachment, dict) or {}
    kind, text = attachment_text(attachment)
    if kind == "queued_command":
        yield from _queued_command(attachment, row, line, state)
    elif kind == "structured_output":
        yield record(row, line, session_of(row, state), 0, Kind.RUNTIME, text)
    else:
        yield record(row, line, session_of(row, state), 0, Kind.SYSTEM, text)


def _queued_command(attachment: dict[str, Any], row: Row, line: Line, state: ClaudeState) -> Iterator[Entry]:
    text = result_text(attachment.get("prompt"))
    mark = _mark(text)
    if mark in state.steered:
        state.steered.remove(mark)
        yield Ignored("twin of a queued prompt")
        return
    if mark in map(_mark, state.queue):
        state.attached = [*state.attached, mark][-RECENT:]
    if attachment.get("commandMode") == "task-notification":
        yield record(row, line, state.session, 0, Kind.SYSTEM, text)
    else:
        yield _queued(text, row, line, state)


SIDE_RECORDS = {
    "summary": title,
    "ai-title": title,
    "agent-name": title,
    "custom-title": title,
    "queue-operation": queue,
    "file-history-snapshot": bookkeeping,
    "file-history-delta": bookkeeping,
    "last-prompt": bookkeeping,
    "permission-mode": setting,
    "mode": setting,
    "pr-link": setting,
    "bridge-session": bookkeeping,
    "worktree-state": bookkeeping,
    "relocated": bookkeeping,
    "frame-link": bookkeeping,
    "atis-latch": bookkeeping,
    "started": bookkeeping,
    "result": bookkeeping,
}
