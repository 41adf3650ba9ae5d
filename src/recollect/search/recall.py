"""Finding in the memory: a question becomes observations; several concepts become the sessions that hold all of them."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import tantivy
from msgspec import Struct
from msgspec.structs import replace
from tantivy import Occur, Query

from recollect.index.text import Scope, TextIndex, best, in_sessions, phrase, term, within
from recollect.index.words import words
from recollect.search import MOST_TERMS, Meaning, Mode, is_written, known_words, nearest, rarity, understood, vector_of
from recollect.search.question import ParsedQuery, parse
from recollect.store.memory import Filters, Memory, ObservationRow

if TYPE_CHECKING:
    from recollect.index.vectors import Only

CANDIDATES = 200  # observations by words, and as many by meaning
PRESENT = 1.0  # for sharing a word at all: where most observations have it, the engine gives next to nothing
MEANING = 12.0  # what a likeness of 1 is worth beside words
HALF = 6.0  # the worth that becomes a score of 0.5
DECIMALS = 2  # of a score that is shown; results are in the order of the score that is shown
ASKED_FOR = 0.5  # of the model's floor is enough where only meaning is asked for: a paraphrase seldom reaches all of it
SESSIONS = 500  # that may hold the rarest of several concepts
EVENTS = 2_000  # of a concept that are looked at


class ObservationHit(Struct, frozen=True):
    score: float
    observation: ObservationRow
    parts: dict[str, float]


class ConversationHit(Struct, frozen=True):
    """A session that holds every concept: how well, and the key and time of the event that shows the first of them best."""

    score: float
    session: int
    event: int
    at: int


# ---- observations


def recall(
    memory: Memory,
    meaning: Meaning | None,
    searcher: tantivy.Searcher | None,
    asked: ParsedQuery,
    filters: Filters,
    mode: Mode,
    limit: int,
    asking: tuple[int, ...] = (),
    turn_text: Callable[[ObservationRow], str] = lambda row: "",
) -> list[ObservationHit]:
    """The observations that answer a question, best first. The searcher only tells how rare a word is, and whether anybody
    has written it; `asking` are the keys of the sessions that ask, which do not count."""

    def ranked(asked: ParsedQuery) -> list[ObservationHit]:
        return _ranked(memory, meaning, searcher, asked, filters, mode, asking)

    if mode != "text":
        return ranked(asked)[:limit]
    narrowed = asked.with_identifiers_whole(lambda whole: _occurs(memory, whole, filters.without))
    if narrowed == asked or asked.alone or asked.phrases:
        return ranked(narrowed)[:limit]
    names = "|".join(re.escape(identifier.written) for identifier in asked.identifiers)
    name = re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.IGNORECASE)
    written = (
        one for one in ranked(narrowed) if name.search(_told(one.observation)) or name.search(turn_text(one.observation))
    )
    return list(islice(written, limit)) or ranked(asked)[:limit]


def _told(row: ObservationRow) -> str:
    """All that an observation says, as it was written."""
    return "\n".join(
        (row.title, row.subtitle, row.narrative, *row.facts, *row.concepts, *row.files_read, *row.files_modified)
    )


def _ranked(
    memory: Memory,
    meaning: Meaning | None,
    searcher: tantivy.Searcher | None,
    asked: ParsedQuery,
    filters: Filters,
    mode: Mode,
    asking: tuple[int, ...],
) -> list[ObservationHit]:
    parts: dict[int, dict[str, float]] = {}
    if mode != "vector":
        for key, score in memory.matching(match_of(asked, searcher), filters, CANDIDATES) if not asked.is_empty() else ():
            parts[key] = {"words": PRESENT + score}
    if mode != "text" and meaning is not None:
        floor = meaning.model.floor * (ASKED_FOR if mode == "vector" else 1)

        def is_known(word: str) -> bool:
            return is_written(searcher, word, asking) or _occurs(memory, tuple(words(word)), filters.without)

        _add_meaning(memory, meaning, searcher, asked, filters, parts, floor, is_known, alone=mode == "vector")
    rows = memory.by_keys(list(parts))
    found = [ObservationHit(_score(parts[key], mode), row, parts[key]) for key, row in rows.items()]
    found.sort(key=lambda one: (-one.score, -one.observation.at, one.observation.id))
    return _once_each(found)


def match_of(asked: ParsedQuery, searcher: tantivy.Searcher | None) -> str:
    """The question in the engine's language. Everything in it is words of ours, in quotes: letters and digits only."""
    terms = asked.terms
    if searcher is not None:
        terms = tuple(sorted(terms, key=lambda word: -rarity(searcher, word)))
    phrases = [_quoted(phrase) for phrase in asked.phrases[:MOST_TERMS]]
    others = [_quoted(group) for group in (*asked.wholes[:MOST_TERMS], *((term,) for term in terms[:MOST_TERMS]))]
    if not phrases:
        return " OR ".join(others)
    must = " AND ".join(phrases)
    return f"({must}) AND ({' OR '.join([*phrases, *others])})"


def _occurs(memory: Memory, phrase: Sequence[str], without: tuple[bytes, ...]) -> bool:
    """Whether some observation, not of the sessions left out, has these words next to each other."""
    return bool(phrase) and bool(memory.matching(_quoted(phrase), Filters(without=without), 1))


def _quoted(group: Sequence[str]) -> str:
    return '"' + " ".join(group).replace('"', "") + '"'


