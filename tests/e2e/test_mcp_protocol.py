"""MCP on stdio, message by message: both eras of the protocol, and invalid messages."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY
from mcp_types.methods import validate_server_result

from recollect import __version__
from tests.conftest import Person, RawMcp
from tests.e2e.archives import events
from tests.logs import Claude, write
from tests.tools import DESTRUCTIVE, HISTORY, JOURNEYS, RUNNING, TOOLS, WRITING

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
TOKEN = 4  # characters
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, UNSUPPORTED_VERSION = -32700, -32600, -32601, -32602, -32022
MB = 1 << 20


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person with one session, whose last event takes a while to open."""
    person = Person(tmp_path_factory.mktemp("person"))
    claude = Claude()
    write(
        person.claude_log(claude.session),
        [claude.prompt("tie the boat"), claude.says("tied"), claude.says("rope " * (4 * MB))],
    )
    person.run("sync")
    return person


@pytest.fixture(scope="module")
def servers(person: Person) -> Iterator[list[RawMcp]]:
    """The servers that were started: only one, if no test's message can end it."""
    started = [person.mcp()]
    yield started
    for client in started:
        with suppress(BrokenPipeError), client:
            pass


@pytest.fixture
def server(servers: list[RawMcp], person: Person) -> RawMcp:
    """One server for all tests: the messages of one test must not affect the next."""
    if servers[-1].process.poll() is not None:
        servers.append(person.mcp())
    return servers[-1]


def initialize(client: RawMcp, version: str = "2025-11-25") -> Any:
    info = {"name": "test", "version": "1"}
    return client.request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info})["result"]


def stateless(version: str = STATELESS, **params: Any) -> dict[str, Any]:
    """The parameters of a request that names its protocol version itself."""
    meta = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: {"name": "test", "version": "1"},
        CLIENT_CAPABILITIES_META_KEY: {},
    }
    return {**params, "_meta": meta}


def search(query: Any = "boat") -> dict[str, Any]:
    return {"name": "search_sessions", "arguments": {"query": query}}


def still_answers(client: RawMcp) -> bool:
    return bool(client.request("ping")["result"] == {})


# ---- up to 2025-11-25


@pytest.mark.parametrize("version", HANDSHAKE)
def test_a_client_gets_the_revision_that_it_requests(person: Person, version: str) -> None:
    with person.mcp() as client:
        hello = initialize(client, version)
        assert hello["protocolVersion"] == version
        assert hello["serverInfo"]["name"] == "recollect"
        assert hello["serverInfo"]["version"] == __version__
        assert "search_sessions" in hello["instructions"]
        client.say('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        listed = client.request("tools/list")["result"]
        called = client.request("tools/call", search())["result"]
    validate_server_result("initialize", version, hello)
    validate_server_result("tools/list", version, listed)
    validate_server_result("tools/call", version, called)
    assert {"resultType", "_meta"}.isdisjoint({*listed, *called}), "the older revisions do not have these"


@pytest.mark.parametrize("version", ["1999-01-01", "2099-12-31", "", None, 5, ["2025-11-25"]])
def test_an_unknown_revision_is_answered_with_the_newest(server: RawMcp, version: Any) -> None:
    assert initialize(server, version)["protocolVersion"] == "2025-11-25"


def test_every_tool_has_a_description_schemas_and_hints(server: RawMcp) -> None:
    tools = server.request("tools/list")["result"]["tools"]
    assert tuple(tool["name"] for tool in tools) == TOOLS
    for tool in tools:
        assert len(tool["description"]) > 120
        assert tool["inputSchema"]["type"] == "object"
        assert tool["name"] in (*JOURNEYS, "search_events") or tool["inputSchema"]["additionalProperties"] is False
        assert ("outputSchema" in tool) is (tool["name"] in (*HISTORY, *JOURNEYS))
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] not in WRITING)
        assert tool["annotations"]["destructiveHint"] is (tool["name"] in DESTRUCTIVE)
        assert tool["annotations"]["openWorldHint"] is (tool["name"] in RUNNING)


def test_all_tool_descriptions_together_stay_within_their_budget(server: RawMcp) -> None:
    tools = server.request("tools/list")["result"]["tools"]
    assert len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) // TOKEN < 6_000


def test_an_answer_is_the_same_as_text_and_as_structured_content(server: RawMcp) -> None:
    result = server.request("tools/call", search())["result"]
    (block,) = result["content"]
    assert block["type"] == "text"
    assert json.loads(block["text"]) == result["structuredContent"]
    assert result["isError"] is False
    assert result["structuredContent"]["data"]["result_count"] == 1


