"""Builds sessions from agents' operations: finds the session of each, their order, and the new messages of each.

Every model call repeats the conversation so far, and the spans around it repeat it once more. A `Transcript` holds a
session's records and adds only the new messages of each operation.
"""

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import AGENT_KINDS, Entry, Ignored, Kind, Problem, Record, SessionMetadata, Stop, TurnStart
from recollect.sources.formats.message import RecordBuilder, read_chat_message
from recollect.sources.formats.values import parse_time
from recollect.sources.otel.genai import (
    CONVERSATION,
    Role,
    as_chat,
    inputs,
    is_finished,
    model_of,
    outputs,
    role_of,
    tool_of,
    usage_of,
)
from recollect.sources.otel.otlp import Operation, RequestLine, SpanKey, read_operations

CANCELLED = ("cancel", "abort", "interrupt")  # in an error's name: the person stopped the agent, which is not a failure
MAX_DEPTH = 128  # enclosing operations that are checked: real traces nest a dozen deep

Statement = tuple[str, ...]  # the content of a record, by which repeated records are found


class Step(Struct, frozen=True):
    """An operation and its position among the others."""

    operation: Operation
    role: Role
    is_outer: bool  # a model call inside it has the same messages
    is_root: bool  # no agent encloses it


def read(path: Path, requests: Iterable[RequestLine | Problem]) -> Iterable[Entry]:
    """The entries of every session in these operations."""
    operations, problems = read_operations(requests)
    yield from problems
    tree = Tree(operations)
    sessions: dict[str, list[Step]] = {}
    for key, role in tree.roles.items():
        sessions.setdefault(tree.session(key), []).append(tree.step(key, role))
    for session, steps in sessions.items():
        parent, call = tree.parents.get(session, (None, None))
        yield SessionMetadata(session=session, parent=parent, parent_call=call)
        yield from _records_in_order(session, steps)
    yield from (Ignored("other span") for _ in range(len(operations) - len(tree.roles)))


# ---- sessions of operations


class Tree:
    """The operations as a tree of parents and children."""

    def __init__(self, operations: dict[SpanKey, Operation]) -> None:
        self.operations = operations
        roles = {key: role_of(operation) for key, operation in operations.items()}
        self.roles = {key: role for key, role in roles.items() if role is not None}
        self.parents: dict[str, tuple[str, str | None]] = {}
        self._sessions: dict[SpanKey, str] = {}
        self._outer = {above for key, role in self.roles.items() if role is Role.MODEL for above in self._around(key)}
        self._named: dict[str, set[str]] = {}  # the conversations of each trace
        for (trace, _), operation in operations.items():
            if name := _text(operation.attributes.get(CONVERSATION)):
                self._named.setdefault(trace, set()).add(name)

    def step(self, key: SpanKey, role: Role) -> Step:
        is_root = not any(self.roles.get(above) is Role.AGENT for above in self._around(key))
        return Step(self.operations[key], role, key in self._outer, is_root)

    def session(self, key: SpanKey) -> str:
        """The session of an operation: the conversation that it or an enclosing one names. An agent that a tool started
        has its own session.
        """
        if key not in self._sessions:
            self._sessions[key] = self._conversation(key)  # set first: a damaged log may have spans in a circle
            if (started := self._started_by_tool(key)) is not None:
                inner, tool = started
                outer = self.session(tool)
                own = _text(self.operations[inner].attributes.get(CONVERSATION))
                session = own if own and own != self._conversation(tool) else f"{outer}/{tool[1]}"
                self._sessions[key] = session
                self.parents.setdefault(session, (outer, tool_of(self.operations[tool]).call))
        return self._sessions[key]

    def _conversation(self, key: SpanKey) -> str:
        around = [self.operations[key], *(self.operations[above] for above in self._above(key) if above in self.operations)]
        conversations = [name for operation in around if (name := _text(operation.attributes.get(CONVERSATION)))]
        of_trace = self._named.get(key[0], set())
        sessions = [name for operation in around if (name := _text(operation.attributes.get("session.id")))]
        candidates: list[str] = [*conversations, *(of_trace if len(of_trace) == 1 else ()), *sessions, key[0] or key[1]]
        return candidates[0]

    def _started_by_tool(self, key: SpanKey) -> tuple[SpanKey, SpanKey] | None:
        """The outermost agent or model between an operation and the nearest enclosing tool, and that tool."""
        inner: SpanKey | None = None
        for span in (key, *self._above(key)):
            role = self.roles.get(span)
            if role is Role.TOOL and inner is not None:
                return inner, span
            if role is not None and role is not Role.TOOL:
                inner = span
        return None

    def _around(self, key: SpanKey) -> list[SpanKey]:
        """The enclosing operations, up to the tool that runs the operation."""
        above = self._above(key)
        tools = [place for place, span in enumerate(above) if self.roles.get(span) is Role.TOOL]
        return above[: tools[0]] if tools else above

    def _above(self, key: SpanKey) -> list[SpanKey]:
        """The enclosing operations, the nearest first."""
        above: list[SpanKey] = []
        while (operation := self.operations.get(key)) is not None and operation.parent:
            key = (operation.trace, operation.parent)
            if key in above or len(above) == MAX_DEPTH:
                break
            above.append(key)
        return above


