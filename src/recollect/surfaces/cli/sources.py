"""recollect sources"""

import os
from typing import Any

import click
import msgspec

from recollect.model import Problem
from recollect.sources import Source, all_sources
from recollect.surfaces.cli._draw import ago, console
from recollect.surfaces.cli._realm import chosen_realm, json_option, realm_options


@click.command("sources")
@json_option
@realm_options
def command(as_json: bool, **realm: object) -> None:
    """Which agents can be read, which are installed here, and how much of them is indexed.

    \b
    recollect sources
    """
    opened = chosen_realm(**realm)  # type: ignore[arg-type]
    with opened.reading() as reader:
        counts = reader.counts()
    rows = [_row(source, counts.get(source.name, {})) for source in all_sources()]
    if as_json:
        click.echo(msgspec.json.encode(rows).decode())
        return
    _draw(rows)


def _row(source: Source, counts: dict[str, Any]) -> dict[str, Any]:
    homes = source.homes(os.environ)
    logs = [found for _, found in source.find(os.environ) if not isinstance(found, Problem)]
    return {
        "source": source.name,
        "title": source.title,
        "installed": any(home.is_dir() for home in homes),
        "homes": [str(home) for home in homes],
        "logs": len(logs),
        "sessions": counts.get("sessions", 0),
        "updated_at": counts.get("last"),
        "verified": f"{source.real_sessions} real sessions" if source.real_sessions else "unverified",
    }


def _draw(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("agent", "installed", "logs", "sessions", "newest", "verified on", "where"):
        table.add_column(name, justify="right" if name in {"logs", "sessions"} else "left")
    for row in rows:
        table.add_row(
            row["source"],
            "yes" if row["installed"] else "no",
            f"{row['logs']:,}",
            f"{row['sessions']:,}",
            ago(row["updated_at"]),
            row["verified"],
            ", ".join(row["homes"]),
        )
    console().print(table)
