"""A query, parsed: words, identifiers, quoted phrases, names, times, and the plain words for the embedding model.

The engine's own query language is never used. Queries are built from what is parsed here, so that every character of the
query means only itself.
"""

import re
from collections.abc import Callable
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from recollect.index.words import STOP, camel_parts, is_unspaced, space_out, words
from recollect.search.time_windows import TimeWindow, find_time_windows

QUOTED = re.compile(r'"([^"]+)"')
NAME = re.compile(r"[A-Z][a-z]+(?:['’]s)?")
PUNCTUATION = ",.;:?!()[]{}'’"
IDENTIFIER = re.compile(r"[\d_/\\.:@#$=<>{}()\[\]|*+~^%-]|[a-z][A-Z]|^[A-Z]{2,}[a-z]*$")


class Identifier(Struct, frozen=True):
    """A word of a query that the index splits: `ERR_AUTH_FAILED`, `getUserName`, `src/auth.ts`."""

    written: str
    words: tuple[str, ...]  # in order, as a phrase
    parts: tuple[str, ...]  # of camel case, if it has any


class ParsedQuery(Struct, frozen=True):
    """What an event must contain, what adds to its score, and what the query is about."""

    required_phrases: tuple[tuple[str, ...], ...]  # quoted
    optional_phrases: tuple[tuple[str, ...], ...]  # words of an identifier, or of a script without spaces
    terms: tuple[str, ...]
    names: frozenset[str] = frozenset()  # terms that name somebody or something
    plain_words: str = ""  # for the embedding model; none if a phrase is required
    time_windows: tuple[TimeWindow, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    standalone_terms: frozenset[str] = frozenset()  # terms outside identifiers

    def is_empty(self) -> bool:
        return not (self.required_phrases or self.optional_phrases or self.terms)

    def word_groups(self) -> list[tuple[str, ...]]:
        """All words that count; the words of a phrase are one group."""
        return [*self.required_phrases, *self.optional_phrases, *((term,) for term in self.terms)]

    def without_identifier_parts(self, occurs: Callable[[tuple[str, ...]], bool]) -> "ParsedQuery":
        """The same query without the parts of identifiers that occur as a phrase."""
        found = [identifier for identifier in self.identifiers if occurs(identifier.words)]
        others = [identifier for identifier in self.identifiers if identifier not in found]
        remaining = {*self.standalone_terms, *(word for one in others for word in (*one.words, *one.parts))}
        remaining.update(one.words[0] for one in found if len(one.words) == 1)
        dropped = {one.parts for one in found} - {one.words for one in found}
        return replace(
            self,
            terms=tuple(term for term in self.terms if term in remaining),
            optional_phrases=tuple(phrase for phrase in self.optional_phrases if phrase not in dropped),
        )


def parse(query: str, now: int | None = None) -> ParsedQuery:
    """The words of a query as the index knows them. `now`, in milliseconds, gives "yesterday" its meaning."""
    required = tuple(tuple(found) for quoted in QUOTED.findall(query) if (found := _words(quoted)))
    optional: list[tuple[str, ...]] = []
    terms: list[str] = []
    stop_words: list[str] = []
    names: set[str] = set()
    plain: list[str] = []
    identifiers: list[Identifier] = []
    standalone: set[str] = set()
    unquoted = QUOTED.sub(" ", query)
    for place, chunk in enumerate(unquoted.split()):
        found, bare = _words(chunk), chunk.strip(PUNCTUATION)
        if len(found) > 1 and is_unspaced(chunk):
            optional += [tuple(found), *pairwise(found)]
            continue
        if len(found) > 1:
            optional.append(tuple(found))
        parts = words(camel_parts(chunk))
        if len(parts) > 1:
            optional.append(tuple(parts))
        if len(found) > 1 or len(parts) > 1:
            identifiers.append(Identifier(bare, tuple(found), tuple(parts)))
        else:
            standalone.update(found)
        is_stop_word = bare.lower() in STOP
        (stop_words if is_stop_word else terms).extend((*found, *(parts if len(parts) > 1 else ())))
        if not is_stop_word and IDENTIFIER.search(bare) is None:
            plain.append(bare)
        if place and not is_stop_word and NAME.fullmatch(bare):
            names.update(found[:1])
    if not (required or optional or terms):
        terms = stop_words
    return ParsedQuery(
        required,
        tuple(dict.fromkeys(optional)),
        tuple(dict.fromkeys(terms)),
        frozenset(names),
        "" if required else " ".join(plain),
        find_time_windows(unquoted, now),
        tuple(identifiers),
        frozenset(standalone),
    )


def _words(text: str) -> list[str]:
    return words(text if text.isascii() else space_out(text))
