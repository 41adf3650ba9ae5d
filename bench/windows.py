"""The cost of many agent windows: each starts its own `recollect mcp`, which is idle most of the time.

    python bench/windows.py [--windows 20] [--events 20000] [--cache DIR]

Measures the number of processes, their memory together, their processor time in an idle minute, and the latency of the first
search of a new window. Memory is PSS: a page that n processes share counts 1/n for each.
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
from agents import NotAvailable, processor_s
from client import Client
from generate import cached_home
from product import Installation, proc_text, process_tree, run
from queries import queries
from report import Measure

WINDOWS = 20
IDLE_S = 60.0
SETTLED_S = 3.0  # seconds without processor time after which the started servers count as idle
THINKING_S = 2.0  # seconds that a model takes, at least, before it calls its first tool
NEW_WINDOWS = 10  # whose first search is timed


def all_windows(cache: Path, scratch: Path, events: int, windows: int) -> list[Measure]:
    here = Installation(cached_home(cache, events), scratch / "state")
    run(here.command("sync", "--no-distil"), here.environment())
    run(here.command("distil"), here.environment())
    return [*idle(here, events, windows), *first_searches(here, events)]


def idle(here: Installation, events: int, windows: int) -> list[Measure]:
    """Processes, memory and processor time of open windows that send no requests."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Client(here.command("mcp"), here.environment())) for _ in range(windows)]
        wait_until_idle(server.server.pid for server in servers)
        pids = {pid for server in servers for pid in process_tree(server.server.pid)}
        before = {pid: processor_s(pid) for pid in pids}
        time.sleep(IDLE_S)
        spent = sum(processor_s(pid) - before[pid] for pid in pids)
        per_server = [pss_mb(server.server.pid) for server in servers]
        total = sum(map(pss_mb, pids))
    note = f"{windows} windows"
    return [
        Measure("windows, processes", (len(pids),), "", events, note),
        Measure("windows, PSS of a server", (median(per_server), max(per_server)), "MB", events, "median, worst"),
        Measure("windows, PSS of all", (total,), "MB", events, f"{note} and their child processes"),
        Measure("windows, idle", (spent * 60 / IDLE_S,), "CPU s/min", events, note),
    ]


def first_searches(here: Installation, events: int) -> list[Measure]:
    """Latency of the first search of a new window: after the time that a model thinks, and at once."""
    texts = queries(2 * NEW_WINDOWS)
    later = [first_search(here, query, THINKING_S) for query in texts[:NEW_WINDOWS]]
    at_once = [first_search(here, query, 0.0) for query in texts[NEW_WINDOWS:]]
    met = sum(is_met for _, _, is_met in later)
    return [
        Measure("first search", median_and_worst(later), "ms", events, f"met_sla {met} of {NEW_WINDOWS}"),
        Measure("first search, at once", median_and_worst(at_once), "ms", events),
        Measure("initialize", (median(ms for ms, _, _ in later + at_once),), "ms", events, "from the start of the process"),
    ]


def median_and_worst(searches: list[tuple[float, float, bool]]) -> tuple[float, float]:
    waits = [ms for _, ms, _ in searches]
    return median(waits), max(waits)


def first_search(here: Installation, query: str, thinking_s: float) -> tuple[float, float, bool]:
    """The milliseconds until `initialize` is answered, those of the first search, and its `met_sla`."""
    began = time.perf_counter()
    with Client(here.command("mcp", "--no-sync"), here.environment()) as client:
        initialized = (time.perf_counter() - began) * 1000
        time.sleep(thinking_s)
        answer = client.call("search_sessions", {"query": query})
    return initialized, answer.ms, bool(answer.content["performance"]["met_sla"])


def wait_until_idle(servers: Iterable[int]) -> None:
    """Wait until the first sync and its background work are done: no processor time for some seconds."""
    roots = list(servers)
    used, since = -1.0, time.monotonic()
    while time.monotonic() - since < SETTLED_S:
        now = sum(processor_s(pid) for root in roots for pid in process_tree(root))
        if now - used > 0.02 * len(roots) / WINDOWS + 0.15:
            used, since = now, time.monotonic()
        time.sleep(0.2)


def pss_mb(pid: int) -> float:
    for line in proc_text(Path(f"/proc/{pid}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise NotAvailable("/proc/PID/smaps_rollup")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=WINDOWS)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache = arguments.cache or Path(scratch)
        measures = all_windows(cache, Path(scratch), arguments.events, arguments.windows)
    print(f"{report.machine()}, load {os.getloadavg()[0]:.1f}\n\n{report.table(measures)}")


if __name__ == "__main__":
    main()
