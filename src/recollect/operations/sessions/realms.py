"""Realms and their config, in the sessions family's shapes."""

from typing import Any

from recollect.errors import BadRequest, RecollectError
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.sessions.envelope import Answer
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.operations.sessions.requests import ConfigRequest, DeleteRealm, GetRealm, ListRealms, PruneRealms
from recollect.realms import config as configs
from recollect.realms.catalog import StoredRealm, delete, exists, find_realm, list_realms, remove_deleted, unused_realms
from recollect.realms.manifest import Backend
from recollect.realms.names import check_name

# ---- config


def config(realm: LiveRealm, request: ConfigRequest, context: RequestContext) -> Answer:
    """Read, replace or change the realm's config."""
    generation = request.expected_generation
    match request.action:
        case "get":
            _refuse(request, "config", "patch", "expected_generation")
            stored = configs.read(realm.home)
        case "set":
            _refuse(request, "patch")
            stored = configs.write(realm.home, _object(request, "config"), generation, _runner_check(realm, context))
        case "patch":
            _refuse(request, "config")
            stored = configs.patch(realm.home, _object(request, "patch"), generation, _runner_check(realm, context))
    return {
        "config": stored.config,
        "generation": stored.generation,
        "realm_id": realm.name,
        "instance_id": realm.instance,
        "backend": realm.backend,
    }


def _runner_check(realm: LiveRealm, context: RequestContext) -> configs.CheckChange:
    """Refuses changes of runners by callers that may not name programs in requests."""

    def check(before: dict[str, Any], after: dict[str, Any]) -> None:
        if before.get("runners") != after.get("runners"):
            check_may_name_programs(realm, context, "runners")

    return check


def _refuse(request: ConfigRequest, *fields: str) -> None:
    for field in fields:
        if getattr(request, field) is not None:
            raise BadRequest(f"{field} cannot be used with action {request.action}", field=field)


def _object(request: ConfigRequest, field: str) -> dict[str, Any]:
    value: dict[str, Any] | None = getattr(request, field)
    if value is None:
        raise BadRequest(f"{field} must be an object", field=field)
    return value


# ---- realms


def realm_list(realm: LiveRealm, request: ListRealms, context: RequestContext) -> Answer:
    """All realms. Realms that cannot be read are listed separately."""
    realms = list_realms(realm.settings)
    failed = _unreadable(realms)
    return {"realms": [_row(stored) for stored in realms if stored.fault is None], **({"failed": failed} if failed else {})}


def realm_get(realm: LiveRealm, request: GetRealm, context: RequestContext) -> Answer:
    return _details(_find(realm, request.realm_id))


def realm_delete(realm: LiveRealm, request: DeleteRealm, context: RequestContext) -> Answer:
    return _delete(_find(realm, request.realm_id))


def _delete(stored: StoredRealm) -> Answer:
    """Delete a realm. Returns its details."""
    details = _details(stored)
    delete(stored)
    return details


def realm_prune(realm: LiveRealm, request: PruneRealms, context: RequestContext) -> Answer:
    """Delete every generated realm that no process uses, except this one. Lists those that cannot be deleted."""
    deleted: list[Answer] = []
    failed = _unreadable(list_realms(realm.settings))
    for stored in unused_realms(realm.settings):
        if stored.name == realm.name:
            continue
        try:
            deleted.append(_delete(stored))
        except RecollectError as reason:
            failed.append({"realm_id": stored.name, "message": str(reason)})
    remove_deleted(realm.settings.home / "realms")
    return {"realms": deleted, "failed": failed}


def _find(realm: LiveRealm, name: str) -> StoredRealm:
    check_name(name)
    if name == realm.name and not exists(realm.settings, name):
        return StoredRealm(name, realm.home, None)  # nothing was ever written to it
    return find_realm(realm.settings, name)


def _unreadable(realms: list[StoredRealm]) -> list[Answer]:
    return [{"realm_id": stored.name, "message": stored.fault} for stored in realms if stored.fault is not None]


def _row(stored: StoredRealm) -> Answer:
    manifest = stored.manifest
    return {
        "realm_id": stored.name,
        "backend": manifest.backend if manifest else Backend.SQLITE,
        "origin": manifest.origin if manifest else None,
        "created_at": manifest.created_at if manifest else None,
    }


def _details(stored: StoredRealm) -> Answer:
    generation = configs.read_generation(stored.folder)
    instances = [
        {"instance_id": lease.instance, "surface": lease.surface, "pid": lease.pid, "since": timestamp(lease.began_at)}
        for lease in stored.instances()
    ]
    return {
        **_row(stored),
        "folder": str(stored.folder),
        "bytes": stored.bytes(),
        "config_generation": generation,
        "instances": instances,
    }
