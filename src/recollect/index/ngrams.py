"""The n-gram index of a realm (tantivy): finds the events that may contain a string, also inside words.

A text is indexed by its n-grams: every four consecutive characters. It can contain a string only if it has all n-grams of
that string. The search must confirm each candidate in its text. A long text becomes several overlapping documents, because
a shorter document has all n-grams by chance less often.

This index is built after the others, because building takes as long as reading the logs. A file stores the key of the last
indexed event. Substring search scans the later events one by one, so it finds them too.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import tantivy
from msgspec import Struct
from tantivy import Document, FieldType, Occur, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from recollect.index.engine import ARCHIVE_ID, EngineReader, EngineWriter, IndexLayout
from recollect.index.filters import Filters

VERSION = 1  # of the fields and of the tokenizer; a new version means a new index
HEAP = 64 << 20  # bytes of memory that a writer fills before it writes a segment
NGRAM = 4  # characters: with three, a million events give ten times as many false candidates and take half a second
DOCUMENT = 8_192  # characters of a document
OVERLAP = 256  # characters that two documents of one text share: one of them has all of a string up to this length
MAX_NGRAMS = 64  # n-grams of a string in a query: more of them seldom exclude more documents
PADDING = "\0" * (NGRAM - 1)  # after every text, so that an n-gram starts at each of its last characters too
INDEXED_UP_TO = "seen"  # a file in the index's folder: the key of the last indexed event
NAME = "pieces"  # of the folder and of the field; it is older than the present name of this index
TIME_OFFSET = 1 << 62  # added to times, because tantivy orders by unsigned numbers only
FIRST_BATCH = 1_024  # documents in the first round of a search


class NgramDocument(Struct):
    """An event to index; `started` is when its session began."""

    key: int
    session: int
    seq: int
    kind: int
    source: str
    started: int
    text: str


class NgramCandidate(Struct, frozen=True):
    """An event that may contain the string."""

    key: int
    session: int
    seq: int
    started: int


def fold_case(text: str) -> str:
    """The text in the form for comparisons, which ignores upper and lower case."""
    return text.casefold()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(NAME, tokenizer_name=NAME, index_option="basic")
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_unsigned_field("session", indexed=True, fast=True)
    builder.add_unsigned_field("seq", fast=True)
    builder.add_unsigned_field("kind", indexed=True)
    builder.add_unsigned_field("started", indexed=True, fast=True)
    builder.add_text_field("source", tokenizer_name="raw", index_option="basic")
    return builder.build()


@cache
def _analyzer() -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.ngram(NGRAM, NGRAM, False)).build()


SCHEMA = _schema()
NGRAMS = IndexLayout(NAME, VERSION, SCHEMA, NAME, _analyzer, HEAP)


def read_indexed_up_to(realm: Path, archive: str) -> int:
    """The key of the last indexed event of this archive; 0 if it has no index."""
    folder = NGRAMS.folder(realm)
    try:
        is_current = (folder / ARCHIVE_ID).read_text() == archive
        return int((folder / INDEXED_UP_TO).read_text()) if is_current else 0
    except (OSError, ValueError):
        return 0


class NgramWriter(EngineWriter):
    """Adds events, under the realm's lock for distilling."""

    def __init__(self, realm: Path, archive: str, threads: int = 1) -> None:
        super().__init__(NGRAMS, realm, archive, threads=threads)
        self.indexed_up_to = read_indexed_up_to(realm, archive)
        if not self.is_new:
            self.remove_above(self.indexed_up_to)

    def add(self, events: Iterable[NgramDocument]) -> None:
        try:
            for event in events:
                for text in _split(fold_case(event.text) + PADDING):
                    self.writer.add_document(_document(event, text))
        except ValueError as reason:
            raise self.fault(reason) from reason

    def commit_up_to(self, key: int) -> None:
        """Commit the added events, then store the key of the last indexed event."""
        self.commit()
        new = self.folder / f"{INDEXED_UP_TO}.new"
        try:
            new.write_text(str(key))
            new.replace(self.folder / INDEXED_UP_TO)
        except OSError as reason:
            raise self.fault(reason) from reason
        self.indexed_up_to = key


def _split(text: str) -> Iterable[str]:
    for start in range(0, max(1, len(text) - OVERLAP), DOCUMENT - OVERLAP):
        yield text[start : start + DOCUMENT]


