"""Step 4, INDEX: the text index of a realm (tantivy). Derived from the archive, and rebuilt from it whenever in doubt.

One document per event that has text. It holds no text, only what finds and orders events; the archive has the rest.
Every document carries its event's key, and the archive remembers the highest key that was committed here: after a
crash, everything above that mark is thrown out and added again.
"""

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import tantivy
from msgspec import Struct
from tantivy import Document, FieldType, Occur, Query

from recollect.errors import StoreFault
from recollect.index.faults import unwritable
from recollect.index.kinds import OWN
from recollect.index.words import analyzer, prepared
from recollect.model import TOLD_CODES

VERSION = 2  # of the fields and of what counts as a word; another one means another index
OF_ARCHIVE = "archive-identity"  # a file in the index's folder
HEAP = 96 << 20  # bytes that a writer may fill before it writes a segment
ALL_TOLD = 64  # a second kind of all with one of TOLD_CODES: nearly every search is for them, and one term filters faster
SPARE = 16  # hits asked for beyond those wanted, so that a tie for the last place seldom takes a second search
TURN_BITS = 24  # a turn is filtered by its session's key and its ordinal in one number


class Entry(Struct):
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


class Hit(Struct, frozen=True):
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


def folder_of(realm: Path) -> Path:
    return realm / f"text-{VERSION}"


def remove(realm: Path) -> None:
    """Delete every index of a realm, of whatever version."""
    for folder in realm.glob("text-*"):
        shutil.rmtree(folder, ignore_errors=True)


class Unusable(Exception):
    """There is no index here, or none that can be read."""


def _open(folder: Path, archive: str) -> tantivy.Index:
    """An index, if it was made from this archive."""
    try:
        if (folder / OF_ARCHIVE).read_text() != archive:
            raise Unusable("it was made from another archive")
        index = tantivy.Index.open(str(folder))
        return _ready(index)
    except (ValueError, OSError) as reason:
        raise Unusable(str(reason)) from reason


def _ready(index: tantivy.Index) -> tantivy.Index:
    """Its words registered, and nothing in it that would look twice a second whether somebody has committed."""
    index.register_tokenizer("words", analyzer())
    index.config_reader("manual")
    return index


def is_usable(realm: Path, archive: str) -> bool:
    """Whether there is an index of this archive that can be opened."""
    try:
        _open(folder_of(realm), archive)
    except Unusable:
        return False
    return True


class TextWriter:
    """Adds and removes documents; nobody sees them before `commit`. One at a time, under the realm's lock."""

    def __init__(self, realm: Path, archive: str) -> None:
        self.folder = folder_of(realm)
        self.archive = archive
        try:
            self.index = _open(self.folder, archive)
            self.fresh = False
            self.writer = self.index.writer(HEAP, 1)
        except (Unusable, ValueError):
            self._start_over()

    def _start_over(self) -> None:
        """A new, empty index. Those of other versions go with the old one."""
        remove(self.folder.parent)
        self.folder.mkdir(parents=True, mode=0o700)
        (self.folder / OF_ARCHIVE).write_text(self.archive)
        self.index = _ready(tantivy.Index(SCHEMA, path=str(self.folder)))
        self.fresh = True
        self.writer = self.index.writer(HEAP, 1)

    def add(self, entries: Iterable[Entry]) -> None:
        try:
            self._add(entries)
        except ValueError as reason:
            raise self._fault(reason) from reason

    def _fault(self, reason: Exception) -> StoreFault:
        return unwritable("the index", self.folder, reason)

    def _add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            document = Document()
            document.add_text("text", prepared(entry.text))
            document.add_unsigned("key", entry.key)
            document.add_unsigned("kind", entry.kind + OWN * entry.own)
            if entry.kind in TOLD_CODES and not entry.own:
                document.add_unsigned("kind", ALL_TOLD)
            document.add_unsigned("session", entry.session)
            document.add_unsigned("turn", turn_number(entry.session, entry.turn))
            document.add_unsigned("seq", entry.seq)
            document.add_integer("at", entry.at)
            document.add_text("source", entry.source)
            document.add_text("project", entry.project)
            self.writer.add_document(document)

    def remove(self, keys: Iterable[int]) -> None:
        for key in keys:
            self.writer.delete_documents_by_term("key", key)

    def remove_above(self, key: int) -> None:
        self.writer.delete_documents_by_query(
            Query.range_query(SCHEMA, "key", FieldType.Unsigned, lower_bound=key, include_lower=False)
        )

    def commit(self) -> None:
        try:
            self.writer.commit()
        except (ValueError, OSError) as reason:
            raise self._fault(reason) from reason

    def rollback(self) -> None:
        try:
            self.writer.rollback()
        finally:
            self.close()

    def close(self) -> None:
        """Wait for merges; the index's own lock is free afterwards. One that failed has nothing to wait for."""
        with suppress(ValueError, OSError):
            self.writer.wait_merging_threads()


class TextIndex:
    """The readers' side: a searcher that follows what a writer, in whatever process, commits."""

    def __init__(self, realm: Path, archive: str) -> None:
        self.folder = folder_of(realm)
        self.archive = archive
        self.index = _open(self.folder, archive)
        self._seen = 0
        self._readable = True
        self._follow()

    def _follow(self) -> None:
        try:
            committed = (self.folder / "meta.json").stat().st_mtime_ns
            if committed != self._seen:
                self.index.reload()
                self._seen = committed
                self._readable = self._answers()
        except (ValueError, OSError) as reason:
            raise Unusable(str(reason)) from reason

    def searcher(self) -> tantivy.Searcher:
        self._follow()
        return self.index.searcher()

    def _answers(self) -> bool:
        """Whether a small question about every part of the index gets an answer."""
        try:
            self.index.searcher().search(Query.term_query(SCHEMA, "kind", ALL_TOLD), limit=1, count=False)
        except ValueError:
            return False
        return True

    def is_readable(self) -> bool:
        """Whether the files are still there and were what they should be when they were opened."""
        try:
            self._follow()
        except Unusable:
            return False
        return self._readable


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
    if frozenset(kinds) == frozenset(TOLD_CODES):
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
    return Query.boolean_query([(Occur.Must, query), *worthless])


def best(searcher: tantivy.Searcher, query: Query, limit: int, check: Callable[[], None]) -> list[Hit]:
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
        Hit(score, int(key), int(turn) >> TURN_BITS, int(turn) & ((1 << TURN_BITS) - 1), int(seq), int(at), int(kind))
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
