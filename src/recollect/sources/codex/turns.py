"""Reads how turns in a Codex rollout begin, end and are interrupted, and their tokens."""

from typing import Any

from recollect.model import Entry, Ignored, Kind, Stop, Usage
from recollect.sources.codex import event_shapes, shapes
from recollect.sources.codex.messages import end_interrupted_turn
from recollect.sources.codex.shapes import Envelope
from recollect.sources.codex.state import EVENT, LOG, CodexState, decode_shape, is_twin, record, runtime, unknown
from recollect.sources.codex.text import review_text
from recollect.sources.formats.container import Line

ENDS = {"interrupted": Stop.INTERRUPT, "cancelled": Stop.CANCEL, "replaced": Stop.CANCEL}


def task_started(part: event_shapes.TaskStarted, line: Line, state: CodexState) -> list[Entry]:
    state.prompted = state.prompted and state.turn is None  # some versions write the prompt first
    state.turn, state.spoke = part.turn_id or "running", False
    return [Ignored("turn boundary")]


def task_complete(part: event_shapes.TaskComplete, line: Line, state: CodexState) -> list[Entry]:
    """Ends a turn. Its last message is stored if no other record has it."""
    entries: list[Entry] = []
    if part.last_agent_message and not state.spoke:
        entries.append(record(line, state, Kind.ASSISTANT_RESPONSE, part.last_agent_message, model=state.model))
    state.turn, state.prompted, state.spoke = None, False, True
    usage = _usage(part.usage) if part.usage and state.total is None else None
    stop, text = (Stop.CRASH, f"error: {_error_text(part.error)}") if part.error else (Stop.ANSWER, "turn complete")
    entries.append(record(line, state, Kind.RUNTIME, text, len(entries), stop=stop, usage=usage))
    return entries


def turn_aborted(part: event_shapes.TurnAborted, line: Line, state: CodexState) -> list[Entry]:
    reason = part.reason or "aborted"
    return end_interrupted_turn(ENDS.get(reason, Stop.OTHER), f"turn aborted: {reason}", EVENT, line, state)


def error(part: event_shapes.Error, line: Line, state: CodexState) -> list[Entry]:
    return runtime(line, state, f"error: {part.message or part.text or _error_text(part.error)}", stop=Stop.CRASH)


def _error_text(error: event_shapes.ErrorDetails | str | None) -> str:
    if isinstance(error, event_shapes.ErrorDetails):
        return error.message or error.kind or ""
    return error or ""


def compacted(value: Envelope, line: Line, state: CodexState) -> list[Entry]:
    part: shapes.Compacted | None = decode_shape(shapes.COMPACTED, value.payload)
    return unknown(line, state) if part is None else _compaction(part.message or "", LOG, line, state)


def context_compacted(part: Any, line: Line, state: CodexState) -> list[Entry]:
    return _compaction("", EVENT, line, state)


def _compaction(text: str, stream: int, line: Line, state: CodexState) -> list[Entry]:
    if is_twin("compaction", "", stream, line, state) and not text:
        return [Ignored("twin of a compaction")]
    return [record(line, state, Kind.COMPACTION, text)]


# ---- tokens


def token_count(part: event_shapes.TokenCount, line: Line, state: CodexState) -> list[Entry]:
    usage = count_new_tokens(part.info, state)
    if usage == Usage():
        return [Ignored("token count")]
    text = f"tokens: input {usage.input}, cached {usage.cache_read}, output {usage.output}"
    return runtime(line, state, text, usage=usage)


def count_new_tokens(info: shapes.TokenInfo | None, state: CodexState) -> Usage:
    """The tokens since the last count. A smaller total than before means that counting started again."""
    if info is None:
        return Usage()
    last = _usage(info.last_token_usage)
    if info.total_token_usage is None:
        return last if info.last_token_usage else Usage(input=info.prompt or 0, output=info.completion or 0)
    total, before = _usage(info.total_token_usage), state.total
    state.total = total
    if before is None:
        return last if state.forked and info.last_token_usage else total
    if total.output < before.output or total.input + total.cache_read < before.input + before.cache_read:
        return last if info.last_token_usage else total
    return total - before


def _usage(tokens: shapes.Tokens | None) -> Usage:
    if tokens is None:
        return Usage()
    cached, written = tokens.cached_input_tokens or 0, tokens.cache_write_input_tokens or 0
    return Usage(
        input=max((tokens.input_tokens or 0) - cached - written, 0),
        output=tokens.output_tokens or 0,
        cache_read=cached,
        cache_write=written,
        reasoning=tokens.reasoning_output_tokens or 0,
    )


# ---- reviews, goals and rollbacks


def entered_review(part: event_shapes.EnteredReviewMode, line: Line, state: CodexState) -> list[Entry]:
    hint = "\n".join(text for text in (part.user_facing_hint, part.prompt) if text)
    return runtime(line, state, f"review begun: {hint}")


def exited_review(part: event_shapes.ExitedReviewMode, line: Line, state: CodexState) -> list[Entry]:
    return runtime(line, state, review_text(part.review_output))


def goal(part: event_shapes.ThreadGoalUpdated, line: Line, state: CodexState) -> list[Entry]:
    goal = part.goal or event_shapes.Goal()
    return runtime(line, state, f"goal ({goal.status or 'set'}): {goal.objective or ''}")


def rolled_back(part: event_shapes.ThreadRolledBack, line: Line, state: CodexState) -> list[Entry]:
    return runtime(line, state, f"rolled back {part.num_turns} turns")
