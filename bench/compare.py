"""Compares two checkouts of Recollect in one run: sync speed, MCP start, search latency.

    python bench/compare.py --before DIR --after DIR [--events 100000] [--rounds 5] [--distil] [--cache DIR]

Each checkout has its own `.venv` (`make setup`). Both read the same generated logs, each into its own state folder.
They run alternately, so other work on the machine slows both equally. A ratio below 1 means that `after` is faster.
On a busy machine, CPU time varies less than elapsed time.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import median, quantiles

from generate import cached_home
from latency import WARM_UP
from meaning import questions
from product import Installation, run, sync
from queries import queries

QUERIES = 100  # in a round; half of them in the invented words of the logs, half in plain English
STARTS = 3  # MCP starts in a round: each takes a fraction of a second

Pair = tuple[Installation, Installation]  # before, after


@dataclass(slots=True)
class Comparison:
    """The figures of one measure, in pairs. Both figures of a pair are for the same work."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    def row(self, name: str) -> str:
        ratios = [after / before for before, after in zip(self.before, self.after, strict=True)]
        low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        figures = f"{median(self.before):9.3f}  {median(self.after):9.3f}"
        return f"{name:16}  {figures}  {median(ratios):6.3f}  {low:.3f} to {high:.3f}"


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All measures of a run, by name."""

    by_name: dict[str, Comparison] = field(default_factory=dict)

    def add(self, name: str, before: float, after: float) -> None:
        comparison = self.by_name.setdefault(name, Comparison())
        comparison.before.append(before)
        comparison.after.append(after)

    def add_both(self, name: str, pair: Pair, number: int, work: Callable[[Installation], object]) -> None:
        """Time the work with both checkouts. They alternate in which one is first."""
        times = [(0.0, 0.0)] * 2
        for place in (0, 1) if number % 2 else (1, 0):
            times[place] = timed(work, pair[place])
        for suffix, (before, after) in zip((", s", ", CPU s"), zip(*times, strict=True), strict=True):
            self.add(name + suffix, before, after)

    def table(self) -> str:
        head = f"{'measure':16}  {'before':>9}  {'after':>9}  {'ratio':>6}  middle half"
        return "\n".join([head, *(comparison.row(name) for name, comparison in self.by_name.items())])


def timed(work: Callable[[Installation], object], installation: Installation) -> tuple[float, float]:
    """Elapsed seconds, and CPU seconds of the processes that ended meanwhile."""
    used, began = child_cpu_seconds(), time.perf_counter()
    work(installation)
    return time.perf_counter() - began, child_cpu_seconds() - used


def child_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start(installation: Installation) -> None:
    with installation.server() as server:
        server.tools()


def search(installation: Installation) -> None:
    with installation.server() as server:
        for query in mixed_queries("measured", QUERIES):
            server.call("search_sessions", {"query": query})


def compare_queries(pair: Pair, comparisons: Comparisons, number: int) -> None:
    """Time every query with both running servers."""
    with ExitStack() as stack:
        servers = [stack.enter_context(installation.server()) for installation in pair]
        for query in mixed_queries("warm-up", WARM_UP):
            for server in servers:
                server.call("search_sessions", {"query": query})
        for place, query in enumerate(mixed_queries(f"round {number}", QUERIES)):
            waits = [0.0, 0.0]
            for which in (0, 1) if place % 2 else (1, 0):
                waits[which] = servers[which].call("search_sessions", {"query": query}).ms
            comparisons.add("one query, ms", *waits)


def mixed_queries(series: str, count: int) -> list[str]:
    pairs = zip(queries(count // 2, series=series), questions(count // 2, series), strict=True)
    return list(chain.from_iterable(pairs))


def compare(before: Path, after: Path, home: Path, scratch: Path, rounds: int, *, distil: bool) -> Comparisons:
    comparisons = Comparisons()
    for number in range(rounds):
        pair = (
            Installation(home, scratch / f"before-{number}", python_of(before)),
            Installation(home, scratch / f"after-{number}", python_of(after)),
        )
        comparisons.add_both("sync", pair, number, sync)
    for installation in pair if distil else ():
        run(installation.command("distil"), installation.environment())
    for number in range(rounds):
        for again in range(STARTS):
            comparisons.add_both("MCP start", pair, number + again, start)
        comparisons.add_both("search", pair, number, search)
        compare_queries(pair, comparisons, number)
    return comparisons


def python_of(checkout: Path) -> str:
    return str(checkout.absolute() / ".venv/bin/python")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a checkout with its own .venv")
    parser.add_argument("--after", type=Path, required=True, help="the checkout to compare with it")
    parser.add_argument("--events", type=int, default=100_000, help="size of the generated logs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--distil", action="store_true", help="search by meaning too; distilling takes some minutes")
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = cached_home(arguments.cache or Path(scratch), arguments.events)
        print(
            compare(
                arguments.before, arguments.after, home, Path(scratch), arguments.rounds, distil=arguments.distil
            ).table()
        )


if __name__ == "__main__":
    main()
