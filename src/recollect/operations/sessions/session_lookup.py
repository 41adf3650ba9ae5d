"""Finds the session for `<uuid>` or `<realm>:<uuid>`; for people, also for `last` or a prefix of an id."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from recollect.errors import AmbiguousId, BadRequest, SessionNotFound
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext, open_reader
from recollect.operations.ids import uuid_key, uuid_text
from recollect.operations.sessions import imported
from recollect.operations.sessions.envelope import Answer
from recollect.operations.sessions.requests import Locate
from recollect.store import Reader, SessionRow

DEADLINE_MS = 5_000  # of operations that only read
LAST = "last"
PREFIX = re.compile(r"[0-9a-f]{4,31}")  # of an id without its dashes
SHOWN = 10  # ids that the error of an ambiguous prefix shows


def session_key(realm: LiveRealm, locator: str) -> bytes:
    """The key for `<uuid>` or `<realm>:<uuid>`. Raises `SessionNotFound` for another realm."""
    realm_name, name = _split(locator)
    key = uuid_key(name, "session_id")
    if realm_name and realm_name != realm.name:
        raise SessionNotFound(f"{locator} is not a session of this realm, {realm.name}.")
    return key


def _split(locator: str) -> tuple[str, str]:
    """The realm and the id in a locator; the realm is empty if the locator has none."""
    realm_name, colon, name = locator.rpartition(":")
    if colon and not realm_name:
        raise BadRequest("session_id must name a realm before its colon, or have none", field="session_id")
    return realm_name, name


def locate(realm: LiveRealm, request: Locate, context: RequestContext) -> Answer:
    """The full id for what a person typed."""
    realm_name, name = _split(request.session_id)
    digits = name.lower().replace("-", "")
    if realm_name and realm_name != realm.name:
        return {"session_id": uuid_text(session_key(realm, request.session_id))}
    if name == LAST:
        newest = realm.live.list_sessions({}, 0, 1)
        if not newest:
            raise SessionNotFound(f"There is no session in realm {realm.name} yet.")
        return {"session_id": uuid_text(newest[0][0].id)}
    if PREFIX.fullmatch(digits) is None:
        return {"session_id": uuid_text(session_key(realm, request.session_id))}
    return {"session_id": _by_prefix(realm, name, digits)}


def _by_prefix(realm: LiveRealm, name: str, digits: str) -> str:
    ids = [uuid_text(key) for key in realm.live.find_by_prefix(digits, SHOWN)]
    if len(ids) > 1:
        raise AmbiguousId(f"The ids of several sessions begin with {name}.", matches=ids)
    if not ids:
        raise SessionNotFound(f"No session's id begins with {name} in this realm.")
    return ids[0]


@contextmanager
def open_imported(
    realm: LiveRealm, key: bytes, context: RequestContext, absent: SessionNotFound
) -> Iterator[tuple[Reader, SessionRow]]:
    """An imported session with a reader of its archive. Raises `absent` if there is none with this id."""
    with open_reader(realm, context, DEADLINE_MS) as reader:
        session = imported.imported_session(reader, key)
        if session is None:
            raise absent
        yield reader, session


def refuse_imported(realm: LiveRealm, key: bytes, context: RequestContext, absent: SessionNotFound) -> NoReturn:
    """Raise because an imported session cannot be changed here; raises `absent` if there is none with this id."""
    with open_imported(realm, key, context, absent) as (_, session):
        raise SessionNotFound(
            f"This session was imported from {session.source}: it can be read here, not continued or archived.",
            session_id=uuid_text(key),
        ) from absent
