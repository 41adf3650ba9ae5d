"""Step 4, INDEX: which events may hold a string, wherever inside a word it begins or ends.

A text is indexed by its pieces, every four characters that follow one another in it. It can hold a string only where it
holds all pieces of that string; whether it does, only the text can tell, so what is found here is to be confirmed. A long
text is several documents that overlap: the shorter a document is, the less it has all pieces of a string by chance.

Made behind everything else, because it takes as long as reading the logs did. `seen` says up to which event; whoever
searches looks at the few that came later one by one, so that nothing waits for this index and nothing is missed by it.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import tantivy
from msgspec import Struct
from tantivy import Document, FieldType, Occur, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from recollect.index.engine import OF_ARCHIVE, EngineReader, EngineWriter, Layout

VERSION = 1  # of the fields and of what a piece is; another one means another index
HEAP = 64 << 20  # bytes
PIECE = 4  # characters: with three, a million events have ten times as many by chance, and take half a second
PART = 8_192  # characters of a document
OVERLAP = 256  # characters that two documents of one text share: a string up to this long lies in one of them whole
MOST_PIECES = 64  # of a string that are asked for: more hardly ever rule anything out
END = "\0" * (PIECE - 1)  # behind every text, so that its last characters begin a piece too
SEEN = "seen"  # a file in the index's folder
ERA = 1 << 62  # added to times, because the engine orders by numbers that are not negative
FIRST_ASKED = 1_024  # documents in the first round of a search


class NgramText(Struct):
    """An event as this index sees it; `started` is when its session began."""

    key: int
    session: int
    seq: int
    kind: int
    source: str
    started: int
    text: str


class NgramCandidate(Struct, frozen=True):
    """An event that may hold the string."""

    key: int
    session: int
    seq: int
    started: int


class Narrow(Struct, frozen=True):
    """Where to look. No kinds means any; `started` is the latest beginning of a session that counts."""

    kinds: tuple[int, ...] = ()
    session: int | None = None
    source: str | None = None
    started: int | None = None
    without: tuple[int, ...] = ()  # sessions


def folded(text: str) -> str:
    """A text as it is compared: upper and lower case are the same."""
    return text.casefold()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("pieces", tokenizer_name="pieces", index_option="basic")
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_unsigned_field("session", indexed=True, fast=True)
    builder.add_unsigned_field("seq", fast=True)
    builder.add_unsigned_field("kind", indexed=True)
    builder.add_unsigned_field("started", indexed=True, fast=True)
    builder.add_text_field("source", tokenizer_name="raw", index_option="basic")
    return builder.build()


@cache
def _analyzer() -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.ngram(PIECE, PIECE, False)).build()


SCHEMA = _schema()
NGRAMS = Layout("pieces", VERSION, SCHEMA, "pieces", _analyzer, HEAP)


def seen(realm: Path, archive: str) -> int:
    """Up to which event of this archive the index knows all; 0 where there is no index of it."""
    folder = NGRAMS.folder(realm)
    try:
        of_archive = (folder / OF_ARCHIVE).read_text() == archive
        return int((folder / SEEN).read_text()) if of_archive else 0
    except (OSError, ValueError):
        return 0


class NgramWriter(EngineWriter):
    """Adds events, under the realm's lock for distilling."""

    def __init__(self, realm: Path, archive: str) -> None:
        super().__init__(NGRAMS, realm, archive)
        self.seen = seen(realm, archive)
        if not self.fresh:
            self.remove_above(self.seen)

    def add(self, texts: Iterable[NgramText]) -> None:
        try:
            for text in texts:
                for part in _parts(folded(text.text) + END):
                    self.writer.add_document(_document(text, part))
        except ValueError as reason:
            raise self.fault(reason) from reason

    def commit_up_to(self, key: int) -> None:
        """Make findable what was added, and only then say so."""
        self.commit()
        new = self.folder / f"{SEEN}.new"
        try:
            new.write_text(str(key))
            new.replace(self.folder / SEEN)
        except OSError as reason:
            raise self.fault(reason) from reason
        self.seen = key


