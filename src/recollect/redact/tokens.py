"""Finds tokens of services: by their literal prefix, or long words by another part."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from recollect.redact.literals import Literal, SecretMatch
from recollect.redact.services import ENDING_SERVICES, SERVICES
from recollect.redact.shapes import PART, START, pattern_of
from recollect.redact.values import is_blank, is_wordy

MIN_LITERAL = 3  # characters of a prefix that is searched as a literal; shorter prefixes are checked at long words
MIN_LONG_WORD = 27  # characters of a word that can be a token or the end of a token
MAX_GENERIC = 3  # characters of a prefix with which ordinary words begin too: `sk-learn`
WORD_SIGNS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
FLAT = bytes(ord("a") if code in WORD_SIGNS else ord(" ") for code in range(256))
RANDOM = re.compile("[^0-9A-Z]*[0-9A-Z]")  # names have neither digits nor capitals after the prefix

Prefix = tuple[str, str, re.Pattern[str]]  # the prefix, its rule, and the pattern of the token


def _prefixes() -> Iterator[Prefix]:
    for service in SERVICES:
        for shape in service.shapes:
            first = PART.search(shape)
            yield shape[: first.start()] if first else shape, service.name, re.compile(START + pattern_of(shape))


def _find(text: str, start: int, *, prefix: str, rule: str, pattern: re.Pattern[str]) -> Iterator[SecretMatch]:
    """The token that begins at this position."""
    match = pattern.match(text, start)
    if match is None:
        return
    body = match[0][len(prefix) :]
    is_name = RANDOM.match(body) is None or (len(prefix) <= MAX_GENERIC and is_wordy(body))
    if is_name or is_blank(body) or _is_inside_base64(text, start):
        yield SecretMatch(match.start(), match.end())
    else:
        yield SecretMatch(match.start(), match.end(), rule)


BASE64 = re.compile(r"[A-Za-z0-9+/]{32}\Z")


def _is_inside_base64(text: str, start: int) -> bool:
    """Whether a word is part of an encoded image or another file."""
    return text[start - 1 : start] in ("+", "/") and BASE64.search(text, max(0, start - 32), start) is not None


def _is_literal(prefix: str) -> bool:
    """Whether a prefix is searched as a literal. A repeated character would match every table of zeros."""
    return len(prefix) >= MIN_LITERAL and len(set(prefix)) > 1


TOKENS = [
    Literal(prefix, partial(_find, prefix=prefix, rule=rule, pattern=pattern))
    for prefix, rule, pattern in _prefixes()
    if _is_literal(prefix)
]
SHORT_PREFIXES: dict[str, list[Prefix]] = defaultdict(list)
for _row in _prefixes():
    if not _is_literal(_row[0]):
        SHORT_PREFIXES[_row[0][:2]].append(_row)


# ---- long words

MAX_BEFORE = 64  # characters of a token before its long word
ENDINGS = {
    sign: tuple(
        (row.name, re.compile(f"{START}(?:{row.before})\\Z"), re.compile(row.after))
        for row in ENDING_SERVICES
        if row.sign == sign
    )
    for sign in {row.sign for row in ENDING_SERVICES}
}
WHOLE_WORDS = ENDINGS.pop("")


def find_long_tokens(text: str) -> Iterator[SecretMatch]:
    """Every token that is a long word, or ends with one."""
    for start in find_long_words(text):
        for prefix, rule, pattern in SHORT_PREFIXES.get(text[start : start + 2], ()):
            for token in _find(text, start, prefix=prefix, rule=rule, pattern=pattern):
                if token.rule:
                    yield token
        for rule, before, after in ENDINGS.get(text[start - 1 : start], ()) + WHOLE_WORDS:
            match = after.match(text, start)
            beginning = before.search(text, max(0, start - MAX_BEFORE), start) if match else None
            if match and beginning and not is_blank(match[0]):
                yield SecretMatch(beginning.start(), match.end(), rule)


COLORED = ("[", ";")
COLOR = re.compile(r"\d{1,3}m")  # a terminal color, after `ESC [`


def find_long_words(text: str) -> Iterator[int]:
    """The starts of words that are longer than ordinary words."""
    flat = text.encode("latin-1", "replace").translate(FLAT)  # one byte per character
    word = b"a" * MIN_LONG_WORD
    position = flat.find(word)
    while position >= 0:
        yield position
        before = text[position - 1 : position]
        if before == "\\":
            yield position + 1  # after an escaped newline
        elif before == "%":
            yield position + 2  # after a percent escape
        elif before in COLORED and (color := COLOR.match(text, position)):
            yield color.end()
        end = flat.find(b" ", position)
        position = flat.find(word, end) if end >= 0 else -1
