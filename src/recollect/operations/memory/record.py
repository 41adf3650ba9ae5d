"""`record_observation`: an agent's own insight, with the events that prove it."""

from contextlib import suppress

from msgspec.structs import asdict

from recollect.distil import Distiller
from recollect.distil.texts import event_for_rules, locate_turn, observation_words, words_of_turn
from recollect.embed import EmbedderUnavailable
from recollect.errors import BadId, BadRequest, NotFound, StoreBusy, StoreFault
from recollect.model import Observation
from recollect.operations.context import RequestContext
from recollect.operations.ids import Id, Noun, parse_id
from recollect.operations.memory import views
from recollect.operations.memory.requests import RecordObservation
from recollect.realms import Realm
from recollect.store import EventRow, Reader
from recollect.store.memory import AGENT


def record_observation(realm: Realm, request: RecordObservation, context: RequestContext) -> str:
    fields = realm.redact(asdict(request))
    with realm.open_archive() as reader:
        events = _evidence(reader, fields.pop("evidence_ids"))
        session = reader.sessions([events[0].session])[events[0].session]
        lists = {name: tuple(fields[name]) for name in ("facts", "concepts", "files_read", "files_modified")}
        observation = Observation(
            **{**fields, **lists},
            evidence=tuple(event.id for event in events),
            at=max(event.at for event in events),
        )
        shortened = [event_for_rules(event) for event in events]
        place = locate_turn(session, events[0].turn, shortened, reader.address(session))
        with realm.open_memory(writable=True) as memory, memory.transaction():
            words = observation_words(observation, words_of_turn(shortened))
            observation_id = memory.record(place, AGENT, observation, words)
    embed_at_once(realm)
    return f"Recorded {views.observation_ref(observation_id)}: {observation.title}"


def _evidence(reader: Reader, ids: list[str]) -> list[EventRow]:
    """The events of these ids. All must be of one session, because an observation belongs to one."""
    events = [event for item in ids for event in _events_of(reader, _evidence_id(item), item)]
    if len({event.session for event in events}) != 1:
        raise BadRequest("evidence_ids must all be of one session", field="evidence_ids")
    return events


def _evidence_id(item: str) -> Id:
    try:
        return parse_id(item, "evidence_ids")
    except BadId:
        raise BadRequest(f"Invalid evidence ID: {item}", field="evidence_ids") from None


def _events_of(reader: Reader, identity: Id, item: str) -> list[EventRow]:
    events: list[EventRow] = []
    if identity.key is not None and identity.noun is Noun.EVENT:
        event = reader.event(identity.key)
        events = [event] if event is not None else []
    elif identity.key is not None and identity.noun is Noun.TURN:
        session = reader.session(identity.key)
        turn = reader.turn(session.key, identity.ordinal or 0) if session is not None else None
        if session is not None and turn is not None:
            places = [(turn.ordinal, seq) for seq in (turn.prompt, turn.terminal) if seq is not None]
            events = list(reader.events_at(session.key, places).values())
    elif identity.noun is Noun.SESSION:
        raise BadRequest("evidence_ids takes event and turn ids, not session ids", field="evidence_ids")
    if not events:
        raise NotFound(f"evidence not found: {item}", id=item)
    return events


def embed_at_once(realm: Realm) -> None:
    """Embed the new observation, unless another process is distilling and will embed it."""
    with (
        suppress(StoreBusy, StoreFault, EmbedderUnavailable),
        Distiller(realm.folder, realm.settings, {}, realm.semantic.embedder()) as distiller,
    ):
        distiller.embed_observations()
