"""Step 6, FIND: a question becomes ranked moments. Parse, ask both indexes, weigh, put in order, fetch.

The text index and the vectors each name candidates; `ranking` decides between them. A hit shares a word with the question,
or is close to it in meaning beyond the model's floor; nothing else is ever shown. Words that look like identifiers match by
text only, and what is quoted must occur.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import tantivy
from msgspec import Struct
from tantivy import Occur, Query

from recollect.assemble import call_text
from recollect.errors import DeadlineExceeded
from recollect.index.kinds import OWN
from recollect.index.text import Scope, TextIndex, best, phrase, term, within
from recollect.index.words import words
from recollect.model import KIND_CODE, Kind
from recollect.search.question import ParsedQuery, parse
from recollect.search.ranking import (
    RANKING,
    Candidate,
    Ranking,
    are_equal,
    help_by_time,
    help_by_title,
    help_each_other,
    help_what_was_said,
    in_order,
)
from recollect.store import EventRow, Reader, SessionRow, TurnRow

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.index.vectors import Only, VectorHit, VectorIndex, Vectors

__all__ = ["Meaning", "Mode", "ParsedQuery", "SearchHit", "deadline_check", "parse", "search", "shown_text"]

PART = 3  # letters of the shorter word in a compound
SEVERAL = 2  # words that the model knows, before it may add to what words have found
SURER = 0.12  # closer than the floor must be what shares no word, where others do
TITLED = 200  # candidates whose sessions' titles are looked up: a title moves nobody further than that
MOST_TERMS = 32  # of one question, the rarest: the work of a search is bounded by what its words occur in
WHOLE = 2.0  # how much more an identifier is worth whole than its parts one by one
EVERY_KIND = tuple(KIND_CODE.values())
SAID = tuple(KIND_CODE[kind] for kind in (Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE))

Mode = Literal["text", "vector", "both"]


class Meaning(Struct):
    """The vectors of a realm and the model that they are of."""

    vectors: "VectorIndex"
    model: "Embedder"


class SearchHit(Struct, frozen=True):
    """A hit with everything that an answer shows of it. `parts` say what its score is made of."""

    score: float
    event: EventRow
    turn: TurnRow
    session: SessionRow
    text: str
    parts: dict[str, float]


def search(
    reader: Reader,
    index: TextIndex,
    meaning: Meaning | None,
    asked: ParsedQuery,
    scope: Scope,
    limit: int,
    check: Callable[[], None],
    mode: Mode = "both",
    ranking: Ranking = RANKING,
) -> tuple[list[SearchHit], bool]:
    """The best moments in exact order, and whether there are more. `check` raises when time is up."""
    if asked.is_empty():
        return [], False
    searcher = index.searcher()
    candidates = _by_words(searcher, asked, scope, max(limit + 1, ranking.candidates), check, ranking)
    if mode != "text" and meaning is not None:
        check()
        _by_meaning(reader, meaning, searcher, asked, scope, candidates, ranking)
    if mode == "vector" and meaning is not None:
        candidates = {key: candidate for key, candidate in candidates.items() if "meaning" in candidate.parts}
        for candidate in candidates.values():
            candidate.parts = {"meaning": candidate.parts["meaning"]}
    check()
    return _ranked(reader, searcher, list(candidates.values()), asked, limit, ranking)


# ---- candidates


def _by_words(
    searcher: tantivy.Searcher, asked: ParsedQuery, scope: Scope, most: int, check: Callable[[], None], ranking: Ranking
) -> dict[int, Candidate]:
    query = within(_query(searcher, asked, ranking), scope)
    return {
        hit.key: Candidate(hit.key, hit.session, hit.turn, hit.seq, hit.at, hit.kind, {"words": hit.score})
        for hit in best(searcher, query, most, check)
    }


def _query(searcher: tantivy.Searcher, asked: ParsedQuery, ranking: Ranking) -> Query:
    """What is there counts, and once more how often: a long text that has a word ten times is not ten times better."""
    counted = sorted(asked.terms, key=lambda word: searcher.doc_freq("text", word))[:MOST_TERMS]
    parts = []
    for word in counted:
        worth = ranking.name if word in asked.names else 1.0
        parts.append((Occur.Should, Query.boost_query(term(word), worth) if worth != 1 else term(word)))
        if ranking.presence:
            there = Query.const_score_query(term(word), ranking.presence * worth * rarity(searcher, word))
            parts.append((Occur.Should, there))
    parts += [(Occur.Should, Query.boost_query(phrase(list(whole)), WHOLE)) for whole in asked.wholes[:MOST_TERMS]]
    parts += [(Occur.Must, phrase(list(quoted))) for quoted in asked.phrases[:MOST_TERMS]]
    return Query.boolean_query(parts)


def rarity(searcher: tantivy.Searcher, word: str) -> float:
    """How much a word tells: the logarithm of how few texts have it."""
    have = searcher.doc_freq("text", word)
    return math.log(1 + (searcher.num_docs - have + 0.5) / (have + 0.5))


def _by_meaning(
    reader: Reader,
    meaning: Meaning,
    searcher: tantivy.Searcher,
    asked: ParsedQuery,
    scope: Scope,
    candidates: dict[int, Candidate],
    ranking: Ranking,
) -> None:
    """Say of every candidate how close it is to the question, and add those that share no word but are close enough."""
    text = understood(meaning.model, asked, lambda word: is_written(searcher, word, scope.without))
    question = vector_of(meaning.model, searcher, text)
    if question is None:
        return
    known = known_words(meaning.model, text)
    if len(known) >= SEVERAL or not candidates:
        only, floor = _only(reader, scope), meaning.model.floor + (SURER if candidates else 0.0)
        sure = question if " ".join(known) == text else vector_of(meaning.model, searcher, " ".join(known))
        for near in nearest(meaning, sure, only, ranking.near, floor):
            candidates.setdefault(near.key, Candidate(near.key, near.session, near.turn, near.seq, near.at, near.kind, {}))
    for key, likeness in meaning.vectors.likeness_of(question, list(candidates)).items():
        if likeness > 0:
            candidates[key].parts["meaning"] = ranking.meaning * likeness


def nearest(meaning: Meaning, question: "Vectors | None", only: "Only", limit: int, floor: float) -> "list[VectorHit]":
    """What is close to a question; nothing where it has no meaning to the model."""
    return meaning.vectors.nearest(question, only, limit, floor) if question is not None else []


def understood(model: "Embedder", asked: ParsedQuery, is_written: Callable[[str], bool]) -> str:
    """The plain words of a question, without compounds that nobody here has written: their parts would match for them."""
    return " ".join(word for word in asked.meaning.split() if not _is_made_up(word, model, is_written))


def _is_made_up(word: str, model: "Embedder", is_written: Callable[[str], bool]) -> bool:
    """Whether a word is an unwritten compound: of parts that the model knows, or of two words that are written."""
    is_compound = model.is_compound(word)
    if (model.knows(word) and not is_compound) or is_written(word):
        return False
    halves = ((word[:place], word[place:]) for place in range(PART, len(word) - PART + 1))
    return is_compound or any(is_written(first) and is_written(second) for first, second in halves)


def is_written(searcher: tantivy.Searcher | None, word: str, without: tuple[int, ...] = ()) -> bool:
    """Whether a word stands in some event that is neither of our own traffic nor of the sessions that ask for it."""
    parts = words(word)
    if searcher is None or not parts or not all(searcher.doc_freq("text", part) for part in parts):
        return False
    query = within(phrase(parts), Scope(EVERY_KIND, without=without))
    return bool(searcher.search(query, limit=1, count=False).hits)


def known_words(model: "Embedder", text: str) -> list[str]:
    """The words of a question that alone may find what shares none of them; all others match by text only."""
    return [word for word in text.split() if model.knows(word)]


def vector_of(model: "Embedder", searcher: tantivy.Searcher | None, text: str) -> "Vectors | None":
    """What a question means, its rare words before its common ones; None where the model does not understand it."""

    def weight(word: str) -> float:
        known = words(word)
        return rarity(searcher, known[0]) if known and searcher is not None else 1.0

    return model.embed_question(text, weight) if text else None


def _only(reader: Reader, scope: Scope) -> "Only":
    from recollect.index.vectors import Only

    narrowed = scope.source is not None or scope.project is not None
    return Only(
        kinds=(*scope.kinds, *(kind + OWN for kind in scope.kinds if scope.own)),
        session=scope.session,
        turn=scope.turn,
        since=scope.since,
        until=scope.until,
        sessions=tuple(reader.session_keys(scope.source, scope.project)) if narrowed else None,
        without=scope.without,
    )


# ---- order


def _ranked(
    reader: Reader, searcher: tantivy.Searcher, candidates: list[Candidate], asked: ParsedQuery, limit: int, ranking: Ranking
) -> tuple[list[SearchHit], bool]:
    help_each_other(candidates, ranking)
    help_what_was_said(candidates, SAID, ranking)
    help_by_time(candidates, asked.windows, ranking)
    if ranking.title:
        best_so_far = in_order(candidates)[:TITLED]
        help_by_title(best_so_far, _title_shares(reader, searcher, best_so_far, asked), ranking)
    ranked = _there(reader, in_order(candidates), limit)
    return _complete(reader, ranked[:limit]), len(ranked) > limit


def _there(reader: Reader, order: list[Candidate], limit: int) -> list[tuple[Candidate, EventRow]]:
    """The first candidates with their events, one more than wanted where there are as many; equals by their ids.

    An index may still hold events that are gone from the archive. Of those that are equal in all but their ids, none is
    left out before these have been asked.
    """
    found: list[tuple[Candidate, EventRow]] = []
    start = 0
    while start < len(order) and len(found) <= limit:
        end = min(start + limit + 1, len(order))
        while end < len(order) and are_equal(order[end - 1], order[end]):
            end += 1
        events = reader.events(candidate.key for candidate in order[start:end])
        found += [(candidate, events[candidate.key]) for candidate in order[start:end] if candidate.key in events]
        start = end
    return sorted(found, key=lambda pair: (-pair[0].score(), -pair[0].at, pair[1].id))


def _title_shares(
    reader: Reader, searcher: tantivy.Searcher, candidates: Iterable[Candidate], asked: ParsedQuery
) -> dict[int, float]:
    """How much of the question the title and the project of each session have, by what its words tell."""
    worth = {word: rarity(searcher, word) for word in asked.terms}
    whole = sum(worth.values())
    if not whole:
        return {}
    titles = reader.titles({candidate.session for candidate in candidates})
    return {
        session: sum(worth[word] for word in worth.keys() & _title_words(title)) / whole for session, title in titles.items()
    }


@lru_cache(maxsize=16_384)
def _title_words(title: str) -> frozenset[str]:
    """The words of a title. Asked of the same few hundred titles by every question, hence remembered."""
    return frozenset(words(title))


def _complete(reader: Reader, ranked: list[tuple[Candidate, EventRow]]) -> list[SearchHit]:
    sessions = reader.sessions({event.session for _, event in ranked})
    turns = reader.turns_of((event.session, event.turn) for _, event in ranked)
    return [
        SearchHit(
            score=candidate.score(),
            event=event,
            turn=turns[event.session, event.turn],
            session=sessions[event.session],
            text=shown_text(event),
            parts=candidate.parts,
        )
        for candidate, event in ranked
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
