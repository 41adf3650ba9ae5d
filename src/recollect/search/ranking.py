"""Ranks candidates. Pure functions: candidates in, scores and the parts of the scores out.

A candidate scores for its words and for its similarity in meaning. Other matches boost it: in its turn, in adjacent turns,
in its session, in the session's title. A time that the query names also boosts it. The score is a sum of parts, so that it
can be explained. At the end, the sum becomes a score from 0 to 1. Each part was measured by leaving it out (bench/quality);
parts that did not help were removed.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec import Struct

from recollect.index.place import Place
from recollect.search.time_windows import TimeWindow


class Ranking(Struct, frozen=True, kw_only=True):
    """The weight of each part of a score, and the numbers of candidates."""

    presence: float = 0.7  # of a word's presence, in addition to its frequency
    conclusion: float = 16.0  # for prompts and answers: tool output is long, and seldom the answer
    name: float = 1.3  # factor of a name, compared with another word
    meaning: float = 25.0  # times the similarity
    turn: float = 0.15  # times the best other match in the same turn
    beside: tuple[float, ...] = (0.2, 0.1)  # times the best match one and two turns away
    session: float = 0.15  # times the sum of the session's best matches
    title: float = 15.0  # times the share of the query that the session's title contains
    time: float = 20.0  # for an event in a time that the query names
    word_candidates: int = 600  # events found by words; with more of them, more neighbours can boost
    meaning_candidates: int = 100  # events found by meaning


RANKING = Ranking()
BEST_OF_SESSION = 3  # matches in the sum of a session
NO_MATCHES = (0.0, 0.0)
SATURATION = 40.0  # the sum that becomes a score of 0.5
DECIMALS = 6  # of a shown score; candidates are ordered by the shown score


class Candidate(Place, frozen=True):
    """An event that may be an answer. `parts` are the terms of its score, by name; boosts add to them."""

    parts: dict[str, float]

    def total(self) -> float:
        return sum(self.parts.values())

    def score(self) -> float:
        return to_score(self.total())


def to_score(total: float) -> float:
    """The score to show, from 0 to 1. It is rounded, so that equal shown scores are ties."""
    return round(total / (total + SATURATION), DECIMALS)


def boost_by_neighbours(candidates: Sequence[Candidate], ranking: Ranking) -> None:
    """Boost a match by other matches in its turn, in adjacent turns and in its session.

    The weight of a neighbour is its score for words, if it has one: similarity alone is too vague to boost others.
    """
    weights = [candidate.parts.get("words") or candidate.total() for candidate in candidates]
    turns: dict[tuple[int, int], tuple[float, float]] = {}
    sessions: dict[int, list[float]] = defaultdict(list)
    for candidate, weight in zip(candidates, weights, strict=True):
        place = (candidate.session, candidate.turn)
        turns[place] = _two_best(turns.get(place, NO_MATCHES), weight)
        sessions[candidate.session].append(weight)
    session_sums = {session: sum(sorted(values)[-BEST_OF_SESSION:]) for session, values in sessions.items()}
    steps = [(step, share) for distance, share in enumerate(ranking.beside, 1) for step in (-distance, distance)]
    for candidate, weight in zip(candidates, weights, strict=True):
        session, turn = candidate.session, candidate.turn
        _add(candidate, "session", ranking.session * session_sums[session])
        if len(sessions[session]) > 1:
            _add(candidate, "turn", ranking.turn * _best_other(turns[session, turn], weight))
            beside = 0.0
            for step, share in steps:
                if (best := turns.get((session, turn + step))) is not None:
                    beside += share * _best_other(best, weight)
            _add(candidate, "beside", beside)


def _two_best(best: tuple[float, float], weight: float) -> tuple[float, float]:
    """The two highest distinct weights of a turn."""
    first, second = best
    if weight > first:
        return weight, first
    return (first, weight) if second < weight < first else best


def _best_other(best: tuple[float, float], weight: float) -> float:
    """The best other weight. An equal weight almost always means identical text; identical texts do not boost each other."""
    return best[0] if best[0] != weight else best[1]


def boost_conclusions(candidates: Iterable[Candidate], kinds: Container[int], ranking: Ranking) -> None:
    """Boost events of these kinds: prompts and answers."""
    for candidate in candidates:
        if candidate.kind in kinds:
            _add(candidate, "said", ranking.conclusion)


def boost_by_title(candidates: Iterable[Candidate], shares: Mapping[int, float], ranking: Ranking) -> None:
    """Boost by the share of the query, from 0 to 1, that each session's title contains."""
    for candidate in candidates:
        _add(candidate, "title", ranking.title * shares.get(candidate.session, 0.0))


def boost_by_time(candidates: Iterable[Candidate], windows: Sequence[TimeWindow], ranking: Ranking) -> None:
    """Boost events in or near a time that the query names."""
    if windows:
        for candidate in candidates:
            _add(candidate, "time", ranking.time * max(window.fit(candidate.at) for window in windows))


def _add(candidate: Candidate, part: str, weight: float) -> None:
    if weight:
        candidate.parts[part] = weight


def is_tie(first: Candidate, second: Candidate) -> bool:
    """Whether two candidates have the same score and time."""
    return (first.score(), first.at) == (second.score(), second.at)


def sort_best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; of equal scores, the newest first."""
    return sorted(candidates, key=lambda candidate: (-candidate.score(), -candidate.at))
