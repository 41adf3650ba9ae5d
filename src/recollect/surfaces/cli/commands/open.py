"""recollect open"""

import click

from recollect.operations import RequestContext
from recollect.operations.history import open_id
from recollect.surfaces.cli.output import deliver
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import draw_open


@click.command("open")
@click.argument("identity", type=TEXT, metavar="ID")
@json_option
@realm_options
def command(identity: str, as_json: bool, **realm: object) -> None:
    """Show a session's turns, a turn's events, or an event in full.

    \b
    recollect open event:4f0c…      the whole text
    recollect open turn:9ab2…-3     what happened around it
    recollect open session:9ab2…    the course of it all
    """
    context = RequestContext.now(has_deadline=as_json)
    reply = open_id(realm_to_read(**realm), {"id": identity}, context)  # type: ignore[arg-type]
    deliver(reply, as_json=as_json, show=draw_open)
