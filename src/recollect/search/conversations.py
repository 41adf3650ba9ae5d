"""Finds conversations: the sessions that contain all of several concepts."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from recollect.index.filters import Filters
from recollect.index.text import TextClause, TextIndex, TextSnapshot
from recollect.search import Mode
from recollect.search.observations import MEANING, shown_score, to_score
from recollect.search.query import ParsedQuery, parse
from recollect.search.semantic import SemanticIndex, embed_query, known_words, occurs_in_events, understood_text

MAX_SESSIONS = 500  # session filters in one query; for more sessions, the hits are filtered instead
MAX_EVENTS = 2_000  # hits of a concept


class ConversationHit(Struct, frozen=True):
    """A session that contains every concept, and its best event for the first of them."""

    score: float
    session: int  # its key
    event: int  # its key
    at: int


class BestEvent(Struct, frozen=True):
    """The event of a session that matches a concept best."""

    score: float
    key: int
    at: int


def search_conversations(
    index: TextIndex,
    semantic: SemanticIndex | None,
    concepts: Sequence[str],
    filters: Filters,
    mode: Mode,
    limit: int,
    check: Callable[[], None],
) -> list[ConversationHit]:
    """The sessions that contain every one of the concepts, best first."""
    text = index.snapshot()
    queries = [parse(concept) for concept in concepts]

    def rarity(concept: int) -> float:
        return max((text.idf(term) for term in queries[concept].terms), default=0)

    best: dict[int, dict[int, BestEvent]] = {}  # by concept and session
    for concept in sorted(range(len(queries)), key=rarity, reverse=True):
        check()
        best[concept] = _best_events(text, semantic, queries[concept], filters, mode, check)
        filters = replace(filters, sessions=tuple(best[concept]))
    ranked = []
    for session in filters.sessions or ():
        score = shown_score(sum(events[session].score for events in best.values()) / len(best))
        ranked.append(ConversationHit(score, session, best[0][session].key, best[0][session].at))
    return sorted(ranked, key=lambda hit: (-hit.score, -hit.at, hit.session))[:limit]


def _best_events(
    text: TextSnapshot,
    semantic: SemanticIndex | None,
    query: ParsedQuery,
    filters: Filters,
    mode: Mode,
    check: Callable[[], None],
) -> dict[int, BestEvent]:
    """The best event of each session that contains a concept: all its words at once, or something similar."""
    best: dict[int, BestEvent] = {}
    allowed = None if filters.sessions is None else set(filters.sessions)

    def add(session: int, event: BestEvent) -> None:
        is_better = event.score > (best[session].score if session in best else 0.0)
        if is_better and (allowed is None or session in allowed):
            best[session] = event

    if mode != "vector" and not query.is_empty():
        narrowed = filters if allowed is None or len(allowed) <= MAX_SESSIONS else replace(filters, sessions=None)
        for hit in text.search(_all_words(query), narrowed, MAX_EVENTS, check):
            add(hit.session, BestEvent(to_score(hit.score), hit.key, hit.at))
    if mode != "text" and semantic is not None:
        plain = understood_text(semantic.model, query, lambda word: occurs_in_events(text, word, filters.excluded_sessions))
        vector = embed_query(semantic.model, text, " ".join(known_words(semantic.model, plain)))
        for hit in semantic.nearest(vector, filters, MAX_EVENTS, semantic.model.floor):
            add(hit.session, BestEvent(to_score(hit.score * MEANING), hit.key, hit.at))
    return best


def _all_words(query: ParsedQuery) -> list[TextClause]:
    phrases = (*((term,) for term in query.terms), *query.required_phrases, *query.optional_phrases)
    return [TextClause(phrase, is_required=True) for phrase in phrases]
