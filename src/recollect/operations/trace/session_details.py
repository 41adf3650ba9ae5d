"""Shows a session at four depths: prompts, steps in one line each, steps with cut texts, and everything."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any

import msgspec

from recollect.model import Kind, Usage, timestamp
from recollect.operations.ids import uuid_text
from recollect.operations.trace import views
from recollect.operations.trace.budget import fit_turns
from recollect.operations.trace.envelope import TraceAnswer
from recollect.operations.trace.steps import Step, count_failed, key_actions, outcome, results_of, steps_of, tools_of
from recollect.shown_time import estimate_field
from recollect.store import EventRow, Reader, SessionRow, TurnRow

KB = 1_024
PROMPT = 200  # characters of a prompt at `summary` and `turns`
SHORT = 500  # characters of reasoning and of a tool's output at `steps`
LONG = 128_000  # characters of a message or an argument at `steps` if the answer is too large; divided by the scale
MAX_SHORT_SCALE = 4  # the largest scale of short texts: a quarter of them always remains
REASONING = 2_000  # characters of reasoning at `turns`
IN_STEPS = {Kind.ASSISTANT_RESPONSE, Kind.REASONING, Kind.TOOL_CALL, Kind.TOOL_RESPONSE}


class Level(StrEnum):
    SUMMARY = "summary"
    TURNS = "turns"
    STEPS = "steps"
    FULL = "full"


BUDGET_KB = {Level.SUMMARY: 10, Level.TURNS: 30, Level.STEPS: 100}


class SessionTrace:
    """A session as turns and steps. Texts are read turn by turn, when they are shown."""

    def __init__(self, reader: Reader, session: SessionRow) -> None:
        self.reader = reader
        self.session = session
        outline = reader.outline(session.key)
        self.turns = reader.turns(session.key)
        self.results = results_of(outline)
        by_turn = {turn: list(events) for turn, events in groupby(outline, key=lambda event: event.turn)}
        self.steps = [steps_of(by_turn.get(turn.ordinal, []), self.results) for turn in self.turns]
        self._events: dict[int, list[EventRow]] = {}
        self._texts: dict[int, dict[int, str]] = {}
        self._prompts: dict[int, str] = {}

    def events(self, turn: TurnRow) -> list[EventRow]:
        """The events of a turn with their texts, and the results of its calls that came in a later turn."""
        if turn.ordinal not in self._events:
            events = self.reader.events_of_turn(self.session.key, turn.ordinal)
            results = (self.results.get(event.seq) for event in events if event.kind is Kind.TOOL_CALL)
            later = [(result.turn, result.seq) for result in results if result is not None and result.turn != turn.ordinal]
            self._events[turn.ordinal] = [*events, *self.reader.events_at(self.session.key, later).values()]
        return self._events[turn.ordinal]

    def texts(self, turn: TurnRow) -> dict[int, str]:
        """The texts of a turn's events; decompressed once, because they may be cut several times until they fit."""
        if turn.ordinal not in self._texts:
            self._texts[turn.ordinal] = {event.seq: event.text() for event in self.events(turn)}
        return self._texts[turn.ordinal]

    def prompt(self, turn: TurnRow) -> str:
        """The prompt of a turn. If no other text of the turn is shown, no other text is read."""
        if turn.prompt is None:
            return ""
        if turn.ordinal in self._texts:
            return self._texts[turn.ordinal].get(turn.prompt, "")
        if turn.ordinal not in self._prompts:
            found = self.reader.events_at(self.session.key, [(turn.ordinal, turn.prompt)])
            self._prompts[turn.ordinal] = found[turn.prompt].text() if turn.prompt in found else ""
        return self._prompts[turn.ordinal]

    def stats(self) -> dict[str, Any]:
        steps = [step for steps in self.steps for step in steps]
        return {
            "total_turns": len(self.turns),
            "total_steps": len(steps),
            "total_events": self.session.event_count,
            "total_tool_calls": len(tools_of(steps)),
            "failed_tool_calls": count_failed(steps),
            "duration_ms": self.session.updated_at - self.session.started_at,
            "tokens": msgspec.json.decode(self.session.usage, type=Usage).counts(),
        }


