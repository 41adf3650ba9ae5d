"""Sentences chosen: of all that was said, those that report, explain or answer, in the order they were said."""

import re
from collections.abc import Iterable
from itertools import islice

from recollect.observe import _cues
from recollect.observe._prose import bounded, line_sentences, plain

SHORTEST, LONGEST = 20, 400  # characters of a sentence that can stand alone
MOST_REPORTS = 8  # more deeds than are ever told
THOUGHTS = 8  # the last thoughts of a turn, among which a cause is sought
NAME = re.compile(
    r"(?<![\\\w])_*[A-Za-z](?:[a-z0-9-]*+(?:[A-Z_][\w.]*\w(?:\(\))?|/[\w./-]*\w|\(\))|[a-z0-9-]++\.[a-z]{1,4}\b(?![.\w])|"
    r"[A-Z]{0,3}-?\d{3,}[\w-]*)|--[a-z][\w-]+"
)
ABBREVIATED = {"e.g", "i.e", "vs.", "and/or", "he/she", "either/or", "n/a"}
URL = re.compile(r"\bhttps?://\S+")


def opened(sentences: Iterable[str]) -> list[str]:
    return [_cues.opened(sentence) for sentence in sentences]


def telling(sentences: Iterable[str]) -> list[str]:
    """Of opened sentences those that stand alone: no intention, no question, no lead-in, no empty praise."""
    return [sentence.rstrip(" :：") for sentence in sentences if stands_alone(sentence)]


def is_sentence(text: str) -> bool:
    """Whether a text is more than a name or a lead-in, and no question."""
    return text[-1] not in "?？:：" and (text.count(" ") >= 3 or not text.isascii())


def stands_alone(text: str) -> bool:
    if not SHORTEST <= len(text) <= LONGEST and (text.isascii() or len(text) < 6):
        return False
    last = text[-1]
    if last in "?？" or (text.isascii() and text.count(" ") < 3):
        return False
    if last in ":：" and not (text.count(" ") > 5 and _cues.BECAME.search(text)):
        return False
    return not _cues.is_intention(text) and not _cues.is_hollow(text)


def reports(sentences: Iterable[str]) -> list[str]:
    """Of opened sentences what the agent says that it did: "Added X"."""
    found = (_cues.reported(sentence) for sentence in sentences)
    kept = (text for text in found if text and len(text) >= SHORTEST and text[-1] != "?" and not _cues.is_hollow(text))
    return [text.rstrip(" :：") for text in islice(kept, MOST_REPORTS)]


def causes_in(text: str) -> list[str]:
    """The sentences of a text that name a cause."""
    text = bounded(text, 1_500, 1_000)
    if not _cues.has(_cues.CAUSE_WORDS, text.lower()):
        return []
    lines = (line for line in plain(text).split("\n") if _cues.has(_cues.CAUSE_WORDS, line.lower()))
    sentences = opened(sentence for line in lines for sentence in line_sentences(line.strip()))
    return [sentence for sentence in sentences if _cues.is_cause(sentence) and stands_alone(sentence)]


def names_in(text: str) -> list[str]:
    """The exact names in a text that a person would search for: identifiers, error codes, paths, options."""
    found = dict.fromkeys(NAME.findall(URL.sub("", text) if "://" in text else text))
    return [name for name in found if not (name.isalpha() and name.isupper()) and name.lower() not in ABBREVIATED]
