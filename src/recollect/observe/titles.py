"""Chooses a title: one line that describes the turn. Commits, plans, answers and prompts give candidates with scores."""

import re
from collections.abc import Iterator

from recollect.observe.phrases import PhraseTable
from recollect.observe.requests import GENERIC_HEADING, format_request, needs_context, strip_label
from recollect.observe.sentences import (
    NAME,
    NEW_STATE,
    PRONOUN,
    capitalize,
    is_empty_report,
    is_intention,
    planned_change,
    strip_emphasis,
    strip_opener,
    truncate,
)
from recollect.observe.turn import ObservedTurn
from recollect.observe.turn_type import CONVENTIONAL, OTHER_PREFIXES, TYPE_OF_PREFIX, main_commit, type_of_title

MAX_TITLE = 80  # characters: one line of a list
MIN_TITLE = 10  # characters: a shorter title says nothing
NAME_BONUS = 0.6  # for a title with an exact name; no title can gain more
LONG_CLAUSE, SHORT_CLAUSE = 44, 30  # characters that must remain when a title is cut at a clause
MAX_TYPED = 400  # characters: a longer request was pasted, and its first line does not name the symptom
MIN_CAUSE = 30  # characters of a cause that can be a title alone
FRAGMENT_STARTS = frozenset("<→-+*=>|)]}.,;:&%@#")  # a text that begins with one of these is a fragment
PENALTIES = (("://", -2.5), ("→", -1.5))  # texts that do not belong in a title, and their penalties
QUOTES = ("'", '"')
PARENTHESES = re.compile(r"\s*\([^()]*\)")
ISSUE_NUMBER = re.compile(r"\s*\(#\d+\)$")

TABLE = PhraseTable("titles")
CLAUSE_END = TABLE.pattern("clause_end")
PHRASE_START = TABLE.pattern("phrase_start")
KIND_LABEL = TABLE.pattern("kind_label")
LEAD_IN = TABLE.pattern("lead_in")
AGAINST = TABLE.pattern("against")
EXAMPLE = TABLE.pattern("example")
CONDITION = TABLE.pattern("condition")
TESTS_PASS = TABLE.pattern("tests_pass")
PLEA = TABLE.pattern("plea")
ARTICLE = TABLE.pattern("article")
REASON = TABLE.pattern("reason")
UNCLEAR = TABLE.pattern("unclear")


def choose_title(turn: ObservedTurn, kind: str, subject: str) -> str:
    """The formatted candidate with the best score."""
    best, chosen = -99.0, ""
    for source_score, text in _candidates(turn, kind, subject):
        if source_score + NAME_BONUS <= best:
            continue
        title = format_title(text)
        score = source_score + _score(title, text) - (4 if LEAD_IN.match(title) else 0)
        if title and score > best:
            best, chosen = score, title
    return chosen or _title_from_actions(turn).rstrip(" .")


# ---- candidates


def _candidates(turn: ObservedTurn, kind: str, subject: str) -> Iterator[tuple[float, str]]:
    """(score of the source, text), the better sources first.

    The scores rank the sources, as reading real turns showed: the commit (10), the beginning of the answer (7.5), the
    request (6), any other sentence (4.5). One fault of a title costs one to three.
    """
    has_changes = turn.has_changes()
    if commit := main_commit(turn):
        yield 10, format_commit(commit)
    if turn.pull_request:
        yield 9.5, format_commit(turn.pull_request.subject)
    headings = map(strip_label, turn.plan.headings)
    if plan := next((text for text in headings if text and not GENERIC_HEADING.fullmatch(text)), ""):
        yield (7, plan) if has_changes else (9, f"Plan: {plan}")
    if kind == "diagnosis":
        yield from ((7.5 - place, cause) for place, cause in enumerate(_cause_titles(turn)))
        yield from ((5.6, cause) for cause in turn.causes[:1])
    report_score = (7.5 if has_changes else 6.2) if turn.opens_with_report else (5.2 if has_changes else 3)
    yield from ((report_score - place * 0.6, text) for place, text in enumerate(turn.reports[:4]))
    yield from _candidates_of_prompt(turn, kind, subject)
    yield from _candidates_of_answer(turn)


def _cause_titles(turn: ObservedTurn) -> list[str]:
    """The causes as titles. A cause that is the only statement gives its clause after "because", if that is long enough."""
    if len(turn.statements) > 1 or not turn.causes or len(turn.request) > MAX_TYPED:
        return turn.causes[:2]
    reason = REASON.search(turn.causes[0])
    if reason and len(reason["cause"]) >= MIN_CAUSE and reason["cause"].count(" ") > 2:
        return [reason["cause"]]
    return []


def _candidates_of_prompt(turn: ObservedTurn, kind: str, subject: str) -> Iterator[tuple[float, str]]:
    if not subject:
        return
    sentences = turn.request_prose.sentences
    is_unclear = needs_context(subject) and not NAME.search(subject)
    is_heading = any(heading.endswith(subject) for heading in turn.request_prose.headings)
    follows_introduction = is_heading or subject in sentences[1:]  # then it is the title of a pasted issue
    is_plan = subject not in sentences[:1] and follows_introduction and len(turn.request) > MAX_TYPED
    score = 7.6 if is_plan else 6 if turn.has_changes() else 6.5
    title = _fix_title(subject) if kind == "bug-fix" else format_request(subject)
    yield score - (2.5 if is_unclear else 0), title


