"""Settled: what a turn laid down: a decision, a way of doing things, a cause found on the way.

Often that is all the turn was, and then it is the turn's first observation; else it stands beside the work.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from recollect.model import Event
from recollect.observe import _choices, _cues, _types
from recollect.observe._requests import Wish, is_question, is_trivial
from recollect.observe._subjects import request_title
from recollect.observe._turn import Turn

TYPED = 900  # characters: what is longer was pasted, and its rules are not the person's decisions
EARLY = 3  # sentences of an answer among which what it settles is expected
BRIEF = 12  # sentences: an answer of no more is about what it settles, wherever it says so
STOPPED = re.compile(r"(?<=[a-z\d)][.!]) +(?=[a-z])")
ASIDES = frozenset("thoughts agreed ok okay right makes sense sounds good what do you think".split())


class Settled(Struct, frozen=True):
    """What was settled, by which sentences of which events. `whole`: the turn was about nothing else."""

    kind: str
    found: list[tuple[str, Event]]
    whole: bool = False

    def lead(self, turn: Turn) -> tuple[str, Event]:
        """The sentence that says it best: the person's before the agent's, the reasoned before the bare."""
        return max(self.found, key=lambda pair: (pair[1] is not turn.answer, _choices.has_reason(pair[0])))


def settled_in(turn: Turn) -> list[Settled]:
    """At most one of each kind, and each sentence counts once."""
    acted = bool(turn.changed or turn.commits)
    patterns = _patterns(turn, acted=acted)
    taken = {sentence for sentence, _ in patterns}
    decisions = [pair for pair in _decisions(turn, acted=acted) if pair[0] not in taken]
    found = (("decision", decisions, _is_about_choice), ("pattern", patterns, _is_about_pattern))
    return [Settled(kind, pairs, whole(turn, pairs, acted=acted)) for kind, pairs, whole in found if pairs]


def _typed(turn: Turn) -> list[tuple[str, Event]]:
    """What the person typed, sentence by sentence; many end none with a capital letter."""
    if not turn.prompt or len(turn.request) > TYPED:
        return []
    return [(_cues.opened(part), turn.prompt) for sentence in turn.asked.sentences[:12] for part in STOPPED.split(sentence)]


def _decisions(turn: Turn, *, acted: bool) -> list[tuple[str, Event]]:
    """What the person laid down or chose, then what the agent says that it decided."""
    found = list(turn.choices)
    if _cues.has(_choices.WORDS, turn.wish.low):
        found += [pair for pair in _typed(turn) if _choices.laid_down(pair[0], acted=acted)]
    if turn.answer and (words := _cues.hints(_choices.TOLD_WORDS, turn.low)):
        asked = not acted and _asks_to_choose(turn)
        hinted = (text for text, low in zip(turn.sentences, turn.low.split("\n"), strict=True) if _cues.has(words, low))
        found += [(text, turn.answer) for text in hinted if _choices.chosen(text, acted=acted, asked=asked)]
    return found


def _patterns(turn: Turn, *, acted: bool) -> list[tuple[str, Event]]:
    found: list[tuple[str, Event]] = []
    if _cues.has(_cues.PATTERN_WORDS, turn.wish.low):
        found += [pair for pair in _typed(turn) if _cues.is_rule(pair[0], acted=acted)]
    if turn.answer and (words := _cues.hints(_cues.PATTERN_WORDS, turn.low)):
        found += [(text, turn.answer) for text in turn.told if _cues.is_pattern(text, words, acted=acted)]
    return [pair for pair in found if not _cues.DEICTIC.match(pair[0])]


def _asks_to_choose(turn: Turn) -> bool:
    return len(turn.request) <= TYPED and any(map(_choices.asks_to_choose, turn.asked.sentences[:6]))


def _is_about_choice(turn: Turn, found: list[tuple[str, Event]], *, acted: bool) -> bool:
    """Whether the turn was the choice: it is all that the prompt says, or the answer that the prompt asked for."""
    if any(event is turn.prompt for _, event in found):
        return not turn.commits and _says_nothing_else(turn, found)
    if acted or turn.wish.asks_why() or turn.choices:
        return False
    early = [sentence for sentence in turn.sentences[:EARLY] if any(sentence == text for text, _ in found)]
    if _asks_to_choose(turn):
        return bool(early) or len(turn.sentences) <= BRIEF
    return any(map(_choices.is_settled, early)) and not turn.wish.reports_a_problem()


def _is_about_pattern(turn: Turn, found: list[tuple[str, Event]], *, acted: bool) -> bool:
    if acted and not all(map(_types.PROSE_FILE.search, turn.changed)):
        return False
    if any(event is turn.prompt for _, event in found):
        return _says_nothing_else(turn, found)
    early = any(text in turn.sentences[:EARLY] for text, _ in found)
    return early and not acted and (turn.wish.asks_for_a_rule() or len(turn.sentences) <= EARLY)


def _says_nothing_else(turn: Turn, found: list[tuple[str, Event]]) -> bool:
    """Whether a prompt holds no request and no question beside what it lays down."""
    laid = {sentence for sentence, event in found if event is turn.prompt}
    rest = [text for text, _ in _typed(turn) if text not in laid and not is_trivial(text)]
    return not any(_wants(text) for text in rest)


def _wants(text: str) -> bool:
    if not Wish(text).words - ASIDES:
        return False
    return is_question(text) or any(_types.of_title(request_title(part)) for part in text.split(", ", 2)[:2])


def diagnosed_in(turn: Turn, kind: str) -> Iterator[Settled]:
    """A cause that was named while something else was done."""
    if kind in {"bug-fix", "diagnosis"} or not turn.answer:
        return
    named = [text for text in turn.causes if text in turn.told and Wish(text).reports_a_problem()]
    if found := [(text, turn.answer) for text in named if not _cues.DEICTIC.match(text)]:
        yield Settled("diagnosis", found)
