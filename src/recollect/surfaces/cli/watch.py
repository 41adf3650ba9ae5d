"""recollect watch"""

import os
import signal
import sys
import threading

import click

from recollect.errors import StoreFault
from recollect.ingest import Report
from recollect.sources import all_sources
from recollect.surfaces.cli._realm import chosen_realm, realm_options
from recollect.surfaces.cli.sync import sentence
from recollect.watch import watch


@click.command("watch")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
@click.option("--while-open", is_flag=True, hidden=True, help="Stop when standard input closes: with whoever started us.")
@realm_options
def command(quiet: bool, while_open: bool, **realm: object) -> None:
    """Sync now, and again within a fraction of a second whenever an agent writes. Stop with Ctrl-C.

    \b
    recollect watch
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if while_open:
        threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()

    def told(report: Report) -> None:
        if not quiet and (report.files_read or report.unreadable):
            click.echo(sentence(report))

    def troubled(fault: StoreFault) -> None:
        click.echo(f"! {fault}", err=True)

    watch(opened.folder, opened.settings, all_sources(), os.environ, stop, told, troubled)


def _stop_at_end_of_input(stop: threading.Event) -> None:
    sys.stdin.buffer.read()
    stop.set()
