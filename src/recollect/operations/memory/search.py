"""`search`: observations for one query, or conversations that match several concepts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.model import DEFAULT_KIND_CODES, now_ms, observation_type
from recollect.operations.caller import calling_sessions
from recollect.operations.context import RequestContext, start_deadline
from recollect.operations.memory import views
from recollect.operations.memory.requests import Search
from recollect.realms import Realm
from recollect.search import Mode, SemanticIndex, deadline_check, parse
from recollect.search.conversations import search_conversations
from recollect.search.observations import ObservationHit, ObservationSearch, search_observations
from recollect.store import Reader
from recollect.store.memory import ObservationRow
from recollect.store.observation_filters import ObservationFilters

DEADLINE_MS = 5_000
SEPARATOR = "\n\n---\n\n"


def search(realm: Realm, request: Search, context: RequestContext) -> str:
    mode = request.mode or realm.settings.search.mode
    as_json = request.response_format == "json"
    filters = _filters(request, caller_ids(realm, context))
    check = deadline_check(start_deadline(realm, context, DEADLINE_MS))
    if isinstance(request.query, str):
        hits = find_observations(realm, request.query, filters, mode, request.limit)
        rows = [views.observation_row(hit) for hit in hits]
        text = SEPARATOR.join(views.observation_hit(rank, hit) for rank, hit in enumerate(hits, 1))
        return views.results("observation", rows, text, as_json=as_json, notes=notes(realm))
    rows = _conversations(realm, request.query, filters, mode, request.limit, check)
    text = SEPARATOR.join(views.conversation_hit(rank, row) for rank, row in enumerate(rows, 1))
    return views.results("conversation", rows, text, as_json=as_json, notes=notes(realm))


def _filters(request: Search, excluded: tuple[bytes, ...]) -> ObservationFilters:
    return ObservationFilters(
        since=request.after,
        until=request.before,
        projects=request.projects,
        types=tuple(map(observation_type, request.types)),
        concepts=request.concepts,
        files=request.files,
        excluded_sessions=excluded,
    )


def caller_ids(realm: Realm, context: RequestContext) -> tuple[bytes, ...]:
    """The sessions that the results exclude, because the request comes from them."""
    with realm.open_archive() as reader:
        return tuple(session.id for session in calling_sessions(reader, context.caller))


def session_keys(reader: Reader, ids: Sequence[bytes]) -> tuple[int, ...]:
    return tuple(session.key for identity in ids if (session := reader.session(identity)) is not None)


def find_observations(realm: Realm, query: str, filters: ObservationFilters, mode: Mode, limit: int) -> list[ObservationHit]:
    """Observations for a query. Without an embedding model, the search is by words.

    The results omit observations of deleted or excluded sessions, which distilling removes later.
    """
    parsed = parse(query, now_ms())
    with realm.open_archive() as reader, realm.open_memory() as memory:
        index = realm.text_index(reader)
        snapshot = index.snapshot() if index is not None else None
        excluded = session_keys(reader, filters.excluded_sessions)
        turn_text = partial(_turn_text, reader)

        def search_with(vectors: SemanticIndex | None) -> list[ObservationHit]:
            usable_mode = _usable_mode(mode, vectors)
            indexes = ObservationSearch(memory, vectors, snapshot, filters, usable_mode, excluded)
            return search_observations(indexes, parsed, limit, turn_text)

        hits = realm.semantic.hybrid_search("observations", mode, search_with)
        return [hit for hit in hits if reader.session(hit.observation.session) is not None]


def _turn_text(reader: Reader, row: ObservationRow) -> str:
    """The full text of an observation's turn, with its tool calls."""
    session = reader.session(row.session)
    events = reader.events_of_turn(session.key, row.turn) if session is not None else ()
    return "\n".join(event.full_text() for event in events)


def _usable_mode(mode: Mode, vectors: SemanticIndex | None) -> Mode:
    """The mode; "text" if there are no vectors."""
    return mode if vectors is not None else "text"


def _conversations(
    realm: Realm, concepts: list[str], filters: ObservationFilters, mode: Mode, limit: int, check: Callable[[], None]
) -> list[dict[str, Any]]:
    with realm.open_archive() as reader, realm.open_memory() as memory:
        index = realm.text_index(reader)
        if index is None:
            return []
        sessions = None
        if not replace(filters, excluded_sessions=()).is_empty():
            sessions = tuple(reader.sessions_between(filters.since, filters.until, filters.projects))
        event_filters = Filters(
            kinds=DEFAULT_KIND_CODES,
            sessions=sessions,
            excluded_sessions=session_keys(reader, filters.excluded_sessions),
        )
        try:
            with engine_panics_as_errors():
                hits = realm.semantic.hybrid_search(
                    "events",
                    mode,
                    lambda vectors: search_conversations(
                        index, vectors, concepts, event_filters, _usable_mode(mode, vectors), limit, check
                    ),
                )
        except IndexUnusable:
            realm.close_text_index()
            return []
        return views.conversation_rows(reader, memory, hits, concepts)


def notes(realm: Realm) -> list[str]:
    """Warnings about the state of the indexes and the memory."""
    with realm.open_archive() as reader:
        return realm.all_warnings(reader)
