"""`library/health`: what is indexed, which agents are read, and what could not be read.

`recollect status`, `recollect sources` and `recollect doctor` show these parts.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.errors import StoreFault
from recollect.folders import SETTINGS_FILE
from recollect.live import LiveRealm
from recollect.operations.context import RequestContext
from recollect.operations.library.answers import HealthReport
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.requests import GetHealth
from recollect.realms import IndexCondition
from recollect.settings import Settings
from recollect.shown_time import FIELD, estimate_field
from recollect.store.lock import is_held

if TYPE_CHECKING:
    from recollect.sources import Source

HINTS = {
    IndexCondition.DAMAGED: "The index is missing or damaged: `recollect doctor --repair` rebuilds it now.",
    IndexCondition.REBUILDING: "The index is being rebuilt: `recollect sync` finishes it now.",
    IndexCondition.BEHIND: "The index lacks some events: `recollect sync` adds them.",
}


def get_health(realm: LiveRealm, request: GetHealth, context: RequestContext) -> LibraryAnswer:
    status, condition = describe(realm), examine(realm)
    sources = source_rows(realm, os.environ)
    return LibraryAnswer(HealthReport(status=status, sources=sources, doctor=condition), warnings=status["warnings"])


# ---- status


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


# ---- sources


def source_rows(realm: LiveRealm, env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every agent whose logs can be read: whether it is installed, where its logs are, and how many sessions it has."""
    from recollect.ingest.projects import project_folders
    from recollect.sources import all_sources  # 60 ms of CPU with the reading of logs, only needed here

    with realm.open_archive() as reader:
        counts = reader.counts()
        projects = project_folders(reader.folders(), all_sources(), realm.settings)
    return [_row(source, counts.get(source.name, {}), projects, realm.settings, env) for source in all_sources()]


def _row(
    source: "Source", counts: dict[str, Any], projects: Sequence[Path], settings: Settings, env: Mapping[str, str]
) -> dict[str, Any]:
    from recollect.ingest.discover import Log, discover
    from recollect.ingest.projects import logs_in_projects

    homes = source.homes(env)
    logs = [log.path for log in discover([source], env, settings, projects) if isinstance(log, Log)]
    with_logs = [project for project in projects if any(logs_in_projects(source, [project]))]
    return {
        "source": source.name,
        "title": source.title,
        "installed": any(home.is_dir() for home in homes) or bool(logs),
        "homes": [str(home) for home in homes],
        "places": source.places(env),
        "containers": source.containers,
        "logs": len(logs),
        "projects": [str(project) for project in with_logs],
        "sessions": counts.get("sessions", 0),
        "updated_at": counts.get("last"),
        **estimate_field(FIELD in counts),
        "verified": source.real_sessions > 0,
        "real_sessions": source.real_sessions,
    }


# ---- doctor


def examine(realm: LiveRealm) -> dict[str, Any]:
    """The condition of archive, index and memory, the problems by reason, and hints what to do."""
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
        hints.append(
            f"The archive is damaged ({damage}): `recollect doctor --repair` reads the logs again and rescues the rest."
        )
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
