"""Step 5, DISTIL: what was read becomes memory. Observations of finished turns, and vectors of what was said.

All of it follows the archive and never holds it up: it has a lock of its own, writes to files of its own, and works in
small steps between which it can be stopped. What a pass did not get done, the next one does. Observations come first,
because they are quick and need no model; then vectors, oldest event first, so that their index only ever grows.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
from msgspec import Struct

from recollect.embed import Embedder, Unavailable, open_embedder
from recollect.errors import StoreBusy, StoreFault
from recollect.index import ngrams
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.kinds import OWN
from recollect.index.words import prepared, words
from recollect.model import DEFAULT_KIND_CODES, KIND_CODE, KINDS, Event, Kind, Observation
from recollect.observe import RULES, observe
from recollect.settings import Settings
from recollect.store import EventRow, Reader, SessionRow, TurnRow, archive_of, file_at
from recollect.store.lock import DISTILLING, exclusive
from recollect.store.memory import FAULT, LEVEL, Memory, ObservationRow, Place, Words

if TYPE_CHECKING:
    from recollect.index.vectors import VectorWriter

TURNS = 32  # per step and transaction: some tens of milliseconds
EVENTS = 512  # per step
HEAD, TAIL = 1_200, 600  # characters of a tool's output that are embedded: how it begins, and how it ended
OUTPUT = (6_000, 4_000)  # characters, first and last, that rules see of a tool's output
SPEECH = (24_000, 8_000)  # and of what was said
SPOKEN = 1_500  # characters of each prompt and answer whose words find the observations of their turn
AROUND = 6_000  # characters of all of them together
LAG = 5_000  # events that the index of ngrams may be behind: looking through them takes some 30 milliseconds
PIECES_TEXTS = 500  # per step
COMMIT_TEXTS = 20_000  # texts between two commits of that index: what stopping a pass costs at most
VERSION, SEEN = "rules", "seen"  # in the memory's meta: by which rules, and up to which event all was looked at


class Progress(Struct):
    """How far a pass is. `what` is being made, `done` of `total` of it."""

    what: str
    done: int
    total: int


OnStep = Callable[[Progress], None]


def turn_mark(turn: TurnRow, last_key: int = 0) -> int:
    """What changes when a turn does. An event that says something else has another key."""
    fields = (turn.event_count, turn.last, turn.terminal, turn.stop, turn.prompt, turn.answer, turn.updated_at, last_key)
    return _mark(fields, turn.estimated)


def session_mark(session: SessionRow) -> int:
    """What changes when a session does, or where it is."""
    fields = (session.event_count, session.turn_count, session.updated_at, session.project, session.path, session.cwd)
    return _mark(fields, session.estimated)


def _mark(fields: tuple[object, ...], estimated: bool) -> int:
    """Marks without estimated times are those of earlier versions, so nothing is looked at again for them."""
    return crc32(msgspec.json.encode((*fields, "estimated") if estimated else fields))


def is_level(realm: Path, settings: Settings) -> bool:
    """Whether there is nothing to distil, as far as can be told from two small questions."""
    try:
        reader, memory = Reader(archive_of(realm)), Memory(realm)
    except StoreFault:
        return False
    with ExitStack() as stack:
        stack.callback(reader.close)
        stack.callback(memory.close)
        return memory.meta(LEVEL) == _state(reader.state(), memory, settings) and not _lags(realm, reader)


def _state(archive: str, memory: Memory, settings: Settings) -> str:
    """The archive, what was recorded, and our own rules in a line: while it is the same, so is what follows from them."""
    return f"{archive} {memory.last_key()} {RULES} {msgspec.json.encode(settings.embedding).decode()}"


def _lags(realm: Path, reader: Reader) -> bool:
    """Whether so much came since the index of ngrams was last written that it is worth writing."""
    return reader.last_key() - ngrams.seen(realm, reader.meta("identity") or "") >= LAG


class Distiller:
    """A realm opened for distilling. One at a time; `Busy` where another process is at it."""

    def __init__(self, realm: Path, settings: Settings, env: Mapping[str, str], model: Embedder | None = None) -> None:
        self.realm = realm
        self.settings = settings
        self.env = env
        self._stack = ExitStack()
        self._model = model
        with self._stack:
            self._stack.enter_context(exclusive(realm, DISTILLING))
            self._lock_file = file_at(realm / DISTILLING)
            self.reader = Reader(archive_of(realm))
            self._stack.callback(self.reader.close)
            self.memory = Memory(realm, writable=True)
            self._stack.callback(self.memory.close)
            self._stack = self._stack.pop_all()

    def __enter__(self) -> "Distiller":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def has_lost_folder(self) -> bool:
        """Whether the state folder was deleted, or another one took its place: nobody would find what is made here."""
        return file_at(self.realm / DISTILLING) != self._lock_file

    def steps(self) -> Iterator[Progress]:
        """One pass. Stopping between two steps loses nothing."""
        archive = self.reader.state()
        lags = _lags(self.realm, self.reader)
        if self.memory.meta(LEVEL) == _state(archive, self.memory, self.settings) and not lags:
            return
        if self.memory.meta(VERSION) != str(RULES):
            self.memory.look_again()
            self.memory.put_meta(VERSION, str(RULES))
        touched = self._touched()
        emptied = self._still_found(touched)
        yield from self._observe(touched)
        if lags or emptied:
            try:
                with engine_panics_as_errors():
                    yield from self._cut(emptied)
            except IndexUnusable:  # damaged files; the next pass begins anew
                ngrams.NGRAMS.remove(self.realm)
        state = _state(archive, self.memory, self.settings)  # what is recorded from here on counts as new
        if (yield from self._embed(touched)):
            self.memory.put_meta(LEVEL, state)

    # ---- ngrams

    def _still_found(self, touched: Mapping[bytes, SessionRow]) -> list[int]:
        """Sessions that the index of ngrams knows although nothing of them may be found any more."""
        gone = [session.key for session in touched.values() if not session.event_count]
        try:
            index = ngrams.NgramIndex(self.realm, self.reader.meta("identity") or "") if gone else None
        except IndexUnusable:
            return []
        return [session for session in gone if index is not None and index.holds(session)]

    def _cut(self, emptied: Sequence[int]) -> Iterator[Progress]:
        """Bring the index of ngrams level. What was added since its last commit is lost if this is stopped."""
        writer = ngrams.NgramWriter(self.realm, self.reader.meta("identity") or "")
        last, added = self.reader.last_key(), 0
        try:
            writer.remove("session", emptied)
            for rows in self.reader.entries_above(writer.seen, len(KINDS), PIECES_TEXTS):
                yield Progress("ngrams", rows[0][0].key, last)
                writer.add(_text_of(event, source, started) for event, source, _, started in rows if event.body)
                added += len(rows)
                if added >= COMMIT_TEXTS:
                    writer.commit_up_to(rows[-1][0].key)
                    added = 0
                last = max(last, rows[-1][0].key)
            writer.commit_up_to(last)
        finally:
            writer.close()

    # ---- observations

    def _touched(self) -> dict[bytes, SessionRow]:
        """The sessions that are other than when they were last looked at, newest first; and those that are gone."""
        known, sessions = self.memory.looked(), self.reader.all_sessions()
        emptied = {session.id for session in sessions if not session.event_count}  # else it may only be yet to be read
        for gone in self.memory.sessions() - {session.id for session in sessions if session.event_count}:
            with self.memory.transaction():
                self.memory.forget_session(gone, for_good=gone in emptied)
        seen = int(self.memory.meta(SEEN) or 0)
        rewritten = set(self.reader.sessions_above(seen)) if seen else set()
        return {
            session.id: session
            for session in sessions
            if known.get(session.id) != session_mark(session) or session.key in rewritten
        }

    def _observe(self, touched: Mapping[bytes, SessionRow]) -> Iterator[Progress]:
        last = self.reader.last_key()
        live = [session for session in touched.values() if session.event_count]
        for place, session in enumerate(live):
            yield Progress("observations", place, len(live))
            yield from self._observe_session(session, Progress("observations", place, len(live)))
        self.memory.put_meta(SEEN, str(last))

    def _observe_session(self, session: SessionRow, progress: Progress) -> Iterator[Progress]:
        known = self.memory.observed(session.id)
        last_keys = self.reader.last_keys(session.key)
        turns = [turn for turn in self.reader.turns(session.key) if turn.terminal is not None]
        marks = {turn.ordinal: turn_mark(turn, last_keys.get(turn.ordinal, 0)) for turn in turns}
        wanted = [turn for turn in turns if known.get(turn.ordinal) != marks[turn.ordinal]]
        for start in range(0, len(wanted), TURNS):
            with self.memory.transaction():
                for turn in wanted[start : start + TURNS]:
                    self._observe_turn(session, turn, marks[turn.ordinal])
            yield progress
        with self.memory.transaction():
            self.memory.forget_turns(session.id, known.keys() - marks.keys())
            self.memory.put_looked(session.id, session_mark(session))

    def _observe_turn(self, session: SessionRow, turn: TurnRow, mark: int) -> None:
        events = [event_of(row) for row in self.reader.events_of_turn(session.key, turn.ordinal)]
        around = words_around(events)
        made = [(observation, words_of(observation, around)) for observation in observe(events, session.cwd)]
        self.memory.put_turn(place_of(session, turn.ordinal, events, self.reader.address(session)), mark, made)

    # ---- vectors

    def _embed(self, touched: Mapping[bytes, SessionRow]) -> Generator[Progress, None, bool]:
        """True once everything has its vector, or there are to be none."""
        try:
            model = self._model = self._model or open_embedder(self.settings.embedding, self.env)
            if model is not None:
                yield from self._embed_events(model, touched)
                yield from self._embed_observations(model)
        except Unavailable as reason:
            self.memory.put_meta(FAULT, str(reason))
            self.memory.put_meta(LEVEL, "")
            return False
        self.memory.put_meta(FAULT, "")
        return True

    def _writer(self, model: Embedder, of: str, identity: str) -> "VectorWriter":
        from recollect.index.vectors import VectorWriter

        return VectorWriter(self.realm, of, model.name, model.dimensions, identity)

    def _embed_events(self, model: Embedder, touched: Mapping[bytes, SessionRow]) -> Iterator[Progress]:
        from recollect.index.vectors import VectorRow

        writer = self._writer(model, "events", self.reader.meta("identity") or "")
        if writer.head.rows:
            for session in touched.values():
                writer.blot(session.key, self.reader.keys_of(session.key))
        last = self.reader.last_key()
        for events in self.reader.events_above(writer.head.seen, DEFAULT_KIND_CODES, EVENTS):
            yield Progress("vectors", writer.head.seen, last)
            said = [event for event in events if event.body]
            rows = [
                VectorRow(event.key, event.session, event.turn, event.seq, event.at, KIND_CODE[event.kind] + OWN * event.own)
                for event in said
            ]
            writer.add(rows, model.embed([digest(event) for event in said]), events[-1].key)
        writer.add([], model.embed([]), last)

    def embed_observations(self) -> None:
        """Give the observations that were added since the last pass their vectors."""
        model = self._model or open_embedder(self.settings.embedding, self.env)
        if model is not None:
            for _ in self._embed_observations(model):
                pass

    def _embed_observations(self, model: Embedder) -> Iterator[Progress]:
        from recollect.index.vectors import VectorRow

        writer = self._writer(model, "observations", self.memory.meta("identity") or "")
        if writer.head.rows:
            writer.keep_only(self.memory.all_keys())
        while found := self.memory.above(writer.head.seen, EVENTS):
            yield Progress("vectors", writer.head.seen, self.memory.last_key())
            rows = [VectorRow(row.key, 0, row.turn, 0, row.at, 0) for row in found]
            writer.add(rows, model.embed([gist(row) for row in found]), found[-1].key)


def _text_of(event: EventRow, source: str, started: int) -> ngrams.NgramText:
    return ngrams.NgramText(event.key, event.session, event.seq, event.code(), source, started, event.whole())


def event_of(row: EventRow) -> Event:
    """An event as the rules see it."""
    is_call = row.kind is Kind.TOOL_CALL
    return Event(
        id=row.id,
        turn=row.turn,
        seq=row.seq,
        kind=row.kind,
        at=row.at,
        line=row.line,
        text="" if is_call else _bounded(row),
        arguments=row.arguments() if is_call else None,
        tool=row.tool,
        model=row.model,
        answers=row.answers,
        exit_code=row.exit_code,
        failed=row.failed,
        own=row.own,
        estimated=row.estimated,
    )


def _bounded(row: EventRow) -> str:
    """As much of a text as rules look at, so that a turn of many long ones is not held in memory whole."""
    text = row.text()
    head, tail = OUTPUT if row.kind is Kind.TOOL_RESPONSE else SPEECH
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def place_of(session: SessionRow, turn: int, events: Sequence[Event], address: str) -> Place:
    """Where a turn is: in its session, and in the lines of its log."""
    lines = [event.line for event in events]
    return Place(
        session=session.id,
        turn=turn,
        project=session.project,
        path=address,
        first_line=max(1, min(lines, default=1)),
        last_line=max(1, *lines) if lines else 1,
        estimated=any(event.estimated for event in events),
    )


def digest(event: EventRow) -> str:
    """The part of an event that says what it is about. Of a long output that is how it begins and how it ends."""
    text = event.text()
    if event.kind is not Kind.TOOL_RESPONSE or len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


def gist(row: ObservationRow) -> str:
    """An observation as one text."""
    return "\n".join((row.title, row.subtitle, *row.facts, " ".join(row.concepts), row.narrative))


def words_around(events: Sequence[Event]) -> str:
    """The words of a turn's prompts and answers: they find its observations too."""
    spoken = [event.text[:SPOKEN] for event in events if event.kind in {Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE}]
    return words_in("\n".join(spoken)[:AROUND])


