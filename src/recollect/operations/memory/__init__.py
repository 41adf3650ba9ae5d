"""The memory family: search, get_observations, read, record_observation; each layer dearer than the one before.

Answers are Markdown (or JSON where asked for), errors are text in the contract's own words.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from recollect.distil import Distiller, event_for_rules, locate_turn, observation_words, words_of_turn
from recollect.embed import EmbedderUnavailable
from recollect.errors import BadId, BadRequest, NotFound, StoreBusy, StoreFault
from recollect.index.engine import IndexUnusable, engine_panics_as_errors
from recollect.index.filters import Filters
from recollect.model import DEFAULT_KIND_CODES, Observation, now_ms, observation_type
from recollect.operations.arguments import Arguments, check_names, integer, one_of, strings, text
from recollect.operations.caller import calling_sessions
from recollect.operations.ids import Id, Noun, parse_id
from recollect.operations.memory import views
from recollect.operations.memory.definitions import GET_OBSERVATIONS, READ, RECORD, SEARCH
from recollect.operations.memory.transcript import transcript
from recollect.operations.operation import DOCTOR, Family, Operation, Reply, RequestContext, open_reader, reply_or_error
from recollect.operations.prompts import SEARCH_CONVERSATION
from recollect.realms import Realm
from recollect.search import Mode, SemanticIndex, deadline_check, parse
from recollect.search.conversations import search_conversations
from recollect.search.observations import ObservationHit, ObservationSearch, search_observations
from recollect.store import EventRow, Reader
from recollect.store.memory import AGENT, ObservationFilters, ObservationRow

SHORTEST_QUERY, LONGEST_QUERY = 2, 4_096  # characters
FEWEST_CONCEPTS, MOST_CONCEPTS = 2, 5
DEFAULT_RESULTS, MOST_RESULTS = 10, 50
MOST_IDS = 20
SEARCH_MS, READ_MS = 5_000, 10_000  # deadlines
TITLE, SUBTITLE, NARRATIVE, FACT, TAG = 120, 300, 4_000, 500, 80  # characters of what an agent records
MOST_EVIDENCE = 50
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
TYPE = re.compile(r"[a-z][a-z0-9 _-]{0,39}")
OBSERVATION_ID = re.compile(r"obs-([0-9a-f]{16})")
OBSERVATIONS_ONLY = ("types", "concepts", "files")


def _replied(operation: Callable[[Realm, Any, RequestContext], str]) -> Callable[[Realm, Any, RequestContext], Reply]:
    """This family answers with text, and says of errors that they are some."""

    def run(realm: Realm, arguments: Any, context: RequestContext) -> Reply:
        return reply_or_error(
            operation.__name__,
            lambda: Reply(operation(realm, {} if arguments is None else arguments, context)),
            lambda error: Reply(str(error), is_error=True),
            f"{operation.__name__} failed; {DOCTOR}.",
        )

    return run


# ---- search


def search(realm: Realm, arguments: Any, context: RequestContext) -> str:
    check_names(arguments, SEARCH["input_schema"]["properties"])
    query = _query(arguments.get("query"))
    mode: Any = one_of(arguments.get("mode"), "mode", ("vector", "text", "both"), realm.settings.search.mode)
    limit = integer(arguments.get("limit"), "limit", DEFAULT_RESULTS, MOST_RESULTS)
    as_json = one_of(arguments.get("response_format"), "response_format", ("markdown", "json"), "markdown") == "json"
    filters = _filters(arguments, realm, context)
    check = deadline_check(context.past_deadline(realm.deadline_ms(SEARCH_MS)))
    check()
    if isinstance(query, str):
        found = recalled(realm, query, filters, mode, limit)
        rows = [views.observation_row(one) for one in found]
        shown = "\n\n---\n\n".join(views.observation_hit(rank, one) for rank, one in enumerate(found, 1))
        return views.results("observation", rows, shown, as_json=as_json, notes=notes(realm))
    if given := [name for name in OBSERVATIONS_ONLY if arguments.get(name) is not None]:
        raise BadRequest(f"{', '.join(given)} can only be used with a single string query; an array finds conversations")
    rows = _conversations(realm, query, filters, mode, limit, check)
    shown = "\n\n---\n\n".join(views.conversation_hit(rank, row) for rank, row in enumerate(rows, 1))
    return views.results("conversation", rows, shown, as_json=as_json, notes=notes(realm))


def _query(value: Any) -> str | list[str]:
    if isinstance(value, str):
        return _concept(value)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadRequest("Query must be string or array")
    if not FEWEST_CONCEPTS <= len(value) <= MOST_CONCEPTS:
        raise BadRequest("Query array must have 2-5 items")
    return [_concept(item) for item in value]


def _concept(value: str) -> str:
    query = value.strip()
    if len(query) < SHORTEST_QUERY:
        raise BadRequest("Query must be at least 2 characters")
    if len(query) > LONGEST_QUERY:
        raise BadRequest(f"Query must be at most {LONGEST_QUERY} characters")
    return query


def _filters(given: Arguments, realm: Realm, context: RequestContext) -> ObservationFilters:
    types, projects, concepts, files = (
        strings(given.get(name), name) for name in ("types", "projects", "concepts", "files")
    )
    filters = search_filters(types, projects, concepts, files, _day(given.get("after")), _day(given.get("before")))
    return replace(filters, excluded_sessions=asking_ids(realm, context))


def asking_ids(realm: Realm, context: RequestContext) -> tuple[bytes, ...]:
    """The sessions that are left out because they ask."""
    with realm.open_archive() as reader:
        return tuple(session.id for session in calling_sessions(reader, context.caller))


def search_filters(
    types: Sequence[str],
    projects: Sequence[str],
    concepts: Sequence[str],
    files: Sequence[str],
    since: int | None,
    until: int | None,
) -> ObservationFilters:
    return ObservationFilters(
        since=since,
        until=until,
        projects=tuple(projects),
        types=tuple(map(observation_type, types)),
        concepts=tuple(concepts),
        files=tuple(files),
    )


def _day(value: Any) -> int | None:
    """The first millisecond of a day."""
    if value is None:
        return None
    try:
        if not isinstance(value, str) or DAY.fullmatch(value) is None:
            raise ValueError
        return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        raise BadRequest("Invalid date format") from None


def session_keys(reader: Reader, ids: Sequence[bytes]) -> tuple[int, ...]:
    return tuple(session.key for one in ids if (session := reader.session(one)) is not None)


def recalled(realm: Realm, query: str, filters: ObservationFilters, mode: Mode, limit: int) -> list[ObservationHit]:
    """Observations for a question, by whatever works: without its model, a realm is searched by words.

    What is left of a session that was excluded since is passed over: the memory forgets it with the next pass over it.
    """
    asked = parse(query, now_ms())
    with realm.open_archive() as reader, realm.open_memory() as memory:
        index = realm.text_index(reader)
        text = index.snapshot() if index is not None else None
        asking = session_keys(reader, filters.excluded_sessions)
        turn_text = partial(_turn_text, reader)

        def found_by(meaning: SemanticIndex | None) -> list[ObservationHit]:
            possible = _possible(mode, meaning)
            where = ObservationSearch(memory, meaning, text, filters, possible, asking)
            return search_observations(where, asked, limit, turn_text)

        found = realm.semantic.hybrid_search("observations", mode, found_by)
        return [one for one in found if reader.session(one.observation.session) is not None]


def _turn_text(reader: Reader, row: ObservationRow) -> str:
    """All that was said and called in the turn of an observation."""
    session = reader.session(row.session)
    events = reader.events_of_turn(session.key, row.turn) if session is not None else ()
    return "\n".join(event.whole() for event in events)


def _possible(mode: Mode, meaning: SemanticIndex | None) -> Mode:
    """By words, where only meaning is asked for and there is none to ask."""
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


# ---- get_observations


def get_observations(realm: Realm, arguments: Any, context: RequestContext) -> str:
    check_names(arguments, ("ids",))
    return views.observations(observations_of(realm, arguments.get("ids")))


def observations_of(realm: Realm, ids: Any) -> list[ObservationRow]:
    """The observations that these ids name, in their order."""
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST_IDS:
        raise BadRequest(f"ids must be an array of 1 to {MOST_IDS} observation IDs")
    keys = [_observation_key(identity) for identity in ids]
    with realm.open_archive() as reader, realm.open_memory() as memory:
        rows = {key: row for key, row in memory.by_ids(keys).items() if reader.session(row.session) is not None}
    for key, identity in zip(keys, ids, strict=True):
        if key not in rows:
            raise NotFound(f"Invalid observation ID: {identity}")
    return [rows[key] for key in keys]


def _observation_key(identity: Any) -> bytes:
    match = OBSERVATION_ID.fullmatch(identity) if isinstance(identity, str) else None
    if match is None:
        raise BadRequest(f"Invalid observation ID: {identity}")
    return bytes.fromhex(match[1])


# ---- read


def read(realm: Realm, arguments: Any, context: RequestContext) -> str:
    check_names(arguments, ("path", "startLine", "endLine"))
    path = arguments.get("path")
    if not isinstance(path, str) or not path:
        raise BadRequest("File not found")
    first, last = _line(arguments.get("startLine")), _line(arguments.get("endLine"))
    if last is not None and last < (first or 1):
        raise BadRequest("Invalid line range")
    with open_reader(realm, context, READ_MS) as reader:
        sessions = reader.sessions_at(path)
        if not sessions:
            raise NotFound("File not found")
        if (first or 1) > reader.last_line(sessions[0].path, [session.key for session in sessions]):
            raise BadRequest("Invalid line range")
        return transcript(reader, sessions, first or 1, last)


def _line(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise BadRequest("Invalid line range")
    return value


# ---- record_observation


def record_observation(realm: Realm, arguments: Any, context: RequestContext) -> str:
    check_names(arguments, RECORD["input_schema"]["properties"])
    arguments = realm.redact(arguments)
    kind = _type(arguments.get("type"))
    title = _one_line(arguments.get("title"), "title", TITLE)
    if not title:
        raise BadRequest("title must be a non-empty string", field="title")
    with realm.open_archive() as reader:
        events = _evidence(reader, arguments.get("evidence_ids"))
        session = reader.sessions([events[0].session])[events[0].session]
        observation = Observation(
            type=kind,
            title=title,
            subtitle=_one_line(arguments.get("subtitle"), "subtitle", SUBTITLE),
            narrative=text(arguments.get("narrative"), "narrative", NARRATIVE),
            facts=_list(arguments, "facts", FACT),
            concepts=_list(arguments, "concepts", TAG),
            files_read=_list(arguments, "files_read", FACT),
            files_modified=_list(arguments, "files_modified", FACT),
            evidence=tuple(event.id for event in events),
            at=max(event.at for event in events),
        )
        told = [event_for_rules(event) for event in events]
        place = locate_turn(session, events[0].turn, told, reader.address(session))
        with realm.open_memory(writable=True) as memory, memory.transaction():
            identity = memory.record(place, AGENT, observation, observation_words(observation, words_of_turn(told)))
    _embed_at_once(realm)
    return f"Recorded {views.observation_ref(identity)}: {title}"


def _type(value: Any) -> str:
    word = value.strip().lower() if isinstance(value, str) else ""
    if TYPE.fullmatch(word) is None:
        raise BadRequest("type must be a word such as decision, bug-fix or pattern", field="type")
    return observation_type(word)


def _list(arguments: Arguments, field: str, most: int) -> tuple[str, ...]:
    return tuple(_one_line(item, field, most) for item in strings(arguments.get(field), field))


def _one_line(value: Any, field: str, most: int) -> str:
    """A text without line breaks: in an answer it stands among lines that mean something."""
    return " ".join(text(value, field, most).split())


def _evidence(reader: Reader, ids: Any) -> list[EventRow]:
    """The events that these ids name: all of one session, because an observation is of one."""
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST_EVIDENCE or not all(isinstance(item, str) for item in ids):
        raise BadRequest(f"evidence_ids must be an array of 1 to {MOST_EVIDENCE} event or turn ids")
    events = [event for item in dict.fromkeys(ids) for event in _events_of(reader, _evidence_id(item), item)]
    if len({event.session for event in events}) != 1:
        raise BadRequest("evidence_ids must all be of one session", field="evidence_ids")
    return events


def _evidence_id(item: str) -> Id:
    try:
        return parse_id(item, "evidence_ids")
    except BadId:
        raise BadRequest(f"Invalid evidence ID: {item}", field="evidence_ids") from None


def _events_of(reader: Reader, identity: Id, item: str) -> list[EventRow]:
    found: list[EventRow] = []
    if identity.key is not None and identity.noun is Noun.EVENT:
        event = reader.event(identity.key)
        found = [event] if event is not None else []
    elif identity.key is not None and identity.noun is Noun.TURN:
        session = reader.session(identity.key)
        turn = reader.turn(session.key, identity.ordinal or 0) if session is not None else None
        if session is not None and turn is not None:
            named = [(turn.ordinal, seq) for seq in (turn.prompt, turn.terminal) if seq is not None]
            found = list(reader.events_at(session.key, named).values())
    elif identity.noun is Noun.SESSION:
        raise BadRequest("evidence_ids takes event and turn ids, not session ids", field="evidence_ids")
    if not found:
        raise NotFound(f"evidence not found: {item}", id=item)
    return found


def _embed_at_once(realm: Realm) -> None:
    """Give what was recorded its vector, unless somebody is distilling and so will do it."""
    with (
        suppress(StoreBusy, StoreFault, EmbedderUnavailable),
        Distiller(realm.folder, realm.settings, {}, realm.semantic.embedder()) as distiller,
    ):
        distiller.embed_observations()


FAMILY = Family(
    operations=(
        Operation(run=_replied(search), **SEARCH),
        Operation(run=_replied(get_observations), **GET_OBSERVATIONS),
        Operation(run=_replied(read), **READ),
        Operation(run=_replied(record_observation), **RECORD),
    ),
    guide="For what was learnt (decisions and reasons, causes and fixes): search, then get_observations, then read; each "
    "costs more than the one before. record_observation keeps an insight of yours.",
    prompts=(SEARCH_CONVERSATION,),
)
