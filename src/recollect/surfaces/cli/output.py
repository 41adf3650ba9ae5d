"""From an answer to the terminal: as it is for programs, drawn for people."""

import re
import sys
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, Reply, RequestContext
from recollect.surfaces.cli.realm_options import chosen_realm, realm_to_read, typed
from recollect.surfaces.cli.render import print_json, say
from recollect.surfaces.transport.error_codes import codes_of_reply

BARE = {"code", "message", "details"}  # of an error that no wrapper is around
EXISTING = {"journey_id", "session_id"}  # arguments that name something in a realm
SESSION = re.compile(r"session:([0-9a-f]{32})")  # as most commands show it


def ask(
    operation: str,
    arguments: dict[str, Any],
    show: Callable[[Any], None],
    *,
    as_json: bool,
    realm: LiveRealm | dict[str, Any],
    **options: Any,
) -> None:
    """Run an operation in a realm, or in the one that some options mean, and print the answer.

    `options` are those of the operation that only the command line has.
    """
    given = {name: typed(value) if isinstance(value, str) else value for name, value in arguments.items()}
    given = {name: value for name, value in given.items() if value is not None}
    asked = realm if isinstance(realm, LiveRealm) else realm_for(operation, given, realm)
    reply = OPERATIONS[operation].run(asked, given, RequestContext.now(has_deadline=as_json), **options)
    deliver(reply, as_json=as_json, show=show)


def realm_for(operation: str, given: dict[str, Any], options: dict[str, Any]) -> LiveRealm:
    """The realm that some options mean. It is not created to be read, nor for what must be in it already."""
    reads = not OPERATIONS[operation].writes or given.get("action") == "get"  # of a config
    return realm_to_read(**options) if reads or given.keys() & EXISTING else chosen_realm(**options)


def located(realm: LiveRealm, session: str, *, as_json: bool) -> str:
    """The id of the live session that somebody means: `last`, or the beginning of an id, or however it was copied."""
    context = RequestContext.now(has_deadline=as_json)
    reply = OPERATIONS["session_locate"].run(realm, {"session_id": session_uuid(typed(session))}, context)
    if reply.is_error:
        deliver(reply, as_json=as_json, show=lambda answer: None)
    return str(msgspec.json.decode(reply.text)["session_id"])


def session_uuid(given: str | None) -> str | None:
    """A session as the families name it that know it by its UUID, however it was copied."""
    shown = SESSION.fullmatch(given) if given is not None else None
    return str(uuid.UUID(shown[1])) if shown is not None else given


def deliver(reply: Reply, *, as_json: bool, show: Callable[[Any], None]) -> None:
    """Print an answer. An error keeps its exit code either way."""
    answer = msgspec.json.decode(reply.text)
    error = _error(answer)
    if as_json:
        print_json(reply.text)
    elif error is not None:
        say(f"recollect: {error['message']}", err=True)
    else:
        for warning in answer.get("warnings") or ():
            say(f"! {warning}", err=True)
        show(answer)
    if (number := codes_of_reply(reply)) is not None:
        sys.exit(number.exit)


def _error(answer: Any) -> dict[str, Any] | None:
    """What an answer says went wrong: some families wrap it, one is a bare code and message."""
    error: dict[str, Any] | None = answer if {"code", "message"} <= answer.keys() <= BARE else answer.get("error")
    return error
