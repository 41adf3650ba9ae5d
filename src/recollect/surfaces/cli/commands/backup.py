"""recollect backup"""

from pathlib import Path

import click
import msgspec

from recollect.label import plural
from recollect.realms.backup import back_up
from recollect.surfaces.cli.realm_options import json_option, settings
from recollect.surfaces.cli.render import print_json, say, size, tilde
from recollect.surfaces.cli.step_progress import StepProgress


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--realm", "realm", metavar="ID", help="Back up only this store (default: all).")
@click.option("--yes", is_flag=True, help="Replace the file if it exists.")
@json_option
def command(file: Path, realm: str | None, yes: bool, as_json: bool) -> None:
    """Back up everything to one file.

    Works while agents write and sessions run. Has settings, sessions, observations, labels, journeys and live sessions;
    not the server's token, and not the indexes, which `recollect restore` builds again.

    \b
    recollect backup ~/recollect.backup
    """
    with StepProgress() as progress:
        receipt = back_up(settings(), file, realm, replace=yes, on_step=progress.update)
    if as_json:
        print_json(msgspec.json.encode(receipt).decode())
        return
    for saved in receipt.realms:
        say(f"Saved realm {saved.realm}: {plural(saved.sessions, 'session')}.")
    say(f"{tilde(receipt.path)} has {size(receipt.bytes)}.")
