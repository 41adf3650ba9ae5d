"""recollect serve"""

import json

import click

from recollect.realms import Realm
from recollect.surfaces.cli._ending import ending_well
from recollect.surfaces.cli._realm import chosen_realm, json_option, realm_options
from recollect.surfaces.cli._watcher import watching

PORT = 7377


@click.command("serve")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to serve on; any but loopback needs a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any that is free.")
@click.option("--rpc-port", type=click.IntRange(0, 65535), default=0, help="JSON-RPC over TCP. Default: any that is free.")
@click.option("--no-rpc", is_flag=True, help="No JSON-RPC over TCP.")
@click.option("--no-sync", is_flag=True, help="Only answer; do not read new logs in the background.")
@json_option
@realm_options
def command(host: str, port: int, rpc_port: int, no_rpc: bool, no_sync: bool, as_json: bool, **realm: object) -> None:
    """Serve REST with its docs, events, MCP at /mcp, and JSON-RPC, to programs on this machine.

    \b
    recollect serve
    recollect serve --port 0 --json
    curl localhost:7377/search?query=flaky+test
    claude mcp add --transport http recollect http://localhost:7377/mcp
    RECOLLECT_TOKEN=$(openssl rand -hex 32) recollect serve --host 0.0.0.0
    """
    from recollect.surfaces.http.server import check, opened  # heavy: help is not to wait for it

    check(host)
    chosen: Realm = chosen_realm(**realm)  # type: ignore[arg-type]
    chosen.occupy("serve")
    try:
        with (
            opened(chosen, host, port, None if no_rpc else rpc_port) as server,
            ending_well(),
            watching(chosen, is_wanted=not no_sync and not realm["isolated"]),
        ):
            _say(chosen, server.url, server.rpc, as_json=as_json)
            server.run()
    finally:
        chosen.close()  # when nobody can ask any more: a turn that begins later would have a lease that nobody gives back


def _say(realm: Realm, url: str, rpc: str | None, *, as_json: bool) -> None:
    """Where we are to be found. A program that started us waits for this line."""
    if as_json:
        click.echo(json.dumps({"url": url, "rpc": rpc, "realm_id": realm.name, "instance_id": realm.instance}))
        return
    click.echo(f"Serving realm {realm.name} at {url}")
    click.echo(f"  docs     {url}/docs")
    click.echo(f"  MCP      {url}/mcp")
    if rpc is not None:
        click.echo(f"  JSON-RPC {rpc}")
