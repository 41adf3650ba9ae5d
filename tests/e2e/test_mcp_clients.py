"""The official clients, of Python and both generations of TypeScript, work with `recollect mcp`, and with
`recollect serve` at /mcp."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters

from recollect import __version__
from tests.conftest import Person
from tests.e2e.archives import sessions
from tests.http_server import HttpServer
from tests.logs import Claude, write
from tests.tools import HISTORY, JOURNEYS, TOOLS, TRACE, WRITING

NOBODY = "00000000-0000-4000-8000-000000000000"
NEWEST, NEWEST_HANDSHAKE = "2026-07-28", "2025-11-25"
SERVER = [sys.executable, "-m", "recollect", "mcp", "--no-sync"]

Received = dict[str, Any]
Server = list[str]  # a command line that starts one, or the address of one
Talk = Callable[[Person, Server, list[tuple[str, Any]], Path], Received]


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("person"))
    claude = Claude()
    write(person.claude_log(claude.session), [
        claude.prompt("tie the boat"), claude.calls("Bash", "c1", command="tie"), claude.result("c1", "boat tied"), claude.says("done"),
    ])  # fmt: skip
    person.run("sync")
    return person


def calls(person: Person) -> list[tuple[str, Any]]:
    """Each tool with success and with an error."""
    (session,) = sessions(person)
    window = {"start_datetime": "2026-01-01T00:00:00Z", "end_datetime": "2027-01-01T00:00:00Z"}
    return [
        ("search_sessions", {"query": "boat", "event_types": None, "n_hits": 5}),
        ("search_sessions", {"query": "   "}),
        ("search_sessions", {"query": "boat", "event_types": ["nonsense"]}),
        ("open", {"id": f"session:{session.id.hex()}"}),
        ("open", {"id": f"turn:{session.id.hex()}-1"}),
        ("open", {"id": f"session:{'0' * 32}"}),
        ("open", {"id": "nonsense"}),
        ("list_sessions", window),
        ("list_sessions", {**window, "nonsense": 1}),
        ("list_sessions", {}),
        ("search_event_previews", {"query": "oat ti"}),
        ("search_event_previews", {"query": ""}),
        ("get_event_details", {"session_id": session.id.hex()[:4], "event_index": 0}),
        ("get_event_details", {"session_id": session.id.hex()[:4], "event_index": 99}),
        ("get_session_details", {"session_id": session.id.hex()[:4], "detail_level": "full"}),
        ("analyze_session", {"session_id": "*"}),
        ("search_events", {"pattern": "boat"}),
        ("get_or_create_journey", {}),
        ("get_or_create_journey", {"user_id": NOBODY}),
        ("query_journey_history", {"journey_id": NOBODY}),
        ("add_document_to_journey", {"journey_id": NOBODY, "document_type": "poem"}),
        ("link_session_to_journey", {"journey_id": NOBODY, "session_id": NOBODY}),
    ]


# ---- the clients


def transport_of(person: Person, server: Server) -> StdioServerParameters | str:
    command, *arguments = server
    return StdioServerParameters(command=command, args=arguments, env=person.env) if arguments else command


def python(mode: Literal["legacy", "auto"] = "auto") -> Talk:
    async def talk(person: Person, server: Server, wanted: list[tuple[str, Any]]) -> Received:
        async with Client(transport_of(person, server), mode=mode) as client:
            listed = await client.list_tools()
            results = [await client.call_tool(name, given) for name, given in wanted]
            return {
                "server": client.server_info.model_dump(by_alias=True) if client.server_info else None,
                "instructions": client.instructions,
                "revision": client.protocol_version,
                "tools": [tool.model_dump(by_alias=True) for tool in listed.tools],
                "results": [result.model_dump(by_alias=True) for result in results],
            }

    return lambda person, server, wanted, _: asyncio.run(talk(person, server, wanted))


def node(script: str, *options: str) -> Talk:
    def talk(person: Person, server: Server, wanted: list[tuple[str, Any]], folder: Path) -> Received:
        command = ["node", str(folder / script), *options, json.dumps(wanted), *server]
        done = subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        told: Received = json.loads(done.stdout)
        return told

    return talk


CLIENTS: dict[str, tuple[Talk, str | None]] = {
    "python": (python(), NEWEST),
    "python, handshake": (python(mode="legacy"), NEWEST_HANDSHAKE),
    "typescript 1": (node("sdk.mjs"), None),  # which does not expose its revision
    "typescript 2": (node("client.mjs", "legacy"), NEWEST_HANDSHAKE),
    "typescript 2, negotiating": (node("client.mjs", "auto"), NEWEST),
    "typescript 2, fixed revision": (node("client.mjs", NEWEST), NEWEST),
}


@pytest.fixture(scope="module", params=["stdio", "http"])
def server(request: pytest.FixtureRequest, person: Person) -> Iterator[Server]:
    if request.param == "stdio":
        yield SERVER
        return
    with HttpServer(person, "--no-token") as server:  # these clients cannot be given a header to send
        yield [f"{server.url}/mcp"]


@pytest.fixture(scope="module", params=list(CLIENTS))
def told(request: pytest.FixtureRequest, person: Person, server: Server) -> Received:
    """What a client received."""
    talk, revision = CLIENTS[request.param]
    folder = request.getfixturevalue("typescript") if request.param.startswith("typescript") else Path()
    return {"expected revision": revision, **talk(person, server, calls(person), folder)}


def test_a_client_connects_and_gets_the_servers_name(told: Received) -> None:
    assert (told["server"]["name"], told["server"]["version"]) == ("recollect", __version__)
    assert told["revision"] == told["expected revision"]


def test_a_client_gets_the_instructions(told: Received) -> None:
    assert "search_sessions" in told["instructions"]


def test_a_client_lists_the_tools_with_their_schemas(told: Received) -> None:
    assert [tool["name"] for tool in told["tools"]] == [*TOOLS]
    for tool in told["tools"]:
        assert tool["inputSchema"]["properties"]
        assert bool(tool.get("outputSchema")) is (tool["name"] in [*HISTORY, *JOURNEYS])
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] not in WRITING)


def test_a_client_accepts_every_answer_and_every_error(told: Received, person: Person) -> None:
    """Each of these clients checks an answer against the tool's output schema and throws if it does not match."""
    for (name, given), result in zip(calls(person), told["results"], strict=True):
        assert "threw" not in result, (name, given, result)
        if name in HISTORY:
            assert result["structuredContent"]["tool"] == name
            assert not result["isError"]
        elif name in TRACE:
            assert result["isError"] is ("error" in result["structuredContent"])
        else:  # the schema of a journey tool has no room for errors, so these are text only
            assert result["isError"] is (result.get("structuredContent") is None)
        assert result.get("structuredContent") in (body(result), None)