def _add_meaning(
    memory: Memory,
    meaning: Meaning,
    searcher: tantivy.Searcher | None,
    asked: ParsedQuery,
    filters: Filters,
    parts: dict[int, dict[str, float]],
    floor: float,
    is_known: Callable[[str], bool],
    *,
    alone: bool,
) -> None:
    """Add what is close in meaning by the words that the model knows, and say of all how close they are by all words.

    Where meaning is all that is asked for, no other way finds the words that are guessed at: they count too.
    """
    text = understood(meaning.model, asked, is_known)
    question = vector_of(meaning.model, searcher, text)
    if question is None:
        return
    known = " ".join(known_words(meaning.model, text))
    whole = known == text or alone
    sure = question if whole else vector_of(meaning.model, searcher, known)
    only = _only(memory, filters)
    for near in nearest(meaning, sure, only, CANDIDATES, floor):
        parts.setdefault(near.key, {})
    for key, likeness in meaning.vectors.likeness_of(question, list(parts)).items():
        if likeness > 0:
            parts[key]["meaning"] = likeness


def _only(memory: Memory, filters: Filters) -> "Only":
    """The vectors that the filters let through. Sessions to leave out alone are few: their keys suffice."""
    from recollect.index.vectors import Only

    if not filters.without:
        return Only() if filters.is_empty() else Only(keys=tuple(memory.keys(filters)))
    left_out = [row.key for row in memory.of_types(filters.without, ())]
    others = replace(filters, without=())
    return Only(keys=None if others.is_empty() else tuple(memory.keys(others)), without_keys=tuple(left_out))


def _score(parts: Mapping[str, float], mode: Mode) -> float:
    if mode == "vector":
        return shown_score(parts.get("meaning", 0.0))
    return shown_score(score_of(parts.get("words", 0.0) + MEANING * parts.get("meaning", 0.0)))


def shown_score(score: float) -> float:
    return round(min(1.0, max(0.0, score)), DECIMALS)


def score_of(worth: float) -> float:
    """What something is worth, as a score from 0 to 1."""
    return worth / (worth + HALF)


def _once_each(found: Sequence[ObservationHit]) -> list[ObservationHit]:
    """What says the same in the same project is shown once, in its best place."""
    seen: dict[tuple[str | None, str, str], ObservationHit] = {}
    for one in found:
        row = one.observation
        seen.setdefault((row.project, row.type, " ".join(row.title.casefold().split())), one)
    return list(seen.values())


# ---- conversations


def conversations(
    index: TextIndex,
    meaning: Meaning | None,
    concepts: Sequence[str],
    scope: Scope,
    sessions: Sequence[int] | None,
    mode: Mode,
    limit: int,
    check: Callable[[], None],
) -> list[ConversationHit]:
    """The sessions that hold every one of the concepts, best first. `sessions` are those that may be shown; None is all."""
    searcher = index.searcher()
    asked = [parse(concept) for concept in concepts]
    order = sorted(
        range(len(asked)), key=lambda place: -max((rarity(searcher, word) for word in asked[place].terms), default=0)
    )
    found: dict[int, dict[int, tuple[float, int, int]]] = {}
    allowed = None if sessions is None else set(sessions)
    for place in order:
        check()
        held = _holding(searcher, meaning, asked[place], scope, allowed, mode, check)
        found[place] = held
        allowed = set(held)
    if not allowed:
        return []
    ranked = []
    for session in allowed:
        score = shown_score(sum(found[place][session][0] for place in found) / len(found))
        ranked.append(ConversationHit(score, session, *found[0][session][1:]))
    return sorted(ranked, key=lambda one: (-one.score, -one.at, one.session))[:limit]


def _holding(
    searcher: tantivy.Searcher,
    meaning: Meaning | None,
    asked: ParsedQuery,
    scope: Scope,
    allowed: set[int] | None,
    mode: Mode,
    check: Callable[[], None],
) -> dict[int, tuple[float, int, int]]:
    """The best event of each session that holds a concept: all its words at once, or something close in meaning."""
    best_of: dict[int, tuple[float, int, int]] = {}

    def take(session: int, score: float, key: int, at: int) -> None:
        if (allowed is None or session in allowed) and score > best_of.get(session, (0.0, 0, 0))[0]:
            best_of[session] = (score, key, at)

    if mode != "vector" and not asked.is_empty():
        query = _all_words(asked)
        if allowed is not None and len(allowed) <= SESSIONS:
            query = in_sessions(query, allowed)
        for hit in best(searcher, within(query, scope), EVENTS, check):
            take(hit.session, score_of(hit.score), hit.key, hit.at)
    if mode != "text" and meaning is not None:
        from recollect.index.vectors import Only

        sessions = None if allowed is None else tuple(allowed)
        only = Only(kinds=scope.kinds, sessions=sessions, without=scope.without)
        text = understood(meaning.model, asked, lambda word: is_written(searcher, word, scope.without))
        known = known_words(meaning.model, text)
        sure = vector_of(meaning.model, searcher, " ".join(known))
        for near in nearest(meaning, sure, only, EVENTS, meaning.model.floor):
            take(near.session, score_of(near.likeness * MEANING), near.key, near.at)
    return best_of


def _all_words(asked: ParsedQuery) -> Query:
    parts = [(Occur.Must, term(word)) for word in asked.terms]
    parts += [(Occur.Must, phrase(list(group))) for group in (*asked.phrases, *asked.wholes)]
    return Query.boolean_query(parts)
