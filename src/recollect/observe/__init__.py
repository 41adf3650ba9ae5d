"""Step 5, DISTIL: pure rules that turn one finished turn into observations, without a model.

`turn` reads the events. `sentences` and `requests` classify texts, `commands` and `files` classify actions.
`turn_type`, `titles`, `facts` and `decisions` choose the parts of an observation; `rules` assembles it.
`phrases` contains the words and patterns as data. Except for loading them, there is no I/O, no clock and no randomness:
the same events always give the same observations.

The functions here import the rules when they are called. Loading phrases and compiling their patterns takes 47 ms of CPU,
and commands that never distil import this package too.
"""

from collections.abc import Sequence

from recollect.model import Event, Observation

RULES_VERSION = 1  # raise it when the rules change: every turn is then distilled again


def observe(events: Sequence[Event], cwd: str | None) -> list[Observation]:
    """The observations of one finished turn, the main one first. Never raises an error, even for damaged events."""
    # 50 ms of CPU, only needed by processes that distil
    from recollect.observe.rules import make_observations
    from recollect.observe.turn import read_turn

    return make_observations(read_turn(events, cwd))


def states_cause(narrative: str) -> bool:
    """Whether an observation's narrative names a cause. The rules, a model or a person may have written it."""
    from recollect.observe.facts import CAUSE_LABEL  # 34 ms of CPU with the next line, only needed for a cause
    from recollect.observe.sentences import find_causes

    return any(line.startswith(CAUSE_LABEL) for line in narrative.split("\n")) or bool(find_causes(narrative))


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, without headings, code and emphasis."""
    from recollect.observe.sentences import parse_prose  # 13 ms of CPU, only needed to split a text

    return parse_prose(text).sentences
