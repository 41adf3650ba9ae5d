"""JSON-RPC: every route of every operation, every tool, and every error number; no message ends the server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.operations import FAMILIES, OPERATIONS, toolset_of
from recollect.surfaces.transport.line_reader import MAX_BYTES, read_lines
from tests.conftest import Person
from tests.rpc_server import RawRpc

pytestmark = pytest.mark.process

ABSENT = "01a00000-0000-7000-8000-000000000000"
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


@pytest.fixture(scope="module")
def rpc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawRpc]:
    """One server for all tests that only read."""
    with RawRpc(Person(tmp_path_factory.mktemp("rpc"))) as server:
        yield server


def reply_to(rpc: RawRpc, line: str | bytes) -> Any:
    rpc.say(line)
    return rpc.hear()


def error_of(rpc: RawRpc, line: str | bytes) -> tuple[Any, int]:
    """The id and the code of the error that answers a line."""
    answer = reply_to(rpc, line)
    assert answer["jsonrpc"] == "2.0"
    assert answer["error"]["message"]
    return answer["id"], answer["error"]["code"]


# ---- methods


def test_the_server_announces_itself_and_its_methods(rpc: RawRpc) -> None:
    answer = rpc.result("initialize", client={"name": "a test", "version": "1"})
    routes = {route.rpc for operation in OPERATIONS.values() for route in operation.routes if route.rpc}
    assert answer["name"] == "recollect"
    assert answer["realm_id"].startswith("realm-")
    assert answer["instance_id"].startswith("instance-")
    assert answer["backend"] == "sqlite"
    assert set(answer["methods"]) == routes | {"initialize", "ping", "tools/list", "tools/call"}
    assert {"session/create", "turn/start", "turn/interrupt", "config/patch", "realm/list"} < routes


@pytest.mark.parametrize(
    "method", sorted({route.rpc for operation in OPERATIONS.values() for route in operation.routes if route.rpc})
)
def test_every_method_calls_its_operation(rpc: RawRpc, method: str) -> None:
    """With an unknown argument, each method answers with an error of its family; no method is unknown or silent."""
    error = rpc.error(method, no_such_argument=1)
    assert error["code"] == INVALID_PARAMS
    assert "no_such_argument" in error["message"]
    assert error["data"]["code"] in {"INVALID_PARAMS", "invalid_request", "invalid_parameter", 400}


def test_a_method_that_implies_an_argument_does_not_accept_it(rpc: RawRpc) -> None:
    error = rpc.error("config/get", action="set", config={})
    assert (error["code"], error["data"]) == (INVALID_PARAMS, {"code": "INVALID_PARAMS"})


def test_every_tool_is_offered_and_answers_as_over_mcp(rpc: RawRpc, person: Person) -> None:
    tools = rpc.result("tools/list")["tools"]
    with person.mcp() as mcp:
        assert tools == mcp.request("tools/list")["result"]["tools"]
        assert {tool["name"] for tool in tools} == set(toolset_of(tuple(FAMILIES)).operations)
        for call in ({"name": "meerkat_list"}, {"name": "meerkat_read", "arguments": {"session_id": ABSENT}}):
            assert rpc.result("tools/call", **call) == mcp.request("tools/call", call)["result"]
    every = [rpc.result("tools/call", name=tool["name"], arguments={"no_such_argument": 1}) for tool in tools]
    assert all({"content", "isError"} <= answer.keys() for answer in every)


def test_an_unknown_tool_is_an_error_of_the_call(rpc: RawRpc) -> None:
    assert rpc.error("tools/call", name="no_such_tool")["code"] == INVALID_PARAMS
    assert rpc.error("tools/call")["code"] == INVALID_PARAMS


# ---- errors


def test_errors_have_their_numbers_and_code_words(rpc: RawRpc) -> None:
    """M12, M18, M41, M48."""
    session = rpc.result("session/create", initial_turn="deferred")["session_id"]
    generation = rpc.result("config/get")["generation"]
    conflict = rpc.error("config/set", config={}, expected_generation=generation + 5)
    assert rpc.error("session/read", session_id=ABSENT)["code"] == -32001
    assert rpc.error("turn/interrupt", session_id=ABSENT)["data"]["code"] == "SESSION_NOT_FOUND"
    assert rpc.error("session/read", session_id="no uuid")["data"]["code"] == "INVALID_PARAMS"
    assert rpc.error("session/history", session_id=session, limit=1001)["code"] == INVALID_PARAMS
    assert rpc.error("session/history", session_id=session, offset=-1)["data"]["code"] == "INVALID_PARAMS"
    assert conflict["code"] == INVALID_PARAMS
    assert conflict["data"] == {
        "code": "GENERATION_CONFLICT",
        "details": {"expected_generation": generation + 5, "current_generation": generation},
    }


def test_a_turn_that_fails_has_its_number_and_its_session(rpc: RawRpc) -> None:
    """M4, M48."""
    failed = rpc.error("session/create", prompt="x", command=["sh", "-c", "echo sorry >&2; exit 3"])
    absent = rpc.error("session/create", prompt="x", command=["/no/such/program"])
    assert (failed["code"], failed["data"]["code"]) == (-32013, "AGENT_ERROR")
    assert (absent["code"], absent["data"]["code"]) == (-32010, "PROVIDER_ERROR")
    session = failed["data"]["details"]["session_id"]
    assert rpc.result("turn/start", session_id=session, prompt="again", command=["cat"])["text"] == "again"


@pytest.mark.parametrize("params", ["[]", "[1]", '"text"', "7", "true"])
def test_params_are_an_object_or_absent(rpc: RawRpc, params: str) -> None:
    answer = reply_to(rpc, f'{{"jsonrpc":"2.0","id":"p","method":"session/list","params":{params}}}')
    assert (answer["id"], answer["error"]["code"]) == ("p", INVALID_PARAMS)
    assert answer["error"]["data"] == {"code": "INVALID_PARAMS"}


def test_null_params_mean_no_params(rpc: RawRpc) -> None:
    assert "result" in reply_to(rpc, '{"jsonrpc":"2.0","id":"n","method":"config/get","params":null}')


# ---- invalid requests


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"nonsense", b'{"jsonrpc":"2.0",}', b"\xff\xfe", b'{"jsonrpc":"2.0","id":1,"method":"\xc3"}', b"\x00", b"NaN",
        '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le"), b"[" * 100_000, b'{"id":' + b"[" * 50_000,
    ],
    ids=range(10),
)  # fmt: skip
def test_a_broken_line_is_a_parse_error_without_an_id(rpc: RawRpc, line: bytes) -> None:
    assert error_of(rpc, line) == (None, PARSE_ERROR)


@pytest.mark.parametrize("line", ["1", '"ping"', "null", "true", "{}", "[]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    '{"jsonrpc":"1.0","method":"ping"}', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":1}', '{"jsonrpc":2.0,"method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"jsonrpc":"2.0","id":true,"method":"ping"}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}', '{"jsonrpc":"2.0","id":[1],"method":"ping"}'])  # fmt: skip
def test_an_invalid_request_without_an_id_is_refused_without_an_id(rpc: RawRpc, line: str) -> None:
    assert error_of(rpc, line) == (None, INVALID_REQUEST)


@pytest.mark.parametrize("line", ['{"jsonrpc":"2.0","id":5}', '{"id":5,"method":"ping"}', '{"jsonrpc":"2.0","id":5,"method":[]}',
    '{"jsonrpc":"2.0","id":5,"result":{}}'])  # fmt: skip
def test_an_invalid_request_with_an_id_is_refused_with_its_id(rpc: RawRpc, line: str) -> None:
    assert error_of(rpc, line) == (5, INVALID_REQUEST)


@pytest.mark.parametrize("method", ["nope", "", "session", "session/", "SESSION/LIST", "session/create ", "meerkat_list"])
def test_an_unknown_method_is_refused(rpc: RawRpc, method: str) -> None:
    assert rpc.error(method)["code"] == NO_METHOD


def test_notifications_are_carried_out_and_never_answered(rpc: RawRpc) -> None:
    before = rpc.result("config/get")["generation"]
    rpc.earlier_messages.clear()
    rpc.say('{"jsonrpc":"2.0","method":"config/patch","params":{"patch":{"noted":1}}}')
    rpc.say('{"jsonrpc":"2.0","method":"no/such/method"}')
    rpc.say('{"jsonrpc":"2.0","method":"session/read","params":[1]}')
    rpc.say('{"jsonrpc":"2.0","method":"session/read","params":{"session_id":1}}')
    rpc.say("")
    while rpc.result("config/get")["generation"] == before:
        assert rpc.earlier_messages == []
    assert rpc.result("config/get")["config"]["noted"] == 1
    assert rpc.earlier_messages == []


def test_ids_come_back_unchanged(rpc: RawRpc) -> None:
    for identity in (0, -1, 2**53, "", "ä", "a" * 1000, 1.5):
        assert reply_to(rpc, json.dumps({"jsonrpc": "2.0", "id": identity, "method": "ping"}))["id"] == identity


def test_half_a_surrogate_pair_is_accepted(rpc: RawRpc) -> None:
    created = rpc.result("session/create", initial_turn="deferred", labels={"half": "\ud83d"})
    (row,) = rpc.result("session/list", labels={"half": "?"})["sessions"]
    assert row["session_id"] == created["session_id"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = ["initialize", "ping", "tools/list", "tools/call", "session/read", "session/list", "config/get", "turn/start", ""]
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON, "method": st.sampled_from(METHODS) | JSON},
    optional={"id": JSON, "params": JSON, "result": JSON},
)
LINES = st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | REQUESTS.map(lambda one: json.dumps(one).encode())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(LINES, max_size=5))
def test_no_message_ends_the_server(rpc: RawRpc, sent: list[bytes]) -> None:
    for line in sent:
        rpc.say(line)
    assert rpc.request("ping")["result"] == {}
    rpc.earlier_messages.clear()


# ---- lines


def split_lines(*chunks: bytes) -> list[bytes | None]:
    waiting = iter((*chunks, b""))
    return list(read_lines(lambda: next(waiting)))


def test_lines_are_split_correctly_wherever_the_chunks_end() -> None:
    content = b"one\ntwo\n\nthree"
    for at in range(1, len(content)):
        assert split_lines(content[:at], content[at:]) == [b"one", b"two", b"", b"three"]
    assert split_lines(*(content[at : at + 1] for at in range(len(content)))) == [b"one", b"two", b"", b"three"]
    assert split_lines() == []


def test_a_line_that_is_too_long_is_skipped() -> None:
    piece = b"x" * (MAX_BYTES // 4)
    assert split_lines(*[piece] * 4, b"\n") == [piece * 4]
    assert split_lines(*[piece] * 4, b"x", b"\nnext\n") == [None, b"next"]
    assert split_lines(*[piece] * 5) == [None]


def test_a_message_that_is_too_long_is_refused_and_not_buffered(person: Person) -> None:
    """A message of three times the limit costs the server less memory than half of its size."""
    with RawRpc(person) as rpc:
        rpc.request("ping")
        before = peak_memory(rpc.process.pid)
        for _ in range(3 * (MAX_BYTES >> 20)):
            rpc.process.stdin.write(b"x" * (1 << 20))  # type: ignore[union-attr]
        assert error_of(rpc, b"") == (None, INVALID_REQUEST)
        assert peak_memory(rpc.process.pid) - before < (3 * MAX_BYTES // 2) >> 10
        assert "result" in rpc.request("ping")


def peak_memory(pid: int) -> int:
    """The peak memory of a process, in kB."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])