# ---- new records


class Transcript:
    """The records of a session so far."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.records: list[Record] = []
        self._statements: list[Statement] = []
        self._known: Counter[Statement] = Counter()
        self._waiting: dict[str, str] = {}  # a call whose tool has not run yet -> the tool's name
        self._open_prompt = ""  # the agent's prompt, until the model answers

    def add(self, record: Record) -> None:
        statement = _statement_of(record)
        record.key = f"{self.session}/{_digest(statement)}.{self._known[statement]}"
        self._add_statement(statement)
        self.records.append(record)
        if record.kind is Kind.TOOL_CALL and record.call:
            self._waiting[record.call] = record.tool or ""
        if record.kind in AGENT_KINDS:
            self._open_prompt = ""

    def add_new(self, records: list[Record], *, is_outer: bool) -> None:
        """Add an operation's messages, except those that repeat the conversation so far or its end."""
        place = self._place(records)
        for record in records:
            statement = _statement_of(record)
            if self._is_once(record) and self._known[statement]:
                continue
            if (known_at := self._find(statement, place)) is not None:
                place = known_at + 1
                continue
            if self._is_answered(record):
                continue
            if record.kind is Kind.USER_INPUT:
                place = (
                    len(self._statements) + 1
                )  # after a new prompt all messages are new; an earlier answer may have been omitted
                if self._open_prompt and self._open_prompt in record.text:
                    self._add_statement(statement)  # the same prompt, in the form that the model received
                    continue
            self.add(record)
            if is_outer and record.kind is Kind.USER_INPUT:
                self._open_prompt = record.text

    def call_of(self, tool: str | None) -> str | None:
        """The call of a tool run that does not name one."""
        return next((call for call, name in self._waiting.items() if name == tool), None)

    def awaits(self, call: str) -> bool:
        return call in self._waiting

    def end_call(self, call: str) -> None:
        self._waiting.pop(call, None)

    def _place(self, records: list[Record]) -> int:
        """The place from which these records may repeat earlier ones.

        A complete conversation repeats an answer, or begins like the session. Other messages can repeat only the end of the
        session: the same short prompt, sent twice, is two prompts.
        """
        statements = [_statement_of(record) for record in records if not self._is_once(record)]
        opening = next((statement for statement in self._statements if statement[0] != Kind.SYSTEM), None)
        if statements[:1] == [opening] or any(
            statement[0] in AGENT_KINDS and self._known[statement] for statement in map(_statement_of, records)
        ):
            return 0
        for size in range(min(len(statements), len(self._statements)), 0, -1):
            if self._statements[-size:] == statements[:size]:
                return len(self._statements) - size
        return len(self._statements)

    def _find(self, statement: Statement, place: int) -> int | None:
        try:
            return self._statements.index(statement, place)
        except ValueError:
            return None

    def _is_once(self, record: Record) -> bool:
        """Whether a record counts only once: instructions, and a call by its id."""
        return record.kind is Kind.SYSTEM or (record.kind is Kind.TOOL_CALL and bool(record.call))

    def _is_answered(self, record: Record) -> bool:
        """Whether the call of a result already has a result. Some models restart their call numbers in every turn."""
        calls = self._known[(Kind.TOOL_CALL, record.call or "")]
        return (
            record.kind is Kind.TOOL_RESPONSE and bool(record.call) and self._known[_statement_of(record)] >= max(calls, 1)
        )

    def _add_statement(self, statement: Statement) -> None:
        self._statements.append(statement)
        self._known[statement] += 1


