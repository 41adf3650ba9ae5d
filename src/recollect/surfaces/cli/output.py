"""Runs operations and prints their answers: as JSON for programs, formatted for people."""

import re
import sys
import uuid
from collections.abc import Callable
from typing import Any

import click
import msgspec

from recollect.errors import ErrorKind
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, Reply, RequestContext
from recollect.surfaces.cli.realm_options import chosen_realm, realm_to_read, typed
from recollect.surfaces.cli.render import print_json, say
from recollect.surfaces.cli.short_forms import NOT_AN_ID
from recollect.surfaces.transport.error_codes import codes_of_reply

BARE = {"code", "message", "details"}  # fields of an error without an envelope
EXISTING = {"journey_id", "session_id"}  # arguments that name something that must exist
SESSION = re.compile(r"session:([0-9a-f]{32})")  # a session's ID as most commands show it


def ask(
    operation: str,
    arguments: dict[str, Any],
    show: Callable[[Any], None],
    *,
    as_json: bool,
    realm: LiveRealm | dict[str, Any],
    typed_id: str | None = None,
    **options: Any,
) -> None:
    """Run an operation and print the answer.

    `realm` is a realm, or the command's realm options. `typed_id` is the ID that was typed, if any. `options` are arguments
    that only the command line has.
    """
    values = {name: typed(value) if isinstance(value, str) else value for name, value in arguments.items()}
    values = {name: value for name, value in values.items() if value is not None}
    opened = realm if isinstance(realm, LiveRealm) else realm_for(operation, values, realm)
    reply = OPERATIONS[operation].run(opened, values, RequestContext.now(has_deadline=as_json), **options)
    deliver(reply, as_json=as_json, show=show, typed_id=typed_id)


def library_answer(realm: LiveRealm, name: str, arguments: dict[str, Any], *, as_json: bool = False) -> dict[str, Any]:
    """The answer of `library/NAME` with its envelope: data, page, warnings. An error ends the program."""
    return answer_of(realm, f"library_{name}", arguments, as_json=as_json)


def answer_of(
    realm: LiveRealm, operation: str, arguments: dict[str, Any], *, as_json: bool = False, **options: Any
) -> dict[str, Any]:
    """The answer of an operation. An error is printed, and ends the program with its code.

    With `as_json` the deadlines of programs hold; otherwise an answer comes late if need be.
    """
    reply = OPERATIONS[operation].run(realm, arguments, RequestContext.now(has_deadline=as_json), **options)
    if codes_of_reply(reply) is not None:  # what does not exist is no error of the tools, but ends a command
        deliver(reply, as_json=as_json, show=lambda answer: None)
    answer: dict[str, Any] = msgspec.json.decode(reply.text)
    return answer


def realm_for(operation: str, arguments: dict[str, Any], options: dict[str, Any]) -> LiveRealm:
    """The realm that the options choose. It is only created for an operation that can begin in an empty realm."""
    is_read = not OPERATIONS[operation].writes or arguments.get("action") == "get"  # `config get`
    return realm_to_read(**options) if is_read or arguments.keys() & EXISTING else chosen_realm(**options)


def locate_session(realm: LiveRealm, session: str, *, as_json: bool) -> str:
    """The full ID of a live session, from `last`, its first characters, or any form of its ID. Exits if there is none."""
    context = RequestContext.now(has_deadline=as_json)
    reply = OPERATIONS["session_locate"].run(realm, {"session_id": session_uuid(typed(session))}, context)
    if reply.is_error:
        deliver(reply, as_json=as_json, show=lambda answer: None)
    return str(msgspec.json.decode(reply.text)["session_id"])


def session_uuid(session: str | None) -> str | None:
    """A session ID as a UUID: converts `session:9ab2…`, and returns anything else unchanged."""
    match = SESSION.fullmatch(session) if session is not None else None
    return str(uuid.UUID(match[1])) if match is not None else session


def deliver(reply: Reply, *, as_json: bool, show: Callable[[Any], None], typed_id: str | None = None) -> None:
    """Print an answer or an error, and exit with the error's code. `typed_id` is the ID that was typed, if any."""
    answer = msgspec.json.decode(reply.text)
    error = _error(answer)
    if as_json:
        print_json(reply.text)
    elif error is not None:
        is_bad_id = reply.kind is ErrorKind.BAD_ID and typed_id is not None
        message = NOT_AN_ID.format(typed=typed_id) if is_bad_id else _with_option_names(error["message"])
        say(f"recollect: {message}", err=True)
    else:
        print_warnings(answer)
        show(answer)
    if (codes := codes_of_reply(reply)) is not None:
        sys.exit(codes.exit)


def print_warnings(answer: Any) -> None:
    """Print the warnings of an answer, on standard error."""
    for warning in answer.get("warnings") or ():
        say(f"! {_with_option_names(warning)}", err=True)


def _with_option_names(message: str) -> str:
    """The message with the option that was typed (`-n`), if it begins with an argument's name (`n_hits must be …`)."""
    context = click.get_current_context(silent=True)
    names: dict[str, str] = {}
    for parameter in context.command.params if context is not None else ():
        is_option = isinstance(parameter, click.Option)
        option = parameter.opts[0] if is_option else parameter.make_metavar(context)  # type: ignore[arg-type]
        names |= dict.fromkeys((str(parameter.name), f"{parameter.name}_id"), option)
    first, space, rest = message.partition(" ")
    return f"{names.get(first, first)}{space}{rest}"


def _error(answer: Any) -> dict[str, Any] | None:
    """The error in an answer. Most families wrap it; sessions returns the bare code and message."""
    error: dict[str, Any] | None = answer if {"code", "message"} <= answer.keys() <= BARE else answer.get("error")
    return error
