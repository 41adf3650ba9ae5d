"""recollect serve"""

import json

import click

from recollect.live import LiveRealm
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options
from recollect.surfaces.cli.signals import until_signal
from recollect.surfaces.cli.token_option import no_token_option, required_token
from recollect.surfaces.cli.watcher import watching

PORT = 7377


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=PORT, help=f"Port (default: {PORT}). 0 picks a free port."
)
@click.option(
    "--rpc-port",
    type=click.IntRange(0, 65535),
    metavar="N",
    default=0,
    help="Port of JSON-RPC over TCP (default: a free port).",
)
@click.option("--no-rpc", is_flag=True, help="Do not serve JSON-RPC over TCP.")
@click.option("--no-sync", is_flag=True, help="Do not read new logs in the background.")
@no_token_option
@json_option
@realm_options
def command(
    host: str,
    port: int,
    rpc_port: int,
    no_rpc: bool,
    no_sync: bool,
    no_token: bool,
    as_json: bool,
    **realm: object,
) -> None:
    """Serve REST, MCP and JSON-RPC on this machine.

    Prints a link that signs a browser in. Programs send the token that `recollect token` prints.

    \b
    recollect serve
    recollect serve --port 0 --json
    curl -H "Authorization: Bearer $(recollect token)" "localhost:7377/search?query=flaky+test"
    """
    from recollect.surfaces.http.server import open_server  # takes 600 ms, which --help should not

    chosen: LiveRealm = chosen_realm(**realm)  # type: ignore[arg-type]
    token = required_token(chosen.settings, no_token=no_token)
    chosen.take_lease("serve")
    try:
        with (
            open_server(chosen, host, port, None if no_rpc else rpc_port, token) as server,
            until_signal(),
            watching(chosen, is_enabled=not no_sync and not realm["isolated"]),
        ):
            _print_addresses(chosen, server.url, server.rpc, server.link(), as_json=as_json)
            server.run()
    finally:
        chosen.close()  # after the server: a turn that starts later would take a lease and never release it


def _print_addresses(realm: LiveRealm, url: str, rpc: str | None, link: str | None, *, as_json: bool) -> None:
    """Print the server's addresses. A program that starts the server waits for this line."""
    if as_json:
        addresses = {"url": url, "rpc": rpc, "realm_id": realm.name, "instance_id": realm.instance, "link": link}
        click.echo(json.dumps(addresses))
        return
    click.echo(f"Serving realm {realm.name} at {url}")
    click.echo(f"  browser  {link or f'{url}/docs'}")
    click.echo(f"  MCP      {url}/mcp")
    if rpc is not None:
        click.echo(f"  JSON-RPC {rpc}")
    if link is not None:
        click.echo("The browser link works once. Programs send the token that `recollect token` prints.")
