"""recollect sync"""

import os
import sys
from collections import Counter
from pathlib import Path

import click
import msgspec

from recollect.errors import StoreBusy, StoreFault
from recollect.ingest import SyncReport, sync
from recollect.label import plural
from recollect.live import LiveRealm
from recollect.realms.background import distil_soon, sync_later
from recollect.sources import all_sources
from recollect.store.write_access import write_when_free
from recollect.surfaces.cli.finish_forgetting import finish_or_warn
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options
from recollect.surfaces.cli.render import print_json, say, size
from recollect.surfaces.cli.sync_bar import SyncBar

PATIENCE_S = 10.0  # seconds to wait for another writer; then that writer, or a background process, reads the new logs
LONG_PATIENCE_S = 600.0  # the same for named files: no other process reads them
MAX_LISTED = 10  # files that are listed one by one


@click.command("sync")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--no-distil", is_flag=True, help="Only read; do not extract observations.")
@click.option("--patient", is_flag=True, hidden=True, help="Wait as long as another process writes.")
@json_option
@realm_options
def command(paths: tuple[Path, ...], no_distil: bool, patient: bool, as_json: bool, **realm: object) -> None:
    """Read what agents wrote since the last sync.

    Reads all logs on this machine, or the given files and folders.

    \b
    recollect sync
    recollect sync ~/backup/old-sessions
    recollect sync conversations.json      # the agent is recognised
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    chosen = [path.absolute() for path in paths] or None
    finish_or_warn(opened)
    try:
        report = _read_in_turn(opened, chosen, is_patient=patient, with_bar=not as_json and sys.stderr.isatty())
    except StoreBusy as busy:
        if chosen or patient:
            raise
        sync_later(opened)
        if as_json:
            click.echo(msgspec.json.encode(SyncReport(warnings=[str(busy)])).decode())
        return
    for problem in report.unreadable:
        say(f"! {problem}", err=True)
    for path in report.unrecognised[:MAX_LISTED]:
        say(f"! {path}: not a log of a known agent", err=True)
    if len(report.unrecognised) > MAX_LISTED:
        click.echo(f"! and {len(report.unrecognised) - MAX_LISTED:,} more such files; --json lists them all", err=True)
    if as_json:
        print_json(msgspec.json.encode(report).decode())
    else:
        _show_recognised(report.recognised)
        click.echo(sentence(report))
    sys.stdout.flush()
    if not no_distil:
        distil_or_warn(opened, report.seconds)
    if chosen and not report.files:
        sys.exit(1)


def _read_in_turn(realm: LiveRealm, chosen: list[Path] | None, *, is_patient: bool, with_bar: bool) -> SyncReport:
    """Sync once no other process writes. Raises `StoreBusy` when that takes too long."""

    def read() -> SyncReport:
        if not with_bar:
            return sync(realm.folder, realm.settings, all_sources(), os.environ, chosen)
        with SyncBar() as bar:
            return sync(realm.folder, realm.settings, all_sources(), os.environ, chosen, bar.update)

    def report_wait(busy: StoreBusy) -> None:
        writer = str(busy).partition(". ")[0]
        say(f"{writer}. The named files are read next." if chosen else str(busy), err=True)

    return write_when_free(realm.folder, LONG_PATIENCE_S if chosen or is_patient else PATIENCE_S, read, report_wait)


def distil_or_warn(realm: LiveRealm, after_s: float = 0.0) -> None:
    """Distil what was read, or print why not. Search by words works either way."""
    try:
        distil_soon(realm, after_s)
    except StoreFault as fault:  # the next sync tries again
        say(f"! {fault}", err=True)


def _show_recognised(recognised: dict[str, str]) -> None:
    """Print which agent wrote each named file: one line per file, or counts if there are many."""
    titles = {source.name: source.title for source in all_sources()}
    if len(recognised) <= MAX_LISTED:
        for path, source in recognised.items():
            say(f"{path}: {titles[source]}")
        return
    for source, files in Counter(recognised.values()).most_common():
        click.echo(f"{titles[source]}: {plural(files, 'file')}")


def sentence(report: SyncReport) -> str:
    """What a sync did, in one line."""
    if not report.files_read:
        return f"Nothing new in {plural(report.files, 'log')} ({report.seconds:.2f} s)."
    read = f"Read {size(report.bytes)} in {report.files_read:,} of {report.files:,} logs"
    counts = f"{plural(report.events, 'event')}, {plural(report.sessions, 'new session')}"
    rate = f", {report.events / report.seconds:,.0f} events/s" if report.seconds > 1 else ""
    problems = f" {plural(report.problems, 'line')} could not be read: see `recollect doctor`." if report.problems else ""
    return f"{read}: {counts} ({report.seconds:.2f} s{rate}).{problems}"
