"""Step 6, FIND: a query becomes ranked events.

The text index and the vector index find candidates, and `ranking` orders them. Every hit shares a word with the query, or
its similarity in meaning is above the model's floor. Words that look like identifiers match by text only. Quoted phrases
must occur.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import DeadlineExceeded
from recollect.index.filters import Filters
from recollect.index.place import Place
from recollect.index.text import TextClause, TextIndex, TextSnapshot
from recollect.index.words import words
from recollect.label import call_text
from recollect.model import KIND_CODE, Kind
from recollect.search.query import ParsedQuery, parse
from recollect.search.ranking import (
    RANKING,
    Candidate,
    Ranking,
    boost_by_neighbours,
    boost_by_time,
    boost_by_title,
    boost_conclusions,
    is_tie,
    sort_best_first,
)
from recollect.search.semantic import SemanticIndex, embed_query, known_words, occurs_in_events, understood_text
from recollect.store import EventRow, Reader, SessionRow, TurnRow

__all__ = ["Mode", "ParsedQuery", "SearchHit", "SemanticIndex", "deadline_check", "parse", "search", "shown_text"]

MIN_KNOWN_WORDS = 2  # words that the model knows; with fewer, meaning adds no events to those found by words
STRICTER = 0.12  # added to the floor of events that share no word, if other events do
TITLED = 200  # best candidates that a session title can boost: a title never moves a candidate by more ranks
MAX_TERMS = 32  # of a query, the rarest: the cost of a search depends on the number of documents with its words
PHRASE_BOOST = 2.0  # for an identifier's words in order, compared with the same words apart
CONCLUSIONS = tuple(KIND_CODE[kind] for kind in (Kind.USER_INPUT, Kind.ASSISTANT_RESPONSE))

Mode = Literal["vector", "text", "both"]  # in the order of the memory contract: Python treats equal literals as one


class SearchHit(Struct, frozen=True):
    """A hit with everything that an answer shows. `parts` are the terms of its score, by name."""

    score: float
    event: EventRow
    turn: TurnRow
    session: SessionRow
    text: str
    parts: dict[str, float]


def search(
    reader: Reader,
    index: TextIndex,
    semantic: SemanticIndex | None,
    query: ParsedQuery,
    filters: Filters,
    limit: int,
    check: Callable[[], None],
    mode: Mode = "both",
    ranking: Ranking = RANKING,
) -> tuple[list[SearchHit], bool]:
    """The best events, best first, and whether there are more. `check` raises an error after the deadline."""
    if query.is_empty():
        return [], False
    text = index.snapshot()
    candidates = _find_by_words(text, query, filters, max(limit + 1, ranking.word_candidates), check, ranking)
    if mode != "text" and semantic is not None:
        check()
        _add_by_meaning(reader, semantic, text, query, filters, candidates, ranking)
    if mode == "vector" and semantic is not None:
        candidates = {
            key: replace(candidate, parts={"meaning": candidate.parts["meaning"]})
            for key, candidate in candidates.items()
            if "meaning" in candidate.parts
        }
    check()
    return _rank(reader, text, list(candidates.values()), query, limit, ranking)


# ---- candidates


def _find_by_words(
    text: TextSnapshot, query: ParsedQuery, filters: Filters, limit: int, check: Callable[[], None], ranking: Ranking
) -> dict[int, Candidate]:
    hits = text.search(_clauses(text, query, ranking), filters, limit, check)
    return {hit.key: _candidate(hit, {"words": hit.score}) for hit in hits}


def _candidate(place: Place, parts: dict[str, float]) -> Candidate:
    return Candidate(place.key, place.session, place.turn, place.seq, place.at, place.kind, parts)


def _clauses(text: TextSnapshot, query: ParsedQuery, ranking: Ranking) -> list[TextClause]:
    """The query for the text index. A word scores for its presence and its frequency: ten times is not ten times better."""
    weights = {term: text.idf(term) for term in query.terms}
    clauses = []
    for term in sorted(weights, key=lambda term: -weights[term])[:MAX_TERMS]:
        boost = ranking.name if term in query.names else 1.0
        clauses.append(TextClause((term,), boost, presence=ranking.presence * boost * weights[term]))
    clauses += [TextClause(phrase, PHRASE_BOOST) for phrase in query.optional_phrases[:MAX_TERMS]]
    clauses += [TextClause(phrase, is_required=True) for phrase in query.required_phrases[:MAX_TERMS]]
    return clauses


def _add_by_meaning(
    reader: Reader,
    semantic: SemanticIndex,
    text: TextSnapshot,
    query: ParsedQuery,
    filters: Filters,
    candidates: dict[int, Candidate],
    ranking: Ranking,
) -> None:
    """Score the similarity of every candidate to the query. Add events that share no word but are similar enough."""
    plain = understood_text(semantic.model, query, lambda word: occurs_in_events(text, word, filters.excluded_sessions))
    vector = embed_query(semantic.model, text, plain)
    if vector is None:
        return
    known = known_words(semantic.model, plain)
    if len(known) >= MIN_KNOWN_WORDS or not candidates:
        floor = semantic.model.floor + (STRICTER if candidates else 0.0)
        known_vector = vector if " ".join(known) == plain else embed_query(semantic.model, text, " ".join(known))
        for hit in semantic.nearest(known_vector, _vector_filters(reader, filters), ranking.meaning_candidates, floor):
            if hit.key not in candidates:
                candidates[hit.key] = _candidate(hit, {})
    for key, similarity in semantic.vectors.similarities(vector, list(candidates)).items():
        if similarity > 0:
            candidates[key].parts["meaning"] = ranking.meaning * similarity


def _vector_filters(reader: Reader, filters: Filters) -> Filters:
    """The filters with source and project translated to sessions, because the vector index stores neither."""
    if filters.source is None and filters.project is None:
        return filters
    return replace(filters, sessions=tuple(reader.session_keys(filters.source, filters.project)))


# ---- order


def _rank(
    reader: Reader, text: TextSnapshot, candidates: list[Candidate], query: ParsedQuery, limit: int, ranking: Ranking
) -> tuple[list[SearchHit], bool]:
    boost_by_neighbours(candidates, ranking)
    boost_conclusions(candidates, CONCLUSIONS, ranking)
    boost_by_time(candidates, query.time_windows, ranking)
    if ranking.title:
        best_so_far = sort_best_first(candidates)[:TITLED]
        boost_by_title(best_so_far, _title_shares(reader, text, best_so_far, query), ranking)
    ranked = _fetch_existing(reader, sort_best_first(candidates), limit)
    return _search_hits(reader, ranked[:limit]), len(ranked) > limit


def _fetch_existing(reader: Reader, ranked: list[Candidate], limit: int) -> list[tuple[Candidate, EventRow]]:
    """The first candidates with their events, up to one more than the limit. Ties are ordered by id.

    An index may still have events that the archive has deleted. Ties are fetched together, because only the archive has
    their ids.
    """
    results: list[tuple[Candidate, EventRow]] = []
    start = 0
    while start < len(ranked) and len(results) <= limit:
        end = min(start + limit + 1, len(ranked))
        while end < len(ranked) and is_tie(ranked[end - 1], ranked[end]):
            end += 1
        events = reader.events(candidate.key for candidate in ranked[start:end])
        results += [(candidate, events[candidate.key]) for candidate in ranked[start:end] if candidate.key in events]
        start = end
    return sorted(results, key=lambda pair: (-pair[0].score(), -pair[0].at, pair[1].id))


def _title_shares(
    reader: Reader, text: TextSnapshot, candidates: Iterable[Candidate], query: ParsedQuery
) -> dict[int, float]:
    """The share of the query that the title and project of each session contain, weighted by idf."""
    weights = {term: text.idf(term) for term in query.terms}
    total = sum(weights.values())
    if not total:
        return {}
    titles = reader.titles({candidate.session for candidate in candidates})
    return {
        session: sum(weights[term] for term in weights.keys() & _title_words(title)) / total
        for session, title in titles.items()
    }


@lru_cache(maxsize=16_384)
def _title_words(title: str) -> frozenset[str]:
    """The words of a title. Cached, because every query needs the same few hundred titles."""
    return frozenset(words(title))


def _search_hits(reader: Reader, ranked: list[tuple[Candidate, EventRow]]) -> list[SearchHit]:
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
    """The full text of an event. A tool call has a readable form."""
    return call_text(event.tool, event.arguments()) if event.kind is Kind.TOOL_CALL else event.text()


def deadline_check(is_late: Callable[[], bool]) -> Callable[[], None]:
    """A function that raises `DeadlineExceeded` if `is_late()` is true."""

    def check() -> None:
        if is_late():
            raise DeadlineExceeded("the request took longer than its deadline")

    return check
