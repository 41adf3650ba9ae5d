"""recollect open"""

import re
from typing import Any

import click
import msgspec

from recollect.errors import ErrorKind
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.surfaces.cli.output import ask, deliver
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import draw_open

PREFIX = re.compile(r"[0-9a-f][0-9a-f-]{0,35}", re.IGNORECASE)  # the beginning of a session's UUID


@click.command("open")
@click.argument("typed_id", type=TEXT, metavar="ID")
@json_option
@realm_options
def command(typed_id: str, as_json: bool, **realm: Any) -> None:
    """Show a session, a turn or an event.

    \b
    recollect open event:4f0c…      the event's full text
    recollect open turn:9ab2…-3     all events of one turn
    recollect open session:9ab2…    the whole session
    recollect open 9ab2             the session whose ID starts with 9ab2
    """
    opened = realm_to_read(**realm)
    full_id = _session_with_prefix(opened, typed_id, as_json=as_json) if PREFIX.fullmatch(typed_id) else typed_id
    ask("open", {"id": full_id}, draw_open, as_json=as_json, realm=opened, typed_id=typed_id)


def _session_with_prefix(realm: LiveRealm, prefix: str, *, as_json: bool) -> str:
    """The ID of the session with this prefix, or the prefix if there is none. Exits if there are several."""
    context = RequestContext.now(has_deadline=as_json)
    reply = OPERATIONS["get_session_details"].run(realm, {"session_id": _with_dashes(prefix)}, context)
    if reply.kind is ErrorKind.AMBIGUOUS:
        deliver(reply, as_json=as_json, show=lambda answer: None)
    if reply.kind is not None:
        return prefix
    session: str = msgspec.json.decode(reply.text)["data"]["session_id"]
    return f"session:{session.replace('-', '')}"


def _with_dashes(prefix: str) -> str:
    """The digits of a UUID's beginning, with dashes in their places."""
    digits = prefix.replace("-", "")
    groups = (digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    return "-".join(filter(None, groups))
