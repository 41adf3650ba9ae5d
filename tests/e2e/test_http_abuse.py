"""A server answers or refuses every input. No input breaks it, or stays in its memory or log."""

import asyncio
import http.client
import json
import re
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.types import Message

from recollect.surfaces.http.body import BodyError, read_json
from recollect.surfaces.transport.line_reader import MAX_BYTES
from tests.conftest import Person
from tests.e2e.processes import until
from tests.http_server import HttpServer

TOKEN = "a-token-that-nobody-would-guess"
NOBODY = "00000000-0000-4000-8000-000000000000"
SECRET = "never to be read by anybody"
MB = 1 << 20


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person with private files inside the state folder and beside it."""
    person = Person(tmp_path_factory.mktemp("person"))
    person.state.mkdir()
    for folder in (person.home, person.state):
        (folder / "secret.txt").write_text(SECRET)
    return person


@pytest.fixture(scope="module")
def server(person: Person) -> Iterator[HttpServer]:
    with HttpServer(person, RECOLLECT_TOKEN=TOKEN) as server:
        yield server
        assert TOKEN not in server.stderr_text()


def head(server: HttpServer, request: str, *lines: str) -> bytes:
    """The head of a request with the token."""
    return "\r\n".join(
        [f"{request} HTTP/1.1", f"Host: {server.host}", f"Authorization: Bearer {TOKEN}", *lines, "", ""]
    ).encode()


def code_of(content: bytes) -> str:
    return str(json.loads(content)["code"])


def is_well(server: HttpServer) -> bool:
    status, answer = server.ask("GET", "/sessions", authorization=f"Bearer {TOKEN}")
    return status == 200 and "sessions" in answer


# ---- bodies


def peak_mb(server: HttpServer) -> float:
    """The peak memory of the server, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def connected(server: HttpServer) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), 30)