def body(result: Any) -> Any:
    return json.loads(result["content"][0]["text"])


def test_a_client_gets_the_same_answers_as_other_surfaces(told: Received, person: Person) -> None:
    with person.mcp() as client:
        for (name, given), result in zip(calls(person), told["results"], strict=True):
            expected = body(client.request("tools/call", {"name": name, "arguments": given})["result"])
            anew = {
                "performance": ...,
                **({"journey_id": ..., "created_at": ..., "is_new": ...} if name in JOURNEYS else {}),
            }
            assert {**body(result), **anew} == {**expected, **anew}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_a_progress_token_gets_progress(person: Person, server: Server, mode: str) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def talk() -> None:
        async with Client(transport_of(person, server), mode=mode) as client:
            await client.call_tool("search_sessions", {"query": "boat"}, progress_callback=note)

    asyncio.run(talk())
    assert seen == sorted(set(seen))
    assert seen


def test_half_of_the_calls_succeed(person: Person) -> None:
    """The answers that the tests above compare include successes and errors."""
    with person.mcp() as client:
        answers = [body(client.request("tools/call", {"name": name, "arguments": given})["result"])
                   for name, given in calls(person)]  # fmt: skip
    assert [answer.get("error", answer).get("code") for answer in answers] == [
        None, "invalid_request", "unsupported_event_type", None, None, "not_found", "invalid_id", None,
        "invalid_request", "invalid_request",
        None, "invalid_parameter", None, "invalid_event_index", None, "invalid_session_id", None,
        None, None, 404, 400, 404,
    ]  # fmt: skip
