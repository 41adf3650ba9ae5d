"""recollect status"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from recollect.folders import SETTINGS_FILE
from recollect.live import LiveRealm
from recollect.shown_time import FIELD, estimate_field
from recollect.store.lock import is_held
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


def describe(realm: LiveRealm) -> dict[str, Any]:
    """Counts, freshness and sizes of a realm, and of every source in it."""
    with realm.open_archive() as reader:
        counts, coverage = reader.counts(), reader.coverage()
        last, indexed = reader.last_key(), int(reader.meta("indexed") or 0)
        warnings = realm.warnings(reader)
        redactions = reader.redactions()
        index, ngrams = realm.text_index(reader), realm.ngrams(reader)
    sources = {
        name: {
            **counts.get(name, {"source": name, "sessions": 0, "turns": 0, "events": 0, "first": None, "last": None}),
            "logs": coverage.get(name, {}).get("files", 0),
            "bytes": coverage.get(name, {}).get("bytes", 0),
            "bytes_read": coverage.get(name, {}).get("read", 0),
        }
        for name in sorted({*counts, *coverage})
    }
    return {
        "realm": realm.name,
        "folder": str(realm.home),
        "settings": str(realm.settings.home / SETTINGS_FILE),
        "writer": "running" if is_held(realm.folder) else "none",
        "sessions": sum(source["sessions"] for source in sources.values()),
        "events": sum(source["events"] for source in sources.values()),
        **_newest(sources.values()),
        "sources": sources,
        "index": {
            "documents": index.snapshot().document_count() if index else 0,
            "behind": last - indexed,
            "bytes": _bytes(realm.folder, "text-*/*"),
        },
        "pieces": {"behind": last - ngrams.last_key, "bytes": _bytes(realm.folder, "pieces-*/*")},
        "archive": {"bytes": _bytes(realm.folder, "archive.db*")},
        "memory": _memory(realm),
        "redactions": redactions,
        "warnings": warnings,
    }


def _newest(sources: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """When the newest session was updated, and whether that time is an estimate."""
    newest = max((source for source in sources if source["last"]), key=lambda source: source["last"], default={})
    return {"updated_at": newest.get("last"), **estimate_field(FIELD in newest)}


def _memory(realm: LiveRealm) -> dict[str, Any]:
    """The number of observations and vectors, and their size."""
    with realm.open_archive() as reader, realm.open_memory() as memory:
        return {
            "observations": memory.count(),
            "vectors": sum(_rows(head) for head in realm.folder.glob("vectors-*/head.json")),
            "bytes": _bytes(realm.folder, "memory.db*") + _bytes(realm.folder, "vectors-*/*"),
            "warnings": realm.memory_warnings(reader),
        }


def _rows(head: Path) -> int:
    try:
        return int(msgspec.json.decode(head.read_bytes())["rows"])
    except (OSError, msgspec.DecodeError, KeyError):  # being rewritten, or damaged: nothing to search
        return 0


def _bytes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())


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
