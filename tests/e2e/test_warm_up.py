"""A server opens archive, text index, vectors and model before the first query."""

from functools import partial
from pathlib import Path

import pytest

from recollect.embed.static import WEIGHTS
from recollect.index.engine import IDLE_S
from recollect.store import archive_path
from recollect.store.journaled import memory_path
from tests.conftest import Person, RawMcp
from tests.e2e.processes import until
from tests.logs import Claude, write

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process has mapped is read from /proc")
NEEDED = ("tantivy", "numpy", WEIGHTS, "vectors-events-")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def mapped(client: RawMcp, name: str) -> bool:
    return name in Path(f"/proc/{client.process.pid}/maps").read_text()


def test_a_server_opens_everything_for_a_search_before_the_first_call(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("where does the hoopoe nest"), claude.says("in the old wall")])
    person.run("sync")
    with person.mcp() as client:
        assert client.request("initialize", HELLO)["result"]["serverInfo"]["name"] == "recollect"
        for name in NEEDED:
            until(partial(mapped, client, name))
        assert client.call("search_sessions", query="hoopoe")["data"]["result_count"]


def test_an_empty_realm_opens_and_creates_nothing(person: Person) -> None:
    with person.mcp() as client:
        client.request("initialize", HELLO)
    assert client.process.returncode == 0
    assert not archive_path(person.realm).exists()


def test_a_failure_to_open_is_left_to_the_first_query(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    person.run("sync")
    for path in person.realm.glob("vectors-*/*"):
        path.write_bytes(b"damaged")
    memory_path(person.realm).write_bytes(b"damaged")
    with person.mcp() as client:
        client.request("initialize", HELLO)
        until(lambda: mapped(client, "tantivy"))
        assert client.request("ping")["result"] == {}
        assert "data" in client.call("list_sessions", start_datetime="2020-01-01T00:00Z", end_datetime="2040-01-01T00:00Z")


def engine_threads(client: RawMcp) -> list[str]:
    """The threads of the index engine that a server has."""
    names = [path.read_text() for path in Path(f"/proc/{client.process.pid}/task").glob("*/comm")]
    return [name for name in names if "tantivy" in name]


def test_an_idle_server_has_no_thread_that_wakes_up(person: Person) -> None:
    """The engine's own watcher checks a file twice a second while an index is open."""
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("where does the hoopoe nest"), claude.says("in the old wall")])
    person.run("sync")
    with person.mcp() as client:
        client.request("initialize", HELLO)
        until(lambda: engine_threads(client))
        until(lambda: not engine_threads(client), IDLE_S + 20)
        assert client.call("search_sessions", query="hoopoe")["data"]["result_count"]
