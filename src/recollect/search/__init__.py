"""Step 6, FIND: a question becomes ranked moments. Parse, ask the index, put in order, fetch, cut snippets.

The question is never given to the engine's own query language: it is taken apart into words and phrases here, and the
query is built from those, so that no character of it can mean anything but itself.
"""

import re
from collections.abc import Callable
from itertools import pairwise

import tantivy
from msgspec import Struct
from tantivy import Occur, Query

from recollect.assemble import call_text
from recollect.errors import DeadlineExceeded
from recollect.index.text import Scope, TextIndex, best, phrase, term, within
from recollect.index.words import STOP, camel_parts, is_unspaced, spaced, words
from recollect.model import Kind
from recollect.store import EventRow, Reader, SessionRow, TurnRow

MOST_TERMS = 32  # of one question, the rarest: the work of a search is bounded by what its words occur in
SATURATION = 12.0  # the BM25 score that becomes 0.5
WHOLE = 2.0  # how much more an identifier is worth whole than its parts one by one
QUOTED = re.compile(r'"([^"]+)"')


class Asked(Struct, frozen=True):
    """A question taken apart: what must be there, and what counts."""

    phrases: tuple[tuple[str, ...], ...]
    wholes: tuple[tuple[str, ...], ...]
    terms: tuple[str, ...]

    def is_empty(self) -> bool:
        return not (self.phrases or self.wholes or self.terms)

    def groups(self) -> list[tuple[str, ...]]:
        """Every word that counts; those that belong together in one group."""
        return [*self.phrases, *self.wholes, *((term,) for term in self.terms)]


class Found(Struct, frozen=True):
    """A hit with everything that an answer shows of it."""

    score: float
    event: EventRow
    turn: TurnRow
    session: SessionRow
    text: str


def parse(question: str) -> Asked:
    """Words, identifiers and quoted phrases of a question, as the index knows them."""
    phrases = tuple(tuple(found) for quoted in QUOTED.findall(question) if (found := _words(quoted)))
    wholes: list[tuple[str, ...]] = []
    terms: list[str] = []
    weak: list[str] = []
    for chunk in QUOTED.sub(" ", question).split():
        found = _words(chunk)
        if len(found) > 1 and is_unspaced(chunk):
            wholes += [tuple(found), *pairwise(found)]
            continue
        if len(found) > 1:
            wholes.append(tuple(found))
        parts = words(camel_parts(chunk))
        if len(parts) > 1:
            wholes.append(tuple(parts))
        for word in (*found, *(parts if len(parts) > 1 else ())):
            (weak if chunk.strip(",.;:?!").lower() in STOP else terms).append(word)
    if not (phrases or wholes or terms):
        terms = weak
    return Asked(phrases, tuple(dict.fromkeys(wholes)), tuple(dict.fromkeys(terms)))


def _words(text: str) -> list[str]:
    return words(text if text.isascii() else spaced(text))


def search(
    reader: Reader, index: TextIndex, asked: Asked, scope: Scope, limit: int, check: Callable[[], None]
) -> tuple[list[Found], bool]:
    """The best moments in exact order, and whether there are more. `check` raises when time is up."""
    if asked.is_empty():
        return [], False
    searcher = index.searcher()
    query = within(_query(searcher, asked), scope)
    asked_for = limit + 1
    while True:
        hits = best(searcher, query, asked_for, check)
        check()
        events = reader.events(hit.key for hit in hits)
        ranked = sorted(
            ((hit.score, events[hit.key]) for hit in hits if hit.key in events),
            key=lambda pair: (-pair[0], -pair[1].at, pair[1].id),
        )
        if len(ranked) > limit or len(hits) < asked_for:
            break
        asked_for = len(hits) * 4  # the index still holds events that are gone from the archive
    return _complete(reader, ranked[:limit]), len(ranked) > limit


def _query(searcher: tantivy.Searcher, asked: Asked) -> Query:
    counted = sorted(asked.terms, key=lambda word: searcher.doc_freq("text", word))[:MOST_TERMS]
    parts = [(Occur.Should, term(word)) for word in counted]
    parts += [(Occur.Should, Query.boost_query(phrase(list(whole)), WHOLE)) for whole in asked.wholes[:MOST_TERMS]]
    parts += [(Occur.Must, phrase(list(quoted))) for quoted in asked.phrases[:MOST_TERMS]]
    return Query.boolean_query(parts)


def _complete(reader: Reader, ranked: list[tuple[float, EventRow]]) -> list[Found]:
    sessions = reader.sessions({event.session for _, event in ranked})
    turns = reader.turns_of((event.session, event.turn) for _, event in ranked)
    return [
        Found(
            score=score / (score + SATURATION),
            event=event,
            turn=turns[event.session, event.turn],
            session=sessions[event.session],
            text=shown_text(event),
        )
        for score, event in ranked
        if event.session in sessions and (event.session, event.turn) in turns
    ]


def shown_text(event: EventRow) -> str:
    """An event's whole text, a tool call as a person would write it."""
    return call_text(event.tool, event.arguments()) if event.kind is Kind.TOOL_CALL else event.text()


def deadline_check(late: Callable[[], bool]) -> Callable[[], None]:
    def check() -> None:
        if late():
            raise DeadlineExceeded("the request took longer than its deadline")

    return check
