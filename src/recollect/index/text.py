"""The text index of a realm (tantivy): finds events by their words.

The index has one document for each event with text. A document does not store the text. It has the fields that find and
order the event, and the event's key. The archive stores the highest committed key. After a crash, documents above that key
are removed and added again.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tantivy
from msgspec import Struct
from tantivy import Document, FieldType, Occur, Query

from recollect.index.engine import EngineReader, EngineWriter, IndexLayout
from recollect.index.filters import Filters
from recollect.index.place import Hit, Place
from recollect.index.words import prepare_parts, text_analyzer
from recollect.model import DEFAULT_KIND_CODES, KIND_CODE, OWN_TRAFFIC_CODE, SEARCHABLE

VERSION = 2  # of the fields and of the tokenizer; a new version means a new index
HEAP = 96 << 20  # bytes of memory that a writer fills before it writes a segment
DEFAULT_KINDS_CODE = 64  # a second kind of events of the default kinds: most searches need them, and one term is faster
SPARE = 16  # hits requested beyond the limit, so that a tie for the last rank seldom needs a second search
SEARCHABLE_CODES = frozenset(KIND_CODE[kind] for kind in SEARCHABLE)
EVERY_CODE = frozenset(code + own for code in KIND_CODE.values() for own in (0, OWN_TRAFFIC_CODE))
TURN_BITS = 24  # the lowest bits of a turn's number, which combines the session's key and the turn's ordinal


class TextDocument(Struct):
    """An event to index."""

    place: Place
    source: str
    project: str
    text: str


class TextClause(Struct, frozen=True):
    """One condition of a text query: a word, or a phrase of words in order."""

    words: Sequence[str]
    boost: float = 1.0  # factor of its BM25 score
    presence: float = 0.0  # constant score of each document that matches
    is_required: bool = False


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="words", index_option="position")
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_unsigned_field("kind", indexed=True, fast=True)
    builder.add_unsigned_field("session", indexed=True)
    builder.add_unsigned_field("turn", indexed=True, fast=True)
    builder.add_unsigned_field("seq", fast=True)
    builder.add_integer_field("at", fast=True)
    builder.add_text_field("source", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("project", tokenizer_name="raw", index_option="basic")
    return builder.build()


SCHEMA = _schema()
TEXT = IndexLayout("text", VERSION, SCHEMA, "words", text_analyzer, HEAP)


class TextWriter(EngineWriter):
    """Adds and removes events, under the realm's write lock."""

    def __init__(
        self, realm: Path, archive: str, before_create: Callable[[], None] = lambda: None, threads: int = 1
    ) -> None:
        super().__init__(TEXT, realm, archive, before_create, threads)

    def add(self, documents: Iterable[TextDocument]) -> None:
        try:
            self._add(documents)
        except ValueError as reason:
            raise self.fault(reason) from reason

    def _add(self, events: Iterable[TextDocument]) -> None:
        for event in events:
            place, document = event.place, Document()
            for text in prepare_parts(event.text):
                document.add_text("text", text)
            del text
            event.text = ""  # the document has its own copy, and the text may be large
            document.add_unsigned("key", place.key)
            document.add_unsigned("kind", place.kind)
            if place.kind in DEFAULT_KIND_CODES:
                document.add_unsigned("kind", DEFAULT_KINDS_CODE)
            document.add_unsigned("session", place.session)
            document.add_unsigned("turn", _turn_number(place.session, place.turn))
            document.add_unsigned("seq", place.seq)
            document.add_integer("at", place.at)
            document.add_text("source", event.source)
            document.add_text("project", event.project)
            self.writer.add_document(document)


class TextIndex(EngineReader):
    """Reads the index."""

    def __init__(self, realm: Path, archive: str) -> None:
        super().__init__(TEXT, realm, archive)

    def snapshot(self) -> "TextSnapshot":
        """The index at its last commit."""
        return TextSnapshot(self.searcher())

    def _probe(self) -> Query:
        return Query.term_query(SCHEMA, "kind", DEFAULT_KINDS_CODE)


