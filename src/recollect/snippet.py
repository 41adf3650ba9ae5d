"""The passage of a text that best shows why it was found."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from recollect.index.words import PART, UNSPACED, words

SNIPPET = 320  # characters: four lines of a terminal, about 80 tokens
LEAD = 80  # characters shown before the first match
CHUNK = 200_000  # characters searched at a time; most texts are one chunk
TRIES = 400  # occurrences checked per word and chunk: in "start", "art" occurs but does not match
SHARP_S = ord("ß")  # the index folds it to "ss"; here it must stay one character
RUN = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")  # letters and digits with their accents
ENOUGH = 16  # matches of one word and chunk: more do not change the best window
NEAR = 24  # characters within which a cut moves to the next space


def snippet(text: str, groups: Iterable[tuple[str, ...]]) -> tuple[str, bool]:
    """At most 320 characters around the best match, with white space collapsed; and whether text was cut.

    `groups` are the words of the query as they are indexed; the words of a phrase are one group.
    """
    if len(text) <= 4 * SNIPPET and len(folded := " ".join(text.split())) <= SNIPPET:
        return folded, False
    return _around(text, _best_place(text, _needles(groups)))


def _needles(groups: Iterable[tuple[str, ...]]) -> list[str]:
    """The words to find. The characters of an unspaced script are one needle."""
    needles: dict[str, None] = {}
    for group in groups:
        if all(UNSPACED.fullmatch(word) for word in group):
            needles["".join(group)] = None
        else:
            needles.update(dict.fromkeys(group))
    return list(needles)


def _best_place(text: str, needles: list[str]) -> int:
    """The start of the window with the most different needles; 0 if none is found."""
    best, most = 0, 0
    for start in range(0, len(text), CHUNK):
        chunk = text[start : start + CHUNK + SNIPPET]
        plain = _plain(chunk)
        found = sorted((place, needle) for needle in needles for place in islice(_places(chunk, plain, needle), ENOUGH))
        place, count = _densest(found)
        if count > most:
            best, most = start + place, count
        if most == len(needles):
            break
    return best


def _densest(found: list[tuple[int, str]]) -> tuple[int, int]:
    """The start of the window with the most different needles, and their number."""
    best, most, left = 0, 0, 0
    for right, (place, _) in enumerate(found):
        while place - found[left][0] > SNIPPET - LEAD:
            left += 1
        count = len({needle for _, needle in found[left : right + 1]})
        if count > most:
            best, most = found[left][0], count
    return best, most


def _plain(text: str) -> str:
    """The text in lower case and without accents, of the same length."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Folding(dict[int, str]):
    def __missing__(self, code: int) -> str:
        character = "s" if code == SHARP_S else unicodedata.normalize("NFKD", chr(code))[:1].lower()[:1] or chr(code)
        self[code] = character
        return character


_FOLDED = _Folding()


def _places(text: str, plain: str, needle: str) -> Iterator[int]:
    """Where words stand that are indexed as `needle`. A stem may end differently from its word: happi, happy."""
    if UNSPACED.match(needle):
        place = plain.find(needle)
        if place >= 0:
            yield place
        return
    root = needle[:-1] if len(needle) > 3 else needle
    place = plain.find(root)
    for _ in range(TRIES):
        if place < 0:
            return
        if _begins_word(text, place) and _is_form_of(text, place, needle):
            yield place
        place = plain.find(root, place + 1)


def _begins_word(text: str, place: int) -> bool:
    before = text[place - 1] if place else " "
    return not before.isalnum() or (text[place].isupper() and not before.isupper()) or UNSPACED.match(before) is not None


def _is_form_of(text: str, place: int, needle: str) -> bool:
    run = RUN.match(text, place)
    return run is not None and needle in _forms(run[0])


@lru_cache(maxsize=16_384)
def _forms(word: str) -> frozenset[str]:
    """How a word is indexed: as itself, and as the first of its parts."""
    word = unicodedata.normalize("NFC", word)
    part = PART.match(word.encode())
    return frozenset(words(word) + (words(part[0].decode()) if part else []))


def _around(text: str, place: int) -> tuple[str, bool]:
    """The text around a place, cut between words if a space is near. Cuts are marked."""
    before = " ".join(text[max(0, place - 4 * LEAD) : place].split())
    gap = " " if before and place and text[place - 1].isspace() else ""
    lead = before[-LEAD:]
    cut_before = len(lead) < len(before) or place > 4 * LEAD
    if cut_before and 0 <= (space := lead.find(" ")) < NEAR:
        lead = lead[space + 1 :]
    after = " ".join(text[place : place + 8 * SNIPPET].split())
    room = SNIPPET - len(lead) - len(gap) - cut_before - 1
    tail = after[:room]
    cut_after = len(tail) < len(after) or place + 8 * SNIPPET < len(text)
    if len(tail) < len(after) and (space := tail.rfind(" ", len(tail) - NEAR)) > 0:
        tail = tail[:space]
    shown = ("…" if cut_before else "") + lead + gap + tail + ("…" if cut_after else "")
    return shown, cut_before or cut_after
