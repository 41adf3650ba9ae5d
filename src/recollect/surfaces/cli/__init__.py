"""The command line. Each command is one small module, loaded when it is called."""

import os
import sys
from importlib import import_module

import click

from recollect import __version__
from recollect.errors import BadRequest, BadSettings, RecollectError

PRIVATE = 0o077  # what we write is nobody else's to read

COMMANDS = {
    "search": "recollect.surfaces.cli.search",
    "open": "recollect.surfaces.cli.open",
    "list": "recollect.surfaces.cli.list",
    "sync": "recollect.surfaces.cli.sync",
    "watch": "recollect.surfaces.cli.watch",
    "mcp": "recollect.surfaces.cli.mcp",
    "status": "recollect.surfaces.cli.status",
    "sources": "recollect.surfaces.cli.sources",
    "doctor": "recollect.surfaces.cli.doctor",
    "rebuild": "recollect.surfaces.cli.rebuild",
}


class Commands(click.Group):
    """Commands that are imported when they are needed, so that a cheap one stays cheap."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recollect")
def recollect() -> None:
    """The history and memory of AI agents: every session on this machine, found in milliseconds.

    \b
    recollect sync                      read what your agents wrote
    recollect search "flaky test"       find where it was said or done
    recollect open ID                   read on from a hit
    recollect mcp                       give your agents the same tools
    """


def main() -> None:
    os.umask(PRIVATE)
    try:
        recollect(prog_name="recollect")
    except RecollectError as error:
        if "--json" in sys.argv:
            click.echo(_as_json(error))
        else:
            click.echo(f"recollect: {error}", err=True)
        sys.exit(2 if isinstance(error, BadSettings | BadRequest) else 1)
    except BrokenPipeError:  # whoever read us has seen enough
        sys.stderr.close()
        sys.exit(0)


def _as_json(error: RecollectError) -> str:
    import msgspec

    body = {"error": {"code": error.kind, "message": str(error), "details": error.details}}
    return msgspec.json.encode(body).decode()
