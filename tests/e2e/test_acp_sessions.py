"""Agents of the Agent Client Protocol, end to end: a request runs a session that can be searched and opened."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Person
from tests.e2e.processes import is_alive, until
from tests.http_server import HttpServer, events_of

SCRIPTED = [sys.executable, str(Path(__file__).parents[1] / "acp_agent.py")]
ACP = {"runner": "acp", "command": SCRIPTED}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("acp"))) as server:
        yield server


def ask(server: HttpServer, method: str, path: str, body: Any = None) -> Any:
    status, answer = server.ask(method, path, body)
    assert status == 200, answer
    return answer


def test_the_outputs_of_an_agent_become_messages_and_events(server: HttpServer) -> None:
    ran = ask(server, "POST", "/sessions", {"prompt": "tour", **ACP})
    session = ran["session_id"]
    assert (ran["stop_reason"], ran["tool_calls"]) == ("max_tokens", 4)
    used = {"input_tokens": 10, "output_tokens": 6, "cache_read_tokens": 20, "reasoning_tokens": 1, "total_tokens": 36}
    assert used.items() <= ran["usage"].items()
    messages = ask(server, "GET", f"/sessions/{session}/history")["messages"]
    assert messages[0]["role"] == "user"
    assert {message["role"] for message in messages[1:]} == {"assistant", "tool_results"}
    blocks = [block["type"] for message in messages if message["role"] == "assistant" for block in message["blocks"]]
    assert blocks[:4] == ["reasoning", "text", "reasoning", "tool_use"]
    opened = ask(server, "GET", f"/open/turn:{UUID(session).hex}-1")["data"]
    kinds = [event["type"] for event in opened["events"]]
    assert kinds[:2] == ["user_input", "reasoning"]
    assert kinds.count("tool_call") == 4
    assert [event["summary"] for event in opened["events"] if event["type"] == "reasoning"] == ["hm", "Plan:\n[ ] think\n"]
    assert opened["turn"]["completed"] is True
    details = ask(server, "POST", "/v1/tools/get_session_details", {"session_id": session, "detail_level": "steps"})
    (turn,) = details["structuredContent"]["data"]["turns"]
    assert [tool["name"] for step in turn["steps"] for tool in step["tools"]][:2] == ["Read x.py", "Edit x.py"]
    answer = ask(server, "GET", f"/search?query=old&event_types=tool_response&within_id=session:{UUID(session).hex}")
    assert [hit["event"]["type"] for hit in answer["data"]["results"]] == ["tool_response"]


def test_the_output_of_a_command_is_stored_with_its_exit_code(server: HttpServer) -> None:
    session = ask(server, "POST", "/sessions", {"prompt": "terminal", **ACP})["session_id"]
    messages = ask(server, "GET", f"/sessions/{session}/history")["messages"]
    results = [result for message in messages for result in message.get("results", [])]
    assert results == [
        {"tool_use_id": "t1", "content": "hello\n", "is_error": True, "exit_code": 3},
        {"tool_use_id": "t2", "content": "", "is_error": False, "exit_code": 0},
    ]
    events = ask(server, "GET", f"/open/turn:{UUID(session).hex}-1")["data"]["events"]
    first = next(event["id"] for event in events if event["type"] == "tool_response")
    content = ask(server, "GET", f"/open/{first}")["data"]["content"]
    assert (content["text"], content["exit_code"]) == ("hello\n", 3)


def test_the_command_line_shows_shortened_calls_and_results(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.run("run", "terminal", "--runner", "acp", "--command", " ".join(SCRIPTED))
    shown = person.run("session", "history", "last").stdout
    parts = ("-> sh\n", "<- (exit code 3) hello\n", "<- (exit code 0) (nothing)\n", "ran\n")
    assert sorted(map(shown.index, parts)) == list(map(shown.index, parts))
    person.run("run", "propose", "--runner", "acp", "--command", " ".join(SCRIPTED))
    shown = person.run("session", "history", "last").stdout
    call, result, text = map(shown.index, ("-> Edit x.py\n", "<- (failed) Permission", "the reject_once"))
    assert call < result < text


def test_an_agent_that_forgot_gets_the_earlier_messages_in_the_next_turn(server: HttpServer) -> None:
    command = [*SCRIPTED, "forgetful"]
    first = ask(server, "POST", "/sessions", {"prompt": "the code is 4711\nrepeat", "runner": "acp", "command": command})
    again = ask(server, "POST", f"/sessions/{first['session_id']}/messages", {"prompt": "repeat"})
    assert again["turns"] == 2
    assert again["text"].count("the code is 4711") >= 1, "the runner is stored, and the agent gets the history"


def test_the_realms_policy_answers_permission_requests(server: HttpServer) -> None:
    runners = {"careful": ACP, "bold": {**ACP, "permissions": "allow"}}
    ask(server, "PUT", "/config", {"config": {"runners": runners}})
    document = {
        name: ask(server, "POST", "/sessions", {"prompt": "permit allow_once,reject_once", "runner": name})["text"]
        for name in runners
    }
    assert document == {"careful": "the reject_once", "bold": "the allow_once"}


def test_an_interrupt_cancels_the_agent_as_the_protocol_says(server: HttpServer) -> None:
    body = {"prompt": "hang", **ACP}
    with server.response("POST", "/sessions", body, {"accept": "text/event-stream"}) as response:
        events = events_of(response)
        session = next(events)["session_id"]
        assert next(event for event in events if event["type"] == "text_delta")["delta"] == "working"
        assert ask(server, "POST", f"/sessions/{session}/interrupt")["interrupted"] is True
        rest = list(events)
    assert rest[-2]["type"] == "turn_interrupted"
    assert (rest[-1]["named"], rest[-1]["code"]) == ("error", "REQUEST_CANCELLED")
    messages = ask(server, "GET", f"/sessions/{session}/history")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "system_notice"]


def test_an_agent_that_ignores_everything_is_killed_with_its_children(server: HttpServer) -> None:
    with ThreadPoolExecutor() as pool:
        running = pool.submit(server.ask, "POST", "/sessions", {"prompt": "ignore", "labels": {"it": "ignores"}, **ACP})
        (row,) = until(lambda: ask(server, "GET", "/sessions?labels[it]=ignores")["sessions"])
        session = row["session_id"]
        with server.events(f"/sessions/{session}/events") as events:
            child = int(next(event for event in events if event["type"] == "text_delta")["delta"])
        assert is_alive(child)
        assert ask(server, "POST", f"/sessions/{session}/interrupt")["interrupted"] is True
        until(lambda: not is_alive(child), 5)
        assert running.result(30)[0] == 499


@pytest.mark.parametrize(
    ("prompt", "command", "status", "code"),
    [
        ("fail", SCRIPTED, 500, "AGENT_ERROR"),
        ("die", SCRIPTED, 500, "AGENT_ERROR"),
        ("x", [*SCRIPTED, "locked"], 502, "PROVIDER_ERROR"),
        ("x", ["/no/such/agent"], 502, "PROVIDER_ERROR"),
        ("x", ["cat"], 500, "AGENT_ERROR"),
    ],
    ids=["refuses", "dies", "is not logged in", "does not exist", "is not an agent"],
)
def test_a_session_continues_after_its_agent_failed(
    server: HttpServer, prompt: str, command: list[str], status: int, code: str
) -> None:
    found, error = server.ask("POST", "/sessions", {"prompt": prompt, "runner": "acp", "command": command})
    assert (found, error["code"]) == (status, code)
    session = error["details"]["session_id"]
    assert ask(server, "POST", f"/sessions/{session}/messages", {"prompt": "repeat", **ACP})["turns"] == 2
