"""Speed of the library over HTTP: pages, facets, usage, files and search as you type; beside them agentsview's own lists.

    python bench/library.py [--events 500000] [--cache DIR] [--state DIR]

One client sends one request after the other, so a figure is the time that a page waits. agentsview (PyPI) serves the same
logs in the same run, if it is installed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import load
import peers
import product
from generate import cached_home
from live import Server, serving
from product import Installation, sync
from queries import queries
from report import Measure, percentiles, table

REPEATS = 200  # requests of each kind
WARM_UP = 10
TYPED = 3  # characters of a word that a person has typed when the first search starts
AGENTSVIEW = {  # our measure, and the path of agentsview that shows the same
    "sessions page": "/api/v1/sessions?limit=50",
    "usage by day": "/api/v1/usage/summary?from=2000-01-01&to=2100-01-01",
}
URL = re.compile(r"https?://(127\.0\.0\.1:\d+|localhost:\d+)")


def measure(server: Server, name: str, paths: list[str], events: int) -> Measure:
    requests: list[load.Request] = [("GET", path, None, {}) for path in paths]
    load.send_all(server.address, 1, requests[:WARM_UP])
    return percentiles(name, load.send_all(server.address, 1, requests).ms, events)


def library(here: Installation, events: int) -> list[Measure]:
    """The figures that the contract limits."""
    with serving(here) as server:
        rows = server.request("GET", "/v1/library/sessions?limit=200")["data"]["sessions"]
        cursor = server.request("GET", "/v1/library/sessions?limit=50")["page"]["next"]
        ids = [quote(row["id"]) for row in rows]
        facets = "agent,project,model,branch,mode,state,tool,type"
        return [
            measure(server, "sessions page", ["/v1/library/sessions"] * REPEATS, events),
            measure(server, "sessions, second page", [f"/v1/library/sessions?cursor={cursor}"] * REPEATS, events),
            measure(server, "sessions by cost", ["/v1/library/sessions?sort=-cost"] * REPEATS, events),
            measure(
                server,
                "sessions of an agent that failed",
                ["/v1/library/sessions?agent=codex&failed=true"] * REPEATS,
                events,
            ),
            measure(server, "facets", [f"/v1/library/sessions?limit=1&facets={facets}"] * REPEATS, events),
            measure(server, "usage by day", ["/v1/library/usage?by=day"] * REPEATS, events),
            measure(server, "files of a session", [f"/v1/library/sessions/{one}/files" for one in ids], events),
            measure(server, "a session", [f"/v1/library/sessions/{one}" for one in ids], events),
            measure(server, "events of a session", [f"/v1/library/sessions/{one}/events" for one in ids], events),
            measure(server, "search as you type", typed_searches(), events),
        ]


def typed_searches() -> list[str]:
    """A search after each further word of a question."""
    paths: list[str] = []
    for query in queries(REPEATS):
        words = query.split()
        paths += [
            f"/v1/library/search?mode=text&limit=20&query={quote(' '.join(words[:count]))}"
            for count in range(1, len(words) + 1)
            if len(words[count - 1]) >= TYPED
        ]
    return paths[:REPEATS]


def agentsview(home: Path, data: Path, events: int) -> list[Measure]:
    program = shutil.which("agentsview", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        return [Measure("agentsview", (), "", events, "not installed: pip install agentsview")]
    environment = peers.agentsview_environment(home, data)
    product.run([program, "sync"], {**environment, "AGENTSVIEW_NO_DAEMON": "1"})
    with agentsview_server(program, environment) as server:
        return [measure(server, f"agentsview {name}", [path] * REPEATS, events) for name, path in AGENTSVIEW.items()]


@contextmanager
def agentsview_server(program: str, environment: dict[str, str]) -> Iterator[Server]:
    command = [program, "serve", "--no-browser", "--no-sync", "--port", "0"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        try:
            match = next(found for line in process.stdout if (found := URL.search(line)) is not None)
            yield Server(match[1], process.pid)
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    parser.add_argument("--state", type=Path, help="keep the archives in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache, state = arguments.cache or Path(scratch), arguments.state or Path(scratch)
        home = cached_home(cache, arguments.events)
        here = Installation(home, state / f"library-{arguments.events}")
        if not here.state.exists():
            sync(here)
        measures = library(here, arguments.events)
        measures += agentsview(home, state / f"agentsview-{arguments.events}", arguments.events)
        print(table(measures))
        print(json.dumps({measure.name: measure.figures for measure in measures}))


if __name__ == "__main__":
    main()
