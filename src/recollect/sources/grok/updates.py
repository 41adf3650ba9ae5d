"""Reads the times, tokens and ends of a session's turns from Grok's `updates.jsonl`.

It is the log of the program's updates to its window, and only grows. A prompt has its index there; the updates up to the
next prompt belong to its turn. Tokens are counted once, at a turn's end.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Stop, Usage
from recollect.sources.formats.container import Line, Unreadable
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_object, as_text, parse_time

STOPS = {"cancelled": Stop.INTERRUPT, "error": Stop.CRASH, "interrupted": Stop.EXIT}


class TurnEnd(Struct, frozen=True):
    at: int | None
    reason: str
    stop: Stop | None
    usage: Usage | None


class ToolRun(Struct):
    """A tool call, with the times and the outcome of its run."""

    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    output: str = ""


class Turns:
    """The turns of a session by the index of their prompt, and the runs of tools by their call."""

    def __init__(self) -> None:
        self.started_at: dict[int, int | None] = {}
        self.ends: dict[int, TurnEnd] = {}
        self.tool_runs: dict[str, ToolRun] = {}
        self._counted: set[int] = set()

    @classmethod
    def read(cls, path: Path) -> "Turns":
        turns = cls()
        try:
            lines = json_lines(dict[str, Any])(path)
        except (OSError, Unreadable):
            return turns
        index = None
        for line in lines:
            if isinstance(line, Line) and isinstance(line.value, dict):
                index = turns._read_update(as_object(line.value.get("params")), index)
        return turns

    def time(self, index: int, role: Any, call: Any) -> int | None:
        """The time of a message: a call and its result have the times of the run, an answer that of the turn's end."""
        run = self.tool_runs.get(call) if isinstance(call, str) else None
        if run is not None:
            return run.ended or run.started if role == "tool" else run.started
        return self.ends[index].at if role == "assistant" and index in self.ends else None

    def usage(self, index: int | None) -> Usage | None:
        """The tokens of a turn; None if they were already returned."""
        if index is None or index in self._counted or index not in self.ends:
            return None
        self._counted.add(index)
        return self.ends[index].usage

    def _read_update(self, fields: dict[str, Any], index: int | None) -> int | None:
        update = as_object(fields.get("update"))
        at = parse_time(as_object(fields.get("_meta")).get("agentTimestampMs"))
        match update.get("sessionUpdate"):
            case "user_message_chunk":
                prompt_index = as_object(update.get("_meta")).get("promptIndex")
                if isinstance(prompt_index, int):
                    self.started_at.setdefault(prompt_index, at)
                    return prompt_index
            case "tool_call" | "tool_call_update":
                self._read_tool_run(update, at)
            case "turn_completed" if index is not None:
                reason = as_text(update.get("stop_reason"))
                end = TurnEnd(at, reason, STOPS.get(reason), _usage(update.get("usage")))
                self.ends.setdefault(index, end)  # a later end belongs to a prompt that was lost
        return index

    def _read_tool_run(self, update: dict[str, Any], at: int | None) -> None:
        run = self.tool_runs.setdefault(as_text(update.get("toolCallId")), ToolRun(started=at))
        if update.get("status") in {"completed", "failed"}:
            output = as_object(update.get("rawOutput"))
            code = output.get("exit_code")
            run.ended = at
            run.exit_code = code if isinstance(code, int) else None
            run.output = as_text(output.get("output_for_prompt"))


def _usage(counts: Any) -> Usage | None:
    """The tokens of a turn: the sum over its models, or else the turn's own counts."""
    models = list(as_object(as_object(counts).get("modelUsage")).values()) or [counts]
    usage = sum((_model_usage(model) or Usage() for model in models), Usage())
    return usage if usage != Usage() else None


_model_usage = tokens(
    input="inputTokens",
    output="outputTokens",
    cache_read="cachedReadTokens",
    cache_write="cacheCreationTokens",
    reasoning="reasoningTokens",
    cached_in_input=True,
)