def details(trace: SessionTrace, level: Level, *, include_reasoning: bool, warnings: list[str], hint: str) -> TraceAnswer:
    """A session at a depth, cut if that depth has a maximum size."""
    session = trace.session
    frame = {
        "session_id": uuid_text(session.id),
        "provider": session.source,
        "title": session.title,
        "project": session.project,
        "start_time": timestamp(session.started_at),
        "end_time": timestamp(session.updated_at),
        **estimate_field(session.estimated),
        "detail_level": level,
        "stats": trace.stats(),
    }

    count = len(trace.turns)

    def render(index: int, scale: int) -> dict[str, Any]:
        return RENDERERS[level](trace, index, scale, include_reasoning)

    def answer(turns: Sequence[Any], added_warnings: Sequence[str] = ()) -> TraceAnswer:
        return TraceAnswer({**frame, "turns": turns}, hint=hint, warnings=[*warnings, *added_warnings])

    def cut_warnings(left_out: int) -> list[str]:
        gap = [f"{left_out} of {count} turns are left out in the middle"] if left_out else []
        return [f"Response truncated to {BUDGET_KB[level]} KB", *gap]

    if level is Level.FULL:
        return answer([render(index, 1) for index in range(count)])
    budget = BUDGET_KB[level] * KB
    room, cut_room = budget - answer([]).size(), budget - answer([], cut_warnings(count)).size()
    fitted = fit_turns(count, render, room, cut_room)
    return answer(fitted.turns, cut_warnings(fitted.left_out) if fitted.is_cut else ())


def _summary(trace: SessionTrace, index: int, scale: int, _: bool) -> dict[str, Any]:
    turn, steps = trace.turns[index], trace.steps[index]
    return {
        "turn_index": turn.ordinal - 1,
        "user_message": views.cut(trace.prompt(turn), PROMPT // min(scale, MAX_SHORT_SCALE)),
        "step_count": len(steps),
        "stats": _turn_stats(turn, steps),
    }


def _turn_stats(turn: TurnRow, steps: list[Step]) -> dict[str, int]:
    return {
        "events": turn.event_count,
        "tool_calls": len(tools_of(steps)),
        "failed_tools": count_failed(steps),
        "tokens": msgspec.json.decode(turn.usage, type=Usage).total(),
        "duration_ms": turn.updated_at - turn.started_at,
    }


def _turns(trace: SessionTrace, index: int, scale: int, reasoning: bool) -> dict[str, Any]:
    turn, steps = trace.turns[index], trace.steps[index]
    texts = trace.texts(turn)
    short_scale = min(scale, MAX_SHORT_SCALE)
    max_reasoning = REASONING // short_scale if reasoning else 0
    lines = [
        views.step_line(step, number, texts, scale=short_scale, max_reasoning=max_reasoning)
        for number, step in enumerate(steps)
    ]
    return {
        **_summary(trace, index, scale, reasoning),
        "outcome": outcome(steps),
        "key_actions": key_actions(steps),
        "steps": lines,
    }


def _steps(trace: SessionTrace, index: int, scale: int, _: bool) -> dict[str, Any]:
    return _all_steps(trace, index, SHORT // min(scale, MAX_SHORT_SCALE), None if scale == 1 else LONG // scale)


def _full(trace: SessionTrace, index: int, *_: object) -> dict[str, Any]:
    turn = trace.turns[index]
    others = [event for event in trace.events(turn) if event.kind not in IN_STEPS and event.seq != turn.prompt]
    notes = [{"event_index": event.seq, "event_type": views.event_type(event), "text": event.text()} for event in others]
    return {**_all_steps(trace, index, None, None), "other_events": notes}


def _all_steps(trace: SessionTrace, index: int, max_short: int | None, max_long: int | None) -> dict[str, Any]:
    """A turn with all its steps. `max_short` cuts reasoning and outputs, `max_long` cuts messages and arguments."""
    turn, steps = trace.turns[index], trace.steps[index]
    texts = trace.texts(turn)
    return {
        **_summary(trace, index, 1, False),
        "user_message": views.cut(trace.prompt(turn), max_long),
        "outcome": outcome(steps),
        "steps": [views.full_step(step, number, texts, max_short, max_long) for number, step in enumerate(steps)],
    }


RENDERERS: dict[Level, Callable[[SessionTrace, int, int, bool], dict[str, Any]]] = {
    Level.SUMMARY: _summary,
    Level.TURNS: _turns,
    Level.STEPS: _steps,
    Level.FULL: _full,
}
