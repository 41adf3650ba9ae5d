"""Search in the memory: a query becomes ranked observations."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from recollect.index.filters import Filters
from recollect.index.text import TextSnapshot
from recollect.index.words import words
from recollect.search import MOST_TERMS, Mode
from recollect.search.query import ParsedQuery
from recollect.search.semantic import SemanticIndex, embed_query, is_written, known_words, understood_text
from recollect.store.memory import Memory, ObservationFilters, ObservationRow

CANDIDATES = 200  # observations by words, and as many by meaning
PRESENT = 1.0  # for sharing any word: a word that most observations have scores next to nothing
MEANING = 12.0  # weight of a similarity of 1, beside words
SATURATION = 6.0  # the weight that becomes a score of 0.5
DECIMALS = 2  # of a shown score; results are ordered by the shown score
LOWER_FLOOR = 0.5  # of the model's floor, for a search by meaning alone: a paraphrase seldom reaches the full floor


class ObservationHit(Struct, frozen=True):
    """An observation and its score. `parts` are the terms of the score, by name."""

    score: float
    observation: ObservationRow
    parts: dict[str, float]


class ObservationSearch(Struct, frozen=True):
    """Where observations are searched. `text` only tells how rare a word is, and whether it occurs in the events."""

    memory: Memory
    semantic: SemanticIndex | None
    text: TextSnapshot | None
    filters: ObservationFilters
    mode: Mode
    calling_sessions: tuple[int, ...] = ()  # their keys: they do not count as having written a word


def search_observations(
    where: ObservationSearch,
    query: ParsedQuery,
    limit: int,
    turn_text: Callable[[ObservationRow], str] = lambda row: "",
) -> list[ObservationHit]:
    """The observations that answer a query, best first.

    In text mode, a query of identifiers alone first finds observations that have an identifier as it is written,
    in their own text or in the text of their turn.
    """
    if where.mode != "text":
        return _rank(where, query)[:limit]
    narrowed = query.without_identifier_parts(lambda phrase: _occurs(where, phrase))
    if narrowed == query or query.standalone_terms or query.required_phrases:
        return _rank(where, narrowed)[:limit]
    names = "|".join(re.escape(identifier.written) for identifier in query.identifiers)
    name = re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)
    written = (
        hit
        for hit in _rank(where, narrowed)
        if name.search(_full_text(hit.observation)) or name.search(turn_text(hit.observation))
    )
    return list(islice(written, limit)) or _rank(where, query)[:limit]


def _full_text(row: ObservationRow) -> str:
    return "\n".join(
        (row.title, row.subtitle, row.narrative, *row.facts, *row.concepts, *row.files_read, *row.files_modified)
    )


def _rank(where: ObservationSearch, query: ParsedQuery) -> list[ObservationHit]:
    parts: dict[int, dict[str, float]] = {}
    if where.mode != "vector" and not query.is_empty():
        for key, score in where.memory.match_words(full_text_query(query, where.text), where.filters, CANDIDATES):
            parts[key] = {"words": PRESENT + score}
    if where.mode != "text" and where.semantic is not None:
        _add_by_meaning(where, where.semantic, query, parts)
    rows = where.memory.by_keys(list(parts))
    found = [ObservationHit(_score(parts[key], where.mode), row, parts[key]) for key, row in rows.items()]
    found.sort(key=lambda hit: (-hit.score, -hit.observation.at, hit.observation.id))
    return _without_duplicates(found)


def full_text_query(query: ParsedQuery, text: TextSnapshot | None) -> str:
    """The query in the language of SQLite's full-text search, the rarest words first. Every word is quoted."""
    terms = query.terms
    if text is not None:
        terms = tuple(sorted(terms, key=lambda term: -text.idf(term)))
    required = [_quote(phrase) for phrase in query.required_phrases[:MOST_TERMS]]
    groups = (*query.optional_phrases[:MOST_TERMS], *((term,) for term in terms[:MOST_TERMS]))
    optional = [_quote(group) for group in groups]
    if not required:
        return " OR ".join(optional)
    return f"({' AND '.join(required)}) AND ({' OR '.join([*required, *optional])})"


def _occurs(where: ObservationSearch, phrase: Sequence[str]) -> bool:
    """Whether an observation outside the excluded sessions has these words in order."""
    filters = ObservationFilters(excluded_sessions=where.filters.excluded_sessions)
    return bool(phrase) and bool(where.memory.match_words(_quote(phrase), filters, 1))


def _quote(group: Sequence[str]) -> str:
    return '"' + " ".join(group).replace('"', "") + '"'


def _add_by_meaning(
    where: ObservationSearch, semantic: SemanticIndex, query: ParsedQuery, parts: dict[int, dict[str, float]]
) -> None:
    """Add observations that are similar by the words that the model knows; score all by all words of the query.

    In a search by meaning alone, words that the model can only guess find observations too: nothing else would.
    """

    def occurs(word: str) -> bool:
        return is_written(where.text, word, where.calling_sessions) or _occurs(where, words(word))

    plain = understood_text(semantic.model, query, occurs)
    vector = embed_query(semantic.model, where.text, plain)
    if vector is None:
        return
    is_alone = where.mode == "vector"
    known = " ".join(known_words(semantic.model, plain))
    known_vector = vector if is_alone or known == plain else embed_query(semantic.model, where.text, known)
    floor = semantic.model.floor * (LOWER_FLOOR if is_alone else 1)
    keys, excluded = _passing_keys(where)
    for hit in semantic.nearest(known_vector, Filters(), CANDIDATES, floor, keys=keys, excluded_keys=excluded):
        parts.setdefault(hit.key, {})
    for key, similarity in semantic.vectors.similarities(vector, list(parts)).items():
        if similarity > 0:
            parts[key]["meaning"] = similarity


def _passing_keys(where: ObservationSearch) -> tuple[list[int] | None, list[int]]:
    """The keys of the only observations that pass, or None for all; and the keys of the excluded ones."""
    filters = where.filters
    excluded = (
        [row.key for row in where.memory.observations_of_types(filters.excluded_sessions, ())]
        if filters.excluded_sessions
        else []
    )
    others = replace(filters, excluded_sessions=())
    return None if others.is_empty() else where.memory.keys(others), excluded


def _score(parts: Mapping[str, float], mode: Mode) -> float:
    if mode == "vector":
        return shown_score(parts.get("meaning", 0.0))
    return shown_score(to_score(parts.get("words", 0.0) + MEANING * parts.get("meaning", 0.0)))


def shown_score(score: float) -> float:
    return round(min(1.0, max(0.0, score)), DECIMALS)


def to_score(weight: float) -> float:
    """A weight as a score from 0 to 1."""
    return weight / (weight + SATURATION)


def _without_duplicates(found: Sequence[ObservationHit]) -> list[ObservationHit]:
    """The best of all observations with the same project, type and title."""
    best: dict[tuple[str | None, str, str], ObservationHit] = {}
    for hit in found:
        row = hit.observation
        best.setdefault((row.project, row.type, " ".join(row.title.casefold().split())), hit)
    return list(best.values())
