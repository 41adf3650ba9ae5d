"""`get_observations`: observations in full."""

from collections.abc import Sequence

from recollect.errors import NotFound
from recollect.operations.context import RequestContext
from recollect.operations.memory import views
from recollect.operations.memory.requests import GetObservations
from recollect.realms import Realm
from recollect.store.memory import ObservationRow


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
