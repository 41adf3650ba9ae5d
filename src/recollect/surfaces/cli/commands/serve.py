"""recollect serve"""

import json

import click

from recollect.live import LiveRealm
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options
from recollect.surfaces.cli.signals import ending_well
from recollect.surfaces.cli.token_option import no_token_option, required_token
from recollect.surfaces.cli.watcher import watching

PORT = 7377


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 is any that is free.")
@click.option("--rpc-port", type=click.IntRange(0, 65535), default=0, help="JSON-RPC over TCP. Default: any that is free.")
@click.option("--no-rpc", is_flag=True, help="No JSON-RPC over TCP.")
@click.option("--no-sync", is_flag=True, help="Only answer; do not read new logs in the background.")
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
    """Serve REST with its docs, events, MCP at /mcp, and JSON-RPC, to programs on this machine.

    Browsers sign in by the link that is printed. Programs bring the token that `recollect token` prints.

    \b
    recollect serve
    recollect serve --port 0 --json
    curl -H "Authorization: Bearer $(recollect token)" "localhost:7377/search?query=flaky+test"
    """
    from recollect.surfaces.http.server import opened  # heavy: help is not to wait for it

    chosen: LiveRealm = chosen_realm(**realm)  # type: ignore[arg-type]
    token = required_token(chosen.settings, no_token=no_token)
    chosen.take_lease("serve")
    try:
        with (
            opened(chosen, host, port, None if no_rpc else rpc_port, token) as server,
            ending_well(),
            watching(chosen, is_wanted=not no_sync and not realm["isolated"]),
        ):
            _say(chosen, server.url, server.rpc, server.link(), as_json=as_json)
            server.run()
    finally:
        chosen.close()  # when nobody can ask any more: a turn that begins later would have a lease that nobody gives back


def _say(realm: LiveRealm, url: str, rpc: str | None, link: str | None, *, as_json: bool) -> None:
    """Print the server's addresses. A program that started us waits for this line."""
    if as_json:
        where = {"url": url, "rpc": rpc, "realm_id": realm.name, "instance_id": realm.instance, "link": link}
        click.echo(json.dumps(where))
        return
    click.echo(f"Serving realm {realm.name} at {url}")
    click.echo(f"  browser  {link or f'{url}/docs'}")
    click.echo(f"  MCP      {url}/mcp")
    if rpc is not None:
        click.echo(f"  JSON-RPC {rpc}")
    if link is not None:
        click.echo("The browser's link works once. Programs bring the token that `recollect token` prints.")
