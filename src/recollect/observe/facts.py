"""Writes the parts of an observation beside its title, from events: subtitle, facts, narrative and concepts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from recollect.observe.commands import runs_tests
from recollect.observe.phrases import PhraseTable
from recollect.observe.sentences import (
    MIN_SENTENCE,
    NEW_STATE,
    OLD_STATE,
    OWN_ACTION,
    PRONOUN,
    URL,
    find_names,
    is_empty_report,
    is_offer,
    is_sentence,
    strip_emphasis,
    truncate,
)
from recollect.observe.turn import CommandRun, ObservedTurn
from recollect.observe.turn_type import CONVENTIONAL, main_commit

MAX_FACT, MAX_FACTS = 200, 6
FEW_FACTS = 3  # with fewer facts, the changed files are listed too
MAX_NARRATIVE = 900
MAX_SUBTITLE = 160
MAX_REQUEST, MAX_CAUSE, MAX_DONE, MAX_RESULT = 280, 220, 260, 120  # characters of each part of the narrative
CAUSE_LABEL = "Cause: "  # begins the line of the narrative that names the cause
MIN_OFFER = 50  # characters of an offer that names its subject
CLEARLY_LONGER = 40  # characters: a text that is longer by this must have a new word, so the words are not counted
MAX_INTRODUCTION = 40  # characters in which the introduction of a fact ends
MAX_NAMES, MAX_NAME = 6, 60  # names of a request that are added to the narrative, and characters of one
MAX_SEARCHED = 1_500  # characters of a request that are searched for names
MAX_CONCEPTS = 8
FEW_CONCEPTS = 3  # words of the title are added up to this number of concepts
MAX_CONCEPT_FILES = 6
MAX_CONCEPT = 40

WORD = re.compile(r"[^\W_][\w.+-]*\w|\w")
ISSUE_NUMBER = re.compile(r"\s*\(#\d+\)$")
FACT_LABEL = re.compile(r"(?:Committed|Pull request): ")
IN_BACKTICKS = re.compile(r"`([A-Za-z_@.\-][\w.@:/\-]{1,38}[\w)])`")
TITLE_WORD = re.compile(r"[A-Za-z][\w.-]{3,}|\b[A-Z][A-Z0-9]{1,3}\b|[\u3040-\u9fff\uac00-\ud7af]{2,6}|[^\W\d_a-zA-Z]{4,}")
PLAIN_WORD = re.compile(r"\b(?:[A-Za-z][a-z-]{2,20}[a-z]|[A-Z][A-Z0-9]{2,8})\b")

TABLE = PhraseTable("facts")
INTRODUCING_WORDS = TABLE.word_set("introducing_words")
TECHNOLOGIES = TABLE.word_set("technologies")
COMMON_WORDS = TABLE.word_set("common_words")
REQUEST_WORDS = TABLE.word_set("request_words")
AFTER_NOUN = TABLE.word_set("after_noun")
IGNORED_WORDS = (COMMON_WORDS | REQUEST_WORDS) - TECHNOLOGIES


# ---- facts


def collect_facts(turn: ObservedTurn, kind: str, title: str) -> list[str]:
    """At most six facts, the most important first. Facts that only repeat the title are left out."""
    facts: list[str] = []
    if kind in {"bug-fix", "diagnosis"}:
        facts += turn.causes[:2] or _earlier_state(turn)
    if error := error_fact(turn):
        facts.append(error)
    if kind in {"discovery", "diagnosis", "general"} and not turn.changed_files:
        facts += turn.statements[:5]
    else:
        facts += turn.reports[:4] or turn.statements[:3]
    facts += _check_facts(turn)
    if commit := main_commit(turn):
        facts.append(f"Committed: {commit}")
    if turn.pull_request:
        facts.append(f"Pull request: {turn.pull_request.subject}")
    if len(facts) < FEW_FACTS and turn.changed_files:
        facts.append(f"Changed {', '.join(turn.changed_files[:5])}")
    return drop_repetitions(facts or _answer_facts(turn), title, turn.request_words.lower)


def _earlier_state(turn: ObservedTurn) -> list[str]:
    """The sentence about the state before the change, if the answer begins with one. It replaces a missing cause."""
    if not turn.changed_files:
        return []
    early = [text for text in turn.statements[:3] if text not in turn.reports]
    states = [text for text in early if OLD_STATE.search(text) and not NEW_STATE.search(text)]
    return [text for text in states if not PRONOUN.match(text) and not OWN_ACTION.match(text)][:1]


def _answer_facts(turn: ObservedTurn) -> list[str]:
    """Facts from an answer without a sentence that is understood alone."""
    return [text for text in turn.sentences[:4] if _says_something(text)]


def _says_something(text: str) -> bool:
    min_length = MIN_OFFER if is_offer(text) else MIN_SENTENCE
    return len(text) >= min_length and is_sentence(text) and not is_empty_report(text)


def drop_repetitions(facts: Iterable[str], title: str, request: str = "") -> list[str]:
    """The facts that add something to the title, the request (in lower case) and the facts before them, in order."""
    distinct: list[str] = []
    for fact in facts:
        fact = truncate(strip_emphasis(fact), MAX_FACT)
        is_new = fact not in ("", title, *distinct) and fact.rstrip(" .!").lower() not in request
        if is_new and adds_words(fact, title):
            distinct.append(fact)
    return distinct[:MAX_FACTS]


def adds_words(fact: str, known: str, count: int = 1) -> bool:
    """Whether a fact contains at least `count` words that a known text does not. Its introduction does not count."""
    if ": " in fact[:MAX_INTRODUCTION]:
        fact = CONVENTIONAL.sub(r"\g<rest>", ISSUE_NUMBER.sub("", FACT_LABEL.sub("", fact)))
    if len(fact) > len(known) + count * CLEARLY_LONGER:
        return True
    new = set(WORD.findall(fact.lower())) - set(WORD.findall(known.lower())) - INTRODUCING_WORDS
    return len(new) >= count


# ---- commands


def error_fact(turn: ObservedTurn) -> str:
    """The main error of the turn, with the command that failed; empty without one."""
    run = main_failure(turn)
    if run is None or not run.outcome.error:
        return ""
    return f"{_run_name(run)} failed: {run.outcome.error}"


def main_failure(turn: ObservedTurn) -> CommandRun | None:
    """The first failed check. Without one, the first failed command of a turn that changed nothing."""
    failed = [run for run in turn.runs if run.outcome.failed and run.outcome.error]
    return next((run for run in failed if run.check), failed[0] if failed and not turn.changed_files else None)


def later_success(turn: ObservedTurn, failed: CommandRun) -> CommandRun | None:
    """The last run of the check that failed, if it passed."""
    later = [run for run in turn.runs if run.check == failed.check and run.call.seq > failed.call.seq]
    return later[-1] if later and not later[-1].outcome.failed else None


def _check_facts(turn: ObservedTurn) -> Iterator[str]:
    """The outcome of the last run of each check."""
    last_runs = {run.check: run for run in turn.runs if run.check}
    for run in list(last_runs.values())[-3:]:
        first = next(earlier for earlier in turn.runs if earlier.check == run.check)
        counts = f" ({run.outcome.counts})" if run.outcome.counts else ""
        if run.outcome.failed:
            if run is not first or runs_tests(run.check):
                yield f"{_run_name(run)} failed in the end{counts}"
        elif first.outcome.failed:
            yield f"{_run_name(run)} failed at first and passed in the end{counts}"
        elif counts:
            yield f"{_run_name(run)} passed{counts}"


def _run_name(run: CommandRun) -> str:
    return truncate(run.check, 60) if run.check else truncate(strip_emphasis(run.command.split("\n", 1)[0]), 70)


# ---- subtitle and narrative


def choose_subtitle(turn: ObservedTurn, kind: str, title: str) -> str:
    """One sentence that says more than the title; empty without one."""
    candidates = [*(turn.causes if kind in {"bug-fix", "diagnosis"} else []), *turn.reports[:3], *turn.statements[:3]]
    lower_title = title.rstrip("…").lower()
    for sentence in candidates:
        lower = sentence.lower()
        if (lower_title[:60] not in lower or len(lower) > len(lower_title) + CLEARLY_LONGER) and lower[
            :60
        ] not in lower_title:
            return truncate(strip_emphasis(sentence), MAX_SUBTITLE)
    return ""


def write_narrative(turn: ObservedTurn, kind: str, subject: str) -> str:
    """The request, the cause, the work and the result, one line each."""
    lines = []
    if request := quote_request(turn, subject):
        lines.append(f"Asked: {truncate(request, MAX_REQUEST)}")
    if turn.causes and kind in {"bug-fix", "diagnosis"}:
        lines.append(f"{CAUSE_LABEL}{truncate(turn.causes[0], MAX_CAUSE)}")
    if done := _summary_of_answer(turn):
        lines.append(f"{'Done' if turn.has_changes() else 'Answered'}: {truncate(done, MAX_DONE)}")
    if result := _result(turn):
        lines.append(f"Result: {truncate(result, MAX_RESULT)}")
    if commit := main_commit(turn):
        lines.append(f"Committed: {truncate(commit, MAX_RESULT)}")
    return truncate("\n".join(lines), MAX_NARRATIVE)


def quote_request(turn: ObservedTurn, subject: str) -> str:
    """Two sentences of the request, from its subject on."""
    sentences = turn.request_prose.sentences
    if subject in sentences:
        start = sentences.index(subject)
        return " ".join(sentences[start : start + 2])
    return subject or strip_emphasis(turn.request[:MAX_REQUEST])


def _summary_of_answer(turn: ObservedTurn) -> str:
    sentences = turn.reports[:2] or turn.statements[:2]
    if not sentences and turn.changed_files:
        return f"Changed {', '.join(turn.changed_files[:4])}"
    return " ".join(sentence if sentence[-1] in ".!?。！？" else f"{sentence}." for sentence in sentences)


def _result(turn: ObservedTurn) -> str:
    checks = [run for run in turn.runs if run.check]
    if checks:
        run = checks[-1]
        counts = f", {run.outcome.counts}" if run.outcome.counts else ""
        return f"{_run_name(run)} {'failed' if run.outcome.failed else 'passed'}{counts}"
    return next((text for text in turn.answer_prose.sentences[:8] if "pass" in text and is_empty_report(text)), "")


def missing_names(turn: ObservedTurn, text: str) -> str:
    """A line with the exact names of the request that a text lacks, so that a search for one of them finds the turn."""
    lower = text.lower()
    names = find_names(turn.request[:MAX_SEARCHED])
    missing = [name for name in names if name.lower() not in lower and len(name) <= MAX_NAME][:MAX_NAMES]
    return f"Named: {', '.join(missing)}" if missing else ""


# ---- concepts


def choose_concepts(texts: Iterable[str], files: Iterable[str], title: str) -> tuple[str, ...]:
    """Short tags, the most characteristic first: names in code, known technologies and words that recur."""
    weights: dict[str, float] = {}
    words: Counter[str] = Counter()
    for text in texts:
        text = URL.sub("", text) if "://" in text else text
        _weigh_names(text, weights)
        words.update(PLAIN_WORD.findall(text))
    for path in list(files)[:MAX_CONCEPT_FILES]:
        stem = path.rsplit("/", 1)[-1].split(".", 1)[0]
        if len(stem) > 2 and not _is_common(stem):
            weights[stem] = weights.get(stem, 0) + 2
    _weigh_words(words, title.lower(), weights)
    return _best_concepts(weights, title)


def _is_common(word: str) -> bool:
    lower = word.lower()
    return lower in COMMON_WORDS or lower in REQUEST_WORDS


def _weigh_names(text: str, weights: dict[str, float]) -> None:
    if "`" in text:
        for name in IN_BACKTICKS.findall(text):
            name = name.rsplit("/", 1)[-1]
            weights[name] = weights.get(name, 0) + 1.5
    for name in find_names(text):
        name = name.rsplit("/", 1)[-1]
        weights[name] = weights.get(name, 0) + 1


def _weigh_words(words: Counter[str], title: str, weights: dict[str, float]) -> None:
    """Add the weights of words. A known technology always counts, another word if it recurs, unless it is in capitals."""
    counts: dict[str, int] = {}
    for word in words.keys() - IGNORED_WORDS:
        lower = word.lower()
        if not word.isupper():
            counts[lower] = counts.get(lower, 0) + words[word]
        elif lower in TECHNOLOGIES:
            weights[word] = weights.get(word, 0) + 1 + min(words[word], 4) * 0.5
    for word, count in counts.items():
        if word in TECHNOLOGIES:
            weights[word] = weights.get(word, 0) + 1.5 + min(count, 4) * 0.5
        elif count >= (2 if word in title else 3) and word not in IGNORED_WORDS:
            weights[word] = weights.get(word, 0) + min(count, 5) * 0.4 + (0.8 if word in title else 0)


def _best_concepts(weights: dict[str, float], title: str) -> tuple[str, ...]:
    """The names and words of the highest weight. If there are few, words of the title are added."""
    lower = title.lower()
    ranked = sorted(weights, key=lambda name: (-weights[name] - (1.5 if name.lower() in lower else 0), name))
    chosen: dict[str, str] = {}
    for name in ranked:
        name = name.strip(".-:/@_()")
        key = name.lower().replace("_", "").replace("-", "")
        if len(name) >= 2 and not _is_common(name) and key not in chosen and key.rstrip("s") not in chosen:
            chosen[key] = name
        if len(chosen) == MAX_CONCEPTS:
            break
    if len(chosen) < 2:
        for word in (match.strip(".-") for match in TITLE_WORD.findall(_without_verb(title))[:12]):
            if not _is_common(word) and len(chosen) < FEW_CONCEPTS:
                chosen.setdefault(word.lower(), word[:MAX_CONCEPT])
    return tuple(chosen.values())[:MAX_CONCEPTS]


def _without_verb(title: str) -> str:
    """A title without its first word, if that is a verb. A word before a verb or a preposition is not a verb."""
    first, _, others = title.partition(" ")
    is_verb = first.isalpha() and first.istitle() and first.lower() not in TECHNOLOGIES
    return others if is_verb and others.count(" ") and others.split(" ", 1)[0] not in AFTER_NOUN else title
