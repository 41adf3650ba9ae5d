"""Parses a query into words, identifiers, quoted phrases, names, times, and plain words for the embedding model.

The query language of the engine is never used. Queries for the engine are built from the parsed parts, so no character of
a query has a special meaning.
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
    """A word of a query that the index splits, such as `ERR_AUTH_FAILED`, `getUserName` or `src/auth.ts`."""

    written: str
    words: tuple[str, ...]  # in order, as a phrase
    parts: tuple[str, ...]  # the parts of a camel-case word


class ParsedQuery(Struct, frozen=True):
    """The conditions that an event must meet, the words that add to its score, and the subject of the query."""

    required_phrases: tuple[tuple[str, ...], ...]  # quoted
    optional_phrases: tuple[tuple[str, ...], ...]  # words of an identifier, or of a script without spaces
    terms: tuple[str, ...]
    names: frozenset[str] = frozenset()  # terms that are names of people or things
    plain_words: str = ""  # for the embedding model; empty if a phrase is required
    time_windows: tuple[TimeWindow, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    standalone_terms: frozenset[str] = frozenset()  # terms outside identifiers

    def is_empty(self) -> bool:
        return not (self.required_phrases or self.optional_phrases or self.terms)

    def word_groups(self) -> list[tuple[str, ...]]:
        """All words of the query; the words of a phrase are one group."""
        return [*self.required_phrases, *self.optional_phrases, *((term,) for term in self.terms)]

    def without_identifier_parts(self, occurs: Callable[[tuple[str, ...]], bool]) -> "ParsedQuery":
        """The same query without the parts of identifiers that occur as a phrase."""
        occurring = [identifier for identifier in self.identifiers if occurs(identifier.words)]
        others = [identifier for identifier in self.identifiers if identifier not in occurring]
        remaining = {*self.standalone_terms, *(word for other in others for word in (*other.words, *other.parts))}
        remaining.update(identifier.words[0] for identifier in occurring if len(identifier.words) == 1)
        dropped = {identifier.parts for identifier in occurring} - {identifier.words for identifier in occurring}
        return replace(
            self,
            terms=tuple(term for term in self.terms if term in remaining),
            optional_phrases=tuple(phrase for phrase in self.optional_phrases if phrase not in dropped),
        )


def parse(query: str, now: int | None = None) -> ParsedQuery:
    """The parsed query, in the words of the index. `now`, in milliseconds, is needed for words such as "yesterday"."""
    required = tuple(tuple(phrase) for quoted in QUOTED.findall(query) if (phrase := _words(quoted)))
    optional: list[tuple[str, ...]] = []
    terms: list[str] = []
    stop_words: list[str] = []
    names: set[str] = set()
    plain: list[str] = []
    identifiers: list[Identifier] = []
    standalone: set[str] = set()
    unquoted = QUOTED.sub(" ", query)
    for index, chunk in enumerate(unquoted.split()):
        chunk_words, bare = _words(chunk), chunk.strip(PUNCTUATION)
        if len(chunk_words) > 1 and is_unspaced(chunk):
            optional += [tuple(chunk_words), *pairwise(chunk_words)]
            continue
        if len(chunk_words) > 1:
            optional.append(tuple(chunk_words))
        parts = words(camel_parts(chunk))
        if len(parts) > 1:
            optional.append(tuple(parts))
        if len(chunk_words) > 1 or len(parts) > 1:
            identifiers.append(Identifier(bare, tuple(chunk_words), tuple(parts)))
        else:
            standalone.update(chunk_words)
        is_stop_word = bare.lower() in STOP
        (stop_words if is_stop_word else terms).extend((*chunk_words, *(parts if len(parts) > 1 else ())))
        if not is_stop_word and IDENTIFIER.search(bare) is None:
            plain.append(bare)
        if index and not is_stop_word and NAME.fullmatch(bare):
            names.update(chunk_words[:1])
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
