"""`search`: observations for one question, or conversations that hold several concepts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.model import DEFAULT_KIND_CODES, now_ms, observation_type
from recollect.operations.caller import calling_sessions
from recollect.operations.context import RequestContext
from recollect.operations.memory import views
from recollect.operations.memory.requests import Search
from recollect.realms import Realm
from recollect.search import Mode, SemanticIndex, deadline_check, parse
from recollect.search.conversations import search_conversations
from recollect.search.observations import ObservationHit, ObservationSearch, search_observations
from recollect.store import Reader
from recollect.store.memory import ObservationFilters, ObservationRow

DEADLINE_MS = 5_000
SEPARATOR = "\n\n---\n\n"


def search(realm: Realm, request: Search, context: RequestContext) -> str:
    mode = request.mode or realm.settings.search.mode
    as_json = request.response_format == "json"
    filters = _filters(request, caller_ids(realm, context))
    check = deadline_check(context.past_deadline(realm.deadline_ms(DEADLINE_MS)))
    check()
    if isinstance(request.query, str):
        found = find_observations(realm, request.query, filters, mode, request.limit)
        rows = [views.observation_row(one) for one in found]
        shown = SEPARATOR.join(views.observation_hit(rank, one) for rank, one in enumerate(found, 1))
        return views.results("observation", rows, shown, as_json=as_json, notes=notes(realm))
    rows = _conversations(realm, request.query, filters, mode, request.limit, check)
    shown = SEPARATOR.join(views.conversation_hit(rank, row) for rank, row in enumerate(rows, 1))
    return views.results("conversation", rows, shown, as_json=as_json, notes=notes(realm))


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
    """The sessions that are left out because the request comes from them."""
    with realm.open_archive() as reader:
        return tuple(session.id for session in calling_sessions(reader, context.caller))


def session_keys(reader: Reader, ids: Sequence[bytes]) -> tuple[int, ...]:
    return tuple(session.key for one in ids if (session := reader.session(one)) is not None)


def find_observations(realm: Realm, query: str, filters: ObservationFilters, mode: Mode, limit: int) -> list[ObservationHit]:
    """Observations for a question. Without an embedding model, a realm is searched by words.

    Observations of a session that was excluded since are left out: the memory forgets them with its next pass.
    """
    parsed = parse(query, now_ms())
    with realm.open_archive() as reader, realm.open_memory() as memory:
        index = realm.text_index(reader)
        text = index.snapshot() if index is not None else None
        left_out = session_keys(reader, filters.excluded_sessions)
        turn_text = partial(_turn_text, reader)

        def found_by(meaning: SemanticIndex | None) -> list[ObservationHit]:
            possible = _possible(mode, meaning)
            where = ObservationSearch(memory, meaning, text, filters, possible, left_out)
            return search_observations(where, parsed, limit, turn_text)

        found = realm.semantic.hybrid_search("observations", mode, found_by)
        return [one for one in found if reader.session(one.observation.session) is not None]


def _turn_text(reader: Reader, row: ObservationRow) -> str:
    """Everything that was said and called in the turn of an observation."""
    session = reader.session(row.session)
    events = reader.events_of_turn(session.key, row.turn) if session is not None else ()
    return "\n".join(event.full_text() for event in events)


def _possible(mode: Mode, meaning: SemanticIndex | None) -> Mode:
    """By words, where only meaning is wanted and there are no vectors."""
    return mode if meaning is not None else "text"


def _conversations(
    realm: Realm, concepts: list[str], filters: ObservationFilters, mode: Mode, limit: int, check: Callable[[], None]
) -> list[dict[str, Any]]:
    with realm.open_archive() as reader, realm.open_memory() as memory:
        index = realm.text_index(reader)
        if index is None:
            return []
        allowed = None
        if not replace(filters, excluded_sessions=()).is_empty():
            allowed = tuple(reader.sessions_between(filters.since, filters.until, filters.projects))
        events = Filters(
            kinds=DEFAULT_KIND_CODES,
            sessions=allowed,
            excluded_sessions=session_keys(reader, filters.excluded_sessions),
        )
        try:
            with engine_panics_as_errors():
                found = realm.semantic.hybrid_search(
                    "events",
                    mode,
                    lambda meaning: search_conversations(
                        index, meaning, concepts, events, _possible(mode, meaning), limit, check
                    ),
                )
        except IndexUnusable:
            realm.close_text_index()
            return []
        return views.conversation_rows(reader, memory, found, concepts)


def notes(realm: Realm) -> list[str]:
    """What the caller should know of the state of the memory."""
    with realm.open_archive() as reader:
        return realm.all_warnings(reader)
