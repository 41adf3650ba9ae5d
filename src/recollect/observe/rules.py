"""Applies the rules: a turn becomes one main observation, and sometimes others for its decisions and causes."""

from collections.abc import Iterable, Iterator

from recollect.model import Event, Observation
from recollect.observe.decisions import (
    CONTRAST,
    Conclusion,
    decision_text,
    decision_title,
    find_conclusions,
    find_diagnosis,
)
from recollect.observe.facts import (
    MAX_FACTS,
    MAX_NARRATIVE,
    MAX_REQUEST,
    MAX_SUBTITLE,
    adds_words,
    choose_concepts,
    choose_subtitle,
    collect_facts,
    drop_repetitions,
    error_fact,
    later_success,
    main_failure,
    missing_names,
    quote_request,
    write_narrative,
)
from recollect.observe.files import MAX_FILES
from recollect.observe.requests import find_subject, format_request, is_greeting, is_trivial
from recollect.observe.sentences import (
    MAX_BEGINNING,
    MAX_SENTENCE,
    MIN_SENTENCE,
    is_empty_report,
    is_offer,
    is_sentence,
    strip_emphasis,
    truncate,
)
from recollect.observe.titles import MAX_TITLE, choose_title, format_title
from recollect.observe.turn import ObservedTurn
from recollect.observe.turn_type import commit_scope, main_commit, type_of_turn

MAX_EVIDENCE = 6
MAX_OBSERVATIONS = 4
MIN_ANSWER = 160  # characters: a shorter answer to a trivial prompt is small talk and not worth remembering


def make_observations(turn: ObservedTurn) -> list[Observation]:
    """The turn's observations, the main one first; none for small talk."""
    if not _is_worth_remembering(turn):
        return []
    subject = find_subject(turn.request_prose)
    conclusions = find_conclusions(turn)
    topic = next((conclusion for conclusion in conclusions if conclusion.is_only_topic), None)
    main = _observe_conclusion(turn, topic, subject) if topic else _observe_turn(turn, subject)
    others = [other for other in (*conclusions, *find_diagnosis(turn, main.type)) if other.kind != main.type]
    new = [other for other in others if not (topic and _is_covered(other, main))]
    additional = [observation for other in new for observation in _observe_beside(turn, main, other)]
    return [main, *additional][:MAX_OBSERVATIONS] if main.title else additional


def _is_worth_remembering(turn: ObservedTurn) -> bool:
    if turn.has_changes() or turn.choices:
        return True
    has_request = bool(turn.request) and not is_trivial(turn.request)
    if has_request and turn.answer_prose.sentences:
        return True
    if has_request:
        return turn.call_count > 0
    return not is_greeting(turn.request) and sum(map(len, turn.statements)) >= MIN_ANSWER


# ---- the turn itself


def _observe_turn(turn: ObservedTurn, subject: str) -> Observation:
    """The observation of the turn itself."""
    kind = type_of_turn(turn, subject)
    title = choose_title(turn, kind, subject)
    facts = collect_facts(turn, kind, title)
    narrative = write_narrative(turn, kind, subject)
    evidence = _collect_evidence(turn)
    return Observation(
        type=kind,
        title=title,
        subtitle=choose_subtitle(turn, kind, title),
        narrative=_add_missing_names(turn, narrative, title, facts),
        facts=tuple(facts),
        concepts=choose_concepts((*_beginnings(turn), error_fact(turn)), _places(turn), title),
        files_read=tuple(turn.read_files[:MAX_FILES]),
        files_modified=tuple(turn.changed_files[:MAX_FILES]),
        evidence=tuple(event.id for event in evidence),
        at=evidence[0].at,
    )


def _beginnings(turn: ObservedTurn) -> tuple[str, str]:
    """The beginnings of the request and the answer."""
    return turn.request_prose.text or turn.request[:MAX_BEGINNING], turn.answer_prose.text


def _places(turn: ObservedTurn) -> list[str]:
    """The places of the change: the scope of the commit, and the files."""
    scope = commit_scope(main_commit(turn))
    return [scope, *turn.changed_files] if scope else turn.changed_files


def _add_missing_names(turn: ObservedTurn, narrative: str, title: str, facts: Iterable[str]) -> str:
    """The narrative, with a last line of the request's names that occur nowhere else in the observation."""
    names = missing_names(turn, " ".join((title, narrative, *facts)))
    if not names:
        return narrative
    return truncate(f"{truncate(narrative, MAX_NARRATIVE - len(names) - 1)}\n{names}".strip(), MAX_NARRATIVE)


