"""Step 5, DISTIL: extracts observations from new finished turns, and updates the n-gram and vector indexes.

Distilling runs behind the archive and never blocks it: it has its own lock and files, and works in small steps.
It can stop between two steps; the next pass continues. Observations come first, because they need no model.
Vectors come last, the oldest event first, so that their index only grows at its end.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
from msgspec import Struct

from recollect.distil.texts import (
    event_for_rules,
    event_text,
    locate_turn,
    ngram_document,
    observation_text,
    observation_words,
    words_of_turn,
)
from recollect.embed import Embedder, EmbedderUnavailable, open_embedder
from recollect.errors import StoreBusy, StoreFault
from recollect.index import ngrams
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.place import Place
from recollect.model import DEFAULT_KIND_CODES, KIND_CODE, KINDS, OWN_TRAFFIC_CODE
from recollect.observe import RULES_VERSION, observe
from recollect.settings import Settings
from recollect.store import Reader, SessionRow, TurnRow, archive_path, file_identity
from recollect.store.lock import DISTILLING, FORGETTING, exclusive, is_held
from recollect.store.memory import DISTILLED, FAULT, Memory

if TYPE_CHECKING:
    from recollect.index.vectors import VectorWriter

TURNS_PER_STEP = 32  # and per transaction, which takes some tens of milliseconds
EVENTS_PER_STEP = 512
NGRAM_TEXTS_PER_STEP = 500
NGRAM_TEXTS_PER_COMMIT = 20_000  # a stopped pass loses at most the work on these
NGRAM_INDEX_LAG = 5_000  # events by which the n-gram index may lag: scanning them takes some 30 milliseconds
RULES_META = "rules"  # key in the memory's meta: the version of the rules that wrote its observations
SEEN_META = "seen"  # key in the memory's meta: the last event whose session was checked


class DistilProgress(Struct):
    """The progress of a pass. `what` it creates at the moment: "observations", "n-grams" or "vectors"."""

    what: str
    done: int
    total: int


OnStep = Callable[[DistilProgress], None]


def turn_checksum(turn: TurnRow, last_key: int = 0) -> int:
    """A number that changes when the turn changes. An event whose text changes gets another key."""
    fields = (turn.event_count, turn.last, turn.terminal, turn.stop, turn.prompt, turn.answer, turn.updated_at, last_key)
    return _checksum(fields, turn.estimated)


def session_checksum(session: SessionRow) -> int:
    """A number that changes when the session, its log's path or its project changes."""
    fields = (session.event_count, session.turn_count, session.updated_at, session.project, session.path, session.cwd)
    return _checksum(fields, session.estimated)


def _checksum(fields: tuple[object, ...], estimated: bool) -> int:
    """The checksum of the fields. Without estimated times it equals that of earlier versions, whose work stays valid."""
    return crc32(msgspec.json.encode((*fields, "estimated") if estimated else fields))


def is_up_to_date(realm: Path, settings: Settings) -> bool:
    """Whether there is nothing to distil. Takes two small queries."""
    try:
        reader, memory = Reader(archive_path(realm)), Memory(realm)
    except StoreFault:
        return False
    with ExitStack() as stack:
        stack.callback(reader.close)
        stack.callback(memory.close)
        is_current = memory.meta(DISTILLED) == _fingerprint(reader.fingerprint(), memory, settings)
        return is_current and not _needs_ngrams(realm, reader)


def _fingerprint(archive_state: str, memory: Memory, settings: Settings) -> str:
    """A text of everything that the results depend on: archive, recorded observations, rules and embedding model."""
    return f"{archive_state} {memory.last_key()} {RULES_VERSION} {msgspec.json.encode(settings.embedding).decode()}"


def _needs_ngrams(realm: Path, reader: Reader) -> bool:
    """Whether the n-gram index lags so far behind the archive that it is worth updating."""
    return reader.last_key() - ngrams.read_indexed_up_to(realm, reader.meta("identity") or "") >= NGRAM_INDEX_LAG


