"""What live sessions and HTTP cost: turns side by side, search by many clients, a long history, events to many readers.

    python bench/live.py [--events 100000] [--quick] [--cache DIR]

The server is `recollect serve` in a process of its own, and so are all clients.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import load
from generate import cached_home
from product import MB, Installation, high_water_mark, sync
from queries import queries
from report import Measure, MeasureError, percentiles, table

HERE = Path(__file__).parent
CLIENTS = 32
TURNS = 10  # of every session
READERS, PIECES, PAUSE_S = 100, 500, 0.005
HELLO = "tie the boat to the pier"
CLOCK = f"import time\nfor _ in range({PIECES}):\n print(time.time_ns(), flush=True)\n time.sleep({PAUSE_S})"
LONG = """
import os, sys
from recollect.live import LiveRealm
from recollect.live.runners import AnswerText
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest
from recollect.settings import read_settings
realm = LiveRealm(read_settings(os.environ))
row = realm.live.create(NewSession(labels={}, runner="command", command=["cat"], folder="/", generation=0))
def say(given):
    yield AnswerText(given.prompt)
for number in range(int(sys.argv[1])):
    prompt = f"message {number} " + "rope " * 40
    request = TurnRequest(
        prompt=prompt, runner=say, runner_name="command", command=["cat"], stored_command=["cat"], options={}, generation=0
    )
    realm.live.run(row.id, request)
print(row.id.hex(), flush=True)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Scale:
    sessions: int = 100  # side by side
    queries: int = 1_000  # questions
    messages: int = 10_000  # of one session


FULL, QUICK = Scale(), Scale(20, 200, 1_000)


