"""recollect hook"""

import click

from recollect.surfaces.hook import EVENTS, OPTIONS, main


@click.command("hook")
@click.argument("event", type=click.Choice(list(EVENTS)))
@click.option("--budget", metavar="TOKENS", default=OPTIONS["budget"], help="Of session-start: at most this much. [1000]")
@click.option("--format", type=click.Choice(["text", "json"]), help="Of session-start. Default: what the host understands.")
@click.option("--realm", metavar="ID", default=OPTIONS["realm"], help="The realm to use. Default: main.")
def command(event: str, budget: str, format: str | None, realm: str) -> None:
    """Called by agents, with their JSON on standard input: queue, read or inject. Never fails.

    \b
    recollect hook post-tool-use                  note that a transcript has grown
    recollect hook stop                           read it, in the background
    recollect hook session-start --budget 500     print what is known of this project
    """
    main([event, f"--budget={budget}", f"--format={format or ''}", f"--realm={realm}"])
