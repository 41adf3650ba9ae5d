"""The cost of search by meaning and of memory: distilling, the size of vectors, latency.

Queries are plain English, because the word vectors do not contain invented words. The logs consist of invented words, which
makes no difference to the speed. The baseline is search by words alone, with the same queries in the same run.
"""

from itertools import cycle, islice
from pathlib import Path
from random import Random

from client import Client
from latency import WARM_UP, call_all, timing
from product import Installation, folder_bytes, run
from report import Measure, MeasureError

MB = 1_000_000
VECTORS = 100_000  # the size is reported for this number of vectors
WORDS = (
    "password login account server database error memory network file folder branch commit release version build test"
    " failure deadline color picture window button upload download delete remove create rename search index cache queue"
    " thread process timeout retry user customer payment invoice email message notification schedule calendar report chart"
    " security permission token certificate encryption backup restore migration schema table column query filter sort page"
    " document paragraph sentence translation language browser mobile desktop keyboard mouse screen printer battery camera"
    " slow fast broken empty missing duplicate invalid expired locked hidden public private remote local old new large small"
).split()


def questions(count: int, series: str) -> list[str]:
    """Questions of one to eight plain words."""
    rng = Random(f"meaning {series}")
    return [" ".join(rng.sample(WORDS, 1 + number % 8)) for number in range(count)]


def distilled(here: Installation, events: int) -> list[Measure]:
    """Extract all observations and compute all vectors of the synced logs."""
    done = run(here.command("distil"), here.environment())
    realm = here.state / "realms" / "main"
    rows, size = vectors(realm)
    observations = done.output.split()[0]
    return [
        Measure("distil", (events / done.seconds,), "events/s", events, f"{observations} observations, {rows:,} vectors"),
        Measure("distil, peak memory", (done.peak_bytes / MB,), "MB", events),
        Measure("vectors, per 100,000", (size / MB / rows * VECTORS if rows else 0.0,), "MB", events),
    ]


def vectors(realm: Path) -> tuple[int, int]:
    """The number of vectors, and the bytes of all."""
    folders = list(realm.glob("vectors-*"))
    return sum((folder / "key").stat().st_size // 8 for folder in folders), sum(map(folder_bytes, folders))


def latencies(here: Installation, events: int, count: int) -> list[Measure]:
    """Latency of the same queries by words alone and by words and meaning; then of the memory's tools."""
    queries = questions(count, "measured")
    settings = here.state / "settings.toml"
    settings.write_text('[search]\nmode = "text"\n')
    with here.server() as server:
        alone = search(server, "search, words alone", queries, events)
    settings.unlink()
    with here.server() as server:
        both = search(server, "search, words and meaning", queries, events)
        return [alone, both, *memory(server, queries, events)]


def search(server: Client, name: str, queries: list[str], events: int) -> Measure:
    call_all(server, "search_sessions", ({"query": query} for query in questions(WARM_UP, "warm-up")))
    return timing(name, events, call_all(server, "search_sessions", ({"query": query} for query in queries)))


def memory(server: Client, queries: list[str], events: int) -> list[Measure]:
    call_all(server, "search", ({"query": query} for query in questions(WARM_UP, "warm-up")))
    answers = call_all(server, "search", ({"query": query} for query in queries))
    ids = [word for answer in answers for word in answer.text.split() if word.startswith("obs-")]
    if not ids:
        raise MeasureError("None of the questions found an observation.")
    repeated = cycle(ids)
    requests = [{"ids": list(islice(repeated, 20))} for _ in queries]
    return [
        timing("memory search", events, answers),
        timing("20 observations", events, call_all(server, "get_observations", requests)),
    ]