@pytest.mark.parametrize("path", ["/sessions", "/v1/tools/open", "/mcp"])
@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in chunks"])
def test_a_body_that_is_too_large_is_refused_and_not_stored(server: HttpServer, path: str, chunked: bool) -> None:
    before = peak_mb(server)
    size, part = 100 * MB, b"x" * MB
    with connected(server) as connection:
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
        connection.sendall(head(server, f"POST {path}", length))
        for _ in range(size // MB):
            connection.sendall(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
        connection.sendall(b"0\r\n\r\n" if chunked else b"")
        response = http.client.HTTPResponse(connection)
        response.begin()
        content = json.loads(response.read())
    assert (response.status, response.headers["content-type"]) == (413, "application/json")
    assert "32 MB" in content.get("error", content)["message"]
    assert peak_mb(server) - before < 2 * MAX_BYTES / MB
    assert is_well(server)


def test_expect_100_continue_refuses_a_large_body_before_it_is_sent(server: HttpServer) -> None:
    answer = server.raw(head(server, "POST /sessions", f"Content-Length: {100 * MB}", "Expect: 100-continue"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert code_of(answer.partition(b"\r\n\r\n")[2]) == "INVALID_PARAMS"


def test_expect_100_continue_is_answered_with_100(server: HttpServer) -> None:
    body = b'{"initial_turn": "deferred"}'
    with connected(server) as connection:
        connection.sendall(head(server, "POST /sessions", f"Content-Length: {len(body)}", "Expect: 100-continue"))
        assert connection.recv(1 << 10).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200


def refusal(*headers: tuple[bytes, bytes]) -> BodyError:
    """The refusal of a body that never arrives."""

    async def nothing() -> Message:
        return await asyncio.Event().wait() and {}

    async def wait() -> None:
        await read_json(Request({"type": "http", "headers": [*headers]}, nothing), timeout_s=0.05)

    with pytest.raises(BodyError) as refused:
        asyncio.run(wait())
    return refused.value


def test_a_refusal_keeps_nothing_of_earlier_refusals() -> None:
    """A shared exception object would keep the frames of every request that raised it."""
    refusals = [refusal((b"content-length", b"999999999"), (b"expect", b"100-continue")) for _ in range(3)]
    assert {one.status for one in refusals} == {413}
    assert len(set(map(id, refusals))) == 3


def test_a_body_that_does_not_arrive_times_out() -> None:
    began = time.monotonic()
    refused = refusal()
    assert refused.status == 408
    assert "0.05 s" in str(refused)
    assert time.monotonic() - began < 2


def test_a_slow_body_that_arrives_in_time_is_read(server: HttpServer) -> None:
    body = b'{"initial_turn": "deferred"}'
    with connected(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head(server, "POST /sessions", f"Content-Length: {len(body)}"))
        for byte in body:
            connection.sendall(bytes([byte]))
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 200


def test_an_incomplete_body_causes_no_error_for_others(server: HttpServer) -> None:
    for path in ("/sessions", "/mcp", "/v1/tools/open"):
        with connected(server) as connection:
            connection.sendall(head(server, f"POST {path}", "Content-Length: 1000") + b"{")
    assert is_well(server)


NESTED = 900  # deep enough to break recursive code, but not too deep for the parser
BODIES = {
    "nothing": b"",
    "blanks": b" \r\n\t",
    "not JSON": b"{",
    "two values": b"{}{}",
    "a comment": b"{/* */}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "not UTF-8": b'{"prompt": "\xff\xfe"}',
    "UTF-16": '{"prompt": "x"}'.encode("utf-16"),
    "gzip": b"\x1f\x8b\x08\x00",
    "not a number": b'{"limit": NaN, "prompt": NaN}',
    "infinite": b'{"limit": 1e999, "prompt": -1e999}',
    "huge": b'{"limit": ' + b"9" * 10_000 + b"}",
    "half of a surrogate pair": b'{"prompt": "\\ud800", "labels": {"\\udfff": "\\ud800"}}',
    "a NUL": b'{"prompt": "a\\u0000b", "initial_turn": "deferred", "labels": {"\\u0000": "\\u0000"}}',
    "a raw NUL": b'{"prompt": "\x00"}',
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep values": b'{"config": {"a": ' + b"[" * NESTED + b"]" * NESTED + b"}}",
    "deep labels": b'{"initial_turn": "deferred", "labels": {"a": ' + b"[" * NESTED + b"]" * NESTED + b"}}",
    "deep parameters": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "open", "arguments": {"id": '
    + b"[" * NESTED
    + b"]" * NESTED
    + b"}}}",
    "keys with a meaning in Python or JavaScript": b'{"__proto__": {}, "constructor": {}, "__class__": {}}',
    "the same twice": b'{"prompt": "a", "prompt": 5}',
    "no id": b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}',
    "an answer": b'{"jsonrpc": "2.0", "id": 1, "method": 5, "result": {}}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("request_line", ["POST /sessions", "PUT /config", "POST /mcp", "POST /v1/tools/open",
                                          f"POST /journeys/{NOBODY}/documents"])  # fmt: skip
def test_no_body_breaks_the_server(server: HttpServer, request_line: str, body: bytes) -> None:
    answer = server.raw(head(server, request_line, f"Content-Length: {len(body)}", "Connection: close") + body)
    assert re.match(rb"HTTP/1\.1 [24]", answer), answer
    assert b"Traceback" not in answer


# ---- paths, queries and headers


def targets(person: Person) -> list[str]:
    state = str(person.state).replace("/", "%2F")
    return [
        "/sessions/%00", "/sessions/%ff%fe", "/sessions/%zz", "/sessions/%", "/sessions/..", "/sessions/../../etc/passwd",
        "/sessions/..%2f..%2fsecret.txt", "/sessions/%2e%2e/%2e%2e/secret.txt", f"/sessions/{state}%2Fsecret.txt",
        "/sessions/..%2fsecret.txt/history", "/sessions/%252e%252e%252fsecret.txt", "/open/..%2fsecret.txt",
        "/open/session%3A..%2fsecret.txt", f"/open/{state}%2Fsecret.txt", "/open/file%3A%2F%2F%2Fetc%2Fpasswd",
        "/realms/..", "/realms/%2e%2e", "/realms/.", "/realms/..%2f..", f"/realms/{state}", "/realms/%00", "/realms/main%00",
        "/docs/../secret.txt", "/docs.js/../secret.txt", "/docs%00.js", "/docs.html", "/pages/docs.html", "/secret.txt",
        "//etc/passwd", "/\\..\\secret.txt", "/v1/v1/sessions", "/v1/tools/..%2fopen", "/v1/tools/", "/v1", "/v1/",
        "/" + "a" * 50_000, "/sessions/" + "%41" * 15_000, "/sessions?limit=%00", "/sessions?limit=" + "9" * 5_000,
        "/sessions?labels[%00]=%00", "/sessions?labels=" + "%7B" * 10_000, "/sessions?labels[a][b]=c", "/sessions?labels[=x",
        "/sessions?" + "&".join(["offset=1"] * 5_000), "/sessions?=", "/sessions?&&&", "/sessions?%00=%00", "/sessions?__class__=x",
        "/history?start_datetime=%00&end_datetime=%ff", "/history?start_datetime=0001-01-01T00:00:00Z&end_datetime=9999-12-31T23:59:59Z",
        "/search?query=%00", "/search?query=" + "%ff" * 1_000, "/search?query=" + "(" * 4_000, "/search?query=x&event_types=[[[[",
        f"/journeys/{NOBODY}/documents/..%2f..%2fsecret.txt", f"/journeys/..%2f..%2f{NOBODY}/timeline",
    ]  # fmt: skip


def test_no_path_and_no_query_breaks_the_server_or_reads_a_file(server: HttpServer, person: Person) -> None:
    for target in targets(person):
        for method in ("GET", "DELETE"):
            answer = server.raw(head(server, f"{method} {target}", "Connection: close"))
            assert re.match(rb"HTTP/1\.1 [24]", answer), (target, answer)
            assert SECRET.encode() not in answer
            assert b"root:" not in answer
    assert is_well(server)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../secret.txt", "secret.txt", "/proc/self/environ", "file:///etc/passwd", "\0"]
)
def test_no_tool_reads_a_file_that_is_not_a_log(server: HttpServer, person: Person, path: str) -> None:
    for named in (path, str(person.state / path), str(person.home / path)):
        status, answer = server.ask("POST", "/v1/tools/read", {"path": named}, authorization=f"Bearer {TOKEN}")
        assert (status, answer["content"][0]["text"]) == (404, "File not found")


