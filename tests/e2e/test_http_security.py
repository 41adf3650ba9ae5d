"""Which callers a server answers, and which requests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from recollect.surfaces.http.openapi import document
from tests.conftest import Person
from tests.http_server import HttpServer

TOKEN = "a-token-that-nobody-would-guess"
BEARER = {"authorization": f"Bearer {TOKEN}"}
ELSEWHERE = "recollect.example:7377"  # a name that other machines have for this one
NOBODY = "00000000-0000-4000-8000-000000000000"
OPEN = ("/health", "/login", "/login.css")
PATHS = json.loads(document())["paths"]
WANTED = [
    *((method.upper(), path) for path, methods in PATHS.items() if path not in OPEN for method in methods),
    *(
        ("GET", page)
        for page in ("/", "/docs", "/docs.css", "/docs.js", "/docs.svg", "/openapi.json", "/nothing", "/v1/health")
    ),
    ("POST", "/mcp"),
]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
SECRET = "never to be read by anybody"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("local"))) as server:
        yield server


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that other machines can reach."""
    with HttpServer(Person(tmp_path_factory.mktemp("public")), "--host", "0.0.0.0", RECOLLECT_TOKEN=TOKEN) as server:
        server.host = f"127.0.0.1:{urlsplit(server.url).port}"
        server.url = f"http://{server.host}"
        server.bearer = {}
        yield server


def status_of(server: HttpServer, method: str, path: str, headers: dict[str, str], body: Any = None) -> tuple[int, bytes]:
    with server.response(method, path, body, headers) as response:
        return response.status, response.read()


def code_of(content: bytes) -> str:
    return str(json.loads(content)["code"])


# ---- where it listens


def test_a_server_listens_on_loopback_by_default(server: HttpServer) -> None:
    assert server.host.startswith("127.0.0.1:")
    listening = Path(f"/proc/{server.process.pid}/net/tcp").read_text()
    ports = {urlsplit(server.url).port, server.rpc_port}
    local = {line.split()[1] for line in listening.splitlines()[1:] if line.split()[3] == "0A"}
    assert {f"0100007F:{port:04X}" for port in ports} <= local
    assert not {f"00000000:{port:04X}" for port in ports} & local


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "recollect.example"])
def test_no_token_is_refused_for_addresses_of_other_machines(person: Person, host: str) -> None:
    done = person.run("serve", "--host", host, "--port", "0", "--no-sync", "--no-token", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    warning, refusal = done.stderr.strip().splitlines()
    assert warning.startswith("Warning: without a token")
    assert host in refusal and "--no-token" in refusal


@pytest.mark.parametrize("token", ["short", "with a\ttab and long enough", "lang genug, aber für niemanden"])
def test_an_invalid_token_is_refused(person: Person, token: str) -> None:
    person.env["RECOLLECT_TOKEN"] = token
    done = person.run("serve", "--port", "0", "--no-sync", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "RECOLLECT_TOKEN" in done.stderr
    assert token not in done.stderr


def test_a_second_server_on_the_port_gets_an_error(server: HttpServer, person: Person) -> None:
    port = str(urlsplit(server.url).port)
    done = person.run("serve", "--port", port, "--no-sync", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"port {port}" in done.stderr
    assert server.ask("GET", "/health")[0] == 200


# ---- the token


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN} {TOKEN}"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": "Bearer \xff\xfe"},
        {"cookie": f"token={TOKEN}"},
        {"x-api-key": TOKEN},
    ],
)
def test_without_the_token_no_request_is_answered(public: HttpServer, given: dict[str, str]) -> None:
    for method, path in WANTED:
        with public.response(method, path, {}, given) as response:
            assert (response.status, code_of(response.read())) == (401, "UNAUTHORIZED")
            assert response.headers["www-authenticate"] == "Bearer"


def test_the_token_in_a_query_is_not_accepted(public: HttpServer) -> None:
    assert status_of(public, "GET", f"/sessions?token={TOKEN}&authorization=Bearer%20{TOKEN}", {})[0] == 401


def test_with_the_token_every_request_is_answered(public: HttpServer) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert status_of(public, "GET", "/sessions", {"authorization": f"{scheme} {TOKEN}"})[0] == 200