def _document(event: NgramDocument, text: str) -> Document:
    document = Document()
    document.add_text(NAME, text)
    document.add_unsigned("key", event.key)
    document.add_unsigned("session", event.session)
    document.add_unsigned("seq", event.seq)
    document.add_unsigned("kind", event.kind)
    document.add_unsigned("started", event.started + TIME_OFFSET)
    document.add_text("source", event.source)
    return document


class NgramIndex(EngineReader):
    """Reads the index."""

    def __init__(self, realm: Path, archive: str) -> None:
        super().__init__(NGRAMS, realm, archive)

    def contains_session(self, session: int) -> bool:
        """Whether any event of a session is indexed."""
        query = Query.term_query(SCHEMA, "session", session)
        return bool(self.searcher().search(query, limit=1, count=False).hits)

    def candidates(
        self, string: str, filters: Filters, latest_start: int | None, check: Callable[[], None]
    ) -> Iterable[list[NgramCandidate]]:
        """Every event that may contain a case-folded string, session by session, the latest session first.

        `latest_start` skips sessions that began later. The engine returns a limited number of hits. They are ordered by
        session start, but unordered within a session. The last session of a batch may be incomplete, so it waits for the
        next batch. The next batch is larger and has the hits of this one again.
        """
        query = _query(string, filters, latest_start)
        searcher = self.searcher()
        size, done_until = FIRST_BATCH, TIME_OFFSET << 1
        while True:
            check()
            hits = searcher.search(query, limit=size, count=False, order_by_field="started").hits
            is_last = len(hits) < size
            complete = [hit for hit in hits if hit[0] < done_until and (is_last or hit[0] > hits[-1][0])]
            yield from _by_session_start(searcher, complete)
            if is_last:
                return
            done_until = complete[-1][0] if complete else done_until
            size *= 4


def _by_session_start(
    searcher: tantivy.Searcher, hits: list[tuple[int, tantivy.DocAddress]]
) -> Iterable[list[NgramCandidate]]:
    """Candidates grouped by the start time of their session. A group nearly always has one session."""
    addresses = [address for _, address in hits]
    fields = (searcher.fast_field_values(name, addresses) for name in ("key", "session", "seq"))
    group: list[NgramCandidate] = []
    known: set[int] = set()
    for (started, _), key, session, seq in zip(hits, *fields, strict=True):
        if group and group[-1].started != started - TIME_OFFSET:
            yield _sorted(group)
            group = []
        if key not in known:  # a long text has several documents
            known.add(key)
            group.append(NgramCandidate(int(key), int(session), int(seq), started - TIME_OFFSET))
    if group:
        yield _sorted(group)


def _sorted(candidates: list[NgramCandidate]) -> list[NgramCandidate]:
    return sorted(candidates, key=lambda candidate: (candidate.session, candidate.seq))


def _query(string: str, filters: Filters, latest_start: int | None) -> Query:
    required = _ngram_queries(string[:OVERLAP])
    if kinds := filters.kind_codes():
        required.append(Query.boolean_query([(Occur.Should, Query.term_query(SCHEMA, "kind", kind)) for kind in kinds]))
    for field, value in (("session", filters.session), ("source", filters.source)):
        if value is not None:
            required.append(Query.term_query(SCHEMA, field, value))
    if latest_start is not None:
        required.append(Query.range_query(SCHEMA, "started", FieldType.Unsigned, upper_bound=latest_start + TIME_OFFSET))
    excluded = [(Occur.MustNot, Query.term_query(SCHEMA, "session", session)) for session in filters.excluded_sessions]
    return Query.boolean_query([*((Occur.Must, Query.const_score_query(part, 0.0)) for part in required), *excluded])


def _ngram_queries(string: str) -> list[Query]:
    """The conditions for a document to contain a string: all its n-grams, or one that starts with a short string."""
    if len(string) < NGRAM:
        any_characters = r"(.|\n)" * (NGRAM - len(string))
        return [Query.regex_query(SCHEMA, NAME, re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", string) + any_characters)]
    ngrams = list(dict.fromkeys(string[start : start + NGRAM] for start in range(len(string) - NGRAM + 1)))
    step = -(-len(ngrams) // MAX_NGRAMS)
    return [Query.term_query(SCHEMA, NAME, ngram) for ngram in ngrams[::step]]
