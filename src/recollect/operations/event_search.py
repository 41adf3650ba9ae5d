"""Searches the events of a realm, and opens the index again if it was rebuilt meanwhile."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.index.text import TextIndex
from recollect.realms import Realm
from recollect.search import Mode, ParsedQuery, SearchHit, search
from recollect.store import Reader

Found = TypeVar("Found")

ATTEMPTS = 2  # an index that was rebuilt meanwhile is opened again


class FoundEvents(Struct, frozen=True):
    """The hits, whether there are more, and the number of indexed events; None if there is no readable index."""

    hits: list[SearchHit]
    has_more: bool
    documents: int | None


def find_events(
    realm: Realm,
    reader: Reader,
    query: ParsedQuery,
    filters: Filters,
    limit: int,
    check: Callable[[], None],
    mode: Mode | None = None,
) -> FoundEvents:
    """The best events for a query. `mode` None: as the settings say."""
    mode = mode or realm.settings.search.mode

    def find(index: TextIndex) -> FoundEvents:
        hits, has_more = realm.semantic.hybrid_search(
            "events",
            mode if query.plain_words else "text",
            lambda vectors: search(reader, index, vectors, query, filters, limit, check, mode),
        )
        return FoundEvents(hits, has_more, index.snapshot().document_count())

    return with_text_index(realm, reader, find) or FoundEvents([], has_more=False, documents=None)


def with_text_index(realm: Realm, reader: Reader, find: Callable[[TextIndex], Found]) -> Found | None:
    """What a function finds in the text index; None if there is no readable index."""
    for _ in range(ATTEMPTS):
        index = realm.text_index(reader)
        if index is None:
            return None
        try:
            with engine_panics_as_errors():
                return find(index)
        except IndexUnusable:
            realm.close_text_index()
    return None
