"""recollect mcp"""

import click

from recollect.errors import BadSettings
from recollect.operations import TOOLSETS, toolset_of
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options
from recollect.surfaces.cli.signals import interrupt_on_signals
from recollect.surfaces.cli.watcher import watching
from recollect.surfaces.mcp.stdio import serve, standard_streams


@click.command("mcp")
@click.option("--toolsets", metavar="NAMES", help=f"Offer only these tools: {', '.join(TOOLSETS)} (default: all).")
@click.option("--no-sync", is_flag=True, help="Do not read new logs in the background.")
@realm_options
def command(toolsets: str | None, no_sync: bool, **realm: object) -> None:
    """Serve MCP to agents, on standard input and output.

    \b
    recollect setup                             # connects your agents to this
    recollect mcp --toolsets history,memory
    """
    names = tuple(name.strip() for name in toolsets.split(",")) if toolsets else TOOLSETS
    unknown = [name for name in names if name not in TOOLSETS]
    if unknown:
        raise BadSettings(f"There is no toolset {unknown[0]!r}. Choose from: {', '.join(TOOLSETS)}.")
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    streams = standard_streams()
    interrupt_on_signals()
    with watching(opened, is_enabled=not no_sync and not realm["isolated"]):
        try:
            opened.take_lease("mcp")
            serve(opened, toolset_of(names), *streams)
        finally:
            opened.close()
