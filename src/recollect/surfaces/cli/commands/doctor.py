"""recollect doctor"""

import sys
from typing import Any

import click
import msgspec
from rich.markup import escape

from recollect.operations.library.health import examine
from recollect.realms.repair import repair
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, print_json

NOT_EVENTS = ("noise", "lines", "problem", "about", "undated")  # counts of lines that did not become events


@click.command("doctor")
@click.option("--repair", "wants_repair", is_flag=True, help="Repair a damaged index or archive.")
@json_option
@realm_options
def command(wants_repair: bool, as_json: bool, **realm: object) -> None:
    """Check the store, and report unreadable log lines.

    Shows which lines could not be read and why, whether archive and index are damaged, and what to do. The exit code is 1
    if there is something to do.

    \b
    recollect doctor
    recollect doctor --repair
    """
    opened = chosen_realm(**realm) if wants_repair else realm_to_read(**realm)  # type: ignore[arg-type]
    repaired = repair(opened) if wants_repair else []
    report = {**examine(opened), "repaired": repaired}
    if as_json:
        print_json(msgspec.json.encode(report).decode())
    else:
        _draw(report)
    sys.exit(1 if report["hints"] else 0)


def _draw(report: dict[str, Any]) -> None:
    out = console()
    for line in report["repaired"]:
        out.print(f"[green]{escape(line)}[/]", soft_wrap=True)
    out.print(f"archive: {report['archive']}", markup=False, soft_wrap=True)
    out.print(f"index: {report['index']}", markup=False)
    out.print(f"memory: {report['memory']}", markup=False, soft_wrap=True)
    for name, lines in report["lines"].items():
        events = sum(count for kind, count in lines.items() if not kind.startswith(NOT_EVENTS))
        ignored = sum(count for kind, count in lines.items() if kind.startswith("noise"))
        unread = f"{lines.get('unknown', 0):,} not recognised, {lines.get('problem', 0):,} unreadable"
        if undated := lines.get("undated"):
            unread += f", {undated:,} without a timestamp (file date used, shown as ~)"
        out.print(f"{name}: {lines['lines']:,} lines: {events:,} events, {ignored:,} ignored, {unread}")
    for problem in report["problems"]:
        out.print()
        out.print(f"[yellow]{problem['count']:,} × {problem['source']}: {escape(problem['reason'])}[/]")
        out.print(f"  for example {problem['path']}:{problem['line']}", markup=False, soft_wrap=True)
        if problem["excerpt"]:
            out.print(f"  {problem['excerpt']}", markup=False)
    for hint in report["hints"]:
        out.print(f"[bold]→ {escape(hint)}[/]", soft_wrap=True)
    if not report["hints"] and not report["problems"]:
        out.print("[green]Nothing to repair.[/]")
