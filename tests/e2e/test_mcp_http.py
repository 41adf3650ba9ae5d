"""MCP over streamable HTTP, as specified: sessions of the earlier eras, headers of the later one, progress,
and calls that are cancelled."""

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import COMMANDS_OVER_MCP, Person
from tests.e2e.processes import is_alive, until
from tests.http_server import HttpServer, events_of
from tests.live_surfaces import Agent
from tests.tools import TOOLS

NEWEST, EARLIER = "2026-07-28", ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = {"io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {}}
BOTH = "application/json, text/event-stream"
HEADER_MISMATCH, UNSUPPORTED = -32020, -32022
Message = dict[str, Any]
Answer = tuple[int, http.client.HTTPMessage, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("person")), **COMMANDS_OVER_MCP) as server:
        yield server


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path / "agent")
    yield agent
    agent.go.touch()


def post(server: HttpServer, message: Any, **headers: str) -> Answer:
    named = {
        "accept": BOTH,
        "content-type": "application/json",
        **{name.replace("_", "-"): of for name, of in headers.items()},
    }
    with server.response("POST", "/mcp", message, named) as response:
        content = response.read()
    if response.headers["content-type"] == "text/event-stream; charset=utf-8":
        return response.status, response.headers, content.decode()
    return response.status, response.headers, json.loads(content) if content else None


def request(method: str, identity: int | str = 1, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def notification(method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def opened(server: HttpServer, version: str = EARLIER[-1]) -> str:
    """A session."""
    hello = request("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})
    status, headers, answer = post(server, hello)
    assert (status, answer["result"]["protocolVersion"]) == (200, version)
    session = headers["mcp-session-id"]
    assert post(server, notification("notifications/initialized"), mcp_session_id=session)[0] == 202
    return session


def modern(method: str, identity: int | str = 1, **params: Any) -> tuple[Message, dict[str, str]]:
    """A request of the later era, with its headers."""
    headers = {"mcp_protocol_version": NEWEST, "mcp_method": method}
    if "name" in params:
        headers["mcp_name"] = params["name"]
    meta = {**META, **params.pop("_meta", {})}
    return request(method, identity, **params, _meta=meta), headers


# ---- sessions


@pytest.mark.parametrize("version", EARLIER)
def test_a_client_that_initializes_gets_a_session_of_its_own(server: HttpServer, version: str) -> None:
    first, second = opened(server, version), opened(server, version)
    assert first != second
    assert first.isascii() and first.isprintable()
    for session in (first, second):
        status, _, answer = post(server, request("tools/list"), mcp_session_id=session, mcp_protocol_version=version)
        assert (status, [tool["name"] for tool in answer["result"]["tools"]]) == (200, [*TOOLS])


def test_a_handshake_that_fails_opens_no_session(server: HttpServer) -> None:
    status, headers, _ = post(server, {**request("initialize"), "jsonrpc": "1.0"})
    assert (status, headers["mcp-session-id"]) == (400, None)


def test_an_unknown_session_is_not_found(server: HttpServer) -> None:
    for session in ("00000000-0000-4000-8000-000000000000", "nonsense", ""):
        status, _, answer = post(server, request("ping"), mcp_session_id=session)
        assert (status, answer["id"]) == (404, 1)
        assert "initialize" in answer["error"]["message"]


def test_a_session_ends_once(server: HttpServer) -> None:
    session = opened(server)
    assert server.ask("DELETE", "/mcp", mcp_session_id=session) == (204, None)
    assert server.ask("DELETE", "/mcp", mcp_session_id=session)[0] == 404
    assert post(server, request("ping"), mcp_session_id=session)[0] == 404
    assert server.ask("DELETE", "/mcp")[0] == 404


def test_requests_without_a_session_are_answered(server: HttpServer) -> None:
    assert post(server, request("ping"))[2] == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_an_unknown_method_is_not_reported_as_a_missing_session(server: HttpServer) -> None:
    """A 404 would make a client of the earlier eras start a new session."""
    session = opened(server)
    for method, code in (("resources/list", -32601), ("tools/call", -32602)):
        status, _, answer = post(server, request(method), mcp_session_id=session)
        assert (status, answer["error"]["code"]) == (200, code)


# ---- messages


def test_notifications_get_no_answer(server: HttpServer) -> None:
    session = opened(server)
    for message in (
        notification("notifications/initialized"),
        notification("notifications/cancelled", requestId=1),
        notification("notifications/cancelled", requestId=[]),
        notification("notifications/nonsense"),
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
    ):
        for headers in ({"mcp_session_id": session}, {}):
            assert post(server, message, **headers)[::2] == (202, None)


def test_batches_are_refused(server: HttpServer) -> None:
    for batch in ([request("ping")], [request("ping"), request("ping", 2)], []):
        status, _, answer = post(server, batch)
        assert (status, answer["id"], answer["error"]["code"]) == (400, None, -32600)


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"", -32600), (b"\xff", -32700), (b"5", -32600), (b'{"id":1}', -32600)]
)
def test_invalid_messages_are_refused(server: HttpServer, body: bytes, code: int) -> None:
    status, _, answer = post(server, body)
    assert (status, answer["error"]["code"]) == (400, code)


