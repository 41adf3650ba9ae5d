"""Speed of live sessions and HTTP: concurrent turns, search by many clients, a long history, events to many readers.

    python bench/live.py [--events 100000] [--quick] [--cache DIR]

The server is `recollect serve` in its own process. The clients run in other processes.
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
from uuid import UUID

import load
from generate import cached_home
from product import MB, Installation, peak_memory, sync
from queries import queries
from report import Measure, MeasureError, percentiles, table

HERE = Path(__file__).parent
CLIENTS = 32
TURNS = 10  # of every session
READERS, OUTPUTS, PAUSE_S = 100, 500, 0.005
PROMPT = "tie the boat to the pier"
# A program that prints the time, again and again.
CLOCK = f"import time\nfor _ in range({OUTPUTS}):\n print(time.time_ns(), flush=True)\n time.sleep({PAUSE_S})"
# A program that writes a session with many messages.
LONG_SESSION = """
import os, sys
from recollect.live import LiveRealm
from recollect.live.runners import AnswerText
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest
from recollect.settings import read_settings
realm = LiveRealm(read_settings(os.environ))
row = realm.live.create(NewSession(labels={}, runner="command", command=["cat"], folder="/", generation=0))
def echo(assignment):
    yield AnswerText(assignment.prompt)
for number in range(int(sys.argv[1])):
    prompt = f"message {number} " + "rope " * 40
    request = TurnRequest(
        prompt=prompt, runner=echo, runner_name="command", command=["cat"], stored_command=["cat"], options={}, generation=0
    )
    realm.live.run(row.id, request)
print(row.id.hex(), flush=True)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Scale:
    sessions: int = 100  # that run at once
    queries: int = 1_000
    messages: int = 10_000  # of one session


FULL, QUICK = Scale(), Scale(20, 200, 1_000)


