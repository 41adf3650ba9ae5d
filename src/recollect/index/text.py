"""Step 4, INDEX: the text index of a realm (tantivy). Derived from the archive, and rebuilt from it whenever in doubt.

One document per event that has text. It holds no text, only what finds and orders events; the archive has the rest.
Every document carries its event's key, and the archive remembers the highest key that was committed here: after a
crash, everything above that mark is thrown out and added again.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tantivy
from msgspec import Struct
from tantivy import Document, FieldType, Occur, Query

from recollect.index.engine import EngineReader, EngineWriter, Layout
from recollect.index.kinds import OWN
from recollect.index.words import analyzer, indexed
from recollect.model import DEFAULT_KIND_CODES

VERSION = 2  # of the fields and of what counts as a word; another one means another index
HEAP = 96 << 20  # bytes that a writer may fill before it writes a segment
ALL_TOLD = 64  # a second kind of all with one of TOLD_CODES: nearly every search is for them, and one term filters faster
SPARE = 16  # hits asked for beyond those wanted, so that a tie for the last place seldom takes a second search
TURN_BITS = 24  # a turn is filtered by its session's key and its ordinal in one number


class TextDocument(Struct):
    """An event as the index sees it."""

    key: int
    session: int
    turn: int
    seq: int
    kind: int
    own: bool
    at: int
    source: str
    project: str
    text: str


class TextHit(Struct, frozen=True):
    """An event that was found, and where it stands."""

    score: float
    key: int
    session: int
    turn: int
    seq: int
    at: int
    kind: int


class Scope(Struct, frozen=True):
    """Where to look. Everything here is a filter inside the index, never a test on its answers."""

    kinds: tuple[int, ...]
    own: bool = False
    session: int | None = None
    turn: int | None = None
    since: int | None = None
    until: int | None = None
    source: str | None = None
    project: str | None = None
    without: tuple[int, ...] = ()  # sessions


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
TEXT = Layout("text", VERSION, SCHEMA, "words", analyzer, HEAP)


class TextWriter(EngineWriter):
    """Adds and removes events, under the realm's lock for writing."""

    def __init__(self, realm: Path, archive: str, before_making: Callable[[], None] = lambda: None) -> None:
        super().__init__(TEXT, realm, archive, before_making)

    def add(self, entries: Iterable[TextDocument]) -> None:
        try:
            self._add(entries)
        except ValueError as reason:
            raise self.fault(reason) from reason

    def _add(self, entries: Iterable[TextDocument]) -> None:
        for entry in entries:
            document = Document()
            for text in indexed(entry.text):
                document.add_text("text", text)
            del text
            entry.text = ""  # the document has a copy of its own, and it may be large
            document.add_unsigned("key", entry.key)
            document.add_unsigned("kind", entry.kind + OWN * entry.own)
            if entry.kind in DEFAULT_KIND_CODES and not entry.own:
                document.add_unsigned("kind", ALL_TOLD)
            document.add_unsigned("session", entry.session)
            document.add_unsigned("turn", turn_number(entry.session, entry.turn))
            document.add_unsigned("seq", entry.seq)
            document.add_integer("at", entry.at)
            document.add_text("source", entry.source)
            document.add_text("project", entry.project)
            self.writer.add_document(document)


class TextIndex(EngineReader):
    """What can be found by its words."""

    def __init__(self, realm: Path, archive: str) -> None:
        super().__init__(TEXT, realm, archive)

    def _probe(self) -> Query:
        return Query.term_query(SCHEMA, "kind", ALL_TOLD)


def turn_number(session: int, ordinal: int) -> int:
    return (session << TURN_BITS) | ordinal


def term(word: str) -> Query:
    return Query.term_query(SCHEMA, "text", word)


def phrase(words: list[str]) -> Query:
    return Query.phrase_query(SCHEMA, "text", list(words)) if len(words) > 1 else term(words[0])


def in_sessions(query: Query, sessions: Iterable[int]) -> Query:
    """The question, asked only of these sessions."""
    any_of = Query.boolean_query([(Occur.Should, Query.term_query(SCHEMA, "session", session)) for session in sessions])
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(any_of, 0.0))])


def within(query: Query, scope: Scope) -> Query:
    """The question, asked only of the documents in scope. A filter must not touch the score, so each is worth 0."""
    kinds = [*scope.kinds, *(kind + OWN for kind in scope.kinds if scope.own)]
    if frozenset(kinds) == frozenset(DEFAULT_KIND_CODES):
        kinds = [ALL_TOLD]
    filters = [Query.boolean_query([(Occur.Should, Query.term_query(SCHEMA, "kind", kind)) for kind in kinds])]
    if scope.turn is not None and scope.session is not None:
        filters.append(Query.term_query(SCHEMA, "turn", turn_number(scope.session, scope.turn)))
    elif scope.session is not None:
        filters.append(Query.term_query(SCHEMA, "session", scope.session))
    if scope.since is not None or scope.until is not None:
        last = None if scope.until is None else scope.until - 1
        filters.append(Query.range_query(SCHEMA, "at", FieldType.Integer, scope.since, last))
    for field, value in (("source", scope.source), ("project", scope.project)):
        if value is not None:
            filters.append(Query.term_query(SCHEMA, field, value))
    worthless = [(Occur.Must, Query.const_score_query(part, 0.0)) for part in filters]
    left_out = [(Occur.MustNot, Query.term_query(SCHEMA, "session", session)) for session in scope.without]
    return Query.boolean_query([(Occur.Must, query), *worthless, *left_out])


def best(searcher: tantivy.Searcher, query: Query, limit: int, check: Callable[[], None]) -> list[TextHit]:
    """The best hits in order of score, and of those that tie for the last places every one that time does not rule out."""
    asked = limit + SPARE
    while True:
        check()
        found = searcher.search(query, limit=asked, count=False).hits
        if len(found) < asked or found[-1][0] < found[limit - 1][0] or asked >= searcher.num_docs:
            break
        asked *= 4
    if len(found) > limit:
        found = _newest_of_tied(searcher, found, limit)
    addresses = [address for _, address in found]
    fields = (searcher.fast_field_values(name, addresses) for name in ("key", "turn", "seq", "at", "kind"))
    return [
        TextHit(score, int(key), int(turn) >> TURN_BITS, int(turn) & ((1 << TURN_BITS) - 1), int(seq), int(at), int(kind))
        for (score, _), key, turn, seq, at, kind in zip(found, *fields, strict=True)
        if key is not None
    ]


def _newest_of_tied(searcher: tantivy.Searcher, found: list[Any], limit: int) -> list[Any]:
    last = found[limit - 1][0]
    sure = [hit for hit in found if hit[0] > last]
    tied = [hit for hit in found if hit[0] == last]
    times = searcher.fast_field_values("at", [address for _, address in tied])
    cut = sorted(times, reverse=True)[limit - len(sure) - 1]  # type: ignore[type-var]
    return sure + [hit for hit, at in zip(tied, times, strict=True) if at >= cut]  # type: ignore[operator]