def test_a_ping_is_answered_before_and_after_anything_else(person: Person) -> None:
    with person.mcp() as client:
        assert still_answers(client)
        initialize(client)
        assert still_answers(client)


@pytest.mark.parametrize("identity", ["a string", 0, -1, 2**53, ""])
def test_an_answer_has_the_id_of_its_request(server: RawMcp, identity: Any) -> None:
    server.say(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "ping"}))
    assert server.hear() == {"jsonrpc": "2.0", "id": identity, "result": {}}


def test_only_the_chosen_toolsets_are_offered(person: Person) -> None:
    with person.mcp("--no-sync", "--toolsets", "history") as client:
        assert [tool["name"] for tool in client.request("tools/list")["result"]["tools"]] == list(HISTORY)
        assert client.request("prompts/list")["result"]["prompts"] == []


# ---- from 2026-07-28 on


def test_discovery_returns_revisions_capabilities_and_instructions(server: RawMcp) -> None:
    result = server.request("server/discover", stateless())["result"]
    validate_server_result("server/discover", STATELESS, result)
    assert {STATELESS, *HANDSHAKE} >= set(result["supportedVersions"]) >= {STATELESS}
    assert result["resultType"] == "complete"
    assert "tools" in result["capabilities"]
    assert result["instructions"]
    assert result["_meta"][SERVER_INFO_META_KEY]["name"] == "recollect"


def test_tools_are_listed_without_a_handshake(person: Person) -> None:
    with person.mcp() as client:
        result = client.request("tools/list", stateless())["result"]
    validate_server_result("tools/list", STATELESS, result)
    assert tuple(tool["name"] for tool in result["tools"]) == TOOLS
    assert result["resultType"] == "complete"
    assert (result["ttlMs"] >= 0, result["cacheScope"]) == (True, "private")


def test_tools_are_called_without_a_handshake(person: Person) -> None:
    with person.mcp() as client:
        result = client.request("tools/call", stateless(**search()))["result"]
    validate_server_result("tools/call", STATELESS, result)
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["data"]["result_count"] == 1
    assert result["_meta"][SERVER_INFO_META_KEY]["version"] == __version__


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
@pytest.mark.parametrize("version", ["2099-01-01", "2025-11-25", "nonsense"])
def test_the_error_for_an_unsupported_revision_lists_the_supported_ones(server: RawMcp, method: str, version: str) -> None:
    error = server.request(method, stateless(version, **search()))["error"]
    assert error["code"] == UNSUPPORTED_VERSION
    assert error["data"] == {"supported": [STATELESS], "requested": version}


@pytest.mark.parametrize("version", [None, 5, [], {}])
def test_a_revision_that_is_not_a_string_is_refused(server: RawMcp, version: Any) -> None:
    assert server.request("tools/list", stateless(version))["error"]["code"] in {UNSUPPORTED_VERSION, INVALID_PARAMS}
    assert still_answers(server)


def test_one_server_serves_both_eras(server: RawMcp) -> None:
    assert "resultType" in server.request("tools/list", stateless())["result"]
    initialize(server)
    assert "resultType" not in server.request("tools/list")["result"]


# ---- while a call runs


def test_a_progress_token_gets_progress(server: RawMcp) -> None:
    for token in ("a token", 7):
        request = {"jsonrpc": "2.0", "id": "slow", "method": "tools/call"}
        server.say(json.dumps({**request, "params": {**search(), "_meta": {"progressToken": token}}}))
        messages = [server.hear()]
        while "id" not in messages[-1]:
            messages.append(server.hear())
        *notes, answer = messages
        assert answer["id"] == "slow"
        assert notes
        assert {note["method"] for note in notes} == {"notifications/progress"}
        assert {note["params"]["progressToken"] for note in notes} == {token}
        done = [note["params"]["progress"] for note in notes]
        assert done == sorted(set(done)), "progress must grow"


def test_without_a_token_there_is_no_progress(server: RawMcp) -> None:
    server.say(json.dumps({"jsonrpc": "2.0", "id": "quiet", "method": "tools/call", "params": search()}))
    assert server.hear()["id"] == "quiet"


