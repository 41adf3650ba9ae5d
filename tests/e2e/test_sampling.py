"""Sampling: a client lends its model to `recollect mcp`, which reads turns with it and delays no other request."""

import asyncio
import json
import subprocess
import sys
import time
from itertools import count
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp import types as mcp_types

from recollect.store.lock import exclusive
from tests.conftest import Person, RawMcp
from tests.e2e.extraction import configure, observation, remembered, three_turns
from tests.e2e.processes import until
from tests.logs import Claude, write

SERVER = [sys.executable, "-m", "recollect", "mcp", "--no-sync"]
WANTED = json.dumps([observation()])


def stored(person: Person) -> int:
    return len(remembered(person)) if (person.realm / "memory.db").exists() else 0


@pytest.fixture
def person_with_sampling(person: Person) -> Person:
    """A person with three turns to read, whose settings choose sampling."""
    three_turns(person)
    configure(person, by="sampling")
    return person


def initialize(client: RawMcp, **capabilities: Any) -> None:
    info = {"name": "test", "version": "1"}
    client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info})
    client.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')


def answer_request(client: RawMcp, text: str, model: str = "lent-1") -> dict[str, Any]:
    """Answer the server's next request. Returns the request."""
    asked: dict[str, Any] = client.hear()
    assert asked["method"] == "sampling/createMessage"
    result = {"role": "assistant", "content": {"type": "text", "text": text}, "model": model}
    client.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
    return asked


def test_the_official_client_lends_its_model(person_with_sampling: Person) -> None:
    asked: list[Any] = []

    async def lend(context: Any, params: mcp_types.CreateMessageRequestParams) -> mcp_types.CreateMessageResult:
        asked.append(params)
        content = mcp_types.TextContent(type="text", text=WANTED)
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="lent-1", stop_reason="endTurn")

    async def talk() -> list[str]:
        command, *arguments = SERVER
        parameters = StdioServerParameters(command=command, args=arguments, env=person_with_sampling.env)
        async with Client(parameters, mode="legacy", sampling_callback=lend) as client:
            answer = await client.call_tool("search_sessions", {"query": "fix"})
            while await asyncio.to_thread(stored, person_with_sampling) < 3:
                await client.list_tools()
        return [block.type for block in answer.content]

    assert asyncio.run(asyncio.wait_for(talk(), 60)) == ["text"]
    assert [row.made_by for row in remembered(person_with_sampling)] == ["model:sampling (lent-1)"] * 3
    assert [row.turn for row in remembered(person_with_sampling)] == [3, 2, 1]
    assert all(len(params.messages) == 1 and params.max_tokens > 500 for params in asked)


def test_a_tool_call_is_answered_while_the_client_still_thinks(person_with_sampling: Person) -> None:
    with person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        request = client.hear()
        assert request["method"] == "sampling/createMessage"
        assert request["id"] == "recollect-1"
        assert client.call("search_sessions", query="fix")["data"]["result_count"] > 0
        assert client.request("ping")["result"] == {}


def test_requests_are_sent_one_at_a_time_newest_turn_first(person_with_sampling: Person) -> None:
    with person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        requests = [answer_request(client, WANTED) for _ in range(3)]
        until(lambda: stored(person_with_sampling) == 3)
        assert sends_nothing(client)
    assert [request["id"] for request in requests] == ["recollect-1", "recollect-2", "recollect-3"]
    texts = [request["params"]["messages"][0]["content"]["text"] for request in requests]
    assert ["third" in texts[0], "second" in texts[1], "first" in texts[2]] == [True] * 3


def test_an_answer_in_several_parts_is_joined(person_with_sampling: Person) -> None:
    with person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        request = client.hear()
        parts = [{"type": "text", "text": WANTED[:20]}, {"type": "text", "text": WANTED[20:]}]
        client.say(
            json.dumps(
                {"jsonrpc": "2.0", "id": request["id"], "result": {"role": "assistant", "content": parts, "model": ""}}
            )
        )
        until(lambda: stored(person_with_sampling) == 1)
    assert [row.made_by for row in remembered(person_with_sampling)] == ["model:sampling"]


def test_the_budget_counts_for_the_whole_server(person_with_sampling: Person) -> None:
    configure(person_with_sampling, by="sampling", budget=2_200)
    with person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        answer_request(client, WANTED)
        until(lambda: stored(person_with_sampling) == 1)
        assert sends_nothing(client)


