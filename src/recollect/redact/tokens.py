"""Finds tokens of services: by the literal that they begin with, and long words that tell by another part."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from recollect.redact.literals import Found, Literal
from recollect.redact.services import ENDING_SERVICES, SERVICES
from recollect.redact.shapes import PART, START, pattern_of
from recollect.redact.values import is_blank, is_wordy

LEAST_LITERAL = 3  # characters of a beginning that is looked for; a shorter one is looked up at long words
LONG = 27  # characters of a word that is a token by itself, or the end of one
GENERIC = 3  # characters of a beginning that is also that of words: `sk-learn`
WORD_SIGNS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
FLAT = bytes(ord("a") if code in WORD_SIGNS else ord(" ") for code in range(256))
RANDOM = re.compile("[^0-9A-Z]*[0-9A-Z]")  # names have no digits and no capitals behind a beginning

Beginning = tuple[str, str, re.Pattern[str]]  # as text, its rule, and the token


def _beginnings() -> Iterator[Beginning]:
    for service in SERVICES:
        for shape in service.shapes:
            first = PART.search(shape)
            yield shape[: first.start()] if first else shape, service.name, re.compile(START + pattern_of(shape))


def _find(text: str, start: int, *, beginning: str, rule: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    """The token that begins here."""
    found = pattern.match(text, start)
    if found is None:
        return
    body = found[0][len(beginning) :]
    is_name = RANDOM.match(body) is None or (len(beginning) <= GENERIC and is_wordy(body))
    if is_name or is_blank(body) or _is_inside_base64(text, start):
        yield Found(found.start(), found.end())
    else:
        yield Found(found.start(), found.end(), rule)


BASE64 = re.compile(r"[A-Za-z0-9+/]{32}\Z")


def _is_inside_base64(text: str, start: int) -> bool:
    """Whether a word is a piece of a picture or of another file."""
    return text[start - 1 : start] in ("+", "/") and BASE64.search(text, max(0, start - 32), start) is not None


def _is_literal(beginning: str) -> bool:
    """Whether a beginning is looked for; one of a single letter is in every table of zeros."""
    return len(beginning) >= LEAST_LITERAL and len(set(beginning)) > 1


TOKENS = [
    Literal(beginning, partial(_find, beginning=beginning, rule=rule, pattern=pattern))
    for beginning, rule, pattern in _beginnings()
    if _is_literal(beginning)
]
SHORT_BEGINNINGS: dict[str, list[Beginning]] = defaultdict(list)
for _row in _beginnings():
    if not _is_literal(_row[0]):
        SHORT_BEGINNINGS[_row[0][:2]].append(_row)


# ---- long words

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


def long_tokens(text: str) -> Iterator[Found]:
    """Every token that is a long word, or that a long word is the end of."""
    for start in long_words(text):
        for beginning, rule, pattern in SHORT_BEGINNINGS.get(text[start : start + 2], ()):
            for token in _find(text, start, beginning=beginning, rule=rule, pattern=pattern):
                if token.rule:
                    yield token
        for rule, before, after in ENDINGS.get(text[start - 1 : start], ()) + WHOLE:
            found = after.match(text, start)
            ahead = before.search(text, max(0, start - BEFORE), start) if found else None
            if found and ahead and not is_blank(found[0]):
                yield Found(ahead.start(), found.end(), rule)


COLORED = ("[", ";")
COLOR = re.compile(r"\d{1,3}m")  # of a terminal, behind `ESC [`


def long_words(text: str) -> Iterator[int]:
    """Where words of letters and digits begin that are longer than any that people write."""
    flat = text.encode("latin-1", "replace").translate(FLAT)  # as many bytes as the text has characters
    word = b"a" * LONG
    place = flat.find(word)
    while place >= 0:
        yield place
        before = text[place - 1 : place]
        if before == "\\":
            yield place + 1  # behind an escaped newline
        elif before == "%":
            yield place + 2  # behind a percent sign's two digits
        elif before in COLORED and (color := COLOR.match(text, place)):
            yield color.end()
        end = flat.find(b" ", place)
        place = flat.find(word, end) if end >= 0 else -1