@dataclass(frozen=True, slots=True)
class Server:
    """A running HTTP server."""

    address: str
    pid: int

    def peak_mb(self) -> float:
        return peak_memory(self.pid) / MB

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request that is not measured. Returns the answer."""
        done = subprocess.run(
            ["curl", "-sS", "-X", method, f"http://{self.address}{path}", *(["-d", json.dumps(body)] if body else [])],
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)


@contextmanager
def serving(here: Installation, *command: str) -> Iterator[Server]:
    """Run `recollect serve`, or another server that prints its URL."""
    serve = list(command) or here.command("serve", "--port", "0", "--no-sync", "--no-token", "--json")
    with subprocess.Popen(serve, env=here.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            line = process.stdout.readline()
            if not line:
                raise MeasureError(f"{serve[1]} did not start.")
            yield Server(json.loads(line)["url"].removeprefix("http://"), process.pid)
        finally:
            process.terminate()


def turns(here: Installation, sessions: int) -> list[Measure]:
    """Speed of turns in sessions that run at once. Each turn runs `cat`."""
    with serving(here) as server:
        create: load.Request = ("POST", "/sessions", {"prompt": PROMPT, "command": ["cat"]}, {})
        load.send_all(server.address, CLIENTS, [create] * CLIENTS)
        first_turns = load.send_all(server.address, sessions, [create] * sessions)
        rows = server.request("GET", f"/sessions?limit={sessions}")["sessions"]
        continued: list[load.Request] = [
            ("POST", f"/sessions/{row['session_id']}/messages", {"prompt": PROMPT}, {}) for row in rows
        ]
        later_turns = load.send_all(server.address, sessions, continued * TURNS)
        per_second = later_turns.per_second()
        baseline = programs_per_second(sessions * TURNS)
        recalled = load.send_all(server.address, CLIENTS, [("POST", "/sessions", {"prompt": PROMPT}, {})] * sessions)
        return [
            Measure("turns", (per_second,), "turns/s", sessions, f"{baseline / per_second:.1f}x: cat by itself"),
            percentiles(f"a turn among {sessions}", later_turns.ms, sessions),
            percentiles("a new session with its first turn", first_turns.ms, sessions),
            percentiles(f"a turn of recall, {CLIENTS} at once", recalled.ms, sessions),
            Measure("turns, peak memory", (server.peak_mb(),), "MB", sessions),
        ]


def programs_per_second(count: int) -> float:
    """The baseline: how many times a second `cat` itself can be run, two at once."""
    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(lambda _: subprocess.run(["cat"], input=PROMPT.encode(), capture_output=True, check=True), range(count))
        )
    return count / (time.perf_counter() - began)


def searches(here: Installation, events: int, count: int) -> list[Measure]:
    """Speed of the same queries by 32 clients at once: over REST, over MCP, and over MCP with the official SDK's server."""
    texts = (queries(200) * (count // 200 + 1))[:count]
    rest: list[load.Request] = [("GET", f"/search?query={quote(query)}", None, {}) for query in texts]
    mcp: list[load.Request] = [
        ("POST", "/mcp", tool_call(query), {"accept": "application/json, text/event-stream"}) for query in texts
    ]
    with serving(here) as server:
        by_rest = load_after_warm_up(server, rest)
        by_mcp = load_after_warm_up(server, mcp)
        memory = server.peak_mb()
    with serving(here, sys.executable, str(HERE / "sdk_server.py")) as peer:
        by_peer = load_after_warm_up(peer, mcp)
        peer_memory = peer.peak_mb()
    ratio = f"{by_mcp.per_second() / by_peer.per_second():.2f}x slower than ours"
    return [
        Measure("search by REST", (by_rest.per_second(),), "requests/s", events, f"{CLIENTS} clients"),
        percentiles("search by REST, a request", by_rest.ms, events),
        Measure("search by MCP over HTTP", (by_mcp.per_second(),), "requests/s", events, f"{CLIENTS} clients"),
        percentiles("search by MCP over HTTP, a request", by_mcp.ms, events),
        Measure("search, peak memory", (memory,), "MB", events),
        Measure("MCP SDK's server", (by_peer.per_second(),), "requests/s", events, ratio),
        percentiles("MCP SDK's server, a request", by_peer.ms, events),
        Measure("MCP SDK's server, peak memory", (peer_memory,), "MB", events),
    ]


def tool_call(query: str) -> dict[str, Any]:
    params = {"name": "search_sessions", "arguments": {"query": query}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def load_after_warm_up(server: Server, requests: list[load.Request]) -> load.Load:
    load.send_all(server.address, CLIENTS, requests[: 2 * CLIENTS])
    return load.send_all(server.address, CLIENTS, requests)


def long_history(here: Installation, messages: int) -> list[Measure]:
    """Latency of a page of a session with ten thousand messages, at every offset."""
    command = [sys.executable, "-c", LONG_SESSION, str(messages // 2)]
    done = subprocess.run(command, env=here.environment(), capture_output=True, text=True, check=True)
    session = str(UUID(done.stdout.strip()))
    with serving(here) as server:
        pages: list[load.Request] = [
            ("GET", f"/sessions/{session}/history?offset={offset}", None, {}) for offset in range(0, messages, 100)
        ]
        large_pages: list[load.Request] = [
            ("GET", f"/sessions/{session}/history?offset={offset}&limit=1000", None, {})
            for offset in range(0, messages, 1_000)
        ]
        small = load.send_all(server.address, 1, pages * 3)
        large = load.send_all(server.address, 1, large_pages * 5)
    return [
        percentiles(f"history of {messages:,} messages, a page", small.ms, messages),
        percentiles(f"history of {messages:,} messages, 1,000 at once", large.ms, messages),
    ]


def events_to_many(here: Installation, readers: int = READERS) -> list[Measure]:
    """Delay of the events of one turn, which prints every five milliseconds, to a hundred readers."""
    with serving(here) as server:
        created = server.request("POST", "/sessions", {"initial_turn": "deferred", "command": [sys.executable, "-c", CLOCK]})
        session = created["session_id"]
        command = [sys.executable, str(HERE / "readers.py"), server.address, session, str(readers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listening:
            assert listening.stdout
            listening.stdout.readline()
            began = time.perf_counter()
            server.request("POST", f"/sessions/{session}/messages", {"prompt": "what time is it"})
            figures = json.loads(listening.stdout.readline())
            seconds = time.perf_counter() - began
    received = len(figures["lags_ms"])
    return [
        percentiles(f"delay of an event to {readers} readers", figures["lags_ms"], readers),
        Measure(f"events to {readers} readers", (received / seconds,), "events/s", readers, f"{figures['missed']} missed"),
    ]


def measure_all(cache: Path, scratch: Path, events: int, scale: Scale) -> list[Measure]:
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
    parser.add_argument("--events", type=int, default=100_000, help="number of events to search")
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache = arguments.cache or Path(scratch)
        print(table(measure_all(cache, Path(scratch), arguments.events, QUICK if arguments.quick else FULL)))


if __name__ == "__main__":
    main()