def _statement_of(record: Record) -> Statement:
    if record.call:
        return (record.kind, record.call)
    if record.kind is Kind.TOOL_CALL:
        return (record.kind, record.tool or "", msgspec.json.encode(record.arguments).decode())
    return (record.kind, record.text.strip())


def _digest(statement: Statement) -> str:
    return blake2b("\0".join(statement).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


# ---- order


def _records_in_order(session: str, steps: list[Step]) -> list[Record]:
    """A session's records in order: an operation's input at its start, its output at its end."""
    moments: list[tuple[int, int, int, bool, Step]] = []
    for number, step in enumerate(steps):
        started, ended = step.operation.started, max(step.operation.ended, step.operation.started)
        moments.append((started, 1, number, True, step))
        moments.append((ended, 0 if ended > started else 1, number, False, step))
    transcript = Transcript(session)
    has_inputs = any(inputs(step.operation) for step in steps if step.role is not Role.TOOL)
    for _, _, _, starts, step in sorted(moments, key=lambda moment: moment[:3]):
        if step.role is Role.TOOL:
            _run_tool(transcript, step, starts=starts)
        elif not starts:
            _answer(transcript, step)
        elif has_inputs:
            transcript.add_new(_input_records(transcript, step), is_outer=step.is_outer)
        elif step.is_root and step.role is Role.AGENT:
            _open_turn(transcript, step)
    return transcript.records


def _open_turn(transcript: Transcript, step: Step) -> None:
    """Open a turn for a prompt whose text was not recorded."""
    builder = _builder(transcript, step.operation, step.operation.started)
    transcript.add(builder.record(Kind.RUNTIME, step.operation.name, opens=TurnStart.PROMPT))


def _builder(transcript: Transcript, operation: Operation, nanoseconds: int) -> RecordBuilder:
    at = parse_time(nanoseconds) if nanoseconds else None
    return RecordBuilder(session=transcript.session, key="", at=at, line=operation.line)


def _input_records(transcript: Transcript, step: Step) -> list[Record]:
    builder = _builder(transcript, step.operation, step.operation.started)
    return [record for message in inputs(step.operation) for record in read_chat_message(builder, as_chat(message))]


def _run_tool(transcript: Transcript, step: Step, *, starts: bool) -> None:
    operation = step.operation
    tool = tool_of(operation)
    call = tool.call or transcript.call_of(tool.name) or operation.span
    if starts:
        if not transcript.awaits(call):
            builder = _builder(transcript, operation, operation.started)
            transcript.add(builder.call(tool.name, call, tool.arguments))
        return
    transcript.end_call(call)
    if tool.result is not None or operation.error:
        builder = _builder(transcript, operation, operation.ended)
        result = builder.result(call, tool.result or operation.error, tool=tool.name, failed=operation.error is not None)
        transcript.add_new([result], is_outer=False)


def _answer(transcript: Transcript, step: Step) -> None:
    operation = step.operation
    builder = _builder(transcript, operation, operation.ended)
    builder.model = model_of(operation)
    builder.usage = None if step.is_outer else usage_of(operation)
    messages = outputs(operation)
    records = [record for message in messages for record in read_chat_message(builder, as_chat(message))]
    if step.is_outer:
        transcript.add_new(records, is_outer=True)
    else:
        for record in records:
            transcript.add(record)
        if builder.usage is not None:  # the text was not recorded, only the token counts
            transcript.add(builder.record(Kind.RUNTIME, operation.name, model=builder.model, usage=builder.usage))
    _end(transcript, step, builder, is_finished=is_finished(operation, messages))


def _end(transcript: Transcript, step: Step, builder: RecordBuilder, *, is_finished: bool) -> None:
    """Mark the turn's end: a complete answer, or the end of the agent's run."""
    operation, last = step.operation, transcript.records[-1] if transcript.records else None
    if operation.error is not None:
        transcript.add(builder.record(Kind.RUNTIME, operation.error, failed=True, stop=_failure(step)))
    elif last is not None and last.kind is Kind.ASSISTANT_RESPONSE:
        if is_finished or (step.is_root and step.role is Role.AGENT):
            last.stop = Stop.ANSWER
    elif last is not None and step.is_root and step.role is Role.AGENT:
        last.stop = last.stop or Stop.OTHER


def _failure(step: Step) -> Stop | None:
    if not step.is_root:
        return None
    error = (step.operation.error or "").lower()
    return Stop.INTERRUPT if any(word in error for word in CANCELLED) else Stop.CRASH


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
