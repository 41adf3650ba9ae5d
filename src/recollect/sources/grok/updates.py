"""The turns of a session in Grok's `updates.jsonl`: their times, tokens and ends.

It is the log of the program's updates to its window, and only grows. A prompt has its index there; what follows it, up to
the next prompt, belongs to its turn. Tokens are counted once, at a turn's end.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Stop, Usage
from recollect.sources.formats.container import Line, Unreadable
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.usage import tokens
from recollect.sources.formats.values import as_text, parse_time

STOPS = {"cancelled": Stop.INTERRUPT, "error": Stop.CRASH, "interrupted": Stop.EXIT}


class Ended(Struct, frozen=True):
    at: int | None
    reason: str
    stop: Stop | None
    usage: Usage | None


class ToolRun(Struct):
    """A tool call."""

    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    output: str = ""


class Turns:
    """The turns of a session by the index of their prompt, and their tool calls."""

    def __init__(self) -> None:
        self.begun: dict[int, int | None] = {}
        self.ended: dict[int, Ended] = {}
        self.ran: dict[str, ToolRun] = {}
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
                index = turns._take(_object(line.value.get("params")), index)
        return turns

    def time(self, index: int, role: Any, call: Any) -> int | None:
        """The time of an agent's act: a call and its result when it ran, an answer at the turn's end."""
        ran = self.ran.get(call) if isinstance(call, str) else None
        if ran is not None:
            return ran.ended or ran.started if role == "tool" else ran.started
        return self.ended[index].at if role == "assistant" and index in self.ended else None

    def usage(self, index: int | None) -> Usage | None:
        """The tokens of a turn, on the first call only."""
        if index is None or index in self._counted or index not in self.ended:
            return None
        self._counted.add(index)
        return self.ended[index].usage

    def _take(self, fields: dict[str, Any], index: int | None) -> int | None:
        update = _object(fields.get("update"))
        at = parse_time(_object(fields.get("_meta")).get("agentTimestampMs"))
        match update.get("sessionUpdate"):
            case "user_message_chunk":
                given = _object(update.get("_meta")).get("promptIndex")
                if isinstance(given, int):
                    self.begun.setdefault(given, at)
                    return given
            case "tool_call" | "tool_call_update":
                self._run(update, at)
            case "turn_completed" if index is not None:
                reason = as_text(update.get("stop_reason"))
                ended = Ended(at, reason, STOPS.get(reason), _usage(update.get("usage")))
                self.ended.setdefault(index, ended)  # a later one belongs to a lost prompt
        return index

    def _run(self, update: dict[str, Any], at: int | None) -> None:
        ran = self.ran.setdefault(as_text(update.get("toolCallId")), ToolRun(started=at))
        if update.get("status") in {"completed", "failed"}:
            output = _object(update.get("rawOutput"))
            code = output.get("exit_code")
            ran.ended = at
            ran.exit_code = code if isinstance(code, int) else None
            ran.output = as_text(output.get("output_for_prompt"))


def _usage(counts: Any) -> Usage | None:
    """The tokens of a turn: the sum over its models, or else the turn's own counts."""
    models = list(_object(_object(counts).get("modelUsage")).values()) or [counts]
    usage = sum((_model_usage(one) or Usage() for one in models), Usage())
    return usage if usage != Usage() else None


_model_usage = tokens(
    input="inputTokens",
    output="outputTokens",
    cache_read="cachedReadTokens",
    cache_write="cacheCreationTokens",
    reasoning="reasoningTokens",
    cached_in_input=True,
)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
