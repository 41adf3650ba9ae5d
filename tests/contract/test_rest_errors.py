"""An invalid request gets an error in the form of its family; numbers of any size are handled."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Person
from tests.http_server import HttpServer

pytestmark = pytest.mark.process

JOURNEY = f"/journeys/{UUID(int=7)}"
TORN = b'{"title": '


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("served"))) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: HttpServer) -> str:
    made: str = server.ask("POST", "/sessions", {"prompt": "hello", "command": ["cat"]})[1]["session_id"]
    return made


def code_of(answer: Any) -> Any:
    return answer["error"]["code"] if "error" in answer else answer["code"]


@pytest.mark.parametrize(
    ("request_line", "body", "code"),
    [
        ("GET /search?query=a&query=b", None, "invalid_request"),
        ("GET /history?limit[x]=1", None, "invalid_request"),
        (f"GET {JOURNEY}/timeline?limit=1&limit=2", None, 400),
        (f"POST {JOURNEY}/documents", TORN, 400),
        (f"POST {JOURNEY}/documents", b"[]", 400),
        ("POST /sessions", TORN, "INVALID_PARAMS"),
        ("PUT /config?action=get", b"{}", "INVALID_PARAMS"),
        ("GET /sessions?limit=1&limit=2", None, "INVALID_PARAMS"),
    ],
)
def test_an_unreadable_request_is_refused_in_the_envelope_of_its_family(
    server: HttpServer, request_line: str, body: bytes | None, code: Any
) -> None:
    method, path = request_line.split()
    status, answer = server.ask(method, path, body)
    assert (status, code_of(answer)) == (400, code), answer


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        ("search_sessions", "invalid_request"),
        ("search_event_previews", "invalid_parameter"),
        ("meerkat_read", "INVALID_PARAMS"),
    ],
)
def test_a_truncated_tool_call_is_refused_in_the_envelope_of_its_family(server: HttpServer, tool: str, code: str) -> None:
    status, answer = server.ask("POST", f"/v1/tools/{tool}", TORN)
    assert (status, code_of(answer["structuredContent"])) == (400, code), answer


def test_a_truncated_call_of_a_plain_text_tool_is_refused_in_plain_text(server: HttpServer) -> None:
    status, answer = server.ask("POST", "/v1/tools/search", TORN)
    assert (status, answer["isError"], answer["content"][0]["text"]) == (400, True, "the body is not JSON in UTF-8")


def test_a_locator_without_its_realm_is_refused(server: HttpServer, session: str) -> None:
    assert server.ask("GET", f"/sessions/:{session}")[1]["code"] == "INVALID_PARAMS"
    assert server.ask("GET", f"/sessions/main:{session}")[0] == 200
    with server.rpc() as rpc:
        assert rpc.error("session/read", session_id=f":{session}")["data"]["code"] == "INVALID_PARAMS"


@pytest.mark.parametrize("offset", [2**53, 2**62, 2**63, 10**30])
def test_an_offset_past_the_end_gives_an_empty_page(server: HttpServer, session: str, offset: int) -> None:
    status, page = server.ask("GET", f"/sessions/{session}/history?offset={offset}")
    assert (status, page["messages"], page["has_more"]) == (200, [], False)
    with server.rpc() as rpc:
        assert rpc.result("session/list", offset=offset)["sessions"] == []
