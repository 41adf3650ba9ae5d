"""Finds the decisions, conventions and causes that a turn states, beside its work or as its only topic.

A person decides; an agent reports or recommends. A detail of an edit ("returns None instead of 0") is not a decision:
in a turn with changes, a choice only counts if the sentence calls it a decision or gives a reason.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from recollect.model import Event
from recollect.observe.phrases import PhraseTable, contains_any, phrases_in
from recollect.observe.requests import RequestWords, format_request, is_question, is_trivial
from recollect.observe.sentences import (
    CONVENTION_HINTS,
    PRONOUN,
    capitalize,
    sets_convention,
    states_convention,
    strip_opener,
)
from recollect.observe.turn import ObservedTurn
from recollect.observe.turn_type import PROSE_FILE, type_of_title

MIN_LENGTH, MAX_LENGTH = 12, 320  # characters of a sentence that states a decision
OPENING = 80  # characters at the beginning of a sentence that show whether it only concerns this moment
MAX_TYPED = 900  # characters: a longer prompt was pasted, and its rules are not the person's decisions
MAX_SENTENCES = 12  # sentences of a typed prompt that are read
MAX_QUESTIONS = 6  # sentences at the start of a prompt, among which the question is expected
EARLY = 3  # sentences at the start of an answer, among which its conclusion is expected
MAX_BRIEF = 12  # sentences: an answer that is not longer is about its conclusion, which may be anywhere in it
IN_CODE = re.compile(r"\w\(|\b\w+_\w+|\bself\.|\b[a-z]\w*\.[a-z]\w+\b(?! ?$)|--?[a-z]+=|[\"`#]|\w=\w|::|->|\[\]|^\S+: Added")
UNCAPITALIZED_END = re.compile(r"(?<=[a-z\d)][.!]) +(?=[a-z])")

TABLE = PhraseTable("decisions")
PERSON_HINTS = TABLE.phrases("person_hints")
AGENT_HINTS = TABLE.phrases("agent_hints")
DECIDED = TABLE.pattern("decided")
PREFERRED = TABLE.pattern("preferred")
INSTRUCTION = TABLE.pattern("instruction")
LASTING = TABLE.pattern("lasting")
RECOMMENDED = TABLE.pattern("recommended")
REASON = TABLE.pattern("reason")
HESITANT = TABLE.pattern("hesitant")
TRANSIENT = TABLE.pattern("transient")
VAGUE = TABLE.pattern("vague")
CHOICE_QUESTION = TABLE.pattern("choice_question")
LEAD_IN = TABLE.pattern("lead_in")
AGAINST = TABLE.pattern("against")
CHOOSER = TABLE.pattern("chooser")
REFUSAL = TABLE.pattern("refusal")
REASON_CLAUSE = TABLE.pattern("reason_clause")
ASIDES = TABLE.word_set("asides")
CONTRAST = TABLE.phrases("contrast")

Source = tuple[str, Event]  # a sentence and its event


class Conclusion(Struct, frozen=True):
    """A decision, a convention ("pattern") or a cause ("diagnosis"), with the sentences that state it."""

    kind: str
    sources: list[Source]
    is_only_topic: bool = False

    def best_source(self, turn: ObservedTurn) -> Source:
        """The best sentence: a person's rather than an agent's, then one with a reason rather than one without."""
        return max(self.sources, key=lambda source: (source[1] is not turn.answer, has_reason(source[0])))


# ---- one sentence


def _has_length(sentence: str) -> bool:
    return MIN_LENGTH <= len(sentence) <= MAX_LENGTH and sentence[-1] not in "?？"


def states_decision(sentence: str) -> bool:
    """Whether a sentence calls itself a decision."""
    return _has_length(sentence) and DECIDED.match(sentence) is not None and HESITANT.search(sentence) is None


def has_reason(sentence: str) -> bool:
    return REASON.search(sentence) is not None


def is_decision_of_person(sentence: str, *, has_changes: bool) -> bool:
    """Whether a person decides something with this sentence, for longer than this moment and beyond a detail of an edit."""
    if not _has_length(sentence) or not contains_any(PERSON_HINTS, sentence.lower()) or VAGUE.search(sentence):
        return False
    reason, lasting = has_reason(sentence), LASTING.search(sentence) is not None
    if TRANSIENT.search(sentence, 0, OPENING) and not (lasting and DECIDED.match(sentence)):
        return False
    if IN_CODE.search(sentence) and not (reason or (lasting and DECIDED.match(sentence))):
        return False
    if states_decision(sentence):
        return True
    if PREFERRED.match(sentence) and (not has_changes or reason or "n't use" in sentence or "not use" in sentence):
        return True
    return INSTRUCTION.match(sentence) is not None and (not has_changes or lasting or reason)


def is_decision_of_agent(sentence: str, *, has_changes: bool, is_asked_to_choose: bool) -> bool:
    """Whether an agent reports a choice with this sentence. In a turn with changes, it must give a reason."""
    if not _has_length(sentence) or VAGUE.search(sentence) or HESITANT.search(sentence):
        return False
    if has_changes:
        return has_reason(sentence) and (DECIDED.match(sentence) or PREFERRED.match(sentence)) is not None
    if is_asked_to_choose and RECOMMENDED.search(sentence):
        return True
    return DECIDED.match(sentence) is not None and TRANSIENT.search(sentence) is None


def asks_to_choose(text: str) -> bool:
    """Whether a text asks for a choice between several things, or for advice."""
    return CHOICE_QUESTION.match(text) is not None


def decision_text(sentence: str) -> str:
    """The decision and its reason: "we decided to keep X because Y" becomes "Keep X because Y"."""
    sentence = AGAINST.sub("Avoid ", sentence)
    if refusal := REFUSAL.match(sentence):
        return f"Don't {sentence[refusal.end() :]}"
    lead_in = LEAD_IN.match(sentence)
    return capitalize(sentence[lead_in.end() :] if lead_in else sentence)


def decision_title(sentence: str) -> str:
    """The decision without its reason."""
    decision = decision_text(sentence)
    if decision.count(" ") < 2 and (chooser := CHOOSER.match(sentence)):
        decision = capitalize(sentence[chooser.end() :])
    short = REASON_CLAUSE.sub("", decision)
    return short if short.count(" ") >= 1 and len(short) >= MIN_LENGTH else decision


# ---- one turn


def find_conclusions(turn: ObservedTurn) -> list[Conclusion]:
    """The decision and the convention of a turn, at most one of each. A sentence supports only one of them."""
    conventions = _find_conventions(turn)
    used = {sentence for sentence, _ in conventions}
    decisions = [source for source in _find_decisions(turn) if source[0] not in used]
    conclusions = []
    if decisions:
        conclusions.append(Conclusion("decision", decisions, _is_about_decision(turn, decisions)))
    if conventions:
        conclusions.append(Conclusion("pattern", conventions, _is_about_convention(turn, conventions)))
    return conclusions


def find_diagnosis(turn: ObservedTurn, main_type: str) -> Iterator[Conclusion]:
    """The cause that an answer names, if the turn was not about finding it."""
    if main_type in {"bug-fix", "diagnosis"} or not turn.answer:
        return
    causes = [text for text in turn.causes if text in turn.statements and RequestWords(text).reports_problem()]
    if sources := [(text, turn.answer) for text in causes if not PRONOUN.match(text)]:
        yield Conclusion("diagnosis", sources)


def _typed_sentences(turn: ObservedTurn) -> list[Source]:
    """The sentences that the person typed. Many people begin sentences with a small letter, so these are split too."""
    if not turn.prompt or len(turn.request) > MAX_TYPED:
        return []
    sentences = turn.request_prose.sentences[:MAX_SENTENCES]
    return [(strip_opener(part), turn.prompt) for text in sentences for part in UNCAPITALIZED_END.split(text)]


def _find_decisions(turn: ObservedTurn) -> list[Source]:
    """The choices and decisions of the person, then the decisions that the agent reports."""
    has_changes = turn.has_changes()
    decisions = list(turn.choices)
    if contains_any(PERSON_HINTS, turn.request_words.lower):
        typed = _typed_sentences(turn)
        decisions += [source for source in typed if is_decision_of_person(source[0], has_changes=has_changes)]
    if turn.answer and (hints := phrases_in(AGENT_HINTS, turn.lower)):
        is_asked_to_choose = not has_changes and _asks_to_choose(turn)
        lines = zip(turn.sentences, turn.lower.split("\n"), strict=True)
        hinted = (text for text, lower in lines if contains_any(hints, lower))
        decisions += [
            (text, turn.answer)
            for text in hinted
            if is_decision_of_agent(text, has_changes=has_changes, is_asked_to_choose=is_asked_to_choose)
        ]
    return decisions


def _find_conventions(turn: ObservedTurn) -> list[Source]:
    has_changes = turn.has_changes()
    conventions: list[Source] = []
    if contains_any(CONVENTION_HINTS, turn.request_words.lower):
        conventions += [source for source in _typed_sentences(turn) if sets_convention(source[0], has_changes=has_changes)]
    if turn.answer and (hints := phrases_in(CONVENTION_HINTS, turn.lower)):
        stated = (text for text in turn.statements if states_convention(text, hints, has_changes=has_changes))
        conventions += [(text, turn.answer) for text in stated]
    return [source for source in conventions if not PRONOUN.match(source[0])]


def _asks_to_choose(turn: ObservedTurn) -> bool:
    return len(turn.request) <= MAX_TYPED and any(map(asks_to_choose, turn.request_prose.sentences[:MAX_QUESTIONS]))


def _is_about_decision(turn: ObservedTurn, sources: list[Source]) -> bool:
    """Whether the prompt only states the decision, or the decision answers the prompt's question."""
    if any(event is turn.prompt for _, event in sources):
        return not turn.commits and _says_nothing_else(turn, sources)
    if turn.has_changes() or turn.request_words.asks_why() or turn.choices:
        return False
    early = [sentence for sentence in turn.sentences[:EARLY] if any(sentence == text for text, _ in sources)]
    if _asks_to_choose(turn):
        return bool(early) or len(turn.sentences) <= MAX_BRIEF
    return any(map(states_decision, early)) and not turn.request_words.reports_problem()


def _is_about_convention(turn: ObservedTurn, sources: list[Source]) -> bool:
    """Whether the prompt only states the convention, or the convention answers the prompt's question."""
    has_changes = turn.has_changes()
    if has_changes and not all(map(PROSE_FILE.search, turn.changed_files)):
        return False
    if any(event is turn.prompt for _, event in sources):
        return _says_nothing_else(turn, sources)
    is_early = any(text in turn.sentences[:EARLY] for text, _ in sources)
    is_answer = turn.request_words.asks_for_convention() or len(turn.sentences) <= EARLY
    return is_early and not has_changes and is_answer


def _says_nothing_else(turn: ObservedTurn, sources: list[Source]) -> bool:
    """Whether a prompt contains no request and no question beside the sentences of a conclusion."""
    known = {sentence for sentence, event in sources if event is turn.prompt}
    others = [text for text, _ in _typed_sentences(turn) if text not in known and not is_trivial(text)]
    return not any(map(_asks_for_something, others))


def _asks_for_something(text: str) -> bool:
    if not RequestWords(text).words - ASIDES:
        return False
    return is_question(text) or any(type_of_title(format_request(part)) for part in text.split(", ", 2)[:2])