def sends_nothing(client: RawMcp) -> bool:
    """Whether the server sends nothing by itself, for much longer than it needs for a request of its own."""
    numbers, end = count(1), time.monotonic() + 0.6
    while time.monotonic() < end:
        number = next(numbers)
        client.say(json.dumps({"jsonrpc": "2.0", "id": f"ping-{number}", "method": "tools/list"}))
        if client.hear().get("id") != f"ping-{number}":
            return False
    return True


def test_a_client_that_does_not_offer_its_model_is_not_asked(person_with_sampling: Person) -> None:
    with person_with_sampling.mcp() as client:
        initialize(client)
        assert sends_nothing(client)
    assert not (person_with_sampling.realm / "memory.db").exists()


def test_a_client_is_not_asked_unless_the_settings_say_so(person_with_sampling: Person) -> None:
    configure(person_with_sampling, by="none")
    with person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        assert sends_nothing(client)
    assert not (person_with_sampling.realm / "memory.db").exists()


def test_a_client_that_another_server_already_uses_is_not_asked(person_with_sampling: Person) -> None:
    with exclusive(person_with_sampling.realm, "extract.lock"), person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        assert sends_nothing(client)
    assert not (person_with_sampling.realm / "memory.db").exists()


class RawMcpWithStderr(RawMcp):
    """A server whose standard error can be read."""

    def __init__(self, person: Person) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(SERVER, env=person.env, stdin=pipe, stdout=pipe, stderr=pipe)
        self._last = 0

    def __enter__(self) -> "RawMcpWithStderr":
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        assert self.process.stderr
        self.process.stderr.close()

    def complaint(self) -> str:
        assert self.process.stderr
        return self.process.stderr.readline().decode()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"error": {"code": -1, "message": "User rejected sampling request"}}, "User rejected"),
        ({"result": {"role": "assistant", "content": {"type": "image", "data": "", "mimeType": "image/png"}}}, "with text"),
        ({"result": None}, "with text"),
    ],
)
def test_a_refusal_of_the_client_only_ends_the_extraction(
    person_with_sampling: Person, answer: dict[str, Any], sentence: str
) -> None:
    with RawMcpWithStderr(person_with_sampling) as client:
        initialize(client, sampling={})
        request = client.hear()
        client.say(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}))
        assert sentence in client.complaint()
        assert sends_nothing(client)
    assert stored(person_with_sampling) == 0


def test_a_request_that_takes_too_long_is_withdrawn_and_a_late_answer_dropped(person_with_sampling: Person) -> None:
    configure(person_with_sampling, by="sampling", timeout_s=0.2)
    with person_with_sampling.mcp() as client:
        initialize(client, sampling={})
        asked, cancelled = client.hear(), client.hear()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == asked["id"]
        result = {"role": "assistant", "content": {"type": "text", "text": WANTED}, "model": "lent-1"}
        client.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        assert sends_nothing(client)
    assert stored(person_with_sampling) == 0


def test_a_server_does_not_wait_for_a_client_that_left(person_with_sampling: Person) -> None:
    client = RawMcpWithStderr(person_with_sampling)
    initialize(client, sampling={})
    assert client.hear()["method"] == "sampling/createMessage"
    _, complaint = client.process.communicate(timeout=4)  # a server that waits for its thread takes longer
    assert client.process.returncode == 0
    assert complaint == b""
    with person_with_sampling.mcp() as again:
        initialize(again, sampling={})
        answer_request(again, WANTED)
        until(lambda: stored(person_with_sampling) == 1)


def test_a_client_of_the_later_era_is_not_asked(person_with_sampling: Person) -> None:
    """The later era has no handshake in which a client offers sampling, and no requests from a server."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    }
    with person_with_sampling.mcp() as client:
        assert client.request("tools/list", {"_meta": meta})["result"]["tools"]
        client.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        assert sends_nothing(client)


def test_unexpected_responses_are_dropped(person_with_sampling: Person) -> None:
    with person_with_sampling.mcp() as client:
        client.say('{"jsonrpc": "2.0", "id": "recollect-1", "result": {}}')
        client.say('{"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "x"}}')
        initialize(client, sampling={})
        answer_request(client, WANTED)
        until(lambda: stored(person_with_sampling) == 1)


def test_without_turns_to_read_no_request_is_sent(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("hi"), claude.says("Hello!")])
    person.sync()
    configure(person, by="sampling")
    with person.mcp() as client:
        initialize(client, sampling={})
        until(lambda: (person.realm / "memory.db").exists())
        assert sends_nothing(client)
    assert remembered(person) == []
