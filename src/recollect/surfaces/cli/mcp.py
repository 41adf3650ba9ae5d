"""recollect mcp"""

import subprocess
import sys

import click

from recollect.errors import BadSettings
from recollect.operations import TOOLSETS, offer_of
from recollect.realms import Realm
from recollect.surfaces.cli._realm import chosen_realm, realm_options
from recollect.surfaces.mcp_stdio import serve, standard_streams


@click.command("mcp")
@click.option(
    "--toolsets", metavar="NAMES", help=f"Offer only these families of tools: {', '.join(TOOLSETS)}. Default: all."
)
@click.option("--no-sync", is_flag=True, help="Only answer; do not read new logs in the background.")
@realm_options
def command(toolsets: str | None, no_sync: bool, **realm: object) -> None:
    """Serve MCP on standard input and output, for agents.

    \b
    claude mcp add recollect -- recollect mcp
    codex mcp add recollect -- recollect mcp
    """
    names = tuple(name.strip() for name in toolsets.split(",")) if toolsets else tuple(TOOLSETS)
    unknown = [name for name in names if name not in TOOLSETS]
    if unknown:
        raise BadSettings(f"There is no toolset {unknown[0]!r}; there are: {', '.join(TOOLSETS)}.")
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    streams = standard_streams()
    watcher = None if no_sync else _watch(opened)
    try:
        serve(opened, offer_of(names), *streams)
    finally:
        if watcher is not None and watcher.stdin is not None:
            watcher.stdin.close()


def _watch(realm: Realm) -> "subprocess.Popen[bytes]":
    """Reading logs is another process's work, so that answers never wait for it. It ends when we do."""
    command = [sys.executable, "-m", "recollect", "watch", "--quiet", "--while-open", "--realm", realm.name]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
