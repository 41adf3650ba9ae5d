"""Search by meaning: chooses the words of a query that the embedding model understands, and embeds them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.index.filters import Filters
from recollect.index.place import Hit
from recollect.index.text import TextSnapshot
from recollect.index.words import words
from recollect.model import KIND_CODE
from recollect.search.query import ParsedQuery

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.index.vectors import VectorIndex, Vectors

MIN_PART = 3  # letters of each word in a compound
EVERY_KIND = tuple(KIND_CODE.values())


class SemanticIndex(Struct):
    """The vectors of a realm, and the model that embeds queries for them."""

    vectors: "VectorIndex"
    model: "Embedder"

    def nearest(
        self,
        query: "Vectors | None",
        filters: Filters,
        limit: int,
        floor: float,
        *,
        keys: Sequence[int] | None = None,
        excluded_keys: Sequence[int] = (),
    ) -> list[Hit]:
        """The nearest rows, best first; none if the model does not understand the query."""
        if query is None:
            return []
        return self.vectors.nearest(query, filters, limit, floor, keys=keys, excluded_keys=excluded_keys)


def understood_text(model: "Embedder", query: ParsedQuery, occurs: Callable[[str], bool]) -> str:
    """The plain words of a query, without compounds that occur nowhere, because their parts would match instead."""
    return " ".join(word for word in query.plain_words.split() if not _is_unknown_compound(word, model, occurs))


def _is_unknown_compound(word: str, model: "Embedder", occurs: Callable[[str], bool]) -> bool:
    """Whether a word occurs nowhere and is a compound of parts that the model knows, or of two words that occur."""
    is_compound = model.is_compound(word)
    if (model.knows(word) and not is_compound) or occurs(word):
        return False
    halves = ((word[:middle], word[middle:]) for middle in range(MIN_PART, len(word) - MIN_PART + 1))
    return is_compound or any(occurs(first) and occurs(second) for first, second in halves)


def occurs_in_events(text: TextSnapshot | None, word: str, excluded_sessions: tuple[int, ...] = ()) -> bool:
    """Whether a word occurs in an event. Our own traffic and the excluded sessions do not count."""
    if text is None:
        return False
    return text.has_phrase(words(word), Filters(kinds=EVERY_KIND, excluded_sessions=excluded_sessions))


def known_words(model: "Embedder", text: str) -> list[str]:
    """The words that the model knows. Only they may find events that share no word with the query."""
    return [word for word in text.split() if model.knows(word)]


def embed_query(model: "Embedder", text: TextSnapshot | None, query: str) -> "Vectors | None":
    """The vector of a query, with a higher weight for rare words; None if the model does not understand the query."""

    def weight(word: str) -> float:
        terms = words(word)
        return text.idf(terms[0]) if terms and text is not None else 1.0

    return model.embed_question(query, weight) if query else None
