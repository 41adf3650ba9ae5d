"""recollect open"""

from typing import Any

import click

from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options
from recollect.surfaces.cli.render import draw_open


@click.command("open")
@click.argument("identity", type=TEXT, metavar="ID")
@json_option
@realm_options
def command(identity: str, as_json: bool, **realm: Any) -> None:
    """Show a session's turns, a turn's events, or an event in full.

    \b
    recollect open event:4f0c…      the whole text
    recollect open turn:9ab2…-3     what happened around it
    recollect open session:9ab2…    the course of it all
    """
    ask("open", {"id": identity}, draw_open, as_json=as_json, realm=realm)
