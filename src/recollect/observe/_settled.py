"""Settled: what a turn laid down beside its work: a decision, a way of doing things, a cause found on the way."""

import re
from collections.abc import Iterator

from recollect.model import Event, Observation
from recollect.observe import _cues
from recollect.observe._concepts import concepts_of
from recollect.observe._facts import FACT, FACTS, NARRATIVE, SUBTITLE
from recollect.observe._prose import cut, unmarked
from recollect.observe._requests import Wish
from recollect.observe._sentences import names_in
from recollect.observe._subjects import request_title
from recollect.observe._titles import TITLE, written
from recollect.observe._turn import Turn

TYPED = 900  # characters: what is longer was pasted, and its rules are not the person's decisions
CONTRAST = ("instead of", "rather than", ", not ", " over ")
VAGUE = re.compile(r"\b(?:that|this|the first|the second) (?:approach|option|way|one)\b", re.I)


def settled_in(turn: Turn, chief: Observation) -> Iterator[Observation]:
    """At most one of each type, and none of the type that the turn already has."""
    for kind, found in (
        ("decision", _decisions(turn)),
        ("pattern", _patterns(turn)),
        ("diagnosis", _diagnoses(turn, chief)),
    ):
        found = [pair for pair in found if not _cues.DEICTIC.match(pair[0]) and not VAGUE.search(pair[0])]
        if found and kind != chief.type:
            yield _observation(turn, chief, kind, found)


def _decisions(turn: Turn) -> list[tuple[str, Event]]:
    """What the person laid down or chose, then what the agent says that it decided."""
    found = list(turn.choices)
    if turn.prompt and len(turn.request) <= TYPED:
        found += [(sentence, turn.prompt) for sentence in turn.asked.sentences[:12] if _cues.is_directive(sentence)]
    chosen = turn.wish.asks_for_a_choice()
    if turn.answer and (chosen or _cues.has(_cues.DECISION_WORDS, "\n".join(turn.told).lower())):
        for sentence in turn.told:
            if _cues.is_decision(sentence) or (chosen and _cues.RECOMMENDED.search(sentence)):
                found.append((sentence, turn.answer))
    return found


def _patterns(turn: Turn) -> list[tuple[str, Event]]:
    if not turn.answer or not _cues.has(_cues.PATTERN_WORDS, "\n".join(turn.told).lower()):
        return []
    return [(sentence, turn.answer) for sentence in turn.told if _cues.is_pattern(sentence)]


def _diagnoses(turn: Turn, chief: Observation) -> list[tuple[str, Event]]:
    """A cause that was named while something else was done."""
    if chief.type in {"bug-fix", "diagnosis"} or not turn.answer:
        return []
    named = [sentence for sentence in turn.causes if sentence in turn.told and Wish(sentence).reports_a_problem()]
    return [(sentence, turn.answer) for sentence in named]


def _title(lead: str) -> str:
    """The title of what was settled: what was turned down belongs to it."""
    title = written(lead)
    lost = any(word in lead and word not in title for word in CONTRAST)
    return cut(unmarked(lead).rstrip("."), TITLE) if lost else title


def _observation(turn: Turn, chief: Observation, kind: str, found: list[tuple[str, Event]]) -> Observation:
    lead, event = max(found, key=lambda pair: (pair[1] is not turn.answer, len(names_in(pair[0])) > 0))
    facts = list(dict.fromkeys(cut(unmarked(text), FACT) for text, _ in found))[:FACTS]
    chosen = any(lead == choice for choice, _ in turn.choices)
    title = cut(lead.rstrip(". "), TITLE) if chosen else _title(request_title(lead) if event is turn.prompt else lead)
    events = {event.id: event for _, event in found} | ({turn.prompt.id: turn.prompt} if turn.prompt else {})
    return Observation(
        type=kind,
        title=title,
        subtitle=cut(unmarked(lead), SUBTITLE) if len(lead) > len(title) + 8 else "",
        narrative=cut("\n".join([f"In: {chief.title or 'a turn without words'}", *facts[:3]]), NARRATIVE),
        facts=tuple(facts),
        concepts=concepts_of((text for text, _ in found), turn.changed[:2], title) or chief.concepts,
        files_read=chief.files_read if kind == "diagnosis" else (),
        files_modified=chief.files_modified,
        evidence=tuple(events)[:6],
        at=event.at,
    )
