"""A session at four depths: its prompts, its steps in a line each, its steps with everything cut short, and all of it."""

from collections.abc import Callable
from enum import StrEnum
from itertools import groupby
from typing import Any

import msgspec

from recollect.model import Kind, Usage, timestamp
from recollect.operations.ids import uuid_text
from recollect.operations.trace import views
from recollect.operations.trace.budget import Fitted, fitted
from recollect.operations.trace.envelope import TraceAnswer
from recollect.operations.trace.steps import Step, key_actions, outcome, results_of, steps_of
from recollect.shown_time import estimate_field
from recollect.store import EventRow, Reader, SessionRow, TurnRow

KB = 1_024
PROMPT = 200  # characters of a prompt where there is not all of it
SHORT = 500  # characters of reasoning and of a tool's output at `steps`
LONG = 128_000  # characters of a message or an argument at `steps`, by more and more of which too large an answer is cut
LEAST = 4  # the share of short texts that is left however much is cut
THOUGHT = 2_000  # characters of reasoning at `turns`
IN_STEPS = {Kind.ASSISTANT_RESPONSE, Kind.REASONING, Kind.TOOL_CALL, Kind.TOOL_RESPONSE}


class Level(StrEnum):
    SUMMARY = "summary"
    TURNS = "turns"
    STEPS = "steps"
    FULL = "full"


BUDGET_KB = {Level.SUMMARY: 10, Level.TURNS: 30, Level.STEPS: 100}


class SessionTrace:
    """A session as turns and steps. What was said is read turn by turn, when it is to be shown."""

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
        """The events of a turn with what they say, and the answers to its calls that came in a later one."""
        if turn.ordinal not in self._events:
            events = self.reader.events_of_turn(self.session.key, turn.ordinal)
            answers = (self.results.get(event.seq) for event in events if event.kind is Kind.TOOL_CALL)
            later = [(one.turn, one.seq) for one in answers if one is not None and one.turn != turn.ordinal]
            self._events[turn.ordinal] = [*events, *self.reader.events_at(self.session.key, later).values()]
        return self._events[turn.ordinal]

    def texts(self, turn: TurnRow) -> dict[int, str]:
        """What was said in a turn; unpacked once, because it may be cut more than once before it fits."""
        if turn.ordinal not in self._texts:
            self._texts[turn.ordinal] = {event.seq: event.text() for event in self.events(turn)}
        return self._texts[turn.ordinal]

    def prompt(self, turn: TurnRow) -> str:
        """What a turn began with. Where nothing else of it is shown, nothing else is read."""
        if turn.prompt is None:
            return ""
        if turn.ordinal in self._texts:
            return self._texts[turn.ordinal].get(turn.prompt, "")
        if turn.ordinal not in self._prompts:
            found = self.reader.events_at(self.session.key, [(turn.ordinal, turn.prompt)])
            self._prompts[turn.ordinal] = found[turn.prompt].text() if turn.prompt in found else ""
        return self._prompts[turn.ordinal]

    def stats(self) -> dict[str, Any]:
        tools = views.tools_of([step for steps in self.steps for step in steps])
        return {
            "total_turns": len(self.turns),
            "total_steps": sum(map(len, self.steps)),
            "total_events": self.session.event_count,
            "total_tool_calls": len(tools),
            "failed_tool_calls": sum(step.failed() for steps in self.steps for step in steps),
            "duration_ms": self.session.updated_at - self.session.started_at,
            "tokens": msgspec.json.decode(self.session.usage, type=Usage).counts(),
        }


def details(trace: SessionTrace, level: Level, *, include_reasoning: bool, warnings: list[str], hint: str) -> TraceAnswer:
    """A session at a depth, cut where that depth has a size."""
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

    def render(place: int, scale: int) -> dict[str, Any]:
        return RENDERED[level](trace, place, scale, include_reasoning)

    def answer(found: Fitted, more: list[str]) -> TraceAnswer:
        return TraceAnswer({**frame, "turns": found.turns}, hint=hint, warnings=[*warnings, *more])

    if level is Level.FULL:
        return TraceAnswer({**frame, "turns": [render(place, 1) for place in range(len(trace.turns))]}, None, hint, warnings)
    size = f"{BUDGET_KB[level]} KB"
    cut = [f"Response truncated to {size}", f"{len(trace.turns)} of {len(trace.turns)} turns are left out in the middle"]
    room, cut_room = (BUDGET_KB[level] * KB - answer(Fitted([]), more).size() for more in ([], cut))
    found = fitted(len(trace.turns), render, room, cut_room)
    if not found.is_cut:
        return answer(found, [])
    gap = [f"{found.left_out} of {len(trace.turns)} turns are left out in the middle"] if found.left_out else []
    return answer(found, [f"Response truncated to {size}", *gap])


def _summary(trace: SessionTrace, place: int, scale: int, _: bool) -> dict[str, Any]:
    turn, steps = trace.turns[place], trace.steps[place]
    return {
        "turn_index": turn.ordinal - 1,
        "user_message": views.cut(trace.prompt(turn), PROMPT // min(scale, LEAST)),
        "step_count": len(steps),
        "stats": _turn_stats(turn, steps),
    }


def _turn_stats(turn: TurnRow, steps: list[Step]) -> dict[str, int]:
    return {
        "events": turn.event_count,
        "tool_calls": sum(len(step.tools) for step in steps),
        "failed_tools": sum(step.failed() for step in steps),
        "tokens": msgspec.json.decode(turn.usage, type=Usage).total(),
        "duration_ms": turn.updated_at - turn.started_at,
    }


def _turns(trace: SessionTrace, place: int, scale: int, reasoning: bool) -> dict[str, Any]:
    turn, steps = trace.turns[place], trace.steps[place]
    texts = trace.texts(turn)
    share = min(scale, LEAST)
    lines = [
        views.step_line(step, index, texts, reasoning=reasoning, scale=share, thought=THOUGHT // share)
        for index, step in enumerate(steps)
    ]
    return {
        **_summary(trace, place, scale, reasoning),
        "outcome": outcome(steps),
        "key_actions": key_actions(steps),
        "steps": lines,
    }


def _steps(trace: SessionTrace, place: int, scale: int, _: bool) -> dict[str, Any]:
    return _whole(trace, place, SHORT // min(scale, LEAST), None if scale == 1 else LONG // scale)


def _full(trace: SessionTrace, place: int, *_: object) -> dict[str, Any]:
    turn = trace.turns[place]
    others = [event for event in trace.events(turn) if event.kind not in IN_STEPS and event.seq != turn.prompt]
    notes = [{"event_index": one.seq, "event_type": views.event_type(one), "text": one.text()} for one in others]
    return {**_whole(trace, place, None, None), "other_events": notes}


def _whole(trace: SessionTrace, place: int, most: int | None, message: int | None) -> dict[str, Any]:
    """A turn with all its steps; of reasoning and output so many characters, of messages and arguments so many."""
    turn, steps = trace.turns[place], trace.steps[place]
    texts = trace.texts(turn)
    return {
        **_summary(trace, place, 1, False),
        "user_message": views.cut(trace.prompt(turn), message),
        "outcome": outcome(steps),
        "steps": [views.step_whole(step, index, texts, most, message) for index, step in enumerate(steps)],
    }


RENDERED: dict[Level, Callable[[SessionTrace, int, int, bool], dict[str, Any]]] = {
    Level.SUMMARY: _summary,
    Level.TURNS: _turns,
    Level.STEPS: _steps,
    Level.FULL: _full,
}