class TextSnapshot:
    """The index at one commit. Later commits do not change its results."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher

    def document_count(self) -> int:
        return self._searcher.num_docs

    def idf(self, word: str) -> float:
        """The inverse document frequency of a word: higher if fewer documents have it."""
        count = self._searcher.doc_freq("text", word)
        return math.log(1 + (self._searcher.num_docs - count + 0.5) / (count + 0.5))

    def has_phrase(self, words: Sequence[str], filters: Filters) -> bool:
        """Whether an event that passes the filters has these words in order."""
        if not words or not all(self._searcher.doc_freq("text", word) for word in words):
            return False
        query = _filtered(_phrase(words), filters)
        return bool(self._searcher.search(query, limit=1, count=False).hits)

    def search(self, clauses: Iterable[TextClause], filters: Filters, limit: int, check: Callable[[], None]) -> list[Hit]:
        """The best hits, best first.

        Hits that tie for the last ranks are all returned, except those that are older than the oldest within the limit.
        `check` raises an error after the deadline.
        """
        searcher = self._searcher
        hits = self._best(_filtered(_query(clauses), filters), limit, check)
        addresses = [address for _, address in hits]
        fields = (searcher.fast_field_values(name, addresses) for name in ("key", "turn", "seq", "at", "kind"))
        return [
            Hit(int(key), int(turn) >> TURN_BITS, int(turn) & ((1 << TURN_BITS) - 1), int(seq), int(at), int(kind), score)
            for (score, _), key, turn, seq, at, kind in zip(hits, *fields, strict=True)
            if key is not None
        ]

    def _best(self, query: Query, limit: int, check: Callable[[], None]) -> list[Any]:
        size = limit + SPARE
        while True:
            check()
            hits = self._searcher.search(query, limit=size, count=False).hits
            if len(hits) < size or hits[-1][0] < hits[limit - 1][0] or size >= self._searcher.num_docs:
                break
            size *= 4
        return self._newest_of_tied(hits, limit) if len(hits) > limit else hits

    def _newest_of_tied(self, hits: list[Any], limit: int) -> list[Any]:
        last = hits[limit - 1][0]
        better = [hit for hit in hits if hit[0] > last]
        tied = [hit for hit in hits if hit[0] == last]
        times = self._searcher.fast_field_values("at", [address for _, address in tied])
        oldest = sorted(times, reverse=True)[limit - len(better) - 1]  # type: ignore[type-var]
        return better + [hit for hit, at in zip(tied, times, strict=True) if at >= oldest]  # type: ignore[operator]


def _turn_number(session: int, ordinal: int) -> int:
    return (session << TURN_BITS) | ordinal


def _phrase(words: Sequence[str]) -> Query:
    if len(words) == 1:
        return Query.term_query(SCHEMA, "text", words[0])
    return Query.phrase_query(SCHEMA, "text", list(words))


def _query(clauses: Iterable[TextClause]) -> Query:
    parts = []
    for clause in clauses:
        phrase = _phrase(clause.words)
        scored = phrase if clause.boost == 1 else Query.boost_query(phrase, clause.boost)
        parts.append((Occur.Must if clause.is_required else Occur.Should, scored))
        if clause.presence:
            parts.append((Occur.Should, Query.const_score_query(phrase, clause.presence)))
    return Query.boolean_query(parts)


def _filtered(query: Query, filters: Filters) -> Query:
    """The query, limited to documents that pass the filters. A filter has the score 0, so the order stays."""
    conditions = [*_kind_filters(filters), *_place_filters(filters)]
    if filters.since is not None or filters.until is not None:
        last = None if filters.until is None else filters.until - 1
        conditions.append(Query.range_query(SCHEMA, "at", FieldType.Integer, filters.since, last))
    for field, value in (("source", filters.source), ("project", filters.project)):
        if value is not None:
            conditions.append(Query.term_query(SCHEMA, field, value))
    required = [(Occur.Must, Query.const_score_query(condition, 0.0)) for condition in conditions]
    excluded = [(Occur.MustNot, Query.term_query(SCHEMA, "session", session)) for session in filters.excluded_sessions]
    excluded += [(Occur.MustNot, Query.term_query(SCHEMA, "kind", code)) for code in _excluded_kinds(filters)]
    return Query.boolean_query([(Occur.Must, query), *required, *excluded])


def _kind_filters(filters: Filters) -> list[Query]:
    codes = filters.kind_codes()
    if frozenset(codes) == frozenset(DEFAULT_KIND_CODES):
        codes = (DEFAULT_KINDS_CODE,)
    return [_any_of("kind", codes)] if codes and not _excluded_kinds(filters) else []


def _excluded_kinds(filters: Filters) -> frozenset[int]:
    """The few codes to leave out, if all kinds of events pass: to look for eight codes takes three times as long."""
    codes = frozenset(filters.kind_codes())
    return EVERY_CODE - codes if codes >= SEARCHABLE_CODES else frozenset()


def _place_filters(filters: Filters) -> list[Query]:
    conditions = [_any_of("session", filters.sessions)] if filters.sessions is not None else []
    if filters.turn is not None and filters.session is not None:
        conditions.append(Query.term_query(SCHEMA, "turn", _turn_number(filters.session, filters.turn)))
    elif filters.session is not None:
        conditions.append(Query.term_query(SCHEMA, "session", filters.session))
    return conditions


def _any_of(field: str, numbers: Iterable[int]) -> Query:
    return Query.boolean_query([(Occur.Should, Query.term_query(SCHEMA, field, number)) for number in numbers])
