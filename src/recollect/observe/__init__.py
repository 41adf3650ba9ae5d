"""Observations without a model: pure rules that turn one finished turn into what is worth remembering of it.

A turn is read once (`_reading`), its texts become sentences (`_prose`), cues tell what a sentence does (`_cues`), and the
rules put together what was asked, what changed, which check failed and what made it pass, what was decided and why.
No I/O, no clock, no chance: the same events always give the same observations.
"""

from collections.abc import Sequence

from recollect.model import Event, Observation

RULES: int = 1  # raised when the rules change, so that everything is observed anew


def observe(events: Sequence[Event], cwd: str | None) -> list[Observation]:
    """The observations of one finished turn, the best first. Never raises, whatever the events hold.

    The rules are imported here and not before: whoever only asks for their version should not wait for them.
    """
    from recollect.observe._reading import read_turn
    from recollect.observe._rules import observations

    return observations(read_turn(events, cwd))


def states_cause(story: str) -> bool:
    """Whether what is remembered of a turn says why something was wrong, whoever wrote it."""
    from recollect.observe._facts import CAUSED
    from recollect.observe._sentences import causes_in

    return any(line.startswith(CAUSED) for line in story.split("\n")) or bool(causes_in(story))


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, as the rules read them: without its headings, code and emphasis."""
    from recollect.observe._prose import prose

    return prose(text).sentences