def test_the_server_sends_nothing_unrequested(server: HttpServer) -> None:
    """There is no stream for messages from the server, because it sends none by itself."""
    for method in ("GET", "PUT", "PATCH", "OPTIONS"):
        with server.response(method, "/mcp", headers={"accept": "text/event-stream"}) as response:
            assert response.status == 405
            assert {word.strip() for word in response.headers["allow"].split(",")} == {"POST", "DELETE"}


# ---- progress


def test_a_call_with_a_progress_token_gets_progress(server: HttpServer) -> None:
    session = opened(server)
    arguments = {"prompt": "hello", "command": ["cat"]}
    call = request("tools/call", name="meerkat_create_session", arguments=arguments, _meta={"progressToken": "p"})
    named = {"accept": BOTH, "mcp-session-id": session}
    with server.response("POST", "/mcp", call, named) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        *notices, answer = events_of(response)
    assert {notice["method"] for notice in notices} == {"notifications/progress"}
    assert {notice["params"]["progressToken"] for notice in notices} == {"p"}
    shares = [notice["params"]["progress"] for notice in notices]
    assert shares == sorted(set(shares))
    assert len(shares) > 2
    assert answer["result"]["structuredContent"]["text"] == "hello"


@pytest.mark.parametrize(
    ("accept", "meta"), [("application/json", {"progressToken": 1}), (BOTH, {}), (BOTH, {"progressToken": None})]
)
def test_a_call_without_a_progress_token_gets_only_its_answer(server: HttpServer, accept: str, meta: Message) -> None:
    call = request("tools/call", name="meerkat_list", arguments={}, _meta=meta)
    status, headers, answer = post(server, call, accept=accept)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert answer["result"]["structuredContent"]["sessions"] is not None


# ---- headers


@pytest.mark.parametrize("version", ["2099-01-01", "1", "nonsense"])
def test_an_unknown_revision_is_refused(server: HttpServer, version: str) -> None:
    status, _, answer = post(server, request("ping"), mcp_protocol_version=version)
    assert (status, answer["error"]["code"]) == (400, UNSUPPORTED)
    assert answer["error"]["data"]["requested"] == version
    assert {NEWEST, *EARLIER} == set(answer["error"]["data"]["supported"])


def test_headers_of_the_later_era_must_agree_with_the_body(server: HttpServer) -> None:
    message, headers = modern("tools/call", name="meerkat_list", arguments={})
    status, told, answer = post(server, message, **headers)
    assert (status, answer["result"]["resultType"], told["mcp-session-id"]) == (200, "complete", None)
    for header in headers:
        for wrong in ({**headers, header: "nonsense"}, {name: of for name, of in headers.items() if name != header}):
            status, _, answer = post(server, message, **wrong)
            assert status == 400
            assert answer["error"]["code"] in (
                (UNSUPPORTED,) if wrong.get(header) and "version" in header else (HEADER_MISMATCH,)
            )


def test_a_header_may_be_encoded(server: HttpServer) -> None:
    message, headers = modern("tools/call", name="meerkat_list", arguments={})
    name = base64.b64encode(b"meerkat_list").decode()
    assert post(server, message, **{**headers, "mcp_name": f"=?base64?{name}?="})[0] == 200
    for broken in ("=?base64?!!!?=", "=?base64??=", f"=?base64?{name[:-1]}?="):
        assert post(server, message, **{**headers, "mcp_name": broken})[2]["error"]["code"] == HEADER_MISMATCH


def test_errors_of_the_later_era_have_a_status(server: HttpServer) -> None:
    for method, params, expected in (
        ("resources/list", {}, (404, -32601)),
        ("initialize", {}, (404, -32601)),
        ("tools/call", {"name": "nonsense"}, (400, -32602)),
        ("prompts/get", {"name": "nonsense"}, (400, -32602)),
    ):
        message, headers = modern(method, **params)
        status, _, answer = post(server, message, **headers)
        assert (status, answer["error"]["code"]) == expected


def test_the_later_era_has_no_sessions(server: HttpServer) -> None:
    message, headers = modern("tools/list")
    assert post(server, message, **headers, mcp_session_id="nonsense")[0] == 200


# ---- calls that are not wanted any more


class Call:
    """Start a turn over a connection that can be closed."""

    def __init__(self, server: HttpServer, agent: Agent, message: Message, **headers: str) -> None:
        self._connection = http.client.HTTPConnection(server.host, timeout=60)
        named = {"accept": BOTH, **server.bearer, **{name.replace("_", "-"): of for name, of in headers.items()}}
        self._connection.request("POST", "/mcp", json.dumps(message), named)
        until(agent.begun.exists)
        self.pid = int(agent.begun.read_text())

    def hang_up(self) -> None:
        assert self._connection.sock
        self._connection.sock.close()
        self._connection.close()

    def response(self) -> tuple[int, bytes]:
        response = self._connection.getresponse()
        content = response.read()
        self._connection.close()
        return response.status, content


