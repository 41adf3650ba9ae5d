"""How turns begin, end and are cut short in a Codex rollout, and what they cost."""

from typing import Any

from recollect.model import Entry, Ignored, Kind, Stop, Usage
from recollect.sources.codex import shapes as shape
from recollect.sources.codex.memory import EVENT, LOG, CodexMemory, is_twin, record, runtime, shaped, unknown
from recollect.sources.codex.messages import stopped
from recollect.sources.codex.shapes import Envelope
from recollect.sources.codex.text import review_text
from recollect.sources.formats.container import Line

ENDS = {"interrupted": Stop.INTERRUPT, "cancelled": Stop.CANCEL, "replaced": Stop.CANCEL}


def task_started(part: shape.TaskStarted, line: Line, memory: CodexMemory) -> list[Entry]:
    memory.prompted = memory.prompted and memory.turn is None  # some versions write the prompt first
    memory.turn, memory.spoke = part.turn_id or "running", False
    return [Ignored("turn boundary")]


def task_complete(part: shape.TaskComplete, line: Line, memory: CodexMemory) -> list[Entry]:
    """The end of a turn. Its last message counts where no other record has told it."""
    entries: list[Entry] = []
    if part.last_agent_message and not memory.spoke:
        entries.append(record(line, memory, Kind.ASSISTANT_RESPONSE, part.last_agent_message, model=memory.model))
    memory.turn, memory.prompted, memory.spoke = None, False, True
    usage = _usage(part.usage) if part.usage and memory.total is None else None
    stop, text = (Stop.CRASH, f"error: {_trouble(part.error)}") if part.error else (Stop.ANSWER, "turn complete")
    entries.append(record(line, memory, Kind.RUNTIME, text, len(entries), stop=stop, usage=usage))
    return entries


def turn_aborted(part: shape.TurnAborted, line: Line, memory: CodexMemory) -> list[Entry]:
    reason = part.reason or "aborted"
    return stopped(ENDS.get(reason, Stop.OTHER), f"turn aborted: {reason}", EVENT, line, memory)


def error(part: shape.Error, line: Line, memory: CodexMemory) -> list[Entry]:
    return runtime(line, memory, f"error: {part.message or part.text or _trouble(part.error)}", stop=Stop.CRASH)


def _trouble(error: shape.Trouble | str | None) -> str:
    if isinstance(error, shape.Trouble):
        return error.message or error.kind or ""
    return error or ""


def compacted(value: Envelope, line: Line, memory: CodexMemory) -> list[Entry]:
    part: shape.Compacted | None = shaped(shape.COMPACTED, value.payload)
    return unknown(line, memory) if part is None else _compaction(part.message or "", LOG, line, memory)


def context_compacted(part: Any, line: Line, memory: CodexMemory) -> list[Entry]:
    return _compaction("", EVENT, line, memory)


def _compaction(text: str, stream: int, line: Line, memory: CodexMemory) -> list[Entry]:
    if is_twin("compaction", "", stream, line, memory) and not text:
        return [Ignored("twin of a compaction")]
    return [record(line, memory, Kind.COMPACTION, text)]


# ---- tokens


def token_count(part: shape.TokenCount, line: Line, memory: CodexMemory) -> list[Entry]:
    spent = used(part.info, memory)
    if spent == Usage():
        return [Ignored("token count")]
    text = f"tokens: input {spent.input}, cached {spent.cache_read}, output {spent.output}"
    return runtime(line, memory, text, usage=spent)


def used(info: shape.TokenInfo | None, memory: CodexMemory) -> Usage:
    """What was spent since the last count. A total that shrinks has begun anew."""
    if info is None:
        return Usage()
    last = _usage(info.last_token_usage)
    if info.total_token_usage is None:
        return last if info.last_token_usage else Usage(input=info.prompt or 0, output=info.completion or 0)
    total, before = _usage(info.total_token_usage), memory.total
    memory.total = total
    if before is None:
        return last if memory.forked and info.last_token_usage else total
    if total.output < before.output or total.input + total.cache_read < before.input + before.cache_read:
        return last if info.last_token_usage else total
    return total - before


def _usage(tokens: shape.Tokens | None) -> Usage:
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


# ---- what else a person may look for


def entered_review(part: shape.EnteredReviewMode, line: Line, memory: CodexMemory) -> list[Entry]:
    told = "\n".join(text for text in (part.user_facing_hint, part.prompt) if text)
    return runtime(line, memory, f"review begun: {told}")


def exited_review(part: shape.ExitedReviewMode, line: Line, memory: CodexMemory) -> list[Entry]:
    return runtime(line, memory, review_text(part.review_output))


def goal(part: shape.ThreadGoalUpdated, line: Line, memory: CodexMemory) -> list[Entry]:
    goal = part.goal or shape.Goal()
    return runtime(line, memory, f"goal ({goal.status or 'set'}): {goal.objective or ''}")


def rolled_back(part: shape.ThreadRolledBack, line: Line, memory: CodexMemory) -> list[Entry]:
    return runtime(line, memory, f"rolled back {part.num_turns} turns")