def test_a_cancelled_call_is_not_answered_and_the_server_continues(person: Person) -> None:
    slow = {"name": "open", "arguments": {"id": f"event:{events(person)[-1].id.hex()}"}}
    messages = [
        {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": slow},
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": "slow", "reason": "changed my mind"},
        },
        {"jsonrpc": "2.0", "id": "next", "method": "tools/call", "params": search()},
    ]
    with person.mcp() as client:
        client.call("open", id="event:0")  # loads everything that a first call loads
        client.say("\n".join(json.dumps(message) for message in messages))
        assert client.process.stdin and client.process.stdout
        client.process.stdin.close()
        answers = [json.loads(line) for line in client.process.stdout]
        assert client.process.wait(30) == 0
    assert [answer["id"] for answer in answers] == ["next"]
    assert answers[0]["result"]["structuredContent"]["data"]["result_count"] == 1


def test_the_slow_call_is_answered_when_it_is_not_cancelled(person: Person, server: RawMcp) -> None:
    """The test before this one relies on it."""
    answer = server.call("open", id=f"event:{events(person)[-1].id.hex()}")
    assert len(answer["data"]["content"]["text"]) == 20 * MB


def test_quick_answers_do_not_wait_for_slow_ones(person: Person, server: RawMcp) -> None:
    slow = {"name": "open", "arguments": {"id": f"event:{events(person)[-1].id.hex()}"}}
    call = json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": slow})
    ping = json.dumps({"jsonrpc": "2.0", "id": "quick", "method": "ping"})
    server.say(f"{call}\n{ping}")
    assert [server.hear()["id"], server.hear()["id"]] == ["quick", "slow"]


