"""recollect distil"""

import os
import sys

import click

from recollect.distil import DistilProgress, distil
from recollect.label import plural
from recollect.store.memory import DISTILLED, FAULT, Memory
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options

NICE = 10  # lower priority than programs that a person waits for


@click.command("distil")
@click.option("--again", is_flag=True, help="Extract all observations again.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing, and run at low priority.")
@realm_options
def command(again: bool, quiet: bool, **realm: object) -> None:
    """Extract observations and build the semantic index.

    `sync`, `watch` and `mcp` do this automatically.

    \b
    recollect distil
    recollect distil --again
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    if quiet:
        os.nice(NICE)
    if again:
        memory = Memory(opened.folder, writable=True)
        memory.mark_all_stale()
        memory.put_meta(DISTILLED, "")
        memory.close()
    with opened.open_archive():  # creates the archive if there is none
        pass
    has_run = distil(opened.folder, opened.settings, os.environ, lambda: False, None if quiet else _show)
    if quiet:
        return
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    if not opened.folder.exists():
        click.echo(f"The folder {opened.folder} was deleted in the meantime.", err=True)
        return
    if not has_run:
        click.echo("Another process is already doing this.")
        return
    with opened.open_memory() as memory:
        click.echo(f"{plural(memory.count(), 'observation')}.")
        if fault := memory.meta(FAULT):
            click.echo(f"! Without vectors: {fault}", err=True)


def _show(progress: DistilProgress) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{progress.what}: {progress.done:,} of {progress.total:,}", err=True, nl=False)
