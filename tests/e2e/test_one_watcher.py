"""One watcher reads new log lines for all servers of a state folder. A watcher that ends is replaced, and answers warn."""

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recollect.live import LiveRealm
from recollect.settings import Settings
from recollect.surfaces.cli import watcher as _watcher
from tests.conftest import Person, RawMcp
from tests.e2e.processes import children_of, is_alive, until, watching
from tests.logs import Claude, append, write

SYNCING = ("--toolsets", "history,trace,memory")  # any option will do: without one, the test client adds --no-sync
STOPPED = "New log lines are not being read: the process that reads them ended ("


@contextmanager
def servers(person: Person, count: int) -> Iterator[list[RawMcp]]:
    """This number of agent windows, initialized."""
    with ExitStack() as stack:
        opened = [stack.enter_context(person.mcp(*SYNCING)) for _ in range(count)]
        for server in opened:
            assert server.request("ping")["result"] == {}
        yield opened


def watchers(clients: list[RawMcp]) -> list[int]:
    return [child for client in clients if client.process.poll() is None for child in children_of(client.process.pid)]


def kill_watchers(clients: list[RawMcp]) -> None:
    for pid in watchers(clients):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def one_session(person: Person) -> Claude:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    return claude


def finds(client: RawMcp, word: str) -> bool:
    return bool(client.call("search_sessions", query=word)["data"]["result_count"])


def all_find(clients: list[RawMcp], word: str) -> bool:
    return all(finds(client, word) for client in clients if client.process.poll() is None)


def is_gone(pid: int) -> bool:
    return not is_alive(pid)


def warns_after_kill(person: Person, clients: list[RawMcp], command: str, field: str) -> bool:
    """Kill the watcher. Returns whether a command then warns that no watcher runs."""
    kill_watchers(clients)
    return bool(has_warning(person.json(command)[field]))


def test_a_killed_watcher_is_replaced_while_its_only_server_runs(person: Person) -> None:
    claude = one_session(person)
    with servers(person, 1) as clients:
        until(lambda: finds(clients[0], "hoopoe"))
        (first,) = watchers(clients)
        os.kill(first, signal.SIGKILL)
        until(lambda: watchers(clients) not in ([], [first]))
        append(person.claude_log(claude.session), claude.says("a turnstone"))
        until(lambda: finds(clients[0], "turnstone"))
        until(lambda: clients[0].call("search_sessions", query="turnstone")["warnings"] == [])


def test_every_answer_warns_that_reading_has_stopped(person: Person) -> None:
    """A watcher that is killed repeatedly is restarted with growing delays, which leaves time for a request."""
    one_session(person)
    with servers(person, 2) as clients:
        until(lambda: finds(clients[0], "hoopoe"))
        session = clients[0].call("search_sessions", query="hoopoe")["data"]["results"][0]["session"]["id"]
        window = {"start_datetime": "2020-01-01T00:00:00Z", "end_datetime": "2040-01-01T00:00:00Z"}

        def warned(tool: str, **arguments: Any) -> None:
            def says_so() -> bool:
                kill_watchers(clients)
                return all(tool_warns(client, tool, arguments) for client in clients)

            until(says_so)

        warned("search_sessions", query="hoopoe")
        warned("open", id=session)
        warned("list_sessions", **window)
        warned("search_event_previews", query="hoopoe")
        warned("get_session_details", session_id=str(uuid.UUID(session.removeprefix("session:"))))
        warned("search", query="hoopoe")
        until(lambda: warns_after_kill(person, clients, "status", "warnings"))
        until(lambda: warns_after_kill(person, clients, "doctor", "hints"))


def tool_warns(client: RawMcp, tool: str, arguments: dict[str, Any]) -> bool:
    result = client.request("tools/call", {"name": tool, "arguments": arguments})["result"]
    if "structuredContent" in result:
        return has_warning(result["structuredContent"].get("warnings", []))
    return f"Note: {STOPPED}" in result["content"][0]["text"]


def has_warning(warnings: list[str]) -> bool:
    return any(warning.startswith(STOPPED) for warning in warnings)


def test_a_watcher_that_cannot_start_is_started_again_until_it_works(person: Person) -> None:
    """With invalid settings, every new watcher ends at once."""
    claude = one_session(person)
    with servers(person, 1) as clients:
        until(lambda: finds(clients[0], "hoopoe"))
        settings = person.state / "settings.toml"
        settings.write_text("this is not TOML")
        kill_watchers(clients)
        tries: set[int] = set()

        def second_try() -> bool:
            tries.update(watchers(clients))
            return len(tries) >= 2

        until(second_try)
        assert has_warning(clients[0].call("search_sessions", query="hoopoe")["warnings"])
        settings.unlink()
        append(person.claude_log(claude.session), claude.says("a turnstone"))
        until(lambda: finds(clients[0], "turnstone"))


class Pauses(threading.Event):
    """An event that records the timeouts instead of waiting, and becomes set after a number of waits."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self._wanted = wanted
        self.lengths: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.lengths.append(timeout or 0.0)
        if len(self.lengths) >= self._wanted:
            self.set()
        return self.is_set()


def test_each_restart_of_a_watcher_that_ends_at_once_waits_longer(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = tmp_path / "starts"
    monkeypatch.setattr(_watcher, "SELF_COMMAND", ["sh", "-c", f"echo start >> {starts}; exit 3"])
    supervisor = _watcher.Supervisor(LiveRealm(Settings(home=person.state)))
    supervisor._stopping = pauses = Pauses(len(_watcher.DELAYS_S) + 2)
    supervisor.run()
    assert len(starts.read_text().splitlines()) == len(pauses.lengths)
    assert pauses.lengths == [*_watcher.DELAYS_S, _watcher.DELAYS_S[-1], _watcher.DELAYS_S[-1]]
    assert sorted(_watcher.DELAYS_S) == list(_watcher.DELAYS_S)


def test_many_servers_have_one_watcher_and_exactly_one_takes_over(person: Person) -> None:
    claude = one_session(person)
    with servers(person, 4) as clients:
        until(lambda: all(finds(client, "hoopoe") for client in clients))
        for word in ("turnstone", "whimbrel"):
            (watcher,) = watchers(clients)
            (holder,) = [client for client in clients if watcher in watchers([client])]
            os.kill(holder.process.pid, signal.SIGKILL)
            holder.process.wait()
            until(partial(is_gone, watcher))
            until(lambda: len(watchers(clients)) == 1)
            append(person.claude_log(claude.session), claude.says(f"a {word}"))
            until(partial(all_find, clients, word))
            assert len(watchers(clients)) == 1


def test_a_server_starts_no_watcher_while_recollect_watch_runs(person: Person) -> None:
    claude = one_session(person)
    with watching(person) as first, servers(person, 2) as clients:
        until(lambda: all(finds(client, "hoopoe") for client in clients))
        assert watchers(clients) == []
        first.kill()
        first.wait()
        until(lambda: len(watchers(clients)) == 1)
        append(person.claude_log(claude.session), claude.says("a turnstone"))
        until(lambda: finds(clients[0], "turnstone"))
