"""`get_observations`, and the observations that the command line lists."""

from collections.abc import Sequence
from typing import Any

import msgspec

from recollect.errors import NotFound
from recollect.operations.context import RequestContext
from recollect.operations.ids import event_ref, session_ref, turn_ref
from recollect.operations.memory import views
from recollect.operations.memory.requests import GetObservations
from recollect.realms import Realm
from recollect.shown_time import estimate_field
from recollect.store.memory import ObservationRow
from recollect.store.observation_filters import ObservationFilters


def get_observations(realm: Realm, request: GetObservations, context: RequestContext) -> str:
    return views.observations(observations_by_key(realm, request.ids))


def observations_by_key(realm: Realm, keys: Sequence[bytes]) -> list[ObservationRow]:
    """The observations with these keys, in their order."""
    with realm.open_archive() as reader, realm.open_memory() as memory:
        rows = {key: row for key, row in memory.by_ids(keys).items() if reader.session(row.session) is not None}
    for key in keys:
        if key not in rows:
            raise NotFound(f"Invalid observation ID: {views.observation_ref(key)}")
    return [rows[key] for key in keys]


def newest_observations(realm: Realm, filters: ObservationFilters, limit: int) -> list[ObservationRow]:
    """The newest observations that pass the filters."""
    with realm.open_archive() as reader, realm.open_memory() as memory:
        return [row for row in memory.newest(filters, limit) if reader.session(row.session) is not None]


def as_object(row: ObservationRow, score: float | None) -> dict[str, Any]:
    """An observation for programs, with ids that `open` understands."""
    fields = msgspec.structs.asdict(row)
    del fields["key"], fields["estimated"]
    return {
        **fields,
        **estimate_field(row.estimated),
        "id": views.observation_ref(row.id),
        "session": session_ref(row.session),
        "turn": turn_ref(row.session, row.turn),
        "evidence": [event_ref(event) for event in row.evidence],
        **({"score": score} if score is not None else {}),
    }
