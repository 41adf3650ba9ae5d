"""The rules: a turn that was read becomes one observation of what it was, and seldom one more of what it settled."""

from collections.abc import Iterable, Iterator

from recollect.model import Event, Observation
from recollect.observe import _choices, _cues
from recollect.observe._concepts import concepts_of
from recollect.observe._facts import (
    ASKED,
    FACTS,
    NARRATIVE,
    SUBTITLE,
    asked_in,
    distinct,
    error_of,
    facts_of,
    failing,
    narrative_of,
    passing_after,
    says_more,
    subtitle_of,
    unnamed,
)
from recollect.observe._files import MOST_FILES
from recollect.observe._prose import BEGINNING, cut, unmarked
from recollect.observe._requests import is_greeting, is_trivial
from recollect.observe._sentences import LONGEST, SHORTEST, is_sentence
from recollect.observe._settled import Settled, diagnosed_in, settled_in
from recollect.observe._subjects import request_title, subject_of
from recollect.observe._titles import TITLE, title_of, written
from recollect.observe._turn import Turn
from recollect.observe._types import chief_commit, scope_of, type_of

MOST_EVIDENCE = 6
MOST_OBSERVATIONS = 4
BRIEF = 160  # characters: an answer shorter than this to a prompt that says nothing is an exchange of courtesies
CONTRAST = ("instead of", "rather than", ", not ", " over ")


def observations(turn: Turn) -> list[Observation]:
    """The turn's observations, the best first; none for an exchange of courtesies."""
    if not _is_worth(turn):
        return []
    subject = subject_of(turn.asked)
    settled = settled_in(turn)
    whole = next((found for found in settled if found.whole), None)
    chief = _settling(turn, whole, subject) if whole else _chief(turn, subject)
    beside = [found for found in (*settled, *diagnosed_in(turn, chief.type)) if found.kind != chief.type]
    more = [made for found in beside if not (whole and _repeats(found, chief)) for made in _beside(turn, chief, found)]
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


def _chief(turn: Turn, subject: str) -> Observation:
    """What the turn was as a whole."""
    kind = type_of(turn, subject)
    title = title_of(turn, kind, subject)
    facts = facts_of(turn, kind, title)
    narrative = narrative_of(turn, kind, subject)
    evidence = evidence_of(turn)
    return Observation(
        type=kind,
        title=title,
        subtitle=subtitle_of(turn, kind, title),
        narrative=_named(turn, narrative, title, facts),
        facts=tuple(facts),
        concepts=concepts_of((*_said(turn), error_of(turn)), _places(turn), title),
        files_read=tuple(turn.read[:MOST_FILES]),
        files_modified=tuple(turn.changed[:MOST_FILES]),
        evidence=tuple(event.id for event in evidence),
        at=evidence[0].at,
    )


def _said(turn: Turn) -> tuple[str, str]:
    """How the request and the answer begin."""
    return turn.asked.text or turn.request[:BEGINNING], turn.said.text


def _places(turn: Turn) -> list[str]:
    """Where it happened: the part of the project that the commit names, and the files."""
    scope = scope_of(chief_commit(turn))
    return [scope, *turn.changed] if scope else turn.changed


def _named(turn: Turn, narrative: str, title: str, facts: Iterable[str]) -> str:
    """The story, and at its end the names of the request that are nowhere else."""
    names = unnamed(turn, " ".join((title, narrative, *facts)))
    return cut(f"{cut(narrative, NARRATIVE - len(names) - 1)}\n{names}".strip(), NARRATIVE) if names else narrative


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


# ---- what was settled


def _settling(turn: Turn, settled: Settled, subject: str) -> Observation:
    """A turn that was the choice or the rule it laid down: nothing else is said of it."""
    lead, event = settled.lead(turn)
    title = _settled_title(turn, settled, lead, event)
    told = [lead, *(text for text, _ in settled.found if text != lead), *_carried_out(turn, lead)]
    more = [text for at, text in enumerate(told) if at and says_more(text, " ".join(told[:at]), 2)]
    facts = distinct(map(_choices.choice_of, [lead, *more]), title)
    lines = [f"{'Decided' if settled.kind == 'decision' else 'Rule'}: {cut(unmarked(lead), ASKED)}"]
    if event is not turn.prompt and (asked := asked_in(turn, subject)):
        lines.insert(0, f"Asked: {cut(asked, ASKED)}")
    evidence = {event.id: event} | {other.id: other for other in evidence_of(turn)}
    return Observation(
        type=settled.kind,
        title=title,
        subtitle=next((cut(fact, SUBTITLE) for fact in facts if fact.rstrip(".") != title), ""),
        narrative=_named(turn, "\n".join(lines), title, facts),
        facts=tuple(facts),
        concepts=concepts_of(_said(turn), turn.changed, title),
        files_read=tuple(turn.read[:MOST_FILES]),
        files_modified=tuple(turn.changed[:MOST_FILES]),
        evidence=tuple(evidence)[:MOST_EVIDENCE],
        at=event.at,
    )


def _carried_out(turn: Turn, lead: str) -> list[str]:
    """What the answer adds to a choice: what it brings, what goes with it, what was done for it."""
    kept = [text for text in turn.sentences if SHORTEST <= len(text) <= LONGEST and is_sentence(text)]
    return [text for text in kept if text != lead and not _cues.is_hollow(text) and not _cues.is_offer(text)]


def _settled_title(turn: Turn, settled: Settled, lead: str, event: Event) -> str:
    """The title of what was settled: what was turned down belongs to it, the reason does not."""
    if any(lead == choice for choice, _ in turn.choices):
        return cut(lead.rstrip(". "), TITLE)
    text = _choices.choice_title(lead) if settled.kind == "decision" else lead
    if event is turn.prompt and settled.kind == "decision":
        text = request_title(text)
    title = written(text)
    lost = any(word in text and word not in title for word in CONTRAST)
    return cut(unmarked(text).rstrip("."), TITLE) if lost else title


def _repeats(settled: Settled, chief: Observation) -> bool:
    """Whether all that was settled stands in an observation already."""
    known = " ".join((chief.title, *chief.facts))
    return not any(says_more(text, known, 3) for text, _ in settled.found)


def _beside(turn: Turn, chief: Observation, settled: Settled) -> Iterator[Observation]:
    """What was settled on the way, if it is something else than the turn's own title."""
    lead, event = settled.lead(turn)
    title = _settled_title(turn, settled, lead, event)
    if not title or title.lower() == chief.title.lower():
        return
    facts = distinct((text for text, _ in settled.found), title)
    events = {event.id: event for _, event in settled.found} | ({turn.prompt.id: turn.prompt} if turn.prompt else {})
    yield Observation(
        type=settled.kind,
        title=title,
        subtitle=cut(unmarked(lead), SUBTITLE) if len(lead) > len(title) + 8 else "",
        narrative=cut("\n".join([f"In: {chief.title or 'a turn without words'}", *facts[:3]]), NARRATIVE),
        facts=tuple(facts[:FACTS]),
        concepts=concepts_of((text for text, _ in settled.found), turn.changed[:2], title) or chief.concepts,
        files_read=chief.files_read if settled.kind == "diagnosis" else (),
        files_modified=chief.files_modified,
        evidence=tuple(events)[:MOST_EVIDENCE],
        at=event.at,
    )
