"""The command line. Each command is one small module, loaded when it is called."""

import json
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from recollect import __version__
from recollect.display import escape_json, neutralise
from recollect.errors import BadRequest, RecollectError, StoreFault
from recollect.model import replace_surrogates
from recollect.settings import state_folder
from recollect.surfaces.cli.address_space import check_address_space
from recollect.surfaces.cli.streams import prepare_streams
from recollect.surfaces.transport.error_codes import codes_of_kind

PRIVATE = 0o077  # what we write is nobody else's to read

COMMANDS = {
    "search": "recollect.surfaces.cli.commands.search",
    "open": "recollect.surfaces.cli.commands.open",
    "ask": "recollect.surfaces.cli.commands.ask",
    "observations": "recollect.surfaces.cli.commands.observations",
    "journey": "recollect.surfaces.cli.commands.journey",
    "list": "recollect.surfaces.cli.commands.list",
    "trace": "recollect.surfaces.cli.commands.trace",
    "extract": "recollect.surfaces.cli.commands.extract",
    "sync": "recollect.surfaces.cli.commands.sync",
    "watch": "recollect.surfaces.cli.commands.watch",
    "mcp": "recollect.surfaces.cli.commands.mcp",
    "rpc": "recollect.surfaces.cli.commands.rpc",
    "serve": "recollect.surfaces.cli.commands.serve",
    "token": "recollect.surfaces.cli.commands.token",
    "hook": "recollect.surfaces.cli.commands.hook",
    "run": "recollect.surfaces.cli.commands.run",
    "session": "recollect.surfaces.cli.commands.session",
    "realm": "recollect.surfaces.cli.commands.realm",
    "config": "recollect.surfaces.cli.commands.config",
    "status": "recollect.surfaces.cli.commands.status",
    "sources": "recollect.surfaces.cli.commands.sources",
    "doctor": "recollect.surfaces.cli.commands.doctor",
    "rebuild": "recollect.surfaces.cli.commands.rebuild",
    "distil": "recollect.surfaces.cli.commands.distil",
}
SESSIONS = {"run", "session", "realm", "config", "serve", "rpc", "token"}  # commands of that family, whose errors are bare


class ReaderGone(Exception):
    """Whoever read our standard output has closed it. An error of our own: click would end with exit code 1."""


class Commands(click.Group):
    """Commands that are imported when they are needed, so that a cheap one stays cheap."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in COMMANDS:
            check_address_space(args[0], state_folder(os.environ))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as reason:
            raise ReaderGone from reason

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
    recollect ask "why did we …?"       an answer from all sessions, with sources
    recollect run "what next?"          run a session here, and keep it
    recollect mcp                       give your agents the same tools
    """


def main() -> None:
    """Run a command. What goes wrong is a sentence, or an object for programs; never a traceback."""
    os.umask(PRIVATE)
    prepare_streams(for_programs=_for_programs())
    try:
        sys.exit(recollect(prog_name="recollect", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message())
        sys.exit(0)
    except click.ClickException as error:
        if _for_programs():
            _fail(BadRequest(error.format_message()), "invalid_request", error.exit_code)
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except RecollectError as error:
        _fail(error, error.kind, codes_of_kind(error.kind).exit)
    except (ReaderGone, BrokenPipeError):  # whoever read us has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        fault = StoreFault("There is not enough memory. Close other programs, or raise the limit with `ulimit -v`.")
        _fail(fault, fault.kind, codes_of_kind(fault.kind).exit)
    except OSError as error:
        fault = StoreFault(f"{error.filename or 'The system'}: {error.strerror or error}")
        _fail(fault, fault.kind, codes_of_kind(fault.kind).exit)


def _for_programs() -> bool:
    return "--json" in sys.argv


def _fail(error: RecollectError, code: str, exit_code: int) -> NoReturn:
    if _for_programs():
        click.echo(escape_json(_told(error, code)))
    else:
        click.echo(f"recollect: {neutralise(str(error))}", err=True)
    sys.exit(exit_code)


def _told(error: RecollectError, code: str) -> str:
    """An error for programs: as the sessions family says it where the command is one of its own, else by this code."""
    error.args = (replace_surrogates(str(error)),)  # it may name what was given, or a path
    if sys.argv[1] not in SESSIONS:
        return json.dumps({"error": {"code": code, "message": str(error), "details": error.details}})
    from recollect.operations.sessions.envelope import error_reply  # heavy: a cheap command stays cheap

    return error_reply(error).text
