"""recollect restore"""

from pathlib import Path

import click
import msgspec

from recollect.label import plural
from recollect.realms.restore import restore
from recollect.surfaces.cli.realm_options import json_option, settings
from recollect.surfaces.cli.render import print_json, say, tilde
from recollect.surfaces.cli.step_progress import StepProgress


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--realm", "realm", metavar="ID", help="Restore only this store (default: all).")
@click.option("--yes", is_flag=True, help="Replace what is in the state folder.")
@json_option
def command(file: Path, realm: str | None, yes: bool, as_json: bool) -> None:
    """Restore a backup, also on another machine.

    Every session has the same ID and gives the same answers. The present data is only replaced with --yes, and is kept
    until the restored data is checked and complete.

    \b
    recollect restore ~/recollect.backup
    """
    chosen = settings()
    with StepProgress() as progress:
        receipt = restore(chosen, file, realm, replace=yes, on_step=progress.update)
    if as_json:
        print_json(msgspec.json.encode(receipt).decode())
        return
    for saved in receipt.realms:
        say(f"Restored realm {saved.realm}: {plural(saved.sessions, 'session')}.")
    say(f"They are in {tilde(str(chosen.home))}. `recollect setup` connects the agents of this machine.")