def test_every_server_requires_the_token_from_this_machine_too(server: HttpServer) -> None:
    assert status_of(server, "GET", "/sessions", {"authorization": ""})[0] == 401
    assert status_of(server, "GET", "/sessions", server.bearer)[0] == 200


def test_routes_without_token_reveal_no_private_data(public: HttpServer, tmp_path: Path) -> None:
    run = {"prompt": SECRET, "command": ["cat"]}
    _, content = status_of(public, "POST", "/sessions", {**BEARER, "content-type": "application/json"}, run)
    session = json.loads(content)["session_id"]
    for path in OPEN:
        status, content = status_of(public, "GET", path, {})
        assert status == 200
        for private in (TOKEN, SECRET, session, str(Path.home()), str(tmp_path.parent)):
            assert private.encode() not in content


# ---- pages of others


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "localhost.", "evil.localhost", "127.0.0.1@evil.example",
     "[::1].evil.example", "[::1]evil", "[::2]", "[::ffff:192.0.2.1]", "0.0.0.0", "192.0.2.1", "2130706433", "", "[", ":80"],
)  # fmt: skip
def test_a_foreign_host_name_is_refused(server: HttpServer, host: str) -> None:
    for path in ("/sessions", "/docs", "/health", "/mcp"):
        status, content = status_of(server, "GET", path, {"host": host})
        assert (status, code_of(content)) == (403, "FORBIDDEN_HOST")


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:80", "127.0.0.1", "127.0.0.2:1", "[::1]", "[::1]:7377", "localhost:"]
)
def test_every_name_of_loopback_is_accepted(server: HttpServer, host: str) -> None:
    assert status_of(server, "GET", "/sessions", {"host": host})[0] == 200


def test_a_request_with_two_hosts_is_refused(server: HttpServer) -> None:
    host = f"Host: {server.host}\r\n"
    for version, hosts, expected in (("1.1", "", 400), ("1.0", "", 403), ("1.1", host * 2, 400), ("1.0", host, 200)):
        lines = f"Connection: close\r\nAuthorization: Bearer {server.token}\r\n{hosts}"
        answer = server.raw(f"GET /sessions HTTP/{version}\r\n{lines}\r\n".encode())
        assert answer.startswith(f"HTTP/1.1 {expected} ".encode()), answer


def origins(server: HttpServer) -> list[tuple[str, int]]:
    port = urlsplit(server.url).port or 0
    others = ["http://evil.example", "https://evil.example", "null", "file://", f"http://127.0.0.1:{port + 1}", "http://127.0.0.1",
              f"http://localhost:{port}", f"http://{server.host}.evil.example", f"http://evil.example@{server.host}",
              f"http://{server.host}/", f"ftp://{server.host}", "http://[", server.host, "*"]  # fmt: skip
    return [(f"http://{server.host}", 200), (f"HTTP://{server.host}", 200), *((origin, 403) for origin in others)]


def test_only_pages_of_the_server_may_send_requests(server: HttpServer) -> None:
    for origin, expected in origins(server):
        for method, path in (("GET", "/sessions"), ("GET", "/docs"), ("POST", "/v1/tools/meerkat_list")):
            status, content = status_of(server, method, path, {"origin": origin}, {} if method == "POST" else None)
            assert status == expected, (origin, content)
            assert expected == 200 or code_of(content) == "FORBIDDEN_ORIGIN"


def test_a_request_with_two_origins_is_refused(server: HttpServer) -> None:
    lines = f"Host: {server.host}\r\nOrigin: http://{server.host}\r\nOrigin: http://evil.example\r\nConnection: close\r\n"
    assert server.raw(f"GET /sessions HTTP/1.1\r\n{lines}\r\n".encode()).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_every_request_of_another_sites_page_is_refused(server: HttpServer, site: str) -> None:
    for mode in ("cors", "no-cors", "websocket", "navigate"):
        for method in METHODS:
            if method == "GET" and mode == "navigate":
                continue
            status, _ = status_of(server, method, "/sessions", {"sec-fetch-site": site, "sec-fetch-mode": mode})
            assert status == 403, (method, mode)


