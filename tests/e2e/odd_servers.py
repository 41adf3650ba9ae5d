"""Servers that break the protocol, to test clients with."""

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from recollect.client import (
    Client,
)

SERVER = {"version": "0", "realm_id": "r", "instance_id": "i", "backend": "sqlite"}
CONFIG = {"config": {}, "generation": 3, "realm_id": "r", "instance_id": "i", "backend": "sqlite"}
ODD = """
import json, os, sys, time
def hear():
    return json.loads(sys.stdin.readline())
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def write(text):
    os.write(1, text if isinstance(text, bytes) else text.encode())
def greet():
    say(id=hear()["id"], result={"version": "0", "realm_id": "r", "instance_id": "i", "backend": "sqlite"})
    return hear()["id"]
CONFIG = {"config": {}, "generation": 3, "realm_id": "r", "instance_id": "i", "backend": "sqlite"}
"""


def odd(code: str) -> list[str]:
    """A server that may send anything."""
    return [sys.executable, "-S", "-E", "-c", ODD + code]


@contextmanager
def answering(talk: Callable[[socket.socket, int], None]) -> Iterator[int]:
    """A port at which `talk` serves one connection after the other. It gets the number of the connection."""
    listening = socket.create_server(("127.0.0.1", 0))
    connected: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                one, _ = listening.accept()
                connected.append(one)
                threading.Thread(target=_talk, args=(talk, one, len(connected)), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()
        for one in connected:
            one.close()


def _talk(talk: Callable[[socket.socket, int], None], one: socket.socket, number: int) -> None:
    with suppress(OSError, ValueError):
        talk(one, number)
        one.shutdown(socket.SHUT_WR)


def body(value: Any, status: str = "200 OK", more: str = "") -> bytes:
    content = json.dumps(value).encode()
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(content)}\r\n{more}\r\n".encode() + content


HEALTH, CONFIGURED = body(SERVER), body(CONFIG)


SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


class Requests:
    """An HTTP server with given answers that records its requests. An answer is sent one piece of bytes at a time."""

    def __init__(self, *answers: list[bytes] | bytes | None) -> None:
        """The answer None closes the connection without a response. The connection is also closed after an answer that is a list."""
        self._answers = iter(answers)
        self.seen: list[str] = []
        self.connections = 0

    def talk(self, one: socket.socket, number: int) -> None:
        self.connections = number
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reading = one.makefile("rb")
        while head := reading.readline():
            while (line := reading.readline()).strip():
                head += line
            lengths = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
            reading.read(int(lengths[0].split(b":")[1]) if lengths else 0)
            self.seen.append(head.decode())
            answer = next(self._answers)
            if answer is None:
                return
            for piece in [answer] if isinstance(answer, bytes) else answer:
                one.sendall(piece)
            if isinstance(answer, list):
                return

    @contextmanager
    def client(self, **given: Any) -> Iterator[Client]:
        with answering(self.talk) as port, Client.http(f"http://127.0.0.1:{port}", **given) as client:
            yield client


def chunked(*chunks: bytes, end: bytes = b"0\r\ntrailer: x\r\n\r\n") -> bytes:
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + end