def words_of(observation: Observation, around: str) -> Words:
    """What finds an observation, word by word as the text index would cut it."""
    named = (*observation.facts, *observation.concepts, *observation.files_modified, *observation.files_read)
    return Words(
        title=words_in(f"{observation.title}\n{observation.subtitle}"),
        facts=words_in("\n".join(named)),
        narrative=words_in(observation.narrative),
        around=around,
    )


def words_in(text: str) -> str:
    """The words of a text as the text index would cut them, separated by spaces: what the memory's own indexes hold."""
    return " ".join(words(prepared(text)))


def distil(
    realm: Path, settings: Settings, env: Mapping[str, str], stop: Callable[[], bool], on_step: OnStep | None = None
) -> bool:
    """Bring observations and vectors level, unless told to stop or another process is at it. Whether all is done.

    It also ends, quietly, when the state folder is deleted.
    """
    if is_level(realm, settings):
        return True
    if not realm.exists():  # to take its lock would make the folder again
        return False
    try:
        with Distiller(realm, settings, env) as distiller:
            return _run(distiller, stop, on_step)
    except StoreBusy:
        return False


def _run(distiller: Distiller, stop: Callable[[], bool], on_step: OnStep | None) -> bool:
    """Take all steps of a pass; whether all is done."""
    try:
        for progress in distiller.steps():
            if on_step:
                on_step(progress)
            if stop() or distiller.has_lost_folder():
                return False
    except (StoreFault, OSError):
        if distiller.has_lost_folder():
            return False
        raise
    return True
