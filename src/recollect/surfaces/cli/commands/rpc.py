"""recollect rpc"""

import time

import click

from recollect.live import LiveRealm
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options
from recollect.surfaces.cli.signals import until_signal
from recollect.surfaces.cli.token_option import no_token_option, required_token
from recollect.surfaces.mcp.stdio import standard_streams
from recollect.surfaces.rpc.stdio import serve
from recollect.surfaces.rpc.tcp import listen
from recollect.surfaces.transport.line_reader import POLL_S


@click.command("rpc")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Serve TCP on this port; 0 picks a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address to serve on, with --port.")
@no_token_option
@realm_options
def command(port: int | None, host: str, no_token: bool, realm_name: str | None, isolated: bool, **realm: object) -> None:
    """Serve JSON-RPC 2.0 to programs, one message per line.

    Serves standard input and output, or TCP with --port. Over TCP, `initialize` sends the token that `recollect token`
    prints. Without --realm it uses a new realm. `recollect realm prune` deletes that realm once it is not in use.

    \b
    recollect rpc --realm main
    recollect rpc --port 0 --realm main
    """
    opened = chosen_realm(realm_name, isolated or realm_name is None, **realm)  # type: ignore[arg-type]
    opened.take_lease("rpc")
    try:
        with until_signal():
            if port is None:
                serve(opened, *standard_streams())
            else:
                _listen(opened, host, port, required_token(opened.settings, no_token=no_token))
    finally:
        opened.close()


def _listen(realm: LiveRealm, host: str, port: int, token: str | None) -> None:
    with listen(realm, host, port, token) as listening:
        click.echo(f"Listening on {listening.address}")
        while True:
            time.sleep(POLL_S)