HEADERS = {
    "bytes": [b"\x00" * 1_000],
    "another protocol": [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500],
    "HTTP/2": [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    "an unknown version": [b"GET /health HTTP/9.9.9\r\nHost: localhost\r\n\r\n"],
    "no version": [b"GET /health\r\n\r\n"],
    "a long line": [b"GET /" + b"a" * MB + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    "a long header": [b"GET /health HTTP/1.1\r\nHost: localhost\r\nx: " + b"a" * MB + b"\r\n\r\n"],
    "many headers": [
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n",
        *[b"x-%d: y\r\n" % count for count in range(20_000)],
        b"\r\n",
    ],
    "a NUL in a header": [b"GET /health HTTP/1.1\r\nHost: localhost\r\nx: a\x00b\r\n\r\n"],
    "no name": [b"GET /health HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n"],
    "no colon": [b"GET /health HTTP/1.1\r\nHost: localhost\r\nx\r\n\r\n"],
    "two lengths": [b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"],
    "a negative length": [b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}"],
    "a length that is not a number": [b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x2\r\n\r\n{}"],
    "an endless length": [b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 100 + b"\r\n\r\n{}"],
    "invalid chunks": [b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"],
    "two transfer codings": [
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    ],
}


@pytest.mark.parametrize("parts", HEADERS.values(), ids=HEADERS)
def test_invalid_http_is_refused_and_its_connection_closed(server: HttpServer, parts: list[bytes]) -> None:
    before = peak_mb(server)
    with connected(server) as connection:
        try:
            connection.sendall(b"".join(parts))
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except ConnectionError:  # closed while we were still sending
            answer = b""
    assert re.match(rb"HTTP/1\.1 4|$", answer), answer
    assert peak_mb(server) - before < 16
    assert is_well(server)


def test_bytes_after_a_request_are_the_next_request(server: HttpServer) -> None:
    """A body with both a length and chunks cannot smuggle a request past a proxy."""
    smuggled = b"0\r\n\r\nGET /sessions HTTP/1.1\r\nHost: localhost\r\nX: "
    lines = (f"Content-Length: {len(smuggled)}", "Transfer-Encoding: chunked", "Connection: close")
    assert server.raw(head(server, "POST /sessions", *lines) + smuggled).count(b"HTTP/1.1 ") == 1


def test_too_many_connections_are_logged_and_do_not_end_the_server(tmp_path: Path) -> None:
    with HttpServer(Person(tmp_path), RECOLLECT_TOKEN=TOKEN) as server, ExitStack() as stack:
        assert is_well(server)
        files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (files + 20, files + 20))
        for _ in range(60):
            stack.enter_context(connected(server))
        until(server.stderr_text)
        stack.close()
        assert until(lambda: is_well(server))
        assert len(server.stderr_text().splitlines()) == 1
