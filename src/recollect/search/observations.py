"""Searches the memory: a query becomes ranked observations."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from recollect.index.filters import Filters
from recollect.index.text import TextSnapshot
from recollect.index.words import words
from recollect.search import MAX_TERMS, Mode
from recollect.search.query import ParsedQuery
from recollect.search.semantic import SemanticIndex, embed_query, known_words, occurs_in_events, understood_text
from recollect.store.memory import Memory, ObservationRow
from recollect.store.observation_filters import ObservationFilters

CANDIDATES = 200  # observations by words, and the same number by meaning
PRESENT = 1.0  # for any shared word: the BM25 score of a word that most observations have is nearly 0
MEANING = 12.0  # the weight of a similarity of 1
SATURATION = 6.0  # the weight that becomes a score of 0.5
DECIMALS = 2  # of a shown score; results are ordered by the shown score
FLOOR_FACTOR = 0.5  # of the model's floor, for a search by meaning alone: a paraphrase seldom reaches the full floor


class ObservationHit(Struct, frozen=True):
    """An observation and its score. `parts` are the terms of the score, by name."""

    score: float
    observation: ObservationRow
    parts: dict[str, float]


class ObservationSearch(Struct, frozen=True):
    """The indexes, filters and mode of a search. `text` shows how rare a word is, and whether an event has it."""

    memory: Memory
    semantic: SemanticIndex | None
    text: TextSnapshot | None
    filters: ObservationFilters
    mode: Mode
    calling_sessions: tuple[int, ...] = ()  # their keys; words that occur only in these sessions count as unwritten


def search_observations(
    scope: ObservationSearch,
    query: ParsedQuery,
    limit: int,
    turn_text: Callable[[ObservationRow], str] = lambda row: "",
) -> list[ObservationHit]:
    """The observations that answer a query, best first.

    In text mode, a query of identifiers alone first finds observations with exactly such an identifier, in their own
    text or in the text of their turn.
    """
    if scope.mode != "text":
        return _rank(scope, query)[:limit]
    narrowed = query.without_identifier_parts(lambda phrase: _occurs(scope, phrase))
    if narrowed == query or query.standalone_terms or query.required_phrases:
        return _rank(scope, narrowed)[:limit]
    names = "|".join(re.escape(identifier.written) for identifier in query.identifiers)
    name = re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)
    matches = (
        hit
        for hit in _rank(scope, narrowed)
        if name.search(_full_text(hit.observation)) or name.search(turn_text(hit.observation))
    )
    return list(islice(matches, limit)) or _rank(scope, query)[:limit]


def _full_text(row: ObservationRow) -> str:
    return "\n".join(
        (row.title, row.subtitle, row.narrative, *row.facts, *row.concepts, *row.files_read, *row.files_modified)
    )


def _rank(scope: ObservationSearch, query: ParsedQuery) -> list[ObservationHit]:
    parts: dict[int, dict[str, float]] = {}
    if scope.mode != "vector" and not query.is_empty():
        for key, score in scope.memory.match_words(full_text_query(query, scope.text), scope.filters, CANDIDATES):
            parts[key] = {"words": PRESENT + score}
    if scope.mode != "text" and scope.semantic is not None:
        _add_by_meaning(scope, scope.semantic, query, parts)
    rows = scope.memory.by_keys(list(parts))
    hits = [ObservationHit(_score(parts[key], scope.mode), row, parts[key]) for key, row in rows.items()]
    hits.sort(key=lambda hit: (-hit.score, -hit.observation.at, hit.observation.id))
    return _without_duplicates(hits)


def full_text_query(query: ParsedQuery, text: TextSnapshot | None) -> str:
    """The query in the syntax of SQLite's full-text search, the rarest words first. Every word is quoted."""
    terms = query.terms
    if text is not None:
        terms = tuple(sorted(terms, key=lambda term: -text.idf(term)))
    required = [_quote(phrase) for phrase in query.required_phrases[:MAX_TERMS]]
    groups = (*query.optional_phrases[:MAX_TERMS], *((term,) for term in terms[:MAX_TERMS]))
    optional = [_quote(group) for group in groups]
    if not required:
        return " OR ".join(optional)
    return f"({' AND '.join(required)}) AND ({' OR '.join([*required, *optional])})"


def _occurs(scope: ObservationSearch, phrase: Sequence[str]) -> bool:
    """Whether an observation outside the excluded sessions has these words in order."""
    filters = ObservationFilters(excluded_sessions=scope.filters.excluded_sessions)
    return bool(phrase) and bool(scope.memory.match_words(_quote(phrase), filters, 1))


def _quote(group: Sequence[str]) -> str:
    return '"' + " ".join(group).replace('"', "") + '"'


def _add_by_meaning(
    scope: ObservationSearch, semantic: SemanticIndex, query: ParsedQuery, parts: dict[int, dict[str, float]]
) -> None:
    """Add observations that are similar to the words that the model knows. Score all by all words of the query.

    In a search by meaning alone, unknown words also find observations, because such a search has no other candidates.
    """

    def occurs(word: str) -> bool:
        return occurs_in_events(scope.text, word, scope.calling_sessions) or _occurs(scope, words(word))

    plain = understood_text(semantic.model, query, occurs)
    vector = embed_query(semantic.model, scope.text, plain)
    if vector is None:
        return
    is_alone = scope.mode == "vector"
    known = " ".join(known_words(semantic.model, plain))
    known_vector = vector if is_alone or known == plain else embed_query(semantic.model, scope.text, known)
    floor = semantic.model.floor * (FLOOR_FACTOR if is_alone else 1)
    keys, excluded = _passing_keys(scope)
    for hit in semantic.nearest(known_vector, Filters(), CANDIDATES, floor, keys=keys, excluded_keys=excluded):
        parts.setdefault(hit.key, {})
    for key, similarity in semantic.vectors.similarities(vector, list(parts)).items():
        if similarity > 0:
            parts[key]["meaning"] = similarity


def _passing_keys(scope: ObservationSearch) -> tuple[list[int] | None, list[int]]:
    """The keys of the observations that pass, or None if all pass; and the keys of the excluded ones."""
    filters = scope.filters
    excluded = (
        [row.key for row in scope.memory.observations_of_types(filters.excluded_sessions, ())]
        if filters.excluded_sessions
        else []
    )
    others = replace(filters, excluded_sessions=())
    return None if others.is_empty() else scope.memory.keys(others), excluded


def _score(parts: Mapping[str, float], mode: Mode) -> float:
    if mode == "vector":
        return shown_score(parts.get("meaning", 0.0))
    return shown_score(to_score(parts.get("words", 0.0) + MEANING * parts.get("meaning", 0.0)))


def shown_score(score: float) -> float:
    return round(min(1.0, max(0.0, score)), DECIMALS)


def to_score(weight: float) -> float:
    """A weight as a score from 0 to 1."""
    return weight / (weight + SATURATION)


def _without_duplicates(hits: Sequence[ObservationHit]) -> list[ObservationHit]:
    """The hits without duplicates: only the best one with the same project, type and title."""
    best: dict[tuple[str | None, str, str], ObservationHit] = {}
    for hit in hits:
        row = hit.observation
        best.setdefault((row.project, row.type, " ".join(row.title.casefold().split())), hit)
    return list(best.values())
