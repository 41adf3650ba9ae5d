"""recollect mcp"""

import click

from recollect.errors import BadSettings
from recollect.operations import FAMILIES, toolset_of
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options
from recollect.surfaces.cli.signals import heed_signals
from recollect.surfaces.cli.watcher import watching
from recollect.surfaces.mcp.stdio import serve, standard_streams


@click.command("mcp")
@click.option(
    "--toolsets", metavar="NAMES", help=f"Offer only these families of tools: {', '.join(FAMILIES)}. Default: all."
)
@click.option("--no-sync", is_flag=True, help="Only answer; do not read new logs in the background.")
@realm_options
def command(toolsets: str | None, no_sync: bool, **realm: object) -> None:
    """Serve MCP on standard input and output, for agents.

    \b
    claude mcp add recollect -- recollect mcp
    codex mcp add recollect -- recollect mcp
    """
    names = tuple(name.strip() for name in toolsets.split(",")) if toolsets else tuple(FAMILIES)
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        raise BadSettings(f"There is no toolset {unknown[0]!r}; there are: {', '.join(FAMILIES)}.")
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    streams = standard_streams()
    heed_signals()
    with watching(opened, is_wanted=not no_sync and not realm["isolated"]):
        try:
            opened.take_lease("mcp")
            serve(opened, toolset_of(names), *streams)
        finally:
            opened.close()
