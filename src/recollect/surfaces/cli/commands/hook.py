"""recollect hook"""

import click

from recollect.surfaces.hook import EVENTS, OPTIONS, main


@click.command("hook")
@click.argument("event", type=click.Choice(list(EVENTS)))
@click.option(
    "--budget", metavar="TOKENS", default=OPTIONS["budget"], help="For session-start: tokens to print (default: 1000)."
)
@click.option("--format", type=click.Choice(["text", "json"]), help="For session-start (default: the agent's own).")
@click.option("--realm", metavar="ID", default=OPTIONS["realm"], help="Store to use (default: main).")
def command(event: str, budget: str, format: str | None, realm: str) -> None:
    """Handle an agent's hook event. Agents call this.

    Reads the agent's JSON from standard input. Never fails: the exit code is always 0.

    \b
    recollect hook post-tool-use                  queue the transcript
    recollect hook stop                           read it in the background
    recollect hook session-start --budget 500     print what is known about this project
    """
    main([event, f"--budget={budget}", f"--format={format or ''}", f"--realm={realm}"])
