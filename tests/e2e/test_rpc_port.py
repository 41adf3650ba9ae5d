"""The TCP port of JSON-RPC: input that is not JSON-RPC closes the connection, and nothing after it is run."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.surfaces.transport.line_reader import MAX_BYTES
from tests.conftest import Person
from tests.rpc_server import RawRpc, RpcPort, RpcSocket

HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(11, 80))  # the beginning of a TLS handshake
NOT_JSON_RPC = {
    "an HTTP request": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n",
    "in lower case": b"post / http/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    "in mixed case": b"Get / HTTP/1.1\r\n\r\n",
    "without a version": b"GET /\r\n",
    "an unknown method": b"X-METHOD: / HTTP/1.1\r\n\r\n",
    "TLS": HELLO + b"\n",
    "junk": b"hello there\n",
    "an empty line": b"\n",
    "a line of spaces": b"  \r\n",
    "NUL bytes": b"\x00\x00\x00\n",
    "half an object": b'{"jsonrpc": "2.0",\n',
    "two objects": b'{"jsonrpc": "2.0", "id": 1, "method": "ping"} {}\n',
    "not UTF-8": b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}\n',
    "a batch": b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n',
    "an empty batch": b"[]\n",
    "a number": b"42\n",
    "a string": b'"ping"\n',
    "null": b"null\n",
    "an object of another protocol": b'{"id": 1, "method": "ping"}\n',
    "JSON-RPC 1.0": b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}\n',
    "deep nesting": b'{"jsonrpc": ' + b"[" * 100_000 + b"\n",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RpcPort]:
    with RpcPort(Person(tmp_path_factory.mktemp("rpc"))) as port:
        yield port


def create(left: Path) -> bytes:
    """A request whose program would create a file."""
    params = {"prompt": "x", "runner": "command", "command": ["touch", str(left)]}
    return json.dumps({"jsonrpc": "2.0", "id": 9, "method": "session/create", "params": params}).encode() + b"\n"


def rest(talk: RpcSocket) -> list[bytes]:
    """Every line until the server closes the connection."""
    lines: list[bytes] = []
    try:
        while line := talk.socket.recv(1 << 16):
            lines += line.splitlines()
    except ConnectionResetError:  # unread input was discarded
        pass
    return lines


def nothing_was_run(port: RpcPort, left: Path) -> bool:
    with port.connect() as talk:
        return talk.result("session/list")["sessions"] == [] and not left.exists()


@pytest.mark.parametrize("sent", NOT_JSON_RPC.values(), ids=NOT_JSON_RPC.keys())
def test_a_first_line_that_is_not_json_rpc_closes_the_connection(port: RpcPort, tmp_path: Path, sent: bytes) -> None:
    left = tmp_path / "left"
    with port.connect(is_admitted=False) as talk:
        talk.socket.sendall(sent + create(left) * 3)
        assert rest(talk) == []
    assert nothing_was_run(port, left)


@pytest.mark.parametrize("sent", NOT_JSON_RPC.values(), ids=NOT_JSON_RPC.keys())
def test_any_later_line_that_is_not_json_rpc_closes_the_connection(port: RpcPort, tmp_path: Path, sent: bytes) -> None:
    left = tmp_path / "left"
    with port.connect() as talk:
        assert talk.result("ping") == {}
        talk.socket.sendall(sent + create(left))
        assert rest(talk) == []
    assert nothing_was_run(port, left)


@pytest.mark.parametrize("sent", [HELLO.replace(b"\n", b""), b"get", b"[", b" x"])
def test_a_line_without_an_end_times_out(port: RpcPort, sent: bytes) -> None:
    with port.connect(is_admitted=False) as talk:
        talk.socket.sendall(sent)
        assert rest(talk) == []


def test_a_line_that_is_too_long_closes_the_connection_before_its_end(port: RpcPort, tmp_path: Path) -> None:
    left, block = tmp_path / "left", b" " * (1 << 20)
    with port.connect() as talk:
        try:
            talk.socket.sendall(b'{"jsonrpc": "2.0", "method": "')
            for _ in range((MAX_BYTES >> 20) + 8):
                talk.socket.sendall(block)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert rest(talk) == []
    assert nothing_was_run(port, left)


def test_invalid_requests_are_answered_and_the_connection_stays_open(port: RpcPort) -> None:
    with port.connect() as talk:
        for line in (b'{"jsonrpc": "2.0", "id": 1}', b'{"jsonrpc": "2.0", "id": null, "method": "ping"}'):
            talk.say(line)
            assert talk.hear()["error"]["code"] == -32600
        assert talk.error("nothing")["code"] == -32601
        assert talk.result("ping") == {}


def test_a_pipe_answers_a_broken_line_and_stays_open(person: Person) -> None:
    with RawRpc(person) as rpc:
        for sent in (b"get / http/1.1", b"\x16\x03\x01", b"[1"):
            rpc.say(sent)
            answer = rpc.hear()
            assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert rpc.result("ping") == {}


def test_the_port_is_for_this_machine_only(person: Person) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "recollect.example"):
        done = person.run("rpc", "--port", "0", "--host", host, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.strip().splitlines()) == 1


def test_a_silent_caller_does_not_block_others(port: RpcPort) -> None:
    silent = [socket.create_connection(("127.0.0.1", port.port), 30) for _ in range(20)]
    try:
        with port.connect() as talk:
            assert talk.result("ping") == {}
    finally:
        for connected in silent:
            connected.close()
