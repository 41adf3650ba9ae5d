"""What makes one moment better than another. Pure: candidates in, scores and their parts out.

A candidate is worth its words, and how close it is in meaning. It is helped by what stands around it: a good match in the
same turn, in the turns beside it, in the session, in the session's title; and by the time that the question speaks of.
The parts add up, so that an answer can be explained; the sum becomes a score between 0 and 1 at the very end. Every part
has been measured by taking it away (bench/quality): what did not pay is not here.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec import Struct

from recollect.search.times import Window


class Ranking(Struct, frozen=True, kw_only=True):
    """How much each part counts."""

    presence: float = 0.7  # a word being there at all, beside how often it is there
    said: float = 16.0  # for being said by a person or an agent: what a tool put out is long, and seldom the answer
    name: float = 1.3  # how much more a name counts than another word
    meaning: float = 25.0  # times the likeness
    turn: float = 0.15  # of the best other match in the same turn
    beside: tuple[float, ...] = (0.2, 0.1)  # of the best match in the turns one and two away
    session: float = 0.15  # of the session's best matches together
    title: float = 15.0  # times the share of the question that the session's title has
    time: float = 20.0  # for lying in the time that the question speaks of
    candidates: int = 600  # by words; the more, the more help is seen
    near: int = 100  # by meaning


RANKING = Ranking()
BEST_OF_SESSION = 3  # matches that speak for a session
NOTHING = (0.0, 0.0)
SATURATION = 40.0  # the sum that becomes a score of 0.5
DECIMALS = 6  # of a score that is shown; candidates are in the order of the score that is shown


class Candidate(Struct):
    """A moment that may be an answer. `parts` say what it is worth, and why."""

    key: int
    session: int
    turn: int
    seq: int
    at: int
    kind: int
    parts: dict[str, float]

    def total(self) -> float:
        return sum(self.parts.values())

    def score(self) -> float:
        return score_of(self.total())


def score_of(total: float) -> float:
    """The score that is shown, from 0 to 1. Sorting by it keeps candidates of equal shown scores in tie order."""
    return round(total / (total + SATURATION), DECIMALS)


def help_each_other(candidates: Sequence[Candidate], ranking: Ranking) -> None:
    """What stands around a match speaks for it: its turn, the turns beside it, its session.

    Words speak louder than meaning here: a likeness is vague enough without being handed on.
    """
    worth = [candidate.parts.get("words") or candidate.total() for candidate in candidates]
    turns: dict[tuple[int, int], tuple[float, float]] = {}
    sessions: dict[int, list[float]] = defaultdict(list)
    for candidate, own in zip(candidates, worth, strict=True):
        place = (candidate.session, candidate.turn)
        turns[place] = _two_best(turns.get(place, NOTHING), own)
        sessions[candidate.session].append(own)
    together = {session: sum(sorted(scores)[-BEST_OF_SESSION:]) for session, scores in sessions.items()}
    steps = [(step, part) for far, part in enumerate(ranking.beside, 1) for step in (-far, far)]
    for candidate, own in zip(candidates, worth, strict=True):
        session, turn = candidate.session, candidate.turn
        _add(candidate, "session", ranking.session * together[session])
        if len(sessions[session]) > 1:
            _add(candidate, "turn", ranking.turn * _other(turns[session, turn], own))
            beside = 0.0
            for step, part in steps:
                if (best := turns.get((session, turn + step))) is not None:
                    beside += part * _other(best, own)
            _add(candidate, "beside", beside)


def _two_best(best: tuple[float, float], score: float) -> tuple[float, float]:
    """The two highest scores of a turn that are not the same."""
    first, second = best
    if score > first:
        return score, first
    return (first, score) if second < score < first else best


def _other(best: tuple[float, float], own: float) -> float:
    """What is worth exactly as much says, as good as always, exactly the same: nobody speaks for a twin."""
    return best[0] if best[0] != own else best[1]


def help_what_was_said(candidates: Iterable[Candidate], kinds: Container[int], ranking: Ranking) -> None:
    for candidate in candidates:
        if candidate.kind in kinds:
            _add(candidate, "said", ranking.said)


def help_by_title(candidates: Iterable[Candidate], shares: Mapping[int, float], ranking: Ranking) -> None:
    """`shares`: how much of the question the title of each session has, from 0 to 1."""
    for candidate in candidates:
        _add(candidate, "title", ranking.title * shares.get(candidate.session, 0.0))


def help_by_time(candidates: Iterable[Candidate], windows: Sequence[Window], ranking: Ranking) -> None:
    if windows:
        for candidate in candidates:
            _add(candidate, "time", ranking.time * max(window.fit(candidate.at) for window in windows))


def _add(candidate: Candidate, part: str, worth: float) -> None:
    if worth:
        candidate.parts[part] = worth


def are_equal(one: Candidate, other: Candidate) -> bool:
    return (one.score(), one.at) == (other.score(), other.at)


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first, of equals the newest."""
    return sorted(candidates, key=lambda one: (-one.score(), -one.at))