@dataclass(frozen=True, slots=True)
class Served:
    address: str
    pid: int

    def peak_mb(self) -> float:
        return high_water_mark(self.pid) / MB

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One answer, for what is not measured."""
        done = subprocess.run(
            ["curl", "-sS", "-X", method, f"http://{self.address}{path}", *(["-d", json.dumps(body)] if body else [])],
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)


@contextmanager
def serving(here: Installation, *command: str) -> Iterator[Served]:
    """`recollect serve`, or another server that says where it is."""
    chosen = list(command) or here.command("serve", "--port", "0", "--no-sync", "--no-token", "--json")
    with subprocess.Popen(chosen, env=here.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            told = process.stdout.readline()
            if not told:
                raise MeasureError(f"{chosen[1]} did not start.")
            yield Served(json.loads(told)["url"].removeprefix("http://"), process.pid)
        finally:
            process.terminate()


def turns(here: Installation, sessions: int) -> list[Measure]:
    """Sessions side by side, each with some turns of a program that does nothing but answer."""
    with serving(here) as server:
        create: load.Request = ("POST", "/sessions", {"prompt": HELLO, "command": ["cat"]}, {})
        load.send_all(server.address, CLIENTS, [create] * CLIENTS)
        first = load.send_all(server.address, sessions, [create] * sessions)
        rows = server.ask("GET", f"/sessions?limit={sessions}")["sessions"]
        go_on: list[load.Request] = [
            ("POST", f"/sessions/{row['session_id']}/messages", {"prompt": HELLO}, {}) for row in rows
        ]
        ran = load.send_all(server.address, sessions, go_on * TURNS)
        alone = programs(sessions * TURNS)
        recalled = load.send_all(server.address, CLIENTS, [("POST", "/sessions", {"prompt": HELLO}, {})] * sessions)
        return [
            Measure("turns", (ran.per_second(),), "turns/s", sessions, f"{alone / ran.per_second():.1f}x: cat by itself"),
            percentiles(f"a turn among {sessions}", ran.ms, sessions),
            percentiles("a new session with its first turn", first.ms, sessions),
            percentiles(f"a turn of recall, {CLIENTS} at once", recalled.ms, sessions),
            Measure("turns, peak memory", (server.peak_mb(),), "MB", sessions),
        ]


def programs(count: int) -> float:
    """The baseline: how many times a second the program itself can be run, two at once."""
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(lambda _: subprocess.run(["cat"], input=HELLO.encode(), capture_output=True, check=True), range(count))
        )
    return count / (time.perf_counter() - began)


def searches(here: Installation, events: int, count: int) -> list[Measure]:
    """The same questions by 32 clients at once: REST, MCP, and MCP by the official SDK's server."""
    questions = (queries(200) * (count // 200 + 1))[:count]
    rest: list[load.Request] = [("GET", f"/search?query={quote(query)}", None, {}) for query in questions]
    mcp: list[load.Request] = [
        ("POST", "/mcp", called(query), {"accept": "application/json, text/event-stream"}) for query in questions
    ]
    with serving(here) as server:
        by_rest = loaded(server, rest)
        by_mcp = loaded(server, mcp)
        memory = server.peak_mb()
    with serving(here, sys.executable, str(HERE / "sdk_server.py")) as peer:
        by_peer = loaded(peer, mcp)
        theirs = peer.peak_mb()
    behind = f"{by_mcp.per_second() / by_peer.per_second():.2f}x slower than ours"
    return [
        Measure("search by REST", (by_rest.per_second(),), "requests/s", events, f"{CLIENTS} clients"),
        percentiles("search by REST, a request", by_rest.ms, events),
        Measure("search by MCP over HTTP", (by_mcp.per_second(),), "requests/s", events, f"{CLIENTS} clients"),
        percentiles("search by MCP over HTTP, a request", by_mcp.ms, events),
        Measure("search, peak memory", (memory,), "MB", events),
        Measure("MCP SDK's server", (by_peer.per_second(),), "requests/s", events, behind),
        percentiles("MCP SDK's server, a request", by_peer.ms, events),
        Measure("MCP SDK's server, peak memory", (theirs,), "MB", events),
    ]


def called(query: str) -> dict[str, Any]:
    params = {"name": "search_sessions", "arguments": {"query": query}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def loaded(server: Served, requests: list[load.Request]) -> load.Load:
    load.send_all(server.address, CLIENTS, requests[: 2 * CLIENTS])  # to warm up
    return load.send_all(server.address, CLIENTS, requests)


def long_history(here: Installation, messages: int) -> list[Measure]:
    """A page of a session with ten thousand messages, wherever it lies."""
    command = [sys.executable, "-c", LONG, str(messages // 2)]
    made = subprocess.run(command, env=here.environment(), capture_output=True, text=True, check=True).stdout.strip()
    session = f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}"
    with serving(here) as server:
        pages: list[load.Request] = [
            ("GET", f"/sessions/{session}/history?offset={at}", None, {}) for at in range(0, messages, 100)
        ]
        whole = range(0, messages, 1_000)
        large: list[load.Request] = [
            ("GET", f"/sessions/{session}/history?offset={at}&limit=1000", None, {}) for at in whole
        ]
        small = load.send_all(server.address, 1, pages * 3)
        largest = load.send_all(server.address, 1, large * 5)
    return [
        percentiles(f"history of {messages:,} messages, a page", small.ms, messages),
        percentiles(f"history of {messages:,} messages, 1,000 at once", largest.ms, messages),
    ]


def events_to_many(here: Installation, readers: int = READERS) -> list[Measure]:
    """One turn that says something every five milliseconds, heard by a hundred readers."""
    with serving(here) as server:
        created = server.ask("POST", "/sessions", {"initial_turn": "deferred", "command": [sys.executable, "-c", CLOCK]})
        session = created["session_id"]
        command = [sys.executable, str(HERE / "readers.py"), server.address, session, str(readers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listening:
            assert listening.stdout
            listening.stdout.readline()
            began = time.perf_counter()
            server.ask("POST", f"/sessions/{session}/messages", {"prompt": "what time is it"})
            told = json.loads(listening.stdout.readline())
            seconds = time.perf_counter() - began
    heard = len(told["lags_ms"])
    return [
        percentiles(f"an event on its way to {readers} readers", told["lags_ms"], readers),
        Measure(f"events to {readers} readers", (heard / seconds,), "events/s", readers, f"{told['missed']} missed"),
    ]


def all_of_it(cache: Path, scratch: Path, events: int, scale: Scale) -> list[Measure]:
    here = Installation(cached_home(cache, events), scratch / "searched")
    empty = Installation(scratch / "home", scratch / "live")
    empty.home.mkdir()
    sync(here)
    return [
        *turns(empty, scale.sessions),
        *searches(here, events, scale.queries),
        *long_history(empty, scale.messages),
        *events_to_many(empty),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, help="that are searched")
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache = given.cache or Path(scratch)
        print(table(all_of_it(cache, Path(scratch), given.events, QUICK if given.quick else FULL)))


if __name__ == "__main__":
    main()
