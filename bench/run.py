"""Measures Recollect and its peers on logs of several sizes, and prints one table per size.

    python bench/run.py [--events 100000 500000 1000000] [--corpus DIR] [--agents DIR] [--out FILE.json] [--cache DIR]
                        [--quick]

If something cannot be measured, its row says why, and the run continues.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import agents
import freshness
import journeys
import latency
import live
import meaning
import peers
import product
import report
import strings
from generate import cached_home, cached_tiny_files
from product import Installation
from queries import COUNT, queries
from report import Measure, MeasureError
from sessions import DEFAULT_SEED


@dataclass(frozen=True, slots=True)
class Plan:
    sizes: list[int]
    queries: int = COUNT
    repetitions: int = 10  # of single measurements: starting, appending
    tiny_files: int = 20_000
    journey_sessions: int = 10_000  # sessions of one journey
    searched_events: int = 100_000  # events that many clients search at once
    scale: live.Scale = live.FULL
    peers: bool = True


FULL = Plan([100_000, 500_000, 1_000_000])
QUICK = Plan(
    [20_000],
    queries=50,
    repetitions=3,
    tiny_files=2_000,
    journey_sessions=500,
    searched_events=20_000,
    scale=live.QUICK,
)


def stage(name: str, events: int, measure: Callable[[], list[Measure]]) -> list[Measure]:
    """One part of the run. If it fails, its row says why, and the run continues."""
    print(f"… {name}", file=sys.stderr)
    try:
        return measure()
    except MeasureError as error:
        return [Measure(name, (), "", events, str(error))]


def one_size(events: int, plan: Plan, cache: Path, scratch: Path) -> list[Measure]:
    """All measures of one size of logs, and those of the peers."""
    print(f"\n… {events:,} events", file=sys.stderr)
    here = Installation(cached_home(cache, events), scratch / "state")
    measured, warm_up = queries(plan.queries), queries(plan.queries, series="warm-up")
    ours = [
        *stage("sync", events, lambda: product.first_sync(here, events)),
        *stage("no-op sync", events, lambda: product.no_op_sync(here, events)),
        *stage("MCP start", events, lambda: product.mcp_start(here, events, plan.repetitions)),
        *stage("search", events, lambda: latency.latencies(here, events, measured, warm_up)),
        *stage("distil", events, lambda: meaning.distilled(here, events)),
        *stage("meaning", events, lambda: meaning.latencies(here, events, plan.queries)),
        *stage("previews", events, lambda: strings.latencies(here, events, plan.queries)),
        *stage("long session", events, lambda: strings.long_session(here, events, plan.repetitions)),
        *stage("append", events, lambda: freshness.append_to_searchable(here, events, plan.repetitions)),
    ]
    if not plan.peers:
        return ours
    theirs = [
        *stage("FTS5", events, lambda: peers.fts5(scratch, events, DEFAULT_SEED, measured, warm_up)),
        *stage("agentsview", events, lambda: peers.agentsview(here.home, scratch, events, measured, warm_up)),
    ]
    return ours + peers.compared(theirs, ours)


def many_files(files: int, cache: Path, scratch: Path) -> list[Measure]:
    here = Installation(cached_tiny_files(cache, files), scratch / "state")
    first, again = f"sync of {files:,} files", f"no-op sync of {files:,} files"
    return [
        *stage(first, files, lambda: product.first_sync(here, files, first)),
        *stage(again, files, lambda: product.no_op_sync(here, files, again)),
    ]


def one_journey(plan: Plan, scratch: Path) -> list[Measure]:
    sessions = plan.journey_sessions
    return stage("journey", sessions, lambda: journeys.one_journey(scratch, sessions, plan.queries))


def live_sessions(plan: Plan, cache: Path, scratch: Path) -> list[Measure]:
    events = plan.searched_events
    return stage("live sessions", events, lambda: live.measure_all(cache, scratch, events, plan.scale))


def real_logs(corpus: Path, scratch: Path) -> list[Measure]:
    here = Installation(corpus, scratch / "state")
    return stage("real logs", 0, lambda: product.first_sync(here, 0, "real logs"))


def every_agent(folder: Path | None, scratch: Path) -> list[Measure]:
    synced = stage("every agent", 0, lambda: agents.named_folder(folder, scratch)) if folder else []
    return [*synced, *stage("watching, idle", 0, lambda: agents.idle_watcher(scratch))]


def measure_all(plan: Plan, cache: Path, corpus: Path | None, agents_folder: Path | None) -> list[Measure]:
    """All measures of a run. Each table is printed as soon as it is complete."""
    measures: list[Measure] = []
    for events in plan.sizes:
        measures += measure_and_print(f"{events:,} events", cache, partial(one_size, events, plan, cache))
    measures += measure_and_print("Many small files", cache, partial(many_files, plan.tiny_files, cache))
    measures += measure_and_print(f"A journey of {plan.journey_sessions:,} sessions", cache, partial(one_journey, plan))
    measures += measure_and_print("Live sessions", cache, partial(live_sessions, plan, cache))
    if corpus:
        measures += measure_and_print("Real logs", cache, partial(real_logs, corpus))
    measures += measure_and_print("Every agent", cache, partial(every_agent, agents_folder))
    return measures


def measure_and_print(title: str, cache: Path, measure: Callable[[Path], list[Measure]]) -> list[Measure]:
    """Measure in a scratch folder and print the table at once: the next part may take long."""
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        measures = measure(Path(scratch))
    print(f"\n{title}\n\n{report.table(measures)}", flush=True)
    return measures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", help="sizes of the generated logs")
    parser.add_argument("--corpus", type=Path, help="a home folder with real logs, to measure sync on")
    parser.add_argument("--agents", type=Path, help="a folder with logs of any agents, to measure sync of this folder")
    parser.add_argument("--out", type=Path, help="write the figures to this file, as JSON")
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    parser.add_argument("--quick", action="store_true", help="one small size, fewer repetitions")
    parser.add_argument("--without-peers", action="store_true", help="only Recollect: FTS5 alone takes minutes at 1M events")
    arguments = parser.parse_args()
    plan = replace(QUICK if arguments.quick else FULL, peers=not arguments.without_peers)
    plan = replace(plan, sizes=arguments.events or plan.sizes)
    print(report.machine())
    with tempfile.TemporaryDirectory() as temporary:
        cache = arguments.cache or Path(temporary)
        cache.mkdir(parents=True, exist_ok=True)
        measures = measure_all(plan, cache, arguments.corpus, arguments.agents)
    if arguments.out:
        report.write(arguments.out, measures)


if __name__ == "__main__":
    main()
