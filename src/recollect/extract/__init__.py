"""Extracts observations with a language model, if one is configured. They add to the observations of the rules.

A model only reads turns on request: by `recollect extract`, or inside an MCP server whose client lends its model.
It reads finished turns, the newest first, within a budget of tokens. Each model reads a turn once, unless the turn
changes. The observations of a turn are stored before the next turn is read.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from recollect.distil import turn_checksum
from recollect.distil.texts import event_for_rules, locate_turn, observation_words, words_of_turn
from recollect.extract.answer import InvalidAnswer, parse_observations
from recollect.extract.prompt import ExtractionPrompt, write_prompt
from recollect.language_model import Completion, LanguageModel, ModelDidNotAnswer
from recollect.model import Event, Kind
from recollect.store import Reader, SessionRow, TurnRow
from recollect.store.journaled import RULES
from recollect.store.memory import Memory, ObservedPlace

EXTRACTING = "extract.lock"  # held by the process that calls a model: two at a time would pay twice
MAX_ANSWER_TOKENS = 1_500  # enough for four long observations
MAX_INVALID = 5  # invalid answers in a row, after which the model is considered unsuitable

ReadTurns = Mapping[tuple[bytes, int], int]  # (session, turn) -> checksum of the turn when the model read it


class Limits(Struct, frozen=True, kw_only=True):
    """How much may be read: tokens in and out, and turns. With `again`, turns that were read before are read again."""

    budget: int
    turns: int | None = None
    again: bool = False


class Plan(Struct, kw_only=True):
    """What reading all turns would cost. `tokens_out` is the maximum; `fits` counts turns within the budget."""

    model: str
    budget: int
    turns: int = 0
    trivial: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    fits: int = 0
    fits_tokens: int = 0


class UnusableAnswer(Struct, frozen=True):
    """A turn for which the model's answer contained no array of observations."""

    session: bytes
    turn: int
    reason: str


class ExtractionReport(Struct, kw_only=True):
    """What was read, found and paid, updated after every turn. `refused` counts observations, `nonsense` lists answers."""

    model: str
    budget: int
    turns: int = 0
    trivial: int = 0
    observations: int = 0
    refused: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    nonsense: list[UnusableAnswer] = []
    ended: str = ""  # "all read", "budget", "limit" or "stopped"


class UnreadTurn(Struct):
    """A turn to read. A trivial turn has no prompt; its events may not be loaded."""

    session: SessionRow
    address: str
    turn: TurnRow
    events: list[Event]
    prompt: ExtractionPrompt | None

    def place(self) -> ObservedPlace:
        return locate_turn(self.session, self.turn.ordinal, self.events, self.address)

    def cost(self) -> int:
        """The maximum number of tokens that reading this turn can cost."""
        return self.prompt.tokens() + MAX_ANSWER_TOKENS if self.prompt else 0


def always() -> bool:
    return True


def plan_extraction(
    reader: Reader, already_read: ReadTurns, name: str, limits: Limits, on_turn: Callable[[Plan], None] = lambda _: None
) -> Plan:
    """The number of turns to read and their cost. Does not call a model."""
    plan = Plan(model=name, budget=limits.budget)
    for unread in _unread_turns(reader, {} if limits.again else already_read, always):
        if unread.prompt is None:
            plan.trivial += 1
            continue
        if plan.turns == limits.turns:
            break
        if plan.fits == plan.turns and plan.fits_tokens + unread.cost() <= limits.budget:
            plan.fits += 1
            plan.fits_tokens += unread.cost()
        plan.turns += 1
        plan.tokens_in += unread.prompt.tokens()
        plan.tokens_out += MAX_ANSWER_TOKENS
        on_turn(plan)
    return plan


def extract(
    reader: Reader,
    memory: Memory,
    model: LanguageModel,
    limits: Limits,
    report: ExtractionReport,
    on_turn: Callable[[ExtractionReport], None] = lambda _: None,
    may_continue: Callable[[], bool] = always,
) -> None:
    """Let a model read turns, and fill the report. If the model fails, the turns that it has read stay stored.

    `may_continue` is called before every turn. It may block, and it returns False to stop.
    """
    already_read = {} if limits.again else memory.extracted_turns(model.name)
    invalid = 0
    for unread in _unread_turns(reader, already_read, may_continue):
        if unread.prompt is None:
            _mark_trivial(memory, model, unread)
            report.trivial += 1
            continue
        report.ended = _reason_to_end(unread, limits, report)
        if report.ended:
            return
        completion = model.complete(unread.prompt.text, MAX_ANSWER_TOKENS)
        invalid = 0 if _store_answer(memory, model, unread, completion, report) else invalid + 1
        on_turn(report)
        if invalid == MAX_INVALID:
            raise ModelDidNotAnswer(
                f"{model.name!r} gave {MAX_INVALID} answers in a row without a list of observations "
                f"(the last: {report.nonsense[-1].reason}). Check what it answers; `--again` reads those turns again."
            )
    report.ended = "all read" if may_continue() else "stopped"


