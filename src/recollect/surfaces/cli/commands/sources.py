"""recollect sources"""

import os
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from recollect.operations.library.health import source_rows
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, print_json, tilde, time_of

BY_NAME = "recollect sync FILE"  # how to read a source whose logs have no fixed place


@click.command("sources")
@json_option
@realm_options
def command(as_json: bool, **realm: object) -> None:
    """List the agents whose logs can be read.

    Shows which are installed, where their logs are, and how many sessions are indexed. Logs inside projects
    (<project>/…) are searched for in the folders where agents worked, in their repositories, and below the folders in
    `project_folders` in settings.toml.

    \b
    recollect sources
    recollect sources --json | jq '.[] | select(.installed)'
    """
    opened = realm_to_read(**realm)  # type: ignore[arg-type]
    rows = source_rows(opened, os.environ)
    if as_json:
        print_json(msgspec.json.encode(rows).decode())
        return
    _draw(rows)


def _draw(rows: list[dict[str, Any]]) -> None:
    """Installed agents first, then all others."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("agent", "here", "logs", "sessions", "newest", "verified on", "where"):
        table.add_column(name, justify="right" if name in {"logs", "sessions"} else "left")
    for row in sorted(rows, key=lambda row: not (row["installed"] or row["sessions"])):
        is_used = row["installed"] or row["sessions"]
        table.add_row(
            row["source"],
            "yes" if row["installed"] else "no",
            f"{row['logs']:,}",
            f"{row['sessions']:,}",
            time_of(row, "updated_at"),
            f"{row['real_sessions']:,} real sessions" if row["verified"] else "unverified",
            _where(row),
            style=None if is_used else "dim",
        )
    console().print(table)


def _where(row: dict[str, Any]) -> str:
    """The places that exist. For an agent that is not installed: the first place where its logs would be."""
    existing = [home for home in row["homes"] if Path(home).is_dir()]
    if count := len(row["projects"]):
        existing.append(f"{row['places'][-1]} in {count} project{'s' if count != 1 else ''}")
    return ", ".join(tilde(place) for place in existing or row["places"][:1]) or BY_NAME
