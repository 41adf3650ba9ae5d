"""Finds tokens of services by their beginning, for next to nothing where there are none.

A beginning ends in `-`, `_` or `.`, or the token is one long word. So three quick scans for a delimiter with a long
word behind it, and one for long words, find all the places where a token could be; a look into a dictionary tells whose
it would be. A table that is tried rule by rule is a hundred scans.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from recollect.redact._services import ENDING_SERVICES, SERVICES
from recollect.redact._shapes import PART, START, pattern_of
from recollect.redact._values import is_blank, is_wordy


class Found(NamedTuple):
    """A secret in a text: where, and by which rule."""

    start: int
    end: int
    rule: str


TAIL = 3  # characters that a beginning is looked up by
LONG = 27  # characters of a word that is a token by itself, or the end of one
GENERIC = 3  # characters of a beginning that is also that of words: `sk-learn`
WORD_SIGNS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
FLAT = bytes(ord("a") if code in WORD_SIGNS else ord(" ") for code in range(256))
# A delimiter and a word of some length behind it that has a digit or a capital
DELIMITED = [re.compile(rf"{sign}(?=[A-Za-z0-9_+/-]{{10}})(?=[a-z_+/-]{{0,40}}[0-9A-Z])") for sign in ("-", "_", r"\.")]
# Tokens of one word that may be short, by their first letter
CAPITALS = [re.compile("A(?=3T[A-Z0-9]|BIA|BSK|CCA|KIA|SIA|TATT3|TBB|TCTT3)"), re.compile("L(?=TAI)")]

Beginning = tuple[str, str, re.Pattern[str]]  # as text, its rule, and the token


def _beginnings() -> tuple[dict[str, list[Beginning]], dict[str, list[Beginning]]]:
    """Beginnings by their last characters up to a delimiter, and by their first where a token is one word."""
    delimited: dict[str, list[Beginning]] = defaultdict(list)
    words: dict[str, list[Beginning]] = defaultdict(list)
    for service in SERVICES:
        for shape in service.shapes:
            first = PART.search(shape)
            literal = shape[: first.start()] if first else shape
            pattern = re.compile(START + pattern_of(shape))
            anchor = re.match(r".*[-_.]", literal)
            if anchor:
                delimited[anchor[0][-TAIL:]].append((anchor[0], service.name, pattern))
            else:
                words[literal[:2]].append((literal, service.name, pattern))
    return delimited, words


DELIMITED_BEGINNINGS, WORD_BEGINNINGS = _beginnings()


INSIDE_BASE64 = ("+", "/")  # before a word that is a piece of a picture or of another file
BEFORE = 64  # characters of a token before its long word
ENDINGS = {
    sign: tuple(
        (row.name, re.compile(f"{START}(?:{row.before})\\Z"), re.compile(row.after))
        for row in ENDING_SERVICES
        if row.sign == sign
    )
    for sign in {row.sign for row in ENDING_SERVICES}
}
WHOLE = ENDINGS.pop("")


def tokens(text: str) -> Iterator[Found]:
    """Every token of a service in a text."""
    for delimiter in DELIMITED:
        for place in delimiter.finditer(text):
            end = place.end()
            for beginning, rule, pattern in DELIMITED_BEGINNINGS.get(text[end - TAIL : end], ()):
                if text.startswith(beginning, end - len(beginning)):
                    yield from _token(text, end - len(beginning), beginning, rule, pattern)
    for letter in CAPITALS:
        for place in letter.finditer(text):
            yield from _word_token(text, place.start())
    for start in long_words(text):
        if text[start - 1 : start] not in INSIDE_BASE64:
            yield from _word_token(text, start)
        yield from _ending_token(text, start)


def _word_token(text: str, start: int) -> Iterator[Found]:
    for beginning, rule, pattern in WORD_BEGINNINGS.get(text[start : start + 2], ()):
        if text.startswith(beginning, start):
            yield from _token(text, start, beginning, rule, pattern)


def _ending_token(text: str, start: int) -> Iterator[Found]:
    """A token that a long word is the end of, or that tells by its own end."""
    for rule, before, after in ENDINGS.get(text[start - 1 : start], ()) + WHOLE:
        found = after.match(text, start)
        ahead = before.search(text, max(0, start - BEFORE), start) if found else None
        if found and ahead and not is_blank(found[0]):
            yield Found(ahead.start(), found.end(), rule)


def _token(text: str, start: int, beginning: str, rule: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    found = pattern.match(text, start)
    if found is None:
        return
    body = found[0][len(beginning) :]
    if not is_blank(body) and not (len(beginning) <= GENERIC and is_wordy(body)):
        yield Found(found.start(), found.end(), rule)


def long_words(text: str) -> Iterator[int]:
    """Where words of letters and digits begin that are longer than any that people write."""
    flat = text.encode("latin-1", "replace").translate(FLAT)  # as many bytes as the text has characters
    word = b"a" * LONG
    place = flat.find(word)
    while place >= 0:
        yield place
        if place and text[place - 1] == "\\":
            yield place + 1  # behind an escaped newline
        end = flat.find(b" ", place)
        place = flat.find(word, end) if end >= 0 else -1
