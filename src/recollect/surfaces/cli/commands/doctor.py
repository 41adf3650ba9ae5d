"""recollect doctor"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.markup import escape

from recollect.errors import StoreFault
from recollect.ingest import Ingester
from recollect.live import LiveRealm
from recollect.realms import IndexCondition
from recollect.sources import all_sources
from recollect.store import NewerSchema, OutOfDate, archive_path
from recollect.store.lock import exclusive
from recollect.store.sqlite.salvage import salvage
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, print_json
from recollect.surfaces.cli.write_lock import in_write_turn

NO_EVENTS = ("noise", "lines", "problem", "about", "undated")  # what lines are that are no events
PATIENCE_S = 30  # seconds to wait for another writer to finish
HINTS = {
    IndexCondition.DAMAGED: "The index is missing or damaged: `recollect doctor --repair` rebuilds it now.",
    IndexCondition.REBUILDING: "The index is being rebuilt; `recollect sync` finishes it now.",
    IndexCondition.BEHIND: "The index lacks some events: `recollect sync` brings it level.",
}


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Mend what can be mended: a damaged index or archive.")
@json_option
@realm_options
def command(repair: bool, as_json: bool, **realm: object) -> None:
    """What could not be read and why, whether archive and index are sound, and what to do about it.

    \b
    recollect doctor
    recollect doctor --repair
    """
    opened = chosen_realm(**realm) if repair else realm_to_read(**realm)  # type: ignore[arg-type]
    mended = _repair(opened) if repair else []
    found = {**examine(opened), "repaired": mended}
    if as_json:
        print_json(msgspec.json.encode(found).decode())
    else:
        _draw(found)
    sys.exit(1 if found["hints"] else 0)


def examine(realm: LiveRealm) -> dict[str, Any]:
    try:
        with realm.open_archive() as reader:
            damage = reader.integrity_fault()
            problems, coverage, condition = reader.problems(), reader.coverage(), realm.index_condition(reader)
            memory = realm.semantic_warnings()
    except StoreFault as fault:
        return {
            "archive": str(fault),
            "index": "unknown",
            "memory": "unknown",
            "problems": [],
            "lines": {},
            "hints": [str(fault)],
        }
    hints = [*([HINTS[condition]] if condition in HINTS else []), *realm.sync_warnings()]
    if damage:
        hints.append(f"The archive is damaged ({damage}): `recollect doctor --repair` makes it anew from logs and remains.")
    return {
        "archive": damage or "sound",
        "index": "sound" if condition in {IndexCondition.UP_TO_DATE, IndexCondition.EMPTY} else condition,
        "memory": memory[0] if memory else "sound",
        "problems": [_problem(row) for row in problems],
        "lines": {name: {"lines": part["lines"], **part["tally"]} for name, part in coverage.items()},
        "hints": hints,
    }


def _problem(row: tuple[str, str, int, str, int, str]) -> dict[str, Any]:
    names = ("source", "reason", "count", "path", "line", "excerpt")
    return dict(zip(names, row, strict=True))


def _repair(realm: LiveRealm) -> list[str]:
    """Mend the archive first, because the index is made from it."""
    done = []
    try:
        with realm.open_archive() as reader:
            damage = reader.integrity_fault()
    except NewerSchema:
        raise
    except OutOfDate:  # there is none yet, or opening it for writing brings it up to date
        damage = None
    except StoreFault as fault:
        damage = str(fault)
    if damage:
        aside = in_write_turn(realm, PATIENCE_S, lambda: _set_aside(realm))
        with _intake(realm) as intake:
            intake.sync()
            rescued = salvage(aside, intake.archive)
        done.append(f"The damaged archive was set aside as {aside} and all logs were read again.")
        done.append(f"{rescued} sessions whose logs are gone were rescued from it.")
    with _intake(realm) as intake:
        intake.indexer.rebuild()
        intake.indexer.commit(force=True)
    done.append("The index was rebuilt from the archive.")
    realm.reopen()
    return done


def _set_aside(realm: LiveRealm) -> Path:
    path = archive_path(realm.folder)
    aside = path.with_name(f"archive.damaged-{int(time.time())}.db")
    with exclusive(realm.folder):
        path.rename(aside)
        with suppress(FileNotFoundError):  # what was committed last may only be there
            path.with_name(f"{path.name}-wal").rename(f"{aside}-wal")
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return aside


def _intake(realm: LiveRealm) -> Ingester:
    """The realm for writing, after whoever writes now."""
    return in_write_turn(realm, PATIENCE_S, lambda: Ingester(realm.folder, realm.settings, all_sources(), os.environ))


def _draw(found: dict[str, Any]) -> None:
    out = console()
    for line in found["repaired"]:
        out.print(f"[green]{line}[/]")
    out.print(f"archive: {found['archive']}", markup=False)
    out.print(f"index: {found['index']}", markup=False)
    out.print(f"memory: {found['memory']}", markup=False, soft_wrap=True)
    for name, lines in found["lines"].items():
        events = sum(count for kind, count in lines.items() if not kind.startswith(NO_EVENTS))
        noise = sum(count for kind, count in lines.items() if kind.startswith("noise"))
        odd = f"{lines.get('unknown', 0):,} unknown, {lines.get('problem', 0):,} unreadable"
        if undated := lines.get("undated"):
            odd += f", {undated:,} without a time (file date used, shown as ~)"
        out.print(f"{name}: {lines['lines']:,} lines: {events:,} events, {noise:,} known noise, {odd}")
    for problem in found["problems"]:
        out.print()
        out.print(f"[yellow]{problem['count']:,} × {problem['source']}: {escape(problem['reason'])}[/]")
        out.print(f"  for example {problem['path']}:{problem['line']}", markup=False, soft_wrap=True)
        if problem["excerpt"]:
            out.print(f"  {problem['excerpt']}", markup=False)
    for hint in found["hints"]:
        out.print(f"[bold]→ {hint}[/]")
    if not found["hints"] and not found["problems"]:
        out.print("[green]Nothing to mend.[/]")
