"""The benchmark's table: measured figures, our targets, and the targets of the specification."""

import math
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

Limits = tuple[float | None, ...]
NONE: Limits = (None, None, None)
MORE_IS_BETTER = {"events/s", "MB/s", "turns/s", "requests/s"}
HEADINGS = ["measure", "figure", "our target", "specification", "", "note"]

# p50, p95 and p99 in milliseconds, or one figure in the measure's own unit.
OURS: dict[str, Limits] = {
    "sync": (15_000,),
    "sync, peak memory": (500,),
    "sync, state / logs": (0.6,),
    "real logs": (15_000,),
    "real logs, bytes": (30,),
    "real logs, peak memory": (500,),
    "real logs, state / logs": (0.6,),
    "no-op sync of 20,000 files": (2,),
    "watching, idle": (10,),
    "watching, idle, system calls": (6_000,),
    "MCP start to tools/list": (0.3,),
    "append to searchable, median and worst": (1000, 1000),
    "search": (10, 40, None),
    "search by type": (10, 40, None),
    "search in a session": (10, 40, None),
    "search in a turn": (10, 40, None),
    "search, words and meaning": (None, 80, None),
    "memory search": (None, 100, None),
    "20 observations": (None, 50, None),
    "open event": (None, 15, None),
    "open turn": (None, 15, None),
    "open session": (None, 15, None),
    "list, a week": (None, 15, None),
    "list, the year": (None, 15, None),
    "list, the year, one mode": (None, 15, None),
    "previews of words": (None, 50, None),
    "previews, filtered": (None, 50, None),
    "previews of rare substrings": (None, 150, None),
    "previews of absent strings": (None, 150, None),
    "1,000 turns, summary": (None, 300, None),
    "1,000 turns, turns": (None, 300, None),
    "1,000 turns, steps": (None, 300, None),
    "1,000 turns, analysis": (None, 300, None),
    "history of 10,000 messages, a page": (None, 30, None),
    "sessions page": (None, 20, None),
    "sessions, second page": (None, 20, None),
    "facets": (None, 60, None),
    "usage by day": (None, 100, None),
    "files of a session": (None, 10, None),
    "search as you type": (None, 20, None),
    "journey history": (None, 50, None),
    "journey history, 100 rows": (None, 50, None),
    "journey history by two words": (None, 50, None),
    "journey history by a common word": (None, 50, None),
    "journey history with documents": (None, 50, None),
}
SPECIFIED: dict[str, Limits] = {
    "search in a session": (100, 500, 1000),
    "search in a turn": (50, 300, 750),
    "open event": (25, 200, 500),
    "open turn": (50, 300, 750),
    "open session": (100, 500, 1000),
    "list, a week": (50, 300, 750),
    "list, the year": (200, 1000, 2000),
    "list, the year, one mode": (250, 1200, 2500),
}
SPECIFIED_SEARCH: dict[int, Limits] = {
    100_000: (250, 750, 1500),
    500_000: (500, 1500, 3000),
    1_000_000: (800, 2500, 5000),
}


class MeasureError(Exception):
    """Something could not be measured. The table shows its message instead of a figure."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One row: a figure, or p50, p95 and p99. It has no figures if measuring failed; the note says why."""

    name: str
    figures: tuple[float, ...]
    unit: str
    events: int  # in the logs
    note: str = ""

    def ours(self) -> Limits:
        return OURS.get(self.name, NONE)

    def specified(self) -> Limits:
        if self.name in {"search", "search by type"}:
            return next((limits for size, limits in SPECIFIED_SEARCH.items() if self.events <= size), NONE)
        return SPECIFIED.get(self.name, NONE)

    def met(self) -> bool | None:
        """Whether our target was met; None without a target or a figure."""
        results = [
            figure >= limit if self.unit in MORE_IS_BETTER else figure <= limit
            for figure, limit in zip(self.figures, self.ours(), strict=False)
            if limit is not None
        ]
        return all(results) if results else None


def percentiles(name: str, waits_ms: list[float], events: int, failed: int = 0) -> Measure:
    """p50, p95 and p99 by nearest rank."""
    ordered = sorted(waits_ms)
    figures = tuple(ordered[math.ceil(share * len(ordered)) - 1] for share in (0.50, 0.95, 0.99))
    return Measure(name, figures, "ms", events, f"{failed} of {len(ordered)} failed" if failed else "")


def ratio(theirs: Measure, ours: Measure) -> str:
    """A peer's figures relative to ours, such as "23x slower"; one ratio per percentile."""
    shares = [
        us / them if ours.unit in MORE_IS_BETTER else them / us
        for us, them in zip(ours.figures, theirs.figures, strict=True)
    ]
    ratios = " / ".join(f"{number(share)}x" for share in shares)
    return f"{ratios} {'slower' if min(shares) >= 1 else 'our time'}"


def table(measures: Iterable[Measure]) -> str:
    rows = [HEADINGS, *map(cells, measures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def cells(measure: Measure) -> list[str]:
    if not measure.figures:
        return [measure.name, "-", "", "", "", measure.note]
    bound = ">= " if measure.unit in MORE_IS_BETTER else "<= "
    return [
        measure.name,
        f"{numbers(measure.figures)} {measure.unit}".strip(),
        *(bound + numbers(limits) if any(limits) else "" for limits in (measure.ours(), measure.specified())),
        {True: "met", False: "MISSED", None: ""}[measure.met()],
        measure.note,
    ]


def numbers(figures: Iterable[float | None]) -> str:
    return " / ".join("-" if figure is None else number(figure) for figure in figures)


def number(figure: float) -> str:
    decimals = 0 if figure >= 100 or figure == int(figure) else 1 if figure >= 10 else 2
    return f"{figure:,.{decimals}f}"


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def write(path: Path, measures: Iterable[Measure]) -> None:
    content: dict[str, Any] = {"machine": machine(), "measures": [row(measure) for measure in measures]}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def row(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "events": measure.events,
        "figures": measure.figures,
        "unit": measure.unit,
        "target": measure.ours(),
        "specified": measure.specified(),
        "met": measure.met(),
        "note": measure.note,
    }