def turn(server: HttpServer, agent: Agent) -> Message:
    """The arguments of a turn that runs until it is cancelled."""
    live = server.ask("POST", "/sessions", {"initial_turn": "deferred"})[1]["session_id"]
    return {"session_id": live, "prompt": "wait", "command": agent.command}


def roles(server: HttpServer, arguments: Message) -> list[str]:
    _, answer = server.ask("GET", f"/sessions/{arguments['session_id']}/history")
    return [message["role"] for message in answer["messages"]]


def is_running(server: HttpServer, arguments: Message) -> bool:
    return bool(server.ask("GET", f"/sessions/{arguments['session_id']}")[1]["is_active"])


def assert_not_cancelled(server: HttpServer, agent: Agent, arguments: Message) -> None:
    """Check that a turn runs to its end, although a turn that is cancelled later is interrupted."""
    cancel_another_call(server, Agent(agent.begun.parent / "control"))
    assert is_running(server, arguments)
    agent.go.touch()
    until(lambda: not is_running(server, arguments))
    assert roles(server, arguments) == ["user", "assistant"]


def cancel_another_call(server: HttpServer, agent: Agent) -> None:
    """Cancel a call of the later era and wait for its end. Everything that was cancelled earlier has then ended too."""
    arguments = turn(server, agent)
    message, headers = modern("tools/call", name="meerkat_start_turn", arguments=arguments)
    call = Call(server, agent, message, **headers)
    call.hang_up()
    is_interrupted(server, arguments, call.pid)


def is_interrupted(server: HttpServer, arguments: Message, pid: int) -> None:
    until(lambda: not is_running(server, arguments))
    first, *_, last = roles(server, arguments)  # the output until then is in between
    assert (first, last) == ("user", "system_notice")
    until(lambda: not is_alive(pid))


@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}], ids=["answered at once", "with progress"])
@pytest.mark.parametrize("identity", [7, "seven"])
def test_a_call_can_be_cancelled_in_its_session(
    server: HttpServer, agent: Agent, meta: Message, identity: int | str
) -> None:
    session, arguments = opened(server), turn(server, agent)
    message = request("tools/call", identity, name="meerkat_start_turn", arguments=arguments, _meta=meta)
    call = Call(server, agent, message, mcp_session_id=session)
    assert post(server, notification("notifications/cancelled", requestId=identity), mcp_session_id=session)[0] == 202
    is_interrupted(server, arguments, call.pid)
    status, content = call.response()
    assert status == (200 if meta else 202)
    assert b'"result"' not in content  # a cancelled call gets no answer
    assert b'"error"' not in content


def test_a_call_cannot_be_cancelled_from_another_session(server: HttpServer, agent: Agent) -> None:
    session, other, arguments = opened(server), opened(server), turn(server, agent)
    message = request("tools/call", 7, name="meerkat_start_turn", arguments=arguments)
    call = Call(server, agent, message, mcp_session_id=session)
    for headers in ({"mcp_session_id": other}, {}):
        assert post(server, notification("notifications/cancelled", requestId=7), **headers)[0] == 202
    assert server.ask("DELETE", "/mcp", mcp_session_id=other)[0] == 204
    assert_not_cancelled(server, agent, arguments)
    assert json.loads(call.response()[1])["result"]["structuredContent"]["stop_reason"] == "end_turn"


def test_ending_a_session_cancels_its_calls(server: HttpServer, agent: Agent) -> None:
    session, arguments = opened(server), turn(server, agent)
    message = request("tools/call", 7, name="meerkat_start_turn", arguments=arguments)
    call = Call(server, agent, message, mcp_session_id=session)
    assert server.ask("DELETE", "/mcp", mcp_session_id=session)[0] == 204
    is_interrupted(server, arguments, call.pid)
    assert call.response() == (202, b"")


@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}], ids=["answered at once", "with progress"])
def test_disconnecting_cancels_a_call_of_the_later_era(server: HttpServer, agent: Agent, meta: Message) -> None:
    arguments = turn(server, agent)
    message, headers = modern("tools/call", name="meerkat_start_turn", arguments=arguments, _meta=meta)
    call = Call(server, agent, message, **headers)
    call.hang_up()
    is_interrupted(server, arguments, call.pid)


@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}], ids=["answered at once", "with progress"])
@pytest.mark.parametrize("has_session", [True, False], ids=["a session", "no session"])
def test_disconnecting_cancels_no_call_of_the_earlier_eras(
    server: HttpServer, agent: Agent, meta: Message, has_session: bool
) -> None:
    arguments = turn(server, agent)
    message = request("tools/call", name="meerkat_start_turn", arguments=arguments, _meta=meta)
    call = Call(server, agent, message, **({"mcp_session_id": opened(server)} if has_session else {}))
    call.hang_up()
    assert_not_cancelled(server, agent, arguments)
