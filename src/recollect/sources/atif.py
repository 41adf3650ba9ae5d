"""ATIF, the Agent Trajectory Interchange Format: sessions of any agent, as Harbor and others export them.

Evidence: the published format, 1.0 to 1.7, and 4 samples of OpenHands and Terminus 2.
One JSON document per session, usually `trajectory.json`. A step of the agent has its text, its calls and their results.
After it summarises its context, an agent may continue in `trajectory.cont-1.json`, which begins with copies of earlier
steps (`is_copied_context`): both are one session. A sub-agent has its own document, which the step that started it names,
or a document inside its parent's. `session_id` may name a run of several agents, so a session is named after its
`trajectory_id`, which exists from 1.7 on, else after the run and its file.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop
from recollect.sources.formats.head import Head
from recollect.sources.formats.json import decode_each, json_document, read_sidecar
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import litellm_usage, with_cost
from recollect.sources.formats.values import as_object, parse_time

SCHEMA = "ATIF-"
CONTINUATION = re.compile(r"(.*)\.cont-(\d+)\.json")
LAST_CALLS = {"finish", "mark_task_complete"}
COMPLETE = re.compile(r'"task_complete"\s*:\s*true')


class Agent(Struct, frozen=True):
    model_name: str | None = None


class Trajectory(Struct):
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent = Agent()
    steps: list[Raw] = []
    subagent_trajectories: list[Raw] | None = None


class Step(Struct):
    step_id: Any = None
    timestamp: Any = None
    source: Any = None
    model_name: str | None = None
    message: Any = None
    reasoning_content: Any = None
    tool_calls: Any = None
    observation: Any = None
    metrics: Any = None
    is_copied_context: Any = None


def recognises(head: Head) -> bool:
    return str(head.first().get("schema_version") or "").startswith(SCHEMA)


def is_log(path: Path) -> bool:
    return CONTINUATION.fullmatch(path.name) is None


def continuations(path: Path) -> list[Path]:
    """The continuations of a document, in order."""
    named = ((CONTINUATION.fullmatch(other.name), other) for other in path.parent.glob("*.cont-*.json"))
    return [other for _, other in sorted((int(name[2]), other) for name, other in named if name and name[1] == path.stem)]


def owner(path: Path) -> Path | None:
    """The document that a continuation belongs to."""
    name = CONTINUATION.fullmatch(path.name)
    first = path.with_name(f"{name[1]}.json") if name else None
    return first if first and first.is_file() else None


def read(path: Path, content: Trajectory) -> Iterable[Entry]:
    if not is_log(path):
        yield Ignored("continuation without its beginning")
        return
    session = content.trajectory_id or f"{content.session_id or path.parent.name}/{path.stem}"
    yield from _trajectory(session, content, 0)
    for number, file in enumerate(continuations(path), 1):
        if continuation := read_sidecar(file, Trajectory):
            yield from _trajectory(session, continuation, number)


def _trajectory(session: str, content: Trajectory, number: int) -> Iterator[Entry]:
    """A document or one of its continuations; each numbers its steps from the start."""
    yield SessionMetadata(session=session, model=content.agent.model_name)
    for place, step, raw in decode_each(content.steps, Step):
        key = f"{session}/{number}.{place}" if number else f"{session}/{place}"
        builder = RecordBuilder(session=session, key=key, line=place, model=content.agent.model_name)
        if step is None:
            yield builder.unknown(raw)
        elif step.is_copied_context is True:
            yield Ignored("copied context")
        else:
            yield from _step(builder, step, raw)
            yield from _sub_agents(session, content.session_id, step)
    for place, child, _ in decode_each(content.subagent_trajectories or [], Trajectory):
        if child is not None:
            name = child.trajectory_id or f"{session}/sub-agent {place}"
            yield SessionMetadata(session=name, parent=session)
            yield from _trajectory(name, child, 0)


def _step(builder: RecordBuilder, step: Step, raw: str) -> Iterator[Entry]:
    builder.at, builder.model = parse_time(step.timestamp), step.model_name or builder.model
    text = text_of(step.message)
    match step.source:
        case "user":
            yield builder.prompt(text)
        case "system":
            if text:
                yield builder.record(Kind.SYSTEM, text)
        case "agent":
            builder.usage = with_cost(litellm_usage(step.metrics), as_object(step.metrics).get("cost_usd"))
            yield from _answer(builder, step, text)
        case _:
            yield builder.unknown(raw)
    yield from _results(builder, step)


def _answer(builder: RecordBuilder, step: Step, text: str) -> Iterator[Record]:
    if thoughts := text_of(step.reasoning_content):
        yield builder.record(Kind.REASONING, thoughts)
    calls = [call for call in step.tool_calls if isinstance(call, dict)] if isinstance(step.tool_calls, list) else []
    if text.strip() or not calls:
        yield builder.record(Kind.ASSISTANT_RESPONSE, text, stop=None if calls else _stop(step, text))
    for call in calls:
        tool = text_of(call.get("function_name"))
        stop = Stop.ANSWER if tool in LAST_CALLS else None
        yield builder.call(tool, text_of(call.get("tool_call_id")) or None, call.get("arguments"), stop=stop)


def _stop(step: Step, text: str) -> Stop | None:
    """Whether an answer without a call ends the turn. Agents that act by text alone say in the text that they are done."""
    return Stop.ANSWER if step.observation is None or COMPLETE.search(text) else None


def _results(builder: RecordBuilder, step: Step) -> Iterator[Entry]:
    for result in _observed(step):
        if not isinstance(result, dict):
            yield builder.unknown(result)
        elif result.get("content") is not None:
            yield builder.result(text_of(result.get("source_call_id")) or None, result["content"])


def _sub_agents(parent: str, run: str | None, step: Step) -> Iterator[SessionMetadata]:
    """The metadata of the sub-agents that a step started."""
    for result in _observed(step):
        refs = result.get("subagent_trajectory_ref") if isinstance(result, dict) else None
        for ref in refs if isinstance(refs, list) else []:
            match ref:
                case {"trajectory_id": str(name)}:
                    pass
                case {"trajectory_path": str(place)}:
                    name = f"{text_of(ref.get('session_id')) or run}/{PurePath(place).stem}"
                case _:
                    continue
            yield SessionMetadata(session=name, parent=parent, parent_call=text_of(result.get("source_call_id")) or None)


def _observed(step: Step) -> list[Any]:
    results = step.observation.get("results") if isinstance(step.observation, dict) else None
    return results if isinstance(results, list) else []


SOURCE = Source(
    name="atif",
    title="ATIF",
    formats=(
        Document(
            endings=(".json",),
            is_log=is_log,
            recognises=recognises,
            load=json_document(Trajectory),
            read=read,
            sidecars=continuations,
            owner=owner,
        ),
    ),
)
