"""Finds the sessions that contain the words of a query."""

from collections.abc import Callable

from recollect.index.filters import Filters
from recollect.index.text import TextClause, TextIndex
from recollect.model import KIND_CODE, SEARCHABLE
from recollect.operations.event_search import with_text_index
from recollect.realms import Realm
from recollect.search import ParsedQuery, parse
from recollect.store import Reader

MAX_EVENTS = 20_000  # matching events that are read: their sessions fill every list that a person pages through
ALL_KINDS = tuple(KIND_CODE[kind] for kind in SEARCHABLE)


def matching_sessions(realm: Realm, reader: Reader, text: str, check: Callable[[], None]) -> tuple[tuple[int, ...], bool]:
    """The keys of the sessions that have an event with all words of a text, and whether there may be more."""
    query = parse(text)
    filters = Filters(kinds=ALL_KINDS)

    def find(index: TextIndex) -> tuple[tuple[int, ...], bool]:
        hits = index.snapshot().search(_all_words(query), filters, MAX_EVENTS, check)
        return tuple({hit.session for hit in hits}), len(hits) >= MAX_EVENTS

    if query.is_empty():
        return (), False
    return with_text_index(realm, reader, find) or ((), False)


def _all_words(query: ParsedQuery) -> list[TextClause]:
    phrases = (*query.required_phrases, *((term,) for term in query.terms))
    return [TextClause(phrase, is_required=True) for phrase in phrases]