@pytest.mark.parametrize("request_id", ["never asked", 99, None, 1.5, [1], {"a": 1}, True])
def test_cancelling_a_call_that_does_not_run_does_nothing(server: RawMcp, request_id: Any) -> None:
    params = {"requestId": request_id}
    server.say(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
    assert still_answers(server)


# ---- what no client should send

NOT_MESSAGES: dict[str, tuple[bytes, int]] = {
    "not JSON": (b"hello", PARSE_ERROR),
    "half of JSON": (b'{"jsonrpc": "2.0", "id": 1, "meth', PARSE_ERROR),
    "invalid UTF-8": (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfe"}', PARSE_ERROR),
    "null bytes": (b"\0\0\0\0", PARSE_ERROR),
    "a batch": (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID_REQUEST),
    "an empty batch": (b"[]", INVALID_REQUEST),
    "a text": (b'"ping"', INVALID_REQUEST),
    "a number": (b"12", INVALID_REQUEST),
    "null": (b"null", INVALID_REQUEST),
    "no version": (b'{"id": 1, "method": "ping"}', INVALID_REQUEST),
    "another version": (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', INVALID_REQUEST),
    "id null": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST),
    "id true": (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID_REQUEST),
    "id fraction": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST),
    "id list": (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', INVALID_REQUEST),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', INVALID_REQUEST),
    "method null": (b'{"jsonrpc": "2.0", "id": 1, "method": null}', INVALID_REQUEST),
    "method number": (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', INVALID_REQUEST),
    "params list": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', INVALID_PARAMS),
    "params text": (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": "x"}', INVALID_PARAMS),
    "params number": (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": 5}', INVALID_PARAMS),
    "nested too deeply": (b"[" * 100_000, PARSE_ERROR),
}


@pytest.mark.parametrize(("line", "code"), NOT_MESSAGES.values(), ids=NOT_MESSAGES)
def test_an_invalid_message_is_refused_and_the_server_continues(server: RawMcp, line: bytes, code: int) -> None:
    server.say(line)
    refused = server.hear()
    assert refused["jsonrpc"] == "2.0"
    assert refused["error"]["code"] == code
    assert refused["error"]["message"]
    assert "id" in refused
    assert still_answers(server)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   \t ",
        b"\r",
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "notifications/never-heard-of"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
        b'{"jsonrpc": "2.0", "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}',
    ],
)
def test_messages_without_an_id_get_no_answer(server: RawMcp, line: bytes) -> None:
    server.say(line + b'\n{"jsonrpc": "2.0", "id": "next", "method": "ping"}')
    assert server.hear()["id"] == "next"


@pytest.mark.parametrize(
    "method", ["", "nonsense", "resources/list", "prompts/nonsense", "logging/setLevel", "tools/nonsense"]
)
def test_an_unknown_method_is_refused(server: RawMcp, method: str) -> None:
    assert server.request(method)["error"]["code"] == NO_METHOD
    assert still_answers(server)


@pytest.mark.parametrize("name", ["nonsense", "", None, 5, ["open"], {"name": "open"}])
def test_an_unknown_tool_is_an_error_of_the_protocol(server: RawMcp, name: Any) -> None:
    assert server.request("tools/call", {"name": name, "arguments": {}})["error"]["code"] == INVALID_PARAMS
    assert still_answers(server)


def test_a_call_without_a_name_is_an_error_of_the_protocol(server: RawMcp) -> None:
    assert server.request("tools/call", {})["error"]["code"] == INVALID_PARAMS


@pytest.mark.parametrize("tool", HISTORY)
@pytest.mark.parametrize("arguments", [[], "query", 5, True, {"nonsense": 1}, {"query": 10**30}, {"query": ["x"]}, None])
def test_arguments_of_any_type_get_the_familys_envelope(server: RawMcp, tool: str, arguments: Any) -> None:
    result = server.request("tools/call", {"name": tool, "arguments": arguments})["result"]
    envelope = result["structuredContent"]
    assert envelope["schema_version"] == "moraine.mcp.error.v1"
    assert envelope["error"]["code"] == "invalid_request"
    assert envelope["tool"] == tool
    assert result["isError"] is False


def test_half_of_a_surrogate_pair_gets_an_answer(server: RawMcp) -> None:
    """JavaScript writes one when it cuts a text inside an emoji; such a client waits for the answer to its id."""
    line = json.dumps({"jsonrpc": "2.0", "id": "cut", "method": "tools/call", "params": search("boat @")})
    server.say(line.replace("@", "\\ud83d"))
    assert server.hear()["id"] == "cut"


def test_a_huge_line_is_read(server: RawMcp) -> None:
    envelope = server.call("search_sessions", query="x" * (20 * MB))
    assert envelope["error"]["code"] == "invalid_request"
    assert still_answers(server)


def test_line_ends_of_other_systems_are_understood(server: RawMcp) -> None:
    server.say(b'{"jsonrpc": "2.0", "id": "crlf", "method": "ping"}\r')
    assert server.hear()["id"] == "crlf"


def test_many_requests_at_once_are_all_answered(server: RawMcp) -> None:
    requests = [{"jsonrpc": "2.0", "id": f"r{number}", "method": "tools/call", "params": search()} for number in range(100)]
    server.say("\n".join(json.dumps(request) for request in requests))
    answers = [server.hear() for _ in requests]
    assert {answer["id"] for answer in answers} == {request["id"] for request in requests}
    assert all(answer["result"]["structuredContent"]["data"]["result_count"] == 1 for answer in answers)


# ---- the process


def test_the_end_of_input_ends_the_server(person: Person) -> None:
    done = person.run("mcp", "--no-sync", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_input_that_ends_inside_a_line_ends_the_server(person: Person) -> None:
    done = person.run("mcp", "--no-sync", input='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n{"jsonrpc"')
    first, *_ = done.stdout.splitlines()
    assert json.loads(first) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (done.returncode, done.stderr) == (0, "")


def test_a_call_that_runs_when_input_ends_is_still_answered(person: Person) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": search()}
    done = person.run("mcp", "--no-sync", input=json.dumps(call) + "\n")
    assert json.loads(done.stdout)["result"]["structuredContent"]["data"]["result_count"] == 1


def test_a_server_ends_quietly_when_its_client_is_gone(person: Person) -> None:
    command = [sys.executable, "-m", "recollect", "mcp", "--no-sync"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=person.env, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 10)
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()


def test_only_messages_are_written_to_standard_output(person: Person) -> None:
    lines = [line for line, _ in NOT_MESSAGES.values() if not line.startswith(b"[[")]
    calls = [
        json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name}}).encode()
        for name in TOOLS
    ]
    command = [sys.executable, "-m", "recollect", "mcp", "--no-sync"]
    done = subprocess.run(
        command, env=person.env, input=b"\n".join([*lines, *calls]) + b"\n", capture_output=True, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines) + len(calls)
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}


def test_heavy_modules_are_loaded_only_when_needed(person: Person) -> None:
    """Search by meaning needs numpy; a query that looks like an identifier does not."""
    listing = {"name": "list_sessions", "arguments": {}}
    calls = [("tools/list", {}), ("tools/call", search("BOAT_1")), ("tools/call", listing)]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    command = [sys.executable, "-X", "importtime", "-m", "recollect", "mcp", "--no-sync"]
    done = subprocess.run(command, env=person.env, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(calls)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "msgspec" in loaded
    heavy = {"rich", "watchfiles", "mcp", "mcp_types", "pydantic", "anyio", "starlette", "asyncio", "numpy", "jinja2"}
    assert loaded & heavy == set()