def _reason_to_end(unread: UnreadTurn, limits: Limits, report: ExtractionReport) -> str:
    """The reason not to read this turn; empty if it can be read."""
    if report.turns == limits.turns:
        return "limit"
    return "budget" if report.tokens_in + report.tokens_out + unread.cost() > limits.budget else ""


# ---- the turns to read


def _unread_turns(reader: Reader, already_read: ReadTurns, may_continue: Callable[[], bool]) -> Iterator[UnreadTurn]:
    for session, turn in newest_unread(reader, already_read, may_continue):
        if Kind.ASSISTANT_RESPONSE not in turn.kinds and Kind.TOOL_CALL not in turn.kinds:
            yield UnreadTurn(session, session.path, turn, [], None)
            continue
        events = [event_for_rules(row) for row in reader.events_of_turn(session.key, turn.ordinal)]
        yield UnreadTurn(session, reader.address(session), turn, events, write_prompt(events))


def newest_unread(
    reader: Reader, already_read: ReadTurns, may_continue: Callable[[], bool] = always
) -> Iterator[tuple[SessionRow, TurnRow]]:
    """The finished turns of all sessions that were not read in their present state, the newest first.

    The archive returns the newest sessions first. A turn waits until no later session can have a newer one,
    so turns of old sessions are only loaded when they are needed.
    """
    waiting: list[tuple[int, bytes, int, SessionRow, TurnRow]] = []
    for session in reader.all_sessions():
        while may_continue() and waiting and -waiting[0][0] >= session.updated_at:
            yield heapq.heappop(waiting)[-2:]
        if not may_continue():
            return
        for turn in reader.turns(session.key) if session.event_count else ():
            if turn.terminal is not None and already_read.get((session.id, turn.ordinal)) != turn_checksum(turn):
                heapq.heappush(waiting, (-turn.updated_at, session.id, -turn.ordinal, session, turn))
    while waiting and may_continue():
        yield heapq.heappop(waiting)[-2:]


# ---- storing


def _mark_trivial(memory: Memory, model: LanguageModel, unread: UnreadTurn) -> None:
    with memory.transaction():
        memory.put_extracted_turn(unread.place(), turn_checksum(unread.turn), model.name, 0)


def _store_answer(
    memory: Memory, model: LanguageModel, unread: UnreadTurn, answer: Completion, report: ExtractionReport
) -> bool:
    """Store the observations of an answer, and mark the turn as read. Returns whether the answer was valid."""
    place, context, ids = unread.place(), words_of_turn(unread.events), set()
    report.turns += 1
    report.tokens_in += answer.tokens_in
    report.tokens_out += answer.tokens_out
    try:
        observations, refused = parse_observations(answer.text, unread.prompt.cited if unread.prompt else {})
        is_valid = True
    except InvalidAnswer as reason:
        observations, refused, is_valid = [], 0, False
        report.nonsense.append(UnusableAnswer(place.session, place.turn, str(reason)))
    with memory.transaction():
        if is_valid:
            memory.forget_model_observations(place, f"model:{model.name}")
        files = _files_of_turn(memory, place)
        for observation in observations:
            complete = replace(observation, **files)
            words = observation_words(complete, context)
            ids.add(memory.record(place, f"model:{answer.by or model.name}", complete, words))
        memory.put_extracted_turn(place, turn_checksum(unread.turn), model.name, answer.tokens_in + answer.tokens_out)
    report.observations += len(ids)
    report.refused += refused
    return is_valid


def _files_of_turn(memory: Memory, place: ObservedPlace) -> dict[str, tuple[str, ...]]:
    """The files that the rules found in this turn's tool calls. A model can only guess them."""
    rows = [row for row in memory.observations_of_turn(place) if row.made_by == RULES]
    return {
        name: tuple(dict.fromkeys(path for row in rows for path in getattr(row, name)))
        for name in ("files_read", "files_modified")
    }
