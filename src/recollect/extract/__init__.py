"""A model reads turns as well, where one is configured: observations beyond what the rules see.

Never while logs are read, and never without being told to: by `recollect extract`, or inside an MCP server whose client
lends its model. The unit is a finished turn. Each is read once by each model as long as it stays what it is, the newest
first, within a budget of tokens; what was learned of it is stored before the next one is read.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from recollect.distil import event_of, place_of, turn_mark, words_around, words_of
from recollect.extract._answer import Nonsense, observations_of
from recollect.extract._prompt import Prompt, prompt_of
from recollect.language import Completion, LanguageModel, Unanswered
from recollect.model import Event, Kind
from recollect.store import Reader, SessionRow, TurnRow
from recollect.store.memory import RULES, Memory, Place

__all__ = ["EXTRACTING", "Limits", "Odd", "Plan", "Report", "extract", "plan"]

EXTRACTING = "extract.lock"  # whoever asks a model: two at a time would pay twice
ANSWER = 1_500  # tokens that an answer may cost: four observations of some length
PATIENCE = 5  # answers in a row that are nonsense, before that is taken for the model's fault

Read = Mapping[tuple[bytes, int], int]


class Limits(Struct, frozen=True, kw_only=True):
    """How much may be read: so many tokens, in and out; so many turns; also what was read before."""

    budget: int
    turns: int | None = None
    again: bool = False


class Plan(Struct, kw_only=True):
    """What reading everything would cost. `tokens_out` is the most that answers may have; `fits` is of the budget."""

    model: str
    budget: int
    turns: int = 0
    trivial: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    fits: int = 0
    fits_tokens: int = 0


class Odd(Struct, frozen=True):
    """A turn of which a model only told nonsense."""

    session: bytes
    turn: int
    reason: str


class Report(Struct, kw_only=True):
    """What was read, what it gave and what it cost. It is filled turn by turn."""

    model: str
    budget: int
    turns: int = 0
    trivial: int = 0
    observations: int = 0
    refused: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    nonsense: list[Odd] = []
    ended: str = ""  # "all read", "budget", "limit" or "stopped"


class Reading(Struct):
    """A turn to be read. One that is too slight has no prompt, and its events were not looked at in vain."""

    session: SessionRow
    address: str
    turn: TurnRow
    events: list[Event]
    prompt: Prompt | None

    def place(self) -> Place:
        return place_of(self.session, self.turn.ordinal, self.events, self.address)

    def cost(self) -> int:
        return self.prompt.tokens() + ANSWER if self.prompt else 0


def always() -> bool:
    return True


def plan(reader: Reader, read: Read, name: str, limits: Limits, tell: Callable[[Plan], None] = lambda _: None) -> Plan:
    """What there is to read and what that costs. Asks nobody."""
    found = Plan(model=name, budget=limits.budget)
    for reading in _readings(reader, {} if limits.again else read, always):
        if reading.prompt is None:
            found.trivial += 1
            continue
        if found.turns == limits.turns:
            break
        if found.fits == found.turns and found.fits_tokens + reading.cost() <= limits.budget:
            found.fits += 1
            found.fits_tokens += reading.cost()
        found.turns += 1
        found.tokens_in += reading.prompt.tokens()
        found.tokens_out += ANSWER
        tell(found)
    return found


def extract(
    reader: Reader,
    memory: Memory,
    model: LanguageModel,
    limits: Limits,
    report: Report,
    tell: Callable[[Report], None] = lambda _: None,
    go_on: Callable[[], bool] = always,
) -> None:
    """Let a model read, and fill the report. Where it gives no answer, what was read before stays read.

    `go_on` is asked before every turn: it may wait, and it may say no.
    """
    read = {} if limits.again else memory.extracted(model.name)
    odd = 0
    for reading in _readings(reader, read, go_on):
        if reading.prompt is None:
            _keep_trivial(memory, model, reading)
            report.trivial += 1
            continue
        report.ended = _end(reading, limits, report)
        if report.ended:
            return
        completion = model.complete(reading.prompt.text, ANSWER)
        odd = 0 if _keep(memory, model, reading, completion, report) else odd + 1
        tell(report)
        if odd == PATIENCE:
            raise Unanswered(
                f"{model.name!r} gave {PATIENCE} answers in a row that hold no observations "
                f"(the last: {report.nonsense[-1].reason}): check what it answers. `--again` reads those turns once more."
            )
    report.ended = "all read" if go_on() else "stopped"


def _end(reading: Reading, limits: Limits, report: Report) -> str:
    """Why this turn is not read any more; nothing if it is."""
    if report.turns == limits.turns:
        return "limit"
    return "budget" if report.tokens_in + report.tokens_out + reading.cost() > limits.budget else ""


# ---- which turns


def _readings(reader: Reader, read: Read, go_on: Callable[[], bool]) -> Iterator[Reading]:
    for session, turn in unread(reader, read, go_on):
        if Kind.ASSISTANT_RESPONSE not in turn.kinds and Kind.TOOL_CALL not in turn.kinds:
            yield Reading(session, session.path, turn, [], None)
            continue
        events = [event_of(row) for row in reader.events_of_turn(session.key, turn.ordinal)]
        yield Reading(session, reader.address(session), turn, events, prompt_of(events))


def unread(reader: Reader, read: Read, go_on: Callable[[], bool] = always) -> Iterator[tuple[SessionRow, TurnRow]]:
    """Finished turns that were not read as they are now, the newest first, of whatever session.

    A turn waits until no session is left that could hold a newer one, so that only what is wanted is looked up.
    """
    waiting: list[tuple[int, bytes, int, SessionRow, TurnRow]] = []
    for session in reader.all_sessions():
        while go_on() and waiting and -waiting[0][0] >= session.updated_at:
            yield heapq.heappop(waiting)[-2:]
        if not go_on():
            return
        for turn in reader.turns(session.key) if session.event_count else ():
            if turn.terminal is not None and read.get((session.id, turn.ordinal)) != turn_mark(turn):
                heapq.heappush(waiting, (-turn.updated_at, session.id, -turn.ordinal, session, turn))
    while waiting and go_on():
        yield heapq.heappop(waiting)[-2:]


# ---- storing


def _keep_trivial(memory: Memory, model: LanguageModel, reading: Reading) -> None:
    with memory.transaction():
        memory.put_extracted(reading.place(), turn_mark(reading.turn), model.name, 0)


def _keep(memory: Memory, model: LanguageModel, reading: Reading, answer: Completion, report: Report) -> bool:
    """Store what an answer tells, and that the turn was read; whether the answer made sense."""
    place, around, ids = reading.place(), words_around(reading.events), set()
    report.turns += 1
    report.tokens_in += answer.tokens_in
    report.tokens_out += answer.tokens_out
    try:
        observations, refused = observations_of(answer.text, reading.prompt.cited if reading.prompt else {})
        odd = None
    except Nonsense as reason:
        observations, refused, odd = [], 0, str(reason)
        report.nonsense.append(Odd(place.session, place.turn, odd))
    with memory.transaction():
        if odd is None:
            memory.forget_made(place, f"model:{model.name}")
        files = _files(memory, place)
        for observation in observations:
            whole = replace(observation, **files)
            ids.add(memory.record(place, f"model:{answer.by or model.name}", whole, words_of(whole, around)))
        memory.put_extracted(place, turn_mark(reading.turn), model.name, answer.tokens_in + answer.tokens_out)
    report.observations += len(ids)
    report.refused += refused
    return odd is None


def _files(memory: Memory, place: Place) -> dict[str, tuple[str, ...]]:
    """The files that the rules saw in this turn. They read them from the tool calls; a model would be guessing."""
    rows = [row for row in memory.of_turn(place) if row.made_by == RULES]
    return {
        name: tuple(dict.fromkeys(path for row in rows for path in getattr(row, name)))
        for name in ("files_read", "files_modified")
    }
