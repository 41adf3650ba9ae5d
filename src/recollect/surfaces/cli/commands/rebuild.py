"""recollect rebuild"""

import os

import click

from recollect.ingest import Ingester
from recollect.live import LiveRealm
from recollect.sources import all_sources
from recollect.store.write_access import write_when_free
from recollect.surfaces.cli.commands.sync import distil_or_warn, sentence
from recollect.surfaces.cli.realm_options import chosen_realm, realm_options

PATIENCE_S = 30.0  # seconds to wait for another writer


@click.command("rebuild")
@click.option("--logs", is_flag=True, help="Also read all logs again. Sessions whose logs are gone are kept.")
@click.option("--behind", is_flag=True, help="Only add missing entries.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
@realm_options
def command(logs: bool, behind: bool, quiet: bool, **realm: object) -> None:
    """Rebuild the search index. IDs do not change.

    \b
    recollect rebuild
    recollect rebuild --logs
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    patience_s = 0.0 if behind else PATIENCE_S  # another writer also adds the missing entries
    with write_when_free(opened.folder, patience_s, lambda: _ingester(opened)) as ingester:
        if not behind:
            ingester.indexer.rebuild()
        ingester.indexer.commit(force=True)
        report = ingester.reread_all() if logs else None
        events = ingester.archive.last_key()
    if not quiet:
        click.echo(sentence(report) if report else f"Rebuilt the index ({events:,} events seen).")
    if report:
        distil_or_warn(opened, report.seconds)


def _ingester(realm: LiveRealm) -> Ingester:
    return Ingester(realm.folder, realm.settings, all_sources(), os.environ)
