"""recollect status"""

from typing import Any

import click
import msgspec
from rich.table import Table

from recollect.operations.library.health import describe
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, print_json, size, time_of


@click.command("status")
@json_option
@realm_options
def command(as_json: bool, **realm: object) -> None:
    """Show what is indexed, how new and how large it is.

    \b
    recollect status
    recollect status --json
    """
    report = describe(realm_to_read(**realm))  # type: ignore[arg-type]
    if as_json:
        print_json(msgspec.json.encode(report).decode())
    else:
        _draw(report)


def _draw(report: dict[str, Any]) -> None:
    out = console()
    for warning in report["warnings"]:
        out.print(f"[yellow]! {warning}[/]")
    counts = f"[bold]{report['sessions']:,}[/] sessions, [bold]{report['events']:,}[/] events"
    out.print(f"{counts}, newest {time_of(report, 'updated_at')}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("source", "sessions", "turns", "events", "logs", "read", "newest"):
        table.add_column(name, justify="left" if name in {"source", "newest"} else "right")
    for name, source in report["sources"].items():
        covered = source["bytes_read"] / source["bytes"] if source["bytes"] else 1.0
        cells = (source["sessions"], source["turns"], source["events"], source["logs"])
        table.add_row(name, *(f"{cell:,}" for cell in cells), f"{covered:.1%}", time_of(source, "last"))
    if report["sources"]:
        out.print(table)
    behind = f", {report['index']['behind']:,} events behind" if report["index"]["behind"] else ""
    memory = report["memory"]
    out.print(f"{memory['observations']:,} observations, {memory['vectors']:,} vectors, {size(memory['bytes'])}")
    for warning in memory["warnings"]:
        out.print(f"[yellow]! {warning}[/]")
    ngrams = f", n-gram index {size(report['pieces']['bytes'])}" if report["pieces"]["bytes"] else ""
    sizes = f"archive {size(report['archive']['bytes'])}, index {size(report['index']['bytes'])}"
    out.print(f"{sizes}{behind}{ngrams}, writer {report['writer']}")
    if report["redactions"]:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in sorted(report["redactions"].items()))
        out.print(f"redacted: {rules}")
    out.print(f"[dim]{report['folder']}  (settings: {report['settings']})[/]", soft_wrap=True)
