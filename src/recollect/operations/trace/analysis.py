"""Finds failed tools, slow tools and loops in the steps of a session's turns; pure functions."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from recollect.operations.trace.steps import Status, Step, ToolUse

SLOW_MS = 10_000  # a tool that takes longer is a bottleneck
LOOP = 3  # consecutive turns with the same tools in the same order that make a loop
COST = {"failure": 10, "loop": 15, "bottleneck": 5}  # points that each insight subtracts from the score


class Insight(Struct, frozen=True):
    kind: str
    turn_index: int
    message: str
    details: dict[str, Any]


def insights(turns: Sequence[Sequence[Step]]) -> list[Insight]:
    """The insights about a session, in the order of its turns."""
    uses = [[tool for step in steps for tool in step.tools] for steps in turns]
    found = [insight for turn, tools in enumerate(uses) for insight in (*_failures(turn, tools), *_bottlenecks(turn, tools))]
    found += _loops(uses)
    return sorted(found, key=lambda insight: insight.turn_index)


def score(found: Sequence[Insight]) -> int:
    """100 without insights, less for each of them."""
    return max(0, 100 - sum(COST[insight.kind] for insight in found))


def _failures(turn: int, tools: Sequence[ToolUse]) -> list[Insight]:
    failed = [tool for tool in tools if tool.status() is Status.FAILED]
    if not failed:
        return []
    names = list(dict.fromkeys(tool.name() for tool in failed))
    places = [tool.result.seq for tool in failed if tool.result is not None]
    message = f"{len(failed)} of {len(tools)} tool executions failed: {', '.join(names)}"
    details = {"failed": len(failed), "executions": len(tools), "tools": names, "event_indexes": places}
    return [Insight("failure", turn, message, details)]


def _bottlenecks(turn: int, tools: Sequence[ToolUse]) -> list[Insight]:
    slow = [(tool, took) for tool in tools if (took := tool.duration_ms() or 0) > SLOW_MS]
    return [
        Insight(
            "bottleneck",
            turn,
            f"{tool.name()} took {took / 1000:.1f} s",
            {"tool": tool.name(), "duration_ms": took, "event_index": tool.call.seq},
        )
        for tool, took in slow
        if tool.call is not None
    ]


def _loops(uses: Sequence[Sequence[ToolUse]]) -> list[Insight]:
    """Runs of turns with the same tools in the same order. A loop is one insight, at its third turn."""
    found = []
    sequences = [(turn, tuple(tool.name() for tool in tools)) for turn, tools in enumerate(uses)]
    for sequence, run in groupby(sequences, key=lambda pair: pair[1]):
        turns = [turn for turn, _ in run]
        if sequence and len(turns) >= LOOP:
            message = f"{len(turns)} turns running used the same tools: {', '.join(sequence)}"
            details = {"turns": len(turns), "first_turn_index": turns[0], "tools": list(sequence)}
            found.append(Insight("loop", turns[LOOP - 1], message, details))
    return found
