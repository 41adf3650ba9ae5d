"""Realms and their config, as the sessions family tells of them."""

from typing import Any

from recollect.errors import BadRequest, RecollectError
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.arguments import Arguments, check_names, one_of
from recollect.operations.operation import RequestContext
from recollect.operations.sessions.definitions import ACTIONS, CONFIG
from recollect.operations.sessions.envelope import Answer
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.realms import config as configs
from recollect.realms.catalog import StoredRealm, delete, exists, find_realm, list_realms, remove_deleted, unused_realms
from recollect.realms.manifest import Backend
from recollect.realms.names import check_name

# ---- config


def config(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    """Read, replace or change the realm's config."""
    check_names(given, CONFIG["input_schema"]["properties"])
    action = one_of(given.get("action"), "action", ACTIONS, None)
    match action:
        case "get":
            _without(given, "config", "patch", "expected_generation")
            found = configs.read(realm.home)
        case "set":
            _without(given, "patch")
            found = configs.write(realm.home, _content(given, "config"), _generation(given), _allowed(realm, context))
        case "patch":
            _without(given, "config")
            found = configs.patch(realm.home, _content(given, "patch"), _generation(given), _allowed(realm, context))
        case _:
            raise BadRequest(f"action must be one of {', '.join(ACTIONS)}", field="action")
    return {"config": found.config, "generation": found.generation, **_where(realm)}


def _allowed(realm: LiveRealm, context: RequestContext) -> configs.CheckChange:
    """Who may not name a program in a request may not do so in a config either."""

    def check(before: dict[str, Any], after: dict[str, Any]) -> None:
        if before.get("runners") != after.get("runners"):
            check_may_name_programs(realm, context, "runners")

    return check


def _without(given: Arguments, *fields: str) -> None:
    for field in fields:
        if given.get(field) is not None:
            raise BadRequest(f"{field} does not go with action {given['action']}", field=field)


def _content(given: Arguments, field: str) -> dict[str, Any]:
    value = given.get(field)
    if not isinstance(value, dict):
        raise BadRequest(f"{field} must be an object", field=field)
    return value


def _generation(given: Arguments) -> int | None:
    value = given.get("expected_generation")
    if value is not None and (type(value) is not int or value < 0):
        raise BadRequest("expected_generation must be an integer, 0 or more", field="expected_generation")
    return value


def _where(realm: LiveRealm) -> Answer:
    return {"realm_id": realm.name, "instance_id": realm.instance, "backend": realm.backend}


# ---- realms


def realm_list(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    """Every realm; where some cannot be read, they are named apart."""
    check_names(given, ())
    realms = list_realms(realm.settings)
    failed = _unreadable(realms)
    return {"realms": [_row(found) for found in realms if found.fault is None], **({"failed": failed} if failed else {})}


def realm_get(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    return _whole(_named(realm, given))


def realm_delete(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    found = _named(realm, given)
    row = _whole(found)
    delete(found)
    return row


def realm_prune(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    """Take away every generated realm that nobody is at work in; not the one that is asked. What cannot go is named."""
    check_names(given, ())
    gone: list[Answer] = []
    failed = _unreadable(list_realms(realm.settings))
    for found in unused_realms(realm.settings):
        if found.name == realm.name:
            continue
        try:
            row = _whole(found)
            delete(found)
            gone.append(row)
        except RecollectError as reason:
            failed.append({"realm_id": found.name, "message": str(reason)})
    remove_deleted(realm.settings.home / "realms")
    return {"realms": gone, "failed": failed}


def _named(realm: LiveRealm, given: Any) -> StoredRealm:
    check_names(given, ("realm_id",))
    name = given.get("realm_id")
    if not isinstance(name, str):
        raise BadRequest("realm_id must be a string", field="realm_id")
    check_name(name)
    if name == realm.name and not exists(realm.settings, name):
        return StoredRealm(name, realm.home, None)  # nothing was ever written into it
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


def _whole(found: StoredRealm) -> Answer:
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
