"""recollect resume"""

import os
import sys
from typing import Any, NoReturn

import click

from recollect.errors import ProviderFault
from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import json_option, realm_options
from recollect.surfaces.cli.render import say


@click.command("resume")
@click.argument("session", metavar="ID")
@click.option("--exec", "runs_it", is_flag=True, help="Run the command instead of printing it.")
@json_option
@realm_options
def command(session: str, runs_it: bool, as_json: bool, **realm: Any) -> None:
    """Print an agent's own command to resume a session.

    The command changes into the session's folder. A sub-agent's session resumes the session that started it.
    `recollect continue` goes on with a session in any other agent.

    \b
    recollect resume last
    recollect resume 9ab2 --exec
    eval "$(recollect resume 9ab2)"
    """
    if runs_it and as_json:
        raise click.UsageError("Use either --exec or --json, not both.")

    def show(answer: Any) -> None:
        found = answer["data"]
        for note in found["notes"]:
            say(f"! {note}", err=True)
        if found["command"] is None:
            say(f"recollect: {found['reason']}", err=True)
            sys.exit(1)
        if runs_it:
            _replace_this_process(found)
        say(found["command"])

    ask("library_resume", {"id": session}, show, as_json=as_json, realm=realm, typed_id=session)


def _replace_this_process(found: dict[str, Any]) -> NoReturn:
    program, folder = found["program"], found["folder"]
    if program is None:
        raise ProviderFault(f"{found['words'][0]} is not installed, or not in PATH.")
    if folder is not None and not found["folder_exists"]:
        raise ProviderFault(f"The session's folder {folder} is not on this machine.")
    if folder is not None:
        os.chdir(folder)
    sys.stdout.flush()
    os.execv(program, found["words"])
