"""Reads from the archive and the memory what the brief of a session needs."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from recollect.continuation.actions import describe_actions
from recollect.continuation.command_outcomes import CommandOutcomes, FailedCommand
from recollect.continuation.plans import AgentPlan, is_planning, read_plan
from recollect.distil.texts import event_for_rules
from recollect.label import label
from recollect.model import LIVE_SOURCE, Kind, Observation, Stop
from recollect.observe import observe, split_sentences
from recollect.observe.requests import is_trivial
from recollect.observe.sentences import strip_opener
from recollect.observe.turn import TEMPORARY_FOLDERS, request_text
from recollect.store import EventRow, Reader, SessionRow, TurnRow
from recollect.store.memory import Memory, ObservationRow
from recollect.title import BLOCK

DETAILED_TURNS = 12  # at the end of a session, whose commands are read: older failures are settled or forgotten
PLAN_TURNS = 30  # at the end of a session, in which its plan is searched
OBSERVED_TURNS = 60  # at the end of a session that was not distilled yet
MAX_FILES = 2_000  # entries of files that are read: a session with more changed the same files again and again
MAX_OUTCOME = 300  # characters of what became of a turn
MIN_WORDS = 4  # of a sentence that says what became of a turn: "Done." does not
SHORT_ANSWER = 300  # characters: the answer before a shorter one is needed to understand it
MAX_LINEAGE = 3  # sessions that were continued one after the other

ObservedFact = Observation | ObservationRow


class TurnSummary(Struct, frozen=True, kw_only=True):
    """What a person asked in a turn, and what became of it."""

    number: int
    request: str
    outcome: str
    stop: str | None


class ChangedFile(Struct, kw_only=True):
    """What a session did to a file."""

    path: str
    operations: list[str]
    added: int = 0
    removed: int = 0


class LastExchange(Struct, frozen=True, kw_only=True):
    """A turn in which the person asked for something."""

    turn: int
    request: str
    actions: list[str]  # its tool calls, in one line each
    answer: str
    stop: str | None

    def was_cut_off(self) -> bool:
        """Whether the turn ended before the agent was done."""
        return self.stop in (Stop.INTERRUPT, Stop.CANCEL, Stop.CRASH, Stop.EXIT)


class SessionRecord(Struct, frozen=True, kw_only=True):
    """Everything that a brief may say about a session."""

    session: SessionRow
    agent: str
    is_sub_agent: bool
    continued: "SessionRecord | None"  # the session that it goes on with
    turns: list[TurnSummary]
    last: LastExchange | None
    before: LastExchange | None  # the exchange before the last one, if the last one says little
    plan: AgentPlan | None
    compaction: str  # the agent's own summary, from the last time its context was compacted
    compacted_in: int  # the turn of that summary
    observations: list[ObservedFact]
    failures: list[FailedCommand]
    files: list[ChangedFile]
    commits: list[str]
    note: str


def read_record(
    reader: Reader, memory: Memory, session: SessionRow, agents: dict[str, str], lineage: int = MAX_LINEAGE
) -> SessionRecord:
    """The record of a session. Context that agents inject and our own traffic are left out.

    `agents` has the names of agents as people know them, by their sources.
    """
    turns = reader.turns(session.key)
    texts = reader.events_at(session.key, _places(turns))
    asked = [summary for turn in turns if (summary := _summary(turn, texts)).request]
    outcomes = CommandOutcomes(session.cwd)
    for turn in turns[-DETAILED_TURNS:]:
        outcomes.add(turn.ordinal, reader.events_of_turn(session.key, turn.ordinal))
    compacted_in, compaction = _compaction(reader, session, turns)
    continued_id = reader.continued_session(session.id)
    is_live = session.source == LIVE_SOURCE  # the log of any other agent repeats what a fork began with
    continued = reader.session(continued_id) if continued_id is not None and is_live and lineage else None
    last, before = _exchanges(reader, session, turns, texts, asked)
    return SessionRecord(
        session=session,
        agent=agents.get(session.source, session.source),
        is_sub_agent=continued_id is None and bool(reader.parents([session.key])),
        continued=read_record(reader, memory, continued, agents, lineage - 1) if continued is not None else None,
        turns=asked,
        last=last,
        before=before,
        plan=_plan(reader, session, turns),
        compaction=compaction,
        compacted_in=compacted_in,
        observations=_observations(reader, memory, session, turns),
        failures=outcomes.failures(asked[-1].number if asked else 0),
        files=_files(reader, session),
        commits=outcomes.commits,
        note=memory.notes_of([session.id]).get(session.id, ""),
    )


# ---- turns


def _places(turns: Iterable[TurnRow]) -> list[tuple[int, int]]:
    return [(turn.ordinal, seq) for turn in turns for seq in (turn.prompt, turn.answer) if seq is not None]


def _summary(turn: TurnRow, texts: dict[int, EventRow]) -> TurnSummary:
    return TurnSummary(
        number=turn.ordinal,
        request=_request(_text(turn.prompt, texts)),
        outcome=_outcome(_text(turn.answer, texts)),
        stop=turn.stop,
    )


def _text(seq: int | None, texts: dict[int, EventRow]) -> str:
    event = texts.get(seq) if seq is not None else None
    return event.text() if event is not None and not event.own else ""


def _request(prompt: str) -> str:
    """What a prompt asks for, without blocks that the agent injected; empty for a command to the program itself."""
    text = BLOCK.sub("", prompt).strip()
    return text if request_text(text) else ""


def _outcome(answer: str) -> str:
    """The first sentence of an answer that says something, or its first line."""
    sentences = (strip_opener(sentence) for sentence in split_sentences(answer))
    telling = (one for one in sentences if len(one.split()) >= MIN_WORDS and not one.endswith((":", "?")))
    return label(next(telling, answer.replace("**", "").lstrip("# ")), MAX_OUTCOME)


def _exchanges(
    reader: Reader, session: SessionRow, turns: Sequence[TurnRow], texts: dict[int, EventRow], asked: Sequence[TurnSummary]
) -> tuple[LastExchange | None, LastExchange | None]:
    """The last exchange; and the one before, if the last one cannot be understood without it."""
    rows = {turn.ordinal: turn for turn in turns}
    exchanges = (
        LastExchange(
            turn=summary.number,
            request=summary.request,
            actions=describe_actions(reader.events_of_turn(session.key, summary.number), session.cwd),
            answer=_text(rows[summary.number].answer, texts),
            stop=summary.stop,
        )
        for summary in reversed(asked)
    )
    last = next(exchanges, None)
    if last is None or (len(last.answer) >= SHORT_ANSWER and not is_trivial(last.request)):
        return last, None
    return last, next((one for one in exchanges if len(one.answer) >= SHORT_ANSWER), None)


# ---- plans, summaries and observations


def _plan(reader: Reader, session: SessionRow, turns: Sequence[TurnRow]) -> AgentPlan | None:
    """The newest plan of the session."""
    for turn in reversed(turns[-PLAN_TURNS:]):
        if any(map(is_planning, turn.tools)) or (Kind.REASONING in turn.kinds and session.source == LIVE_SOURCE):
            steps = read_plan(reader.events_of_turn(session.key, turn.ordinal))
            if steps:
                return AgentPlan(turn.ordinal, steps)
    return None


def _compaction(reader: Reader, session: SessionRow, turns: Sequence[TurnRow]) -> tuple[int, str]:
    """The last compaction: its turn, and the longest of its texts."""
    for turn in reversed(turns):
        if Kind.COMPACTION in turn.kinds:
            events = reader.events_of_turn(session.key, turn.ordinal)
            texts = [event.text() for event in events if event.kind is Kind.COMPACTION]
            return turn.ordinal, max(texts, key=len, default="")
    return 0, ""


def _observations(reader: Reader, memory: Memory, session: SessionRow, turns: Sequence[TurnRow]) -> list[ObservedFact]:
    """The observations in the memory; those of the rules, if the session was not distilled yet."""
    stored = memory.observations_of_types([session.id], ())
    if stored or memory.observed_turns(session.id):
        return [*sorted(stored, key=lambda row: (row.turn, row.key))]
    found: list[ObservedFact] = []
    for turn in turns[-OBSERVED_TURNS:]:
        events = [event_for_rules(row) for row in reader.events_of_turn(session.key, turn.ordinal)]
        found += observe(events, session.cwd)
    return found


# ---- files


def _files(reader: Reader, session: SessionRow) -> list[ChangedFile]:
    """The files of a session without temporary ones, the one that it touched last at the end."""
    files: dict[str, ChangedFile] = {}
    for row in reader.session_files(session.key, MAX_FILES):
        if row.path.startswith(TEMPORARY_FOLDERS):
            continue
        file = files.pop(row.path, None) or ChangedFile(path=row.path, operations=[])
        files[row.path] = file
        if row.operation not in file.operations:
            file.operations.append(row.operation)
        file.added += row.added or 0
        file.removed += row.removed or 0
    return list(files.values())
