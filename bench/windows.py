"""Many agent windows at once: each starts `recollect mcp` for itself and then mostly leaves it alone.

    python bench/windows.py [--windows 20] [--events 20000] [--cache DIR]

How many processes that is, how much memory they hold together, how much processor time they take in an idle minute, and how
long the first search of a new window takes. Memory is PSS: a page that n processes share counts 1/n for each.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import report
from agents import NotHere, processor_s
from client import Client
from generate import cached_home
from product import Installation, family, proc_text, run
from queries import queries
from report import Measure

WINDOWS = 20
SILENCE_S = 60.0
AT_REST_S = 3.0  # without any processor time, after the servers have started
THINKING_S = 2.0  # that a model takes, at least, before it calls its first tool
FIRST = 10  # new windows whose first search is timed


def all_windows(cache: Path, scratch: Path, events: int, windows: int) -> list[Measure]:
    here = Installation(cached_home(cache, events), scratch / "state")
    run(here.command("sync", "--no-distil"), here.environment())
    run(here.command("distil"), here.environment())
    return [*idle(here, events, windows), *first_searches(here, events)]


def idle(here: Installation, events: int, windows: int) -> list[Measure]:
    """Windows that were opened, and in which nobody asks anything."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Client(here.command("mcp"), here.environment())) for _ in range(windows)]
        rest(server.server.pid for server in servers)
        pids = {pid for server in servers for pid in family(server.server.pid)}
        before = {pid: processor_s(pid) for pid in pids}
        time.sleep(SILENCE_S)
        spent = sum(processor_s(pid) - before[pid] for pid in pids)
        own = [pss_mb(server.server.pid) for server in servers]
        together = sum(map(pss_mb, pids))
    note = f"{windows} windows"
    return [
        Measure("windows, processes", (len(pids),), "", events, note),
        Measure("windows, PSS of a server", (median(own), max(own)), "MB", events, "median, worst"),
        Measure("windows, PSS of all", (together,), "MB", events, f"{note} and what they started"),
        Measure("windows, idle", (spent * 60 / SILENCE_S,), "CPU s/min", events, note),
    ]


def first_searches(here: Installation, events: int) -> list[Measure]:
    """The first search of a new window: after a model's first thought, and at once."""
    chosen = queries(2 * FIRST)
    later = [first_search(here, query, THINKING_S) for query in chosen[:FIRST]]
    at_once = [first_search(here, query, 0.0) for query in chosen[FIRST:]]
    met = sum(in_time for _, _, in_time in later)
    return [
        Measure("first search", median_and_worst(later), "ms", events, f"met_sla {met} of {FIRST}"),
        Measure("first search, at once", median_and_worst(at_once), "ms", events),
        Measure("initialize", (median(ms for ms, _, _ in later + at_once),), "ms", events, "from the start of the process"),
    ]


def median_and_worst(searches: list[tuple[float, float, bool]]) -> tuple[float, float]:
    waits = [ms for _, ms, _ in searches]
    return median(waits), max(waits)


def first_search(here: Installation, query: str, thinking_s: float) -> tuple[float, float, bool]:
    """Milliseconds to the answer of initialize, those of the first search, and whether it says that it was in time."""
    began = time.perf_counter()
    with Client(here.command("mcp", "--no-sync"), here.environment()) as client:
        initialized = (time.perf_counter() - began) * 1000
        time.sleep(thinking_s)
        answer = client.call("search_sessions", {"query": query})
    return initialized, answer.ms, bool(answer.content["performance"]["met_sla"])


def rest(servers: Iterable[int]) -> None:
    """Wait until a first sync, and all that comes after it, is done: no processor time for some seconds."""
    roots = list(servers)
    known, since = -1.0, time.monotonic()
    while time.monotonic() - since < AT_REST_S:
        now = sum(processor_s(pid) for root in roots for pid in family(root))
        if now - known > 0.02 * len(roots) / WINDOWS + 0.15:
            known, since = now, time.monotonic()
        time.sleep(0.2)


def pss_mb(pid: int) -> float:
    for line in proc_text(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise NotHere("/proc/PID/smaps_rollup")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=WINDOWS)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache = given.cache or Path(scratch)
        measures = all_windows(cache, Path(scratch), given.events, given.windows)
    print(f"{report.machine()}, load {os.getloadavg()[0]:.1f}\n\n{report.table(measures)}")


if __name__ == "__main__":
    main()
