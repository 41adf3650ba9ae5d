"""What meaning and memory cost: distilling, the size of vectors, and how much longer a client waits.

Questions are plain English here, because word vectors know no made-up words; the logs' own words are made up, and their
vectors as good as any for measuring. Search by words alone, of the same questions in the same run, is the baseline.
"""

from itertools import cycle, islice
from pathlib import Path
from random import Random

from client import Client
from latency import WARM_UP, ask, timing
from product import Installation, folder_bytes, run
from report import Measure, MeasureError

MB = 1_000_000
EACH = 100_000  # vectors that a size is given for
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
    """All observations and vectors of what was synced."""
    done = run(here.command("distil"), here.environment())
    realm = here.state / "realms" / "main"
    rows, size = vectors(realm)
    observations = done.output.split()[0]
    return [
        Measure("distil", (events / done.seconds,), "events/s", events, f"{observations} observations, {rows:,} vectors"),
        Measure("distil, peak memory", (done.peak_bytes / MB,), "MB", events),
        Measure("vectors, per 100,000", (size / MB / rows * EACH if rows else 0.0,), "MB", events),
    ]


def vectors(realm: Path) -> tuple[int, int]:
    """How many there are, and how large all of them."""
    folders = list(realm.glob("vectors-*"))
    return sum((folder / "key").stat().st_size // 8 for folder in folders), sum(map(folder_bytes, folders))


def latencies(here: Installation, events: int, count: int) -> list[Measure]:
    """The same questions by words alone and by both, then the layers of the memory."""
    asked = questions(count, "measured")
    settings = here.state / "settings.toml"
    settings.write_text('[search]\nmode = "text"\n')
    with here.server() as server:
        alone = search(server, "search, words alone", asked, events)
    settings.unlink()
    with here.server() as server:
        both = search(server, "search, words and meaning", asked, events)
        return [alone, both, *memory(server, asked, events)]


def search(server: Client, name: str, asked: list[str], events: int) -> Measure:
    ask(server, "search_sessions", ({"query": query} for query in questions(WARM_UP, "warm-up")))
    return timing(name, events, ask(server, "search_sessions", ({"query": query} for query in asked)))


def memory(server: Client, asked: list[str], events: int) -> list[Measure]:
    ask(server, "search", ({"query": query} for query in questions(WARM_UP, "warm-up")))
    found = ask(server, "search", ({"query": query} for query in asked))
    ids = [word for answer in found for word in answer.text.split() if word.startswith("obs-")]
    if not ids:
        raise MeasureError("None of the questions found an observation.")
    every = cycle(ids)
    opened = [{"ids": list(islice(every, 20))} for _ in asked]
    return [
        timing("memory search", events, found),
        timing("20 observations", events, ask(server, "get_observations", opened)),
    ]
