"""The rules: a turn that was read becomes one observation of what it was, and seldom one more of what it settled."""

from recollect.model import Event, Observation
from recollect.observe._concepts import concepts_of
from recollect.observe._facts import (
    FACT,
    FACTS,
    error_of,
    facts_of,
    failing,
    narrative_of,
    passing_after,
    subtitle_of,
    unnamed,
)
from recollect.observe._files import MOST_FILES
from recollect.observe._prose import cut, unmarked
from recollect.observe._requests import is_greeting, is_trivial
from recollect.observe._settled import settled_in
from recollect.observe._subjects import subject_of
from recollect.observe._titles import title_of
from recollect.observe._turn import Turn
from recollect.observe._types import type_of

MOST_EVIDENCE = 6
MOST_OBSERVATIONS = 4
BRIEF = 160  # characters: an answer shorter than this to a prompt that says nothing is an exchange of courtesies


def observations(turn: Turn) -> list[Observation]:
    """The turn's observations, the best first; none for an exchange of courtesies."""
    if not _is_worth(turn):
        return []
    chief = _chief(turn)
    more = [other for other in settled_in(turn, chief) if other.title.lower() not in {"", chief.title.lower()}]
    return [chief, *more][:MOST_OBSERVATIONS] if chief.title else more


def _is_worth(turn: Turn) -> bool:
    if turn.changed or turn.commits or turn.choices:
        return True
    asked = bool(turn.request) and not is_trivial(turn.request)
    if asked and turn.said.sentences:
        return True
    if asked:
        return turn.calls > 0
    return not is_greeting(turn.request) and sum(map(len, turn.told)) >= BRIEF


def _chief(turn: Turn) -> Observation:
    subject = subject_of(turn.asked)
    kind = type_of(turn, subject)
    title = title_of(turn, kind, subject)
    facts = facts_of(turn, kind, title)
    narrative = narrative_of(turn, kind, subject)
    if names := unnamed(turn, " ".join((title, narrative, *facts))):
        facts = [*facts[: FACTS - 1], names]
    evidence = evidence_of(turn)
    return Observation(
        type=kind,
        title=title,
        subtitle=subtitle_of(turn, kind, title),
        narrative=narrative,
        facts=tuple(facts or [cut(f"Asked: {unmarked(subject or turn.request) or title}", FACT)]),
        concepts=concepts_of((turn.request, turn.answer.text if turn.answer else "", error_of(turn)), turn.changed, title),
        files_read=tuple(turn.read[:MOST_FILES]),
        files_modified=tuple(turn.changed[:MOST_FILES]),
        evidence=tuple(event.id for event in evidence),
        at=evidence[0].at,
    )


def evidence_of(turn: Turn) -> list[Event]:
    """The events that tell it: the answer, the last edit, the failure and what passed after it, the commit, the prompt.

    The turn's last event is there for the turn that has none of these, and proves at least that it was.
    """
    found = [turn.answer, turn.edits[-1] if turn.edits else None]
    if failed := failing(turn):
        passed = passing_after(turn, failed)
        found += [failed.response, passed.response if passed else None]
    found += [commit.event for commit in turn.commits[-1:]]
    found += [turn.prompt, *turn.prompts[:1], turn.runs[-1].response if turn.runs else None, turn.last]
    distinct = {event.id: event for event in found if event is not None}
    return list(distinct.values())[:MOST_EVIDENCE]
