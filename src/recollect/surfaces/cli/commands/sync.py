"""recollect sync"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import click
import msgspec

from recollect import OURS
from recollect.distil import distil
from recollect.errors import StoreBusy, StoreFault
from recollect.ingest import SyncReport, sync
from recollect.live import LiveRealm
from recollect.sources import all_sources
from recollect.store import archive_path
from recollect.store.lock import NEXT, WATCHING, is_held
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options
from recollect.surfaces.cli.render import print_json, say, size
from recollect.surfaces.cli.write_lock import in_write_turn

PATIENCE_S = 10.0  # seconds to wait for another writer; then that one, or a process in the background, reads the rest
LONG_PATIENCE_S = 600.0  # the same where nobody else would read what was named
NAMED = 10  # files that are named one by one
AT_ONCE_S = 1.5  # seconds in which a small sync is distilled before the command ends
SHARE = 0.04  # of the time that a large one took; a process of its own does the rest


@click.command("sync")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--no-distil", is_flag=True, help="Only read; leave observations and vectors to a later run.")
@click.option("--patient", is_flag=True, hidden=True, help="Wait for as long as another process writes.")
@json_option
@realm_options
def command(paths: tuple[Path, ...], no_distil: bool, patient: bool, as_json: bool, **realm: object) -> None:
    """Read what agents wrote since the last time: all logs on this machine, or the given files and folders.

    \b
    recollect sync
    recollect sync ~/backup/old-sessions
    recollect sync conversations.json      # whatever agent wrote it
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    chosen = [path.absolute() for path in paths] or None
    try:
        report = _read_in_turn(opened, chosen, is_patient=patient, is_drawn=not as_json and sys.stderr.isatty())
    except StoreBusy as busy:
        if chosen or patient:
            raise
        _hand_over(opened)
        if as_json:
            click.echo(msgspec.json.encode(SyncReport(warnings=[str(busy)])).decode())
        return
    for trouble in report.unreadable:
        say(f"! {trouble}", err=True)
    for path in report.unrecognised[:NAMED]:
        say(f"! {path}: not a log of any agent we know", err=True)
    if len(report.unrecognised) > NAMED:
        click.echo(f"! and {len(report.unrecognised) - NAMED:,} more such files; --json names them all", err=True)
    if as_json:
        print_json(msgspec.json.encode(report).decode())
    else:
        _show_recognised(report.recognised)
        click.echo(sentence(report))
    sys.stdout.flush()
    if not no_distil:
        remember(opened, max(AT_ONCE_S, report.seconds * SHARE))
    if chosen and not report.files:
        sys.exit(1)


def _read_in_turn(realm: LiveRealm, chosen: list[Path] | None, *, is_patient: bool, is_drawn: bool) -> SyncReport:
    """Read as soon as nobody else writes; raises `Busy` where that takes too long."""

    def read() -> SyncReport:
        if not is_drawn:
            return sync(realm.folder, realm.settings, all_sources(), os.environ, chosen)
        with _Bar() as bar:
            return sync(realm.folder, realm.settings, all_sources(), os.environ, chosen, bar.update)

    def say_who(busy: StoreBusy) -> None:
        who = str(busy).partition(". ")[0]
        say(f"{who}. The named files are read next." if chosen else str(busy), err=True)

    return in_write_turn(realm, LONG_PATIENCE_S if chosen or is_patient else PATIENCE_S, read, say_who)


def _hand_over(realm: LiveRealm) -> None:
    """Another process writes for long. Have what is new read after that, unless a watcher does so anyway."""
    if not is_held(realm.folder, WATCHING) and not is_held(realm.folder, NEXT):
        _in_background("sync", "--patient", "--json", "--realm", realm.name)


def _in_background(*command: str) -> None:
    nowhere = subprocess.DEVNULL
    subprocess.Popen([*OURS, *command], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)


def remember(realm: LiveRealm, seconds: float) -> None:
    """Make observations and vectors of what was read: here while it is quick, else in the background."""
    if not archive_path(realm.folder).exists():
        return  # nothing was ever read into it
    end = time.monotonic() + seconds
    try:
        done = distil(realm.folder, realm.settings, os.environ, lambda: time.monotonic() > end)
    except StoreFault as fault:  # all was read, and can be found by words; the next sync tries again
        say(f"! {fault}", err=True)
        return
    if not done:
        _in_background("distil", "--quiet", "--realm", realm.name)


def _show_recognised(recognised: dict[str, str]) -> None:
    """What each named file was taken for: one by one while they are few, else counted."""
    titles = {source.name: source.title for source in all_sources()}
    if len(recognised) <= NAMED:
        for path, source in recognised.items():
            say(f"{path}: {titles[source]}")
        return
    for source, files in Counter(recognised.values()).most_common():
        click.echo(f"{titles[source]}: {files:,} files")


def sentence(report: SyncReport) -> str:
    """What a sync did, in one line."""
    if not report.files_read:
        return f"Nothing new in {report.files:,} logs ({report.seconds:.2f} s)."
    read = f"Read {size(report.bytes)} in {report.files_read:,} of {report.files:,} logs"
    found = f"{report.events:,} events, {report.sessions:,} new sessions"
    rate = f", {report.events / report.seconds:,.0f} events/s" if report.seconds > 1 else ""
    problems = f" {report.problems:,} lines could not be read: recollect doctor." if report.problems else ""
    return f"{read}: {found} ({report.seconds:.2f} s{rate}).{problems}"


class _Bar:
    """Progress on a terminal: files, megabytes, events a second, time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("Reading"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[files]:,} files, {task.fields[events]:,} events, {task.fields[rate]:,.0f} events/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("sync", total=None, files=0, events=0, rate=0.0)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, report: SyncReport) -> None:
        elapsed = self._progress.tasks[0].elapsed or 1e-9
        self._progress.update(
            self._task,
            total=report.bytes_total,
            completed=report.bytes,
            files=report.files_read,
            events=report.events,
            rate=report.events / elapsed,
        )
