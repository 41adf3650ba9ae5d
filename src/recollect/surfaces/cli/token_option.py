"""The token that callers of a server must send, and the option that turns it off."""

import os

import click

from recollect.server_token import server_token
from recollect.settings import Settings

OPEN_TO_ALL = "Warning: without a token, all users of this machine can read your sessions and run programs as you."

no_token_option = click.option("--no-token", is_flag=True, help="Serve all users of this machine, without a token.")


def required_token(settings: Settings, *, no_token: bool) -> str | None:
    """The token of this state folder; None, with a warning, with --no-token."""
    if not no_token:
        return server_token(settings.home, os.environ)
    click.echo(OPEN_TO_ALL, err=True)
    return None
