"""Classifies requests: what a person wants, and the subject of the prompt.

Single words are looked up in sets, which costs a tenth of a pattern. Chinese phrases and codes such as `ERR_AUTH`
are searched as parts of the text.
"""

import re

from recollect.observe.phrases import PhraseTable, contains_any
from recollect.observe.sentences import Prose

MAX_OPENING = 300  # characters in which a complaint says what is wrong; logs and rules follow further down
MAX_GREETING, MAX_TRIVIAL = 40, 80  # characters
MAX_SENTENCES, MAX_HEADINGS = 12, 6  # at the start of a prompt, among which its subject is expected
MAX_INTRODUCED = 120  # characters of an introduction and what it introduces, on one line
MIN_TITLE = 8  # characters that a request must have without its polite opening
WORD = re.compile(r"[a-z']+")

TABLE = PhraseTable("requests")
PROBLEM_WORDS = TABLE.word_set("problem_words")
PROBLEM_PHRASES = TABLE.phrases("problem_phrases")
TROUBLE_WORDS = PROBLEM_WORDS | TABLE.word_set("trouble_words")
TROUBLE_PHRASES = PROBLEM_PHRASES + TABLE.phrases("trouble_phrases")
FIX_WORDS = TABLE.word_set("fix_words")
FIX_PHRASES = TABLE.phrases("fix_phrases")
WHY_WORDS = TABLE.word_set("why_words")
WHY_PHRASES = TABLE.phrases("why_phrases")
ADD_WORDS = TABLE.word_set("add_words")
ADD_PHRASES = TABLE.phrases("add_phrases")
REFACTOR_WORDS = TABLE.word_set("refactor_words")
REFACTOR_PHRASES = TABLE.phrases("refactor_phrases")
RUN_WORDS = TABLE.word_set("run_words")
TEST_WORDS = TABLE.word_set("test_words")
TEST_PHRASES = TABLE.phrases("test_phrases")
STATUS_WORDS = TABLE.word_set("status_words")
CONVENTION_WORDS = TABLE.word_set("convention_words")
CONVENTION_PHRASES = TABLE.phrases("convention_phrases")
QUESTION = TABLE.pattern("question")
QUESTION_ENDS = TABLE.phrases("question_ends")
LACKING = TABLE.phrases("lacking")
WORK = TABLE.pattern("work")
GREETING = TABLE.pattern("greeting")
TRIVIAL = TABLE.pattern("trivial")
GENERIC_HEADING = TABLE.pattern("generic_heading")
LABEL = TABLE.pattern("label")
PREAMBLE = TABLE.pattern("preamble")
COURTESY = TABLE.pattern("courtesy")
LOCATION = TABLE.pattern("location")
EXPLORATION = TABLE.pattern("exploration")
PRONOUN = TABLE.pattern("pronoun")


class RequestWords:
    """The words of a request. The methods say what they show about the person's wish."""

    __slots__ = ("lower", "words")

    def __init__(self, text: str) -> None:
        self.lower = text.lower()
        self.words = frozenset(WORD.findall(self.lower))

    def _has(self, words: frozenset[str], phrases: tuple[str, ...] = ()) -> bool:
        return not self.words.isdisjoint(words) or contains_any(phrases, self.lower)

    def reports_problem(self) -> bool:
        return self._has(PROBLEM_WORDS, PROBLEM_PHRASES)

    def reports_trouble(self) -> bool:
        """Whether the request reports a problem or something weaker: slow, lost, refused."""
        return self._has(TROUBLE_WORDS, TROUBLE_PHRASES)

    def wants_fix(self) -> bool:
        return self._has(FIX_WORDS, FIX_PHRASES)

    def asks_why(self) -> bool:
        return self._has(WHY_WORDS, WHY_PHRASES)

    def wants_addition(self) -> bool:
        return self._has(ADD_WORDS, ADD_PHRASES)

    def wants_refactoring(self) -> bool:
        return self._has(REFACTOR_WORDS, REFACTOR_PHRASES)

    def names_tests(self) -> bool:
        return self._has(TEST_WORDS, TEST_PHRASES)

    def wants_test_run(self) -> bool:
        return (self._has(RUN_WORDS) and self._has(TEST_WORDS)) or contains_any(TEST_PHRASES, self.lower)

    def asks_status(self) -> bool:
        return self._has(STATUS_WORDS)

    def asks_for_convention(self) -> bool:
        return self._has(CONVENTION_WORDS, CONVENTION_PHRASES)


def is_question(text: str) -> bool:
    return text.endswith(QUESTION_ENDS) or QUESTION.match(text) is not None


def is_complaint(request: str) -> bool:
    """Whether a request begins with a problem, not with a task."""
    if WORK.match(request):
        return False
    opening = RequestWords(request[:MAX_OPENING])
    return opening.reports_trouble() or (contains_any(LACKING, opening.lower) and not is_question(request[:MAX_OPENING]))


def is_greeting(text: str) -> bool:
    return len(text) <= MAX_GREETING and GREETING.fullmatch(text) is not None


def is_trivial(text: str) -> bool:
    """Whether a prompt only says yes, continue, hello or thanks."""
    return len(text) <= MAX_TRIVIAL and TRIVIAL.fullmatch(text) is not None


# ---- the subject


def find_subject(request: Prose) -> str:
    """The subject of a prompt: its first heading or sentence that is more than an introduction."""
    specific = [text for text in request.sentences[:MAX_SENTENCES] if _is_specific(text)][:2]
    if len(specific) == 2 and EXPLORATION.match(specific[0]):
        specific = specific[1:]
    sentence = _introduced_subject(request) or (specific[0] if specific else "")
    headings = map(strip_label, request.headings[:MAX_HEADINGS])
    heading = next((text for text in headings if text and not GENERIC_HEADING.fullmatch(text)), "")
    if heading and (not sentence or sentence not in request.sentences[: request.heading_at]):
        return heading
    return sentence or heading


def _introduced_subject(request: Prose) -> str:
    """A first sentence that ends in a colon, with the text pasted below it if that is short."""
    first, *second = request.sentences[:2] or ("",)
    if first[-1:] in (":", "：") and second and first.count(" ") >= 2 and _is_specific(first[:-1]):
        is_short = len(first) + len(second[0]) < MAX_INTRODUCED
        fits = len(request.sentences) == 2 and second[0][0].isalnum() and is_short
        return f"{first} {second[0]}" if fits else first[:-1]
    return ""


def _is_specific(sentence: str) -> bool:
    if sentence[-1:] in ":：" or PREAMBLE.match(sentence) or GENERIC_HEADING.fullmatch(sentence):
        return False
    return (" " in sentence or not sentence.isascii()) and not is_trivial(sentence)


def strip_label(heading: str) -> str:
    """A heading without its label: "Plan: add X" becomes "add X"."""
    label = LABEL.match(heading)
    return (heading[label.end() :] if label else heading).strip(" #:-")


def format_request(subject: str) -> str:
    """A request as a title: "can you please add X?" becomes "Add X"; a question stays a question."""
    if location := LOCATION.match(subject):
        subject = subject[location.end() :]
    courtesy = COURTESY.match(subject)
    title = (subject[courtesy.end() :] if courtesy else subject).strip()
    if len(title) < MIN_TITLE:
        title = subject
    if title != subject and title.endswith("?") and not is_question(title.rstrip("? ")):
        title = title.rstrip("? ")
    return title[:1].upper() + title[1:]


def needs_context(text: str) -> bool:
    """Whether a text refers to something that only its reader at that moment sees: "this", "above"."""
    return PRONOUN.search(text) is not None