class Distiller:
    """A realm opened for distilling, by one process at a time. Raises `StoreBusy` if another process has it open."""

    def __init__(self, realm: Path, settings: Settings, env: Mapping[str, str], model: Embedder | None = None) -> None:
        self.realm = realm
        self.settings = settings
        self.env = env
        self._stack = ExitStack()
        self._model = model
        with self._stack:
            self._stack.enter_context(exclusive(realm, DISTILLING))
            self._lock_file = file_identity(realm / DISTILLING)
            self.reader = Reader(archive_path(realm))
            self._stack.callback(self.reader.close)
            self.memory = Memory(realm, writable=True)
            self._stack.callback(self.memory.close)
            self._stack = self._stack.pop_all()

    def __enter__(self) -> "Distiller":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def has_lost_folder(self) -> bool:
        """Whether the state folder was deleted or replaced. Further writes would be lost."""
        return file_identity(self.realm / DISTILLING) != self._lock_file

    def steps(self) -> Iterator[DistilProgress]:
        """Run one pass, step by step. Stopping between two steps loses nothing."""
        archive_state = self.reader.fingerprint()
        needs_ngrams = _needs_ngrams(self.realm, self.reader)
        if self.memory.meta(DISTILLED) == _fingerprint(archive_state, self.memory, self.settings) and not needs_ngrams:
            return
        if self.memory.meta(RULES_META) != str(RULES_VERSION):
            self.memory.mark_all_stale()
            self.memory.put_meta(RULES_META, str(RULES_VERSION))
        changed = self._changed_sessions()
        emptied = self._emptied_in_ngrams(changed)
        yield from self._observe(changed)
        if needs_ngrams or emptied:
            try:
                with engine_panics_as_errors():
                    yield from self._index_ngrams(emptied)
            except IndexUnusable:  # damaged files; the next pass builds the index again
                ngrams.NGRAMS.remove(self.realm)
        fingerprint = _fingerprint(archive_state, self.memory, self.settings)  # recording an observation later changes it
        if (yield from self._embed(changed)):
            self.memory.put_meta(DISTILLED, fingerprint)

    # ---- ngrams

    def _emptied_in_ngrams(self, changed: Mapping[bytes, SessionRow]) -> list[int]:
        """Sessions without events that the n-gram index still contains."""
        emptied = [session.key for session in changed.values() if not session.event_count]
        try:
            index = ngrams.NgramIndex(self.realm, self.reader.meta("identity") or "") if emptied else None
        except IndexUnusable:
            return []
        return [session for session in emptied if index is not None and index.contains_session(session)]

    def _index_ngrams(self, emptied: Sequence[int]) -> Iterator[DistilProgress]:
        """Update the n-gram index. After a stop, the next pass indexes the texts since the last commit again."""
        writer = ngrams.NgramWriter(self.realm, self.reader.meta("identity") or "")
        last, added = self.reader.last_key(), 0
        try:
            writer.remove("session", emptied)
            for rows in self.reader.events_to_index(writer.indexed_up_to, len(KINDS), NGRAM_TEXTS_PER_STEP):
                yield DistilProgress("n-grams", rows[0][0].key, last)
                writer.add(ngram_document(event, source, started) for event, source, _, started in rows if event.body)
                added += len(rows)
                if added >= NGRAM_TEXTS_PER_COMMIT:
                    writer.commit_up_to(rows[-1][0].key)
                    added = 0
                last = max(last, rows[-1][0].key)
            writer.commit_up_to(last)
        finally:
            writer.close()

    # ---- observations

    def _changed_sessions(self) -> dict[bytes, SessionRow]:
        """The sessions that changed since the last pass, newest first. Forgets sessions that are gone."""
        known, sessions = self.memory.observed_sessions(), self.reader.all_sessions()
        emptied = {session.id for session in sessions if not session.event_count}  # a missing one may not be read yet
        for missing in self.memory.remembered_sessions() - {session.id for session in sessions if session.event_count}:
            with self.memory.transaction():
                self.memory.forget_session(missing, for_good=missing in emptied)
        last_seen = int(self.memory.meta(SEEN_META) or 0)
        rewritten = set(self.reader.sessions_above(last_seen)) if last_seen else set()
        return {
            session.id: session
            for session in sessions
            if known.get(session.id) != session_checksum(session) or session.key in rewritten
        }

    def _observe(self, changed: Mapping[bytes, SessionRow]) -> Iterator[DistilProgress]:
        last = self.reader.last_key()
        sessions = [session for session in changed.values() if session.event_count]
        for place, session in enumerate(sessions):
            progress = DistilProgress("observations", place, len(sessions))
            yield progress
            yield from self._observe_session(session, progress)
        self.memory.put_meta(SEEN_META, str(last))

    def _observe_session(self, session: SessionRow, progress: DistilProgress) -> Iterator[DistilProgress]:
        known = self.memory.observed_turns(session.id)
        last_keys = self.reader.last_keys(session.key)
        turns = [turn for turn in self.reader.turns(session.key) if turn.terminal is not None]
        checksums = {turn.ordinal: turn_checksum(turn, last_keys.get(turn.ordinal, 0)) for turn in turns}
        changed = [turn for turn in turns if known.get(turn.ordinal) != checksums[turn.ordinal]]
        for start in range(0, len(changed), TURNS_PER_STEP):
            with self.memory.transaction():
                for turn in changed[start : start + TURNS_PER_STEP]:
                    self._observe_turn(session, turn, checksums[turn.ordinal])
            yield progress
        with self.memory.transaction():
            self.memory.forget_turns(session.id, known.keys() - checksums.keys())
            self.memory.put_observed_session(session.id, session_checksum(session))

    def _observe_turn(self, session: SessionRow, turn: TurnRow, checksum: int) -> None:
        events = [event_for_rules(row) for row in self.reader.events_of_turn(session.key, turn.ordinal)]
        context = words_of_turn(events)
        observations = observe(events, session.cwd)
        place = locate_turn(session, turn.ordinal, events, self.reader.address(session))
        with_words = [(observation, observation_words(observation, context)) for observation in observations]
        self.memory.put_turn_observations(place, checksum, with_words)

    # ---- vectors

    def _embed(self, changed: Mapping[bytes, SessionRow]) -> Generator[DistilProgress, None, bool]:
        """Embed the events and observations without a vector. Returns False if the embedding model is not available."""
        try:
            model = self._model = self._model or open_embedder(self.settings.embedding, self.env)
            if model is not None:
                yield from self._embed_events(model, changed)
                yield from self._embed_observations(model)
        except EmbedderUnavailable as reason:
            self.memory.put_meta(FAULT, str(reason))
            self.memory.put_meta(DISTILLED, "")
            return False
        self.memory.put_meta(FAULT, "")
        return True

    def _vector_writer(self, model: Embedder, index: str, identity: str) -> "VectorWriter":
        # Importing the vector index takes 33 ms of CPU (NumPy). Commands that never distil import this module too.
        from recollect.index.vectors import VectorWriter

        return VectorWriter(self.realm, index, model.name, model.dimensions, identity)

    def _embed_events(self, model: Embedder, changed: Mapping[bytes, SessionRow]) -> Iterator[DistilProgress]:
        writer = self._vector_writer(model, "events", self.reader.meta("identity") or "")
        if writer.head.rows:
            for session in changed.values():
                writer.delete_missing(session.key, self.reader.event_keys(session.key))
        last = self.reader.last_key()
        for events in self.reader.events_above(writer.head.indexed_up_to, DEFAULT_KIND_CODES, EVENTS_PER_STEP):
            yield DistilProgress("vectors", writer.head.indexed_up_to, last)
            with_text = [event for event in events if event.body]
            kinds = [KIND_CODE[event.kind] + OWN_TRAFFIC_CODE * event.own for event in with_text]
            places = [
                Place(event.key, event.session, event.turn, event.seq, event.at, kind)
                for event, kind in zip(with_text, kinds, strict=True)
            ]
            writer.add(places, model.embed([event_text(event) for event in with_text]), events[-1].key)
        writer.add([], model.embed([]), last)

    def embed_observations(self) -> None:
        """Embed the observations that were added since the last pass."""
        model = self._model or open_embedder(self.settings.embedding, self.env)
        if model is not None:
            for _ in self._embed_observations(model):
                pass

    def _embed_observations(self, model: Embedder) -> Iterator[DistilProgress]:
        writer = self._vector_writer(model, "observations", self.memory.meta("identity") or "")
        if writer.head.rows:
            writer.delete_except(self.memory.all_keys())
        while observations := self.memory.observations_above(writer.head.indexed_up_to, EVENTS_PER_STEP):
            yield DistilProgress("vectors", writer.head.indexed_up_to, self.memory.last_key())
            rows = [Place(row.key, 0, row.turn, 0, row.at, 0) for row in observations]
            writer.add(rows, model.embed([observation_text(row) for row in observations]), observations[-1].key)


# ---- one pass


def distil(
    realm: Path, settings: Settings, env: Mapping[str, str], stop: Callable[[], bool], on_step: OnStep | None = None
) -> bool:
    """Bring observations, n-grams and vectors up to date. Returns whether everything is done.

    Returns False if `stop` returns True, if another process is distilling or forgets sessions, or if the state folder is
    deleted meanwhile.
    """
    if is_up_to_date(realm, settings):
        return True
    if is_held(realm, FORGETTING):
        return False
    if not realm.exists():  # taking the lock would create the folder again
        return False
    try:
        with Distiller(realm, settings, env) as distiller:
            return _run(distiller, stop, on_step)
    except StoreBusy:
        return False


def _run(distiller: Distiller, stop: Callable[[], bool], on_step: OnStep | None) -> bool:
    """Run all steps of a pass. Returns whether everything is done."""
    try:
        for progress in distiller.steps():
            if on_step:
                on_step(progress)
            if stop() or distiller.has_lost_folder() or is_held(distiller.realm, FORGETTING):
                return False
    except (StoreFault, OSError):
        if distiller.has_lost_folder():
            return False
        raise
    return True