def test_a_person_may_follow_a_link_to_a_page(server: HttpServer) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    with server.response("GET", "/docs", headers=followed) as response:
        assert response.status == 200
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_requests_of_a_person_or_a_page_of_the_server_are_answered(server: HttpServer, site: str) -> None:
    assert status_of(server, "GET", "/sessions", {"sec-fetch-site": site, "sec-fetch-mode": "cors"})[0] == 200


def test_no_response_can_be_read_by_another_site(server: HttpServer) -> None:
    """Neither through CORS nor as a script, a style or a frame."""
    for path in ("/health", "/sessions", "/nothing", "/docs", f"/sessions/{NOBODY}"):
        with server.response("GET", path) as response:
            assert not [name for name in response.headers if name.lower().startswith("access-control-")]
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["cross-origin-resource-policy"] == "same-origin"


# ---- programs are run for this machine only


def post_json_of(server: HttpServer, method: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    status, content = status_of(server, method, path, {**BEARER, **named}, body)
    return status, json.loads(content)


FOREIGN_HEADERS = [{"host": ELSEWHERE}, {"host": "192.0.2.1"}, {"x_forwarded_for": "127.0.0.1"}, {"forwarded": "for=192.0.2.60"},
             {"via": "1.1 proxy"}, {"x_real_ip": "127.0.0.1"}]  # fmt: skip


@pytest.mark.parametrize("stranger", FOREIGN_HEADERS, ids=lambda given: next(iter(given.items())))
def test_callers_on_other_machines_cannot_name_a_program(
    public: HttpServer, tmp_path: Path, stranger: dict[str, str]
) -> None:
    left = tmp_path / "left"
    command = ["touch", str(left)]
    session = post_json_of(public, "POST", "/sessions", {"initial_turn": "deferred"})[1]["session_id"]
    turn = {"prompt": "x", "command": command}
    call = {"name": "meerkat_create_session", "arguments": turn}
    for path, body in (
        ("/sessions", turn),
        ("/sessions", {**turn, "runner": "acp"}),
        (f"/sessions/{session}/messages", turn),
        ("/v1/sessions", turn),
        ("/v1/tools/meerkat_create_session", turn),
        ("/v1/tools/meerkat_start_turn", {**turn, "session_id": session}),
    ):
        status, answer = post_json_of(public, "POST", path, body, **stranger)
        assert status == 400
        assert answer.get("structuredContent", answer)["code"] == "INVALID_PARAMS"
    _, answer = post_json_of(
        public, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, **stranger
    )
    assert answer["result"]["structuredContent"]["code"] == "INVALID_PARAMS"
    assert not left.exists()


@pytest.mark.parametrize("stranger", FOREIGN_HEADERS, ids=lambda given: next(iter(given.items())))
def test_callers_on_other_machines_cannot_configure_a_program(public: HttpServer, stranger: dict[str, str]) -> None:
    evil = {"runners": {"evil": {"command": ["touch", "left"]}}}
    assert post_json_of(public, "PUT", "/config", {"config": {"runners": {"good": {"command": ["cat"]}}}})[0] == 200
    before = post_json_of(public, "GET", "/config", None)[1]
    for method, body in (
        ("PUT", {"config": evil}),
        ("PUT", {"config": {}}),
        ("PATCH", {"patch": evil}),
        ("PATCH", {"patch": {"runners": None}}),
        ("PATCH", {"patch": {"runners": {"good": {"command": ["sh"]}}}}),
    ):
        status, answer = post_json_of(public, method, "/config", body, **stranger)
        assert (status, answer["code"]) == (400, "INVALID_PARAMS")
        tool = {"action": "set" if method == "PUT" else "patch", **body}
        assert post_json_of(public, "POST", "/v1/tools/meerkat_config", tool, **stranger)[0] == 400
        call = {"name": "meerkat_config", "arguments": tool}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        assert post_json_of(public, "POST", "/mcp", message, **stranger)[1]["result"]["isError"]
    assert post_json_of(public, "GET", "/config", None)[1] == before
    assert post_json_of(public, "PATCH", "/config", {"patch": {"note": "theirs"}}, **stranger)[0] == 200


def test_callers_on_this_machine_can_name_a_program(public: HttpServer) -> None:
    status, answer = post_json_of(public, "POST", "/sessions", {"prompt": "hello", "command": ["cat"]})
    assert (status, answer["text"]) == (200, "hello")
