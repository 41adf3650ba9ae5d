"""A server ends soon after a signal: turns are committed as interrupted, and readers are disconnected."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COMMANDS_OVER_MCP, Person
from tests.e2e.processes import is_alive, until
from tests.http_server import HttpServer, events_of
from tests.live_surfaces import Agent

ENDED_WITHIN_S = 10.0
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
Heard = list[dict[str, Any]]


def call(arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    params = {"name": "meerkat_start_turn", "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def by_rest(server: HttpServer, turn: dict[str, Any]) -> Heard:
    session = turn["session_id"]
    body = {name: value for name, value in turn.items() if name != "session_id"}
    status, answer = server.ask("POST", f"/sessions/{session}/messages", body)
    assert status == 499
    return [answer]


def by_events(server: HttpServer, turn: dict[str, Any]) -> Heard:
    session = turn["session_id"]
    body = {name: value for name, value in turn.items() if name != "session_id"}
    with server.response("POST", f"/sessions/{session}/messages", body, {"accept": "text/event-stream"}) as response:
        return list(events_of(response))


def by_tool(server: HttpServer, turn: dict[str, Any]) -> Heard:
    status, answer = server.ask("POST", "/v1/tools/meerkat_start_turn", turn)
    assert status == 499
    return [answer["structuredContent"]]


def by_mcp(server: HttpServer, turn: dict[str, Any]) -> Heard:
    _, answer = server.ask("POST", "/mcp", call(turn, {}))
    return [answer["result"]["structuredContent"]]


def by_mcp_with_progress(server: HttpServer, turn: dict[str, Any]) -> Heard:
    message = call(turn, {"progressToken": 1})
    with server.response("POST", "/mcp", message, {"accept": "application/json, text/event-stream"}) as response:
        *_, last = events_of(response)
    return [last["result"]["structuredContent"]]


def by_mcp_without_handshake(server: HttpServer, turn: dict[str, Any]) -> Heard:
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "meerkat_start_turn"}
    _, answer = server.ask("POST", "/mcp", call(turn, MODERN), **headers)
    return [answer["result"]["structuredContent"]]


WAYS = {
    "rest": by_rest,
    "events of a turn": by_events,
    "tools": by_tool,
    "mcp": by_mcp,
    "mcp with progress": by_mcp_with_progress,
    "mcp without a handshake": by_mcp_without_handshake,
}


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def begun(server: HttpServer, pool: ThreadPoolExecutor, agent: Agent, way: str) -> "tuple[str, Future[Heard]]":
    """A session with a turn that runs until it is cancelled."""
    session = server.ask("POST", "/sessions", {"initial_turn": "deferred"})[1]["session_id"]
    turn = {"session_id": session, "prompt": "wait", "command": agent.command}
    running = pool.submit(WAYS[way], server, turn)
    until(agent.begun.exists)
    return session, running


@pytest.mark.parametrize(("way", "number"), [*((way, signal.SIGTERM) for way in WAYS), ("rest", signal.SIGINT)])
def test_an_ending_server_commits_its_turns_as_interrupted(
    person: Person, tmp_path: Path, pool: ThreadPoolExecutor, way: str, number: signal.Signals
) -> None:
    agent = Agent(tmp_path / "agent")
    with ExitStack() as stack:
        server = HttpServer(person, **COMMANDS_OVER_MCP)
        stack.callback(server.process.kill)
        session, running = begun(server, pool, agent, way)
        reader = stack.enter_context(server.events(f"/sessions/{session}/events"))
        assert [next(reader)["type"] for _ in range(2)] == ["turn_started", "text_delta"]
        began = time.monotonic()
        server.process.send_signal(number)
        server.process.wait(ENDED_WITHIN_S)
        assert time.monotonic() - began < ENDED_WITHIN_S
        assert [event["type"] for event in reader][-1] == "turn_interrupted"
        assert running.result()[-1]["code"] == "REQUEST_CANCELLED"
        server.wait_for_exit()
    assert not is_alive(int(agent.begun.read_text()))
    messages = person.json("session", "history", session)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "system_notice"]
    assert messages[-1]["kind"] == "interrupt"


def test_readers_of_a_quiet_session_do_not_delay_the_end(person: Person) -> None:
    with ExitStack() as stack:
        server = HttpServer(person, **COMMANDS_OVER_MCP)
        stack.callback(server.process.kill)
        session = server.ask("POST", "/sessions", {"initial_turn": "deferred"})[1]["session_id"]
        readers = [stack.enter_context(server.events(f"/sessions/{session}/events")) for _ in range(5)]
        server.process.terminate()
        server.process.wait(ENDED_WITHIN_S)
        assert [list(reader) for reader in readers] == [[]] * 5
        server.wait_for_exit()


def test_a_request_to_an_ending_server_does_not_hang(person: Person, tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    agent = Agent(tmp_path / "agent")
    with ExitStack() as stack:
        server = HttpServer(person, **COMMANDS_OVER_MCP)
        stack.callback(server.process.kill)
        _, running = begun(server, pool, agent, "rest")
        requests = [pool.submit(server.ask, "GET", "/sessions") for _ in range(6)]
        server.process.terminate()
        server.process.wait(ENDED_WITHIN_S)
        assert running.result()[-1]["code"] == "REQUEST_CANCELLED"
        for one in requests:
            assert one.exception(10) is not None or one.result()[0] in (200, 503)
        server.wait_for_exit()
