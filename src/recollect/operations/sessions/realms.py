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
            found = configs.read(realm.home)
        case "set":
            _refuse(request, "patch")
            found = configs.write(realm.home, _given(request, "config"), generation, _allowed(realm, context))
        case "patch":
            _refuse(request, "config")
            found = configs.patch(realm.home, _given(request, "patch"), generation, _allowed(realm, context))
    return {"config": found.config, "generation": found.generation, **_where(realm)}


def _allowed(realm: LiveRealm, context: RequestContext) -> configs.CheckChange:
    """Callers who may not name a program in a request may not do so in a config either."""

    def check(before: dict[str, Any], after: dict[str, Any]) -> None:
        if before.get("runners") != after.get("runners"):
            check_may_name_programs(realm, context, "runners")

    return check


def _refuse(request: ConfigRequest, *fields: str) -> None:
    for field in fields:
        if getattr(request, field) is not None:
            raise BadRequest(f"{field} does not go with action {request.action}", field=field)


def _given(request: ConfigRequest, field: str) -> dict[str, Any]:
    value: dict[str, Any] | None = getattr(request, field)
    if value is None:
        raise BadRequest(f"{field} must be an object", field=field)
    return value


def _where(realm: LiveRealm) -> Answer:
    return {"realm_id": realm.name, "instance_id": realm.instance, "backend": realm.backend}


# ---- realms


def realm_list(realm: LiveRealm, request: ListRealms, context: RequestContext) -> Answer:
    """Every realm. Those that cannot be read are listed apart."""
    realms = list_realms(realm.settings)
    failed = _unreadable(realms)
    return {"realms": [_row(found) for found in realms if found.fault is None], **({"failed": failed} if failed else {})}


def realm_get(realm: LiveRealm, request: GetRealm, context: RequestContext) -> Answer:
    return _details(_named(realm, request.realm_id))


def realm_delete(realm: LiveRealm, request: DeleteRealm, context: RequestContext) -> Answer:
    found = _named(realm, request.realm_id)
    row = _details(found)
    delete(found)
    return row


def realm_prune(realm: LiveRealm, request: PruneRealms, context: RequestContext) -> Answer:
    """Delete every generated realm that no process uses, except this one. What cannot be deleted is named."""
    gone: list[Answer] = []
    failed = _unreadable(list_realms(realm.settings))
    for found in unused_realms(realm.settings):
        if found.name == realm.name:
            continue
        try:
            row = _details(found)
            delete(found)
            gone.append(row)
        except RecollectError as reason:
            failed.append({"realm_id": found.name, "message": str(reason)})
    remove_deleted(realm.settings.home / "realms")
    return {"realms": gone, "failed": failed}


def _named(realm: LiveRealm, name: str) -> StoredRealm:
    check_name(name)
    if name == realm.name and not exists(realm.settings, name):
        return StoredRealm(name, realm.home, None)  # nothing was ever written to it
    return find_realm(realm.settings, name)


def _unreadable(realms: list[StoredRealm]) -> list[Answer]:
    return [{"realm_id": found.name, "message": found.fault} for found in realms if found.fault is not None]


def _row(found: StoredRealm) -> Answer:
    manifest = found.manifest
    return {
        "realm_id": found.name,
        "backend": manifest.backend if manifest else Backend.SQLITE,
        "origin": manifest.origin if manifest else None,
        "created_at": manifest.created_at if manifest else None,
    }


def _details(found: StoredRealm) -> Answer:
    generation = configs.read_generation(found.folder)
    instances = [
        {"instance_id": lease.instance, "surface": lease.surface, "pid": lease.pid, "since": timestamp(lease.began_at)}
        for lease in found.instances()
    ]
    return {
        **_row(found),
        "folder": str(found.folder),
        "bytes": found.bytes(),
        "config_generation": generation,
        "instances": instances,
    }