def _fix_title(subject: str) -> str:
    """A complaint as a title: "the login fails, please fix it" becomes "Fixed: the login fails"."""
    plea = PLEA.search(subject)
    title = format_request(subject)
    if not plea or plea.start() < MIN_TITLE or type_of_title(title):
        return title
    symptom = subject[: plea.start()].rstrip(" ,.;")
    return f"Fixed: {symptom[:1].lower() + symptom[1:] if ARTICLE.match(symptom) else symptom}"


def _candidates_of_answer(turn: ObservedTurn) -> Iterator[tuple[float, str]]:
    has_changes = turn.has_changes()
    for place, sentence in enumerate(turn.statements[:4]):
        bonus = 2.3 if has_changes and place == 0 and NEW_STATE.search(sentence) else 0
        yield 4.5 - place * 0.5 + bonus, sentence
    for heading in turn.answer_prose.headings[:2]:
        if not GENERIC_HEADING.fullmatch(heading) and len(heading) > 14:
            yield 4, heading
    if has_changes:
        planned = (planned_change(strip_opener(sentence)) for sentence in turn.answer_prose.sentences[:3])
        yield from ((4.5, change) for change in planned if change)


def _score(title: str, text: str) -> float:
    """The bonuses and penalties of a title, independent of its source."""
    score = 0.0
    if len(title) < MIN_TITLE or title.isdigit():
        score -= 6 if title.isascii() else 1
    if len(text) > MAX_TITLE:
        score -= 0.8
    if len(text) > 200 or title.endswith("…"):
        score -= 0.7
    if NAME.search(title):
        score += NAME_BONUS
    if title.isascii() and title.count(" ") < 2:
        score -= 2
    if PRONOUN.match(title):
        score -= 2.5
    elif UNCLEAR.match(title):
        score -= 1.5
    if CONDITION.match(title) and EXAMPLE.search(title):
        score -= 3
    if is_empty_report(title) or is_intention(title):
        score -= 5
    return score + sum(penalty for part, penalty in PENALTIES if part in title) - (4 if title[:1] in FRAGMENT_STARTS else 0)


def _title_from_actions(turn: ObservedTurn) -> str:
    """A title for a turn without text: the files that it touched or the command that it ran."""
    if turn.changed_files:
        return truncate(f"Changed {_file_names(turn.changed_files)}", MAX_TITLE)
    if turn.runs:
        return truncate(f"Ran {strip_emphasis(turn.runs[-1].command)}", MAX_TITLE)
    if turn.read_files:
        return truncate(f"Read {_file_names(turn.read_files)}", MAX_TITLE)
    return truncate(strip_emphasis(turn.request or (turn.answer_prose.sentences or ("",))[0]), MAX_TITLE)


def _file_names(paths: list[str]) -> str:
    return ", ".join(path.rsplit("/", 1)[-1] for path in paths[:3])


# ---- format


def format_commit(subject: str) -> str:
    """The subject of a commit as a title, without its conventional prefix and issue number."""
    subject = ISSUE_NUMBER.sub("", subject)
    commit = CONVENTIONAL.match(subject)
    if commit and (commit["kind"] in TYPE_OF_PREFIX or commit["kind"] in OTHER_PREFIXES):
        title = commit["rest"]
        word = title.split(" ", 1)[0]
        return title[:1].upper() + title[1:] if word.replace("-", "").isalpha() and word.islower() else title
    return subject


def format_title(text: str) -> str:
    """A text as a title: at most one line of complete clauses, without markup, introduction and full stop."""
    text = strip_emphasis(text.replace("\\n", " "))
    if " against " in text:
        text = AGAINST.sub("Avoid ", text)
    for pattern in (LEAD_IN, KIND_LABEL):
        if (introduction := pattern.match(text)) and len(text) - introduction.end() >= MIN_TITLE:
            text = text[introduction.end() :]
    if "pass" in text or "green" in text:
        text = TESTS_PASS.sub("", text) or text
    text = text.strip(" .").rstrip(" .:,;!。：，；！—–-")
    text = text.replace('"""', "").rstrip()
    if text[:1] in QUOTES and text[-1:] == text[:1] and text.count(text[0]) == 2:
        text = text[1:-1]
    if len(text) > MAX_TITLE:
        text = PARENTHESES.sub("", text).rstrip(" .:,;!")
    if len(text) > MAX_TITLE:
        text = (
            _cut_at(text, CLAUSE_END, LONG_CLAUSE)
            or _cut_at(text, PHRASE_START, LONG_CLAUSE)
            or _cut_at(text, CLAUSE_END, SHORT_CLAUSE)
            or text
        )
    text = truncate(text, MAX_TITLE)
    if text.count("(") > text.count(")"):
        text = text[: text.rindex("(")].rstrip(" ,;:") or text
    return capitalize(text)


def _cut_at(text: str, boundary: re.Pattern[str], min_length: int) -> str:
    """The longest beginning of a text that ends at a boundary and fits into a title; empty without one."""
    if CONDITION.match(text):  # its first clause alone says nothing
        min_length = max(min_length, text.find(", ") + min_length // 2)
    ends = [end.start() for end in boundary.finditer(text, min_length, MAX_TITLE + 2) if end.start() <= MAX_TITLE]
    return text[: ends[-1]].rstrip(" .,;:—–-") if ends else ""
