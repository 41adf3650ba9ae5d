"""Search by meaning: which words of a query the embedding model understands, and the query's vector."""

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

SHORTEST_PART = 3  # letters of the shorter word in a compound
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


def understood_text(model: "Embedder", query: ParsedQuery, is_written: Callable[[str], bool]) -> str:
    """The plain words of a query, without compounds that occur nowhere: their parts would match in their place."""
    return " ".join(word for word in query.plain_words.split() if not _is_made_up(word, model, is_written))


def _is_made_up(word: str, model: "Embedder", is_written: Callable[[str], bool]) -> bool:
    """Whether a word occurs nowhere and is a compound: of parts that the model knows, or of two words that occur."""
    is_compound = model.is_compound(word)
    if (model.knows(word) and not is_compound) or is_written(word):
        return False
    halves = ((word[:place], word[place:]) for place in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1))
    return is_compound or any(is_written(first) and is_written(second) for first, second in halves)


def is_written(text: TextSnapshot | None, word: str, excluded_sessions: tuple[int, ...] = ()) -> bool:
    """Whether a word occurs in an event. Our own traffic and the excluded sessions do not count."""
    if text is None:
        return False
    return text.has_phrase(words(word), Filters(kinds=EVERY_KIND, excluded_sessions=excluded_sessions))


def known_words(model: "Embedder", text: str) -> list[str]:
    """The words that the model knows. Only these may find events that share no word with the query."""
    return [word for word in text.split() if model.knows(word)]


def embed_query(model: "Embedder", text: TextSnapshot | None, query: str) -> "Vectors | None":
    """The vector of a query, rare words weighted higher; None if the model does not understand it."""

    def weight(word: str) -> float:
        known = words(word)
        return text.idf(known[0]) if known and text is not None else 1.0

    return model.embed_question(query, weight) if query else None
