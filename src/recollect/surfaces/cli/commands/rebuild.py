"""recollect rebuild"""

import os

import click

from recollect.ingest import Ingester
from recollect.live import LiveRealm
from recollect.sources import all_sources
from recollect.surfaces.cli.commands.sync import AT_ONCE_S, SHARE, remember, sentence
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options
from recollect.surfaces.cli.write_lock import in_write_turn

PATIENCE_S = 30.0  # seconds to wait for another writer


@click.command("rebuild")
@click.option("--logs", is_flag=True, help="Read all logs again as well. What agents have deleted since stays.")
@click.option("--behind", is_flag=True, help="Keep the index where it is sound and only add what it lacks.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
@realm_options
def command(logs: bool, behind: bool, quiet: bool, **realm: object) -> None:
    """Build the index anew from the archive. Ids stay as they are.

    \b
    recollect rebuild
    recollect rebuild --logs
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    patience_s = 0.0 if behind else PATIENCE_S  # whoever writes now adds what the index lacks
    with in_write_turn(opened, patience_s, lambda: _intake(opened)) as intake:
        if not behind:
            intake.indexer.rebuild()
        intake.indexer.commit(force=True)
        report = None
        if logs:
            report = intake.reread_all()
        events = intake.archive.last_key()
    if not quiet:
        click.echo(sentence(report) if report else f"Rebuilt the index ({events:,} events seen).")
    if report:
        remember(opened, max(AT_ONCE_S, report.seconds * SHARE))


def _intake(realm: LiveRealm) -> Ingester:
    return Ingester(realm.folder, realm.settings, all_sources(), os.environ)