def _parts(text: str) -> Iterable[str]:
    for start in range(0, max(1, len(text) - OVERLAP), PART - OVERLAP):
        yield text[start : start + PART]


def _document(text: NgramText, part: str) -> Document:
    document = Document()
    document.add_text("pieces", part)
    document.add_unsigned("key", text.key)
    document.add_unsigned("session", text.session)
    document.add_unsigned("seq", text.seq)
    document.add_unsigned("kind", text.kind)
    document.add_unsigned("started", text.started + ERA)
    document.add_text("source", text.source)
    return document


class NgramIndex(EngineReader):
    """Names the events that may hold a string."""

    def __init__(self, realm: Path, archive: str) -> None:
        super().__init__(NGRAMS, realm, archive)

    def holds(self, session: int) -> bool:
        """Whether anything of a session is in here."""
        query = Query.term_query(SCHEMA, "session", session)
        return bool(self.searcher().search(query, limit=1, count=False).hits)

    def candidates(self, string: str, narrow: Narrow, check: Callable[[], None]) -> Iterable[list[NgramCandidate]]:
        """Every event that may hold a folded string, session by session, the one that began last first.

        The engine gives as many as it is asked for, in order of time but in no order within a session. So of the last
        session of a round, which may have more, nothing is taken before the next round, which asks for more of all.
        """
        query = _query(string, narrow)
        searcher = self.searcher()
        asked, taken = FIRST_ASKED, ERA << 1
        while True:
            check()
            found = searcher.search(query, limit=asked, count=False, order_by_field="started").hits
            is_all = len(found) < asked
            whole = [hit for hit in found if hit[0] < taken and (is_all or hit[0] > found[-1][0])]
            yield from _by_time(searcher, whole)
            if is_all:
                return
            taken = whole[-1][0] if whole else taken
            asked *= 4


def _by_time(searcher: tantivy.Searcher, hits: list[tuple[int, tantivy.DocAddress]]) -> Iterable[list[NgramCandidate]]:
    """Candidates of each moment at which sessions began; nearly always, of each session."""
    addresses = [address for _, address in hits]
    fields = (searcher.fast_field_values(name, addresses) for name in ("key", "session", "seq"))
    begun: list[NgramCandidate] = []
    known: set[int] = set()
    for (started, _), key, session, seq in zip(hits, *fields, strict=True):
        if begun and begun[-1].started != started - ERA:
            yield _in_order(begun)
            begun = []
        if key not in known:  # a long text is several documents
            known.add(key)
            begun.append(NgramCandidate(int(key), int(session), int(seq), started - ERA))
    if begun:
        yield _in_order(begun)


def _in_order(candidates: list[NgramCandidate]) -> list[NgramCandidate]:
    return sorted(candidates, key=lambda one: (one.session, one.seq))


def _query(string: str, narrow: Narrow) -> Query:
    filters = [Query.term_query(SCHEMA, "kind", kind) for kind in narrow.kinds]
    parts = [*_holding(string[:OVERLAP])]
    parts += [Query.boolean_query([(Occur.Should, one) for one in filters])] if filters else []
    for field, value in (("session", narrow.session), ("source", narrow.source)):
        if value is not None:
            parts.append(Query.term_query(SCHEMA, field, value))
    if narrow.started is not None:
        parts.append(Query.range_query(SCHEMA, "started", FieldType.Unsigned, upper_bound=narrow.started + ERA))
    left_out = [(Occur.MustNot, Query.term_query(SCHEMA, "session", session)) for session in narrow.without]
    return Query.boolean_query([*((Occur.Must, Query.const_score_query(part, 0.0)) for part in parts), *left_out])


def _holding(string: str) -> list[Query]:
    """What a document must have to hold a string: all of its pieces, or one that begins with it."""
    if len(string) < PIECE:
        rest = r"(.|\n)" * (PIECE - len(string))
        return [Query.regex_query(SCHEMA, "pieces", re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", string) + rest)]
    pieces = list(dict.fromkeys(string[at : at + PIECE] for at in range(len(string) - PIECE + 1)))
    spread = -(-len(pieces) // MOST_PIECES)
    return [Query.term_query(SCHEMA, "pieces", piece) for piece in pieces[::spread]]