def _collect_evidence(turn: ObservedTurn) -> list[Event]:
    """The answer, the last edit, the failure and the success after it, the commit and the prompt.

    The turn's last event is the evidence if there are none of these.
    """
    events = [turn.answer, turn.edits[-1] if turn.edits else None]
    if failed := main_failure(turn):
        passed = later_success(turn, failed)
        events += [failed.response, passed.response if passed else None]
    events += [commit.event for commit in turn.commits[-1:]]
    events += [turn.prompt, *turn.prompts[:1], turn.runs[-1].response if turn.runs else None, turn.last_event]
    distinct = {event.id: event for event in events if event is not None}
    return list(distinct.values())[:MAX_EVIDENCE]


# ---- conclusions


def _observe_conclusion(turn: ObservedTurn, conclusion: Conclusion, subject: str) -> Observation:
    """The observation of a turn whose only topic is this decision or convention."""
    sentence, event = conclusion.best_source(turn)
    title = _conclusion_title(turn, conclusion, sentence, event)
    texts = [sentence, *(text for text, _ in conclusion.sources if text != sentence), *_supporting_sentences(turn, sentence)]
    others = [text for place, text in enumerate(texts) if place and adds_words(text, " ".join(texts[:place]), 2)]
    facts = drop_repetitions(map(decision_text, [sentence, *others]), title)
    label = "Decided" if conclusion.kind == "decision" else "Rule"
    lines = [f"{label}: {truncate(strip_emphasis(sentence), MAX_REQUEST)}"]
    if event is not turn.prompt and (request := quote_request(turn, subject)):
        lines.insert(0, f"Asked: {truncate(request, MAX_REQUEST)}")
    evidence = {event.id: event} | {other.id: other for other in _collect_evidence(turn)}
    return Observation(
        type=conclusion.kind,
        title=title,
        subtitle=next((truncate(fact, MAX_SUBTITLE) for fact in facts if fact.rstrip(".") != title), ""),
        narrative=_add_missing_names(turn, "\n".join(lines), title, facts),
        facts=tuple(facts),
        concepts=choose_concepts(_beginnings(turn), turn.changed_files, title),
        files_read=tuple(turn.read_files[:MAX_FILES]),
        files_modified=tuple(turn.changed_files[:MAX_FILES]),
        evidence=tuple(evidence)[:MAX_EVIDENCE],
        at=event.at,
    )


def _supporting_sentences(turn: ObservedTurn, sentence: str) -> list[str]:
    """The sentences that the answer adds to a decision: its effect, its details, the work for it."""
    texts = [text for text in turn.sentences if MIN_SENTENCE <= len(text) <= MAX_SENTENCE and is_sentence(text)]
    return [text for text in texts if text != sentence and not is_empty_report(text) and not is_offer(text)]


def _conclusion_title(turn: ObservedTurn, conclusion: Conclusion, sentence: str, event: Event) -> str:
    """The title of a conclusion: without the reason, but with the rejected alternative."""
    if any(sentence == choice for choice, _ in turn.choices):
        return truncate(sentence.rstrip(". "), MAX_TITLE)
    text = decision_title(sentence) if conclusion.kind == "decision" else sentence
    if event is turn.prompt and conclusion.kind == "decision":
        text = format_request(text)
    title = format_title(text)
    loses_contrast = any(phrase in text and phrase not in title for phrase in CONTRAST)
    return truncate(strip_emphasis(text).rstrip("."), MAX_TITLE) if loses_contrast else title


def _is_covered(conclusion: Conclusion, main: Observation) -> bool:
    """Whether the main observation already contains a conclusion."""
    known = " ".join((main.title, *main.facts))
    return not any(adds_words(text, known, 3) for text, _ in conclusion.sources)


def _observe_beside(turn: ObservedTurn, main: Observation, conclusion: Conclusion) -> Iterator[Observation]:
    """An additional observation for a conclusion, unless it has the same title as the main observation."""
    sentence, event = conclusion.best_source(turn)
    title = _conclusion_title(turn, conclusion, sentence, event)
    if not title or title.lower() == main.title.lower():
        return
    facts = drop_repetitions((text for text, _ in conclusion.sources), title)
    events = {event.id: event for _, event in conclusion.sources} | ({turn.prompt.id: turn.prompt} if turn.prompt else {})
    texts = (text for text, _ in conclusion.sources)
    yield Observation(
        type=conclusion.kind,
        title=title,
        subtitle=truncate(strip_emphasis(sentence), MAX_SUBTITLE) if len(sentence) > len(title) + 8 else "",
        narrative=truncate("\n".join([f"In: {main.title or 'a turn without words'}", *facts[:3]]), MAX_NARRATIVE),
        facts=tuple(facts[:MAX_FACTS]),
        concepts=choose_concepts(texts, turn.changed_files[:2], title) or main.concepts,
        files_read=main.files_read if conclusion.kind == "diagnosis" else (),
        files_modified=main.files_modified,
        evidence=tuple(events)[:MAX_EVIDENCE],
        at=event.at,
    )
