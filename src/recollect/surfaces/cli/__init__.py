"""The command line. Each command is a module, imported when it is called."""

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

PRIVATE = 0o077  # umask: only the owner can read what we write

GROUPS = {
    "Find and read": ("search", "list", "show", "open", "ask", "observations", "review", "trace"),
    "See what agents do": ("now", "today", "week", "tail", "stats", "usage", "files"),
    "Keep and share": ("labels", "note", "export", "journey"),
    "Read agents' logs": ("sync", "watch", "distil", "extract"),
    "Run sessions": ("run", "session", "resume", "continue"),
    "Connect agents and programs": ("setup", "mcp", "serve", "rpc", "token", "hook", "completion"),
    "Look after the store": ("status", "sources", "doctor", "rebuild", "forget", "backup", "restore", "realm", "config"),
}
"""Commands as `recollect --help` shows them. Each command is the module of its name in `commands`."""
MODULES = {"continue": "continue_session"}  # modules with another name than their command, which is a word of Python
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
BARE_ERRORS = {"run", "session", "realm", "config", "serve", "rpc", "token"}  # commands whose JSON errors have no envelope


class ReaderGone(Exception):
    """The reader closed our standard output. click would end a BrokenPipeError with exit code 1."""


class Commands(click.Group):
    """Commands that are imported when they are called: importing all of them takes 400 ms."""

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        name_width = max(map(len, COMMANDS))
        help_width = formatter.width - 6 - name_width  # as click computes it: indent and gap
        for title, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [
                (name.ljust(name_width), command.get_short_help_str(help_width))
                for name, command in commands
                if command is not None
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = MODULES.get(cmd_name, cmd_name)
        command: click.Command = import_module(f"recollect.surfaces.cli.commands.{module}").command
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recollect")
def recollect() -> None:
    """The history and memory of AI agents: every session on this machine, found in milliseconds.

    \b
    recollect sync                      read your agents' logs
    recollect search "flaky test"       find where it was said or done
    recollect open ID                   read a hit in full
    recollect ask "why did we …?"       get an answer with sources
    recollect run "what next?"          run an agent and record the session
    recollect mcp                       give your agents the same tools
    """


def main() -> None:
    """Run a command. Errors are sentences, or JSON objects with --json; never tracebacks."""
    os.umask(PRIVATE)
    prepare_streams(as_json=_wants_json())
    try:
        sys.exit(recollect(prog_name="recollect", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.format_message())
        sys.exit(0)
    except click.ClickException as error:
        if _wants_json():
            _fail(BadRequest(error.format_message()), "invalid_request", error.exit_code)
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except RecollectError as error:
        _fail(error, error.kind, codes_of_kind(error.kind).exit)
    except (ReaderGone, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        fault = StoreFault("Not enough memory. Close other programs, or raise the limit with `ulimit -v`.")
        _fail(fault, fault.kind, codes_of_kind(fault.kind).exit)
    except OSError as error:
        fault = StoreFault(f"{error.filename or 'The system'}: {error.strerror or error}")
        _fail(fault, fault.kind, codes_of_kind(fault.kind).exit)


def _wants_json() -> bool:
    return "--json" in sys.argv


def _fail(error: RecollectError, code: str, exit_code: int) -> NoReturn:
    if _wants_json():
        click.echo(escape_json(_error_json(error, code)))
    else:
        click.echo(f"recollect: {neutralise(str(error))}", err=True)
    sys.exit(exit_code)


def _error_json(error: RecollectError, code: str) -> str:
    """An error as JSON. Commands of the sessions family use its format; all others use the library's codes."""
    error.args = (replace_surrogates(str(error)),)  # the message may quote an argument or a path
    if sys.argv[1] not in BARE_ERRORS:
        from recollect.operations.library.envelope import CODES, INTERNAL  # as slow as the other

        code = CODES.get(error.kind, INTERNAL) if code == error.kind else code
        return json.dumps({"error": {"code": code, "message": str(error), "details": error.details}})
    from recollect.operations.sessions.envelope import error_reply  # takes 150 ms, and only errors need it

    return error_reply(error).text
