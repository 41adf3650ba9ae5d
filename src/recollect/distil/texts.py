"""The texts that rules and indexes read: events for the rules, texts to embed, words of turns and observations."""

from collections.abc import Sequence

from recollect.index import ngrams
from recollect.index.words import prepare, words
from recollect.model import Event, Kind, Observation
from recollect.store import EventRow, SessionRow
from recollect.store.memory import ObservationRow, ObservationWords, ObservedPlace

EMBEDDED_HEAD, EMBEDDED_TAIL = 1_200, 600  # characters of a tool's output that are embedded
OUTPUT_HEAD, OUTPUT_TAIL = 6_000, 4_000  # characters of a tool's output that the rules see
SPEECH_HEAD, SPEECH_TAIL = 24_000, 8_000  # characters of a prompt or an answer that the rules see
MAX_CONTEXT_PART = 1_500  # characters of each prompt and answer that are indexed with the observations of their turn
MAX_CONTEXT = 6_000  # characters of all prompts and answers of a turn together


def event_for_rules(row: EventRow) -> Event:
    """The event that the rules get, with a shortened text."""
    is_call = row.kind is Kind.TOOL_CALL
    return Event(
        id=row.id,
        turn=row.turn,
        seq=row.seq,
        kind=row.kind,
        at=row.at,
        line=row.line,
        text="" if is_call else _shorten(row),
        arguments=row.arguments() if is_call else None,
        tool=row.tool,
        model=row.model,
        answers=row.answers,
        exit_code=row.exit_code,
        failed=row.failed,
        own=row.own,
        estimated=row.estimated,
    )


def _shorten(row: EventRow) -> str:
    """The text that the rules see, shortened so that a turn of many long texts does not fill the memory."""
    is_output = row.kind is Kind.TOOL_RESPONSE
    head, tail = (OUTPUT_HEAD, OUTPUT_TAIL) if is_output else (SPEECH_HEAD, SPEECH_TAIL)
    return _cut_middle(row.text(), head, tail)


def _cut_middle(text: str, head: int, tail: int) -> str:
    """A text of at most so many characters at its beginning and its end, on separate lines if it was cut."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def locate_turn(session: SessionRow, turn: int, events: Sequence[Event], address: str) -> ObservedPlace:
    """The place of a turn: its session, and its lines in the log."""
    lines = [event.line for event in events]
    return ObservedPlace(
        session=session.id,
        turn=turn,
        project=session.project,
        path=address,
        first_line=max(1, min(lines, default=1)),
        last_line=max(1, *lines) if lines else 1,
        estimated=any(event.estimated for event in events),
    )


def event_text(event: EventRow) -> str:
    """The text of an event that is embedded. A long output is cut to its beginning and end."""
    text = event.text()
    return _cut_middle(text, EMBEDDED_HEAD, EMBEDDED_TAIL) if event.kind is Kind.TOOL_RESPONSE else text


def observation_text(row: ObservationRow) -> str:
    """The text of an observation that is embedded."""
    return "\n".join((row.title, row.subtitle, *row.facts, " ".join(row.concepts), row.narrative))


def ngram_document(event: EventRow, source: str, started: int) -> ngrams.NgramDocument:
    """The text of an event that the n-gram index gets."""
    return ngrams.NgramDocument(event.key, event.session, event.seq, event.index_kind(), source, started, event.full_text())


def words_of_turn(events: Sequence[Event]) -> str:
    """The words of a turn's prompts and answers. A search for one of these words finds the turn's observations."""
    texts = [event.text[:MAX_CONTEXT_PART] for event in events if event.kind in {Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE}]
    return index_words("\n".join(texts)[:MAX_CONTEXT])


def observation_words(observation: Observation, context: str) -> ObservationWords:
    """The words under which an observation is indexed. `context` are the words of its turn."""
    facts_and_names = (*observation.facts, *observation.concepts, *observation.files_modified, *observation.files_read)
    return ObservationWords(
        title=index_words(f"{observation.title}\n{observation.subtitle}"),
        facts=index_words("\n".join(facts_and_names)),
        narrative=index_words(observation.narrative),
        around=context,
    )


def index_words(text: str) -> str:
    """The words of a text as the text index tokenizes it, separated by spaces, for the memory's own word index."""
    return " ".join(words(prepare(text)))
