"""Cuts the passage of a text that best shows why a search found the text."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from recollect.index.words import PART, UNSPACED, words

MAX_SNIPPET = 320  # characters: four lines of a terminal, about 80 tokens
LEAD = 80  # characters shown before the first match
CHUNK = 200_000  # characters searched at a time; most texts are one chunk
MAX_TRIES = 400  # occurrences that are checked per word and chunk: "art" occurs in "start" but does not match
SHARP_S = ord("ß")  # the index replaces it by "ss"; here it must stay one character
WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")  # letters and digits with their accents
MAX_MATCHES = 16  # of one word and chunk: further matches do not change the best window
MAX_CUT_SHIFT = 24  # characters by which a cut may move to reach a space


def snippet(text: str, groups: Iterable[tuple[str, ...]]) -> tuple[str, bool]:
    """At most 320 characters around the best match, with white space collapsed; and whether text was cut.

    `groups` are the words of the query in their indexed form. The words of a phrase are one group.
    """
    if len(text) <= 4 * MAX_SNIPPET and len(collapsed := " ".join(text.split())) <= MAX_SNIPPET:
        return collapsed, False
    return _cut_around(text, _best_start(text, _needles(groups)))


def match_offsets(text: str, groups: Iterable[tuple[str, ...]]) -> list[tuple[int, int]]:
    """The (start, end) of the words of a short text that match, in order and without overlaps."""
    folded = _fold(text)
    spans = sorted(_word_span(text, at, needle) for needle in _needles(groups) for at in _find(text, folded, needle))
    offsets: list[tuple[int, int]] = []
    for start, end in spans:
        if not offsets or start >= offsets[-1][1]:
            offsets.append((start, end))
    return offsets


def _word_span(text: str, at: int, needle: str) -> tuple[int, int]:
    word = None if UNSPACED.match(needle) else WORD.match(text, at)
    return at, word.end() if word is not None else at + len(needle)


def _needles(groups: Iterable[tuple[str, ...]]) -> list[str]:
    """The words to find. A group of characters of an unspaced script becomes one needle."""
    needles: dict[str, None] = {}
    for group in groups:
        if all(UNSPACED.fullmatch(word) for word in group):
            needles["".join(group)] = None
        else:
            needles.update(dict.fromkeys(group))
    return list(needles)


def _best_start(text: str, needles: list[str]) -> int:
    """The start of the window with the most different needles; 0 if no needle occurs."""
    best, best_count = 0, 0
    for start in range(0, len(text), CHUNK):
        chunk = text[start : start + CHUNK + MAX_SNIPPET]
        folded = _fold(chunk)
        matches = sorted((at, needle) for needle in needles for at in islice(_find(chunk, folded, needle), MAX_MATCHES))
        at, count = _densest_window(matches)
        if count > best_count:
            best, best_count = start + at, count
        if best_count == len(needles):
            break
    return best


def _densest_window(matches: list[tuple[int, str]]) -> tuple[int, int]:
    """The start of the window with the most different needles, and their number."""
    best, best_count, left = 0, 0, 0
    for right, (at, _) in enumerate(matches):
        while at - matches[left][0] > MAX_SNIPPET - LEAD:
            left += 1
        count = len({needle for _, needle in matches[left : right + 1]})
        if count > best_count:
            best, best_count = matches[left][0], count
    return best, best_count


def _fold(text: str) -> str:
    """The text in lower case and without accents. Its length does not change."""
    return text.lower() if text.isascii() else text.translate(_FOLDED_CHARACTERS)


class _FoldedCharacters(dict[int, str]):
    """A translation table that is filled when a character first occurs."""

    def __missing__(self, code: int) -> str:
        character = "s" if code == SHARP_S else unicodedata.normalize("NFKD", chr(code))[:1].lower()[:1] or chr(code)
        self[code] = character
        return character


_FOLDED_CHARACTERS = _FoldedCharacters()


def _find(text: str, folded: str, needle: str) -> Iterator[int]:
    """The positions of words that are indexed as `needle`. A stem may end differently from its word: happi, happy."""
    if UNSPACED.match(needle):
        at = folded.find(needle)
        if at >= 0:
            yield at
        return
    root = needle[:-1] if len(needle) > 3 else needle
    at = folded.find(root)
    for _ in range(MAX_TRIES):
        if at < 0:
            return
        if _begins_word(text, at) and _is_form_of(text, at, needle):
            yield at
        at = folded.find(root, at + 1)


def _begins_word(text: str, at: int) -> bool:
    before = text[at - 1] if at else " "
    return not before.isalnum() or (text[at].isupper() and not before.isupper()) or UNSPACED.match(before) is not None


def _is_form_of(text: str, at: int, needle: str) -> bool:
    word = WORD.match(text, at)
    return word is not None and needle in _indexed_forms(word[0])


@lru_cache(maxsize=16_384)
def _indexed_forms(word: str) -> frozenset[str]:
    """The forms under which a word is indexed: the word itself, and the first of its parts."""
    word = unicodedata.normalize("NFC", word)
    part = PART.match(word.encode())
    return frozenset(words(word) + (words(part[0].decode()) if part else []))


def _cut_around(text: str, at: int) -> tuple[str, bool]:
    """The text around a position, cut between words if a space is near, and whether text was cut. "…" marks a cut."""
    before = " ".join(text[max(0, at - 4 * LEAD) : at].split())
    gap = " " if before and at and text[at - 1].isspace() else ""
    lead = before[-LEAD:]
    is_cut_before = len(lead) < len(before) or at > 4 * LEAD
    if is_cut_before and 0 <= (space := lead.find(" ")) < MAX_CUT_SHIFT:
        lead = lead[space + 1 :]
    after = " ".join(text[at : at + 8 * MAX_SNIPPET].split())
    tail = after[: MAX_SNIPPET - len(lead) - len(gap) - is_cut_before - 1]
    is_cut_after = len(tail) < len(after) or at + 8 * MAX_SNIPPET < len(text)
    if len(tail) < len(after) and (space := tail.rfind(" ", len(tail) - MAX_CUT_SHIFT)) > 0:
        tail = tail[:space]
    shown = ("…" if is_cut_before else "") + lead + gap + tail + ("…" if is_cut_after else "")
    return shown, is_cut_before or is_cut_after
