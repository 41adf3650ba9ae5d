"""A question taken apart: words, identifiers, quoted phrases, names, times, and what is left for its meaning.

The question is never given to an engine's own query language: queries are built from what is found here, so that no
character of it can mean anything but itself.
"""

import re
from collections.abc import Callable
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from recollect.index.words import STOP, camel_parts, is_unspaced, spaced, words
from recollect.search.times import Window, windows

QUOTED = re.compile(r'"([^"]+)"')
NAME = re.compile(r"[A-Z][a-z]+(?:['’]s)?")
EDGES = ",.;:?!()[]{}'’"
IDENTIFIER = re.compile(r"[\d_/\\.:@#$=<>{}()\[\]|*+~^%-]|[a-z][A-Z]|^[A-Z]{2,}[a-z]*$")


class Identifier(Struct, frozen=True):
    """A word of a question that falls into parts: `ERR_AUTH_FAILED`, `getUserName`, `src/auth.ts`."""

    written: str
    whole: tuple[str, ...]  # its words as one phrase
    parts: tuple[str, ...]  # the words of its humps, where it has any


class ParsedQuery(Struct, frozen=True):
    """What must be there, what counts, and what it is about."""

    phrases: tuple[tuple[str, ...], ...]
    wholes: tuple[tuple[str, ...], ...]
    terms: tuple[str, ...]
    names: frozenset[str] = frozenset()  # of the terms, those that name somebody or something
    meaning: str = ""  # the plain words of it, for a model; none where a phrase must occur literally
    windows: tuple[Window, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    alone: frozenset[str] = frozenset()  # of the terms, those that stand outside identifiers

    def is_empty(self) -> bool:
        return not (self.phrases or self.wholes or self.terms)

    def groups(self) -> list[tuple[str, ...]]:
        """Every word that counts; those that belong together in one group."""
        return [*self.phrases, *self.wholes, *((term,) for term in self.terms)]

    def with_identifiers_whole(self, occurs: Callable[[tuple[str, ...]], bool]) -> "ParsedQuery":
        """The same question without the parts of those identifiers that occur whole."""
        found = [identifier for identifier in self.identifiers if occurs(identifier.whole)]
        others = [identifier for identifier in self.identifiers if identifier not in found]
        kept = {*self.alone, *(word for one in others for word in (*one.whole, *one.parts))}
        kept.update(one.whole[0] for one in found if len(one.whole) == 1)
        parts = {one.parts for one in found} - {one.whole for one in found}
        return replace(
            self,
            terms=tuple(term for term in self.terms if term in kept),
            wholes=tuple(whole for whole in self.wholes if whole not in parts),
        )


def parse(question: str, now: int | None = None) -> ParsedQuery:
    """Words, identifiers and quoted phrases of a question, as the index knows them. `now` is what "yesterday" is before."""
    phrases = tuple(tuple(found) for quoted in QUOTED.findall(question) if (found := _words(quoted)))
    wholes: list[tuple[str, ...]] = []
    terms: list[str] = []
    weak: list[str] = []
    names: set[str] = set()
    plain: list[str] = []
    identifiers: list[Identifier] = []
    alone: set[str] = set()
    unquoted = QUOTED.sub(" ", question)
    for place, chunk in enumerate(unquoted.split()):
        found, bare = _words(chunk), chunk.strip(EDGES)
        if len(found) > 1 and is_unspaced(chunk):
            wholes += [tuple(found), *pairwise(found)]
            continue
        if len(found) > 1:
            wholes.append(tuple(found))
        parts = words(camel_parts(chunk))
        if len(parts) > 1:
            wholes.append(tuple(parts))
        if len(found) > 1 or len(parts) > 1:
            identifiers.append(Identifier(bare, tuple(found), tuple(parts)))
        else:
            alone.update(found)
        is_weak = bare.lower() in STOP
        (weak if is_weak else terms).extend((*found, *(parts if len(parts) > 1 else ())))
        if not is_weak and IDENTIFIER.search(bare) is None:
            plain.append(bare)
        if place and not is_weak and NAME.fullmatch(bare):
            names.update(found[:1])
    if not (phrases or wholes or terms):
        terms = weak
    return ParsedQuery(
        phrases,
        tuple(dict.fromkeys(wholes)),
        tuple(dict.fromkeys(terms)),
        frozenset(names),
        "" if phrases else " ".join(plain),
        windows(unquoted, now),
        tuple(identifiers),
        frozenset(alone),
    )


def _words(text: str) -> list[str]:
    return words(text if text.isascii() else spaced(text))
