"""`recollect serve` on a free port, and plain requests to it."""

import http.client
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.conftest import Person
from tests.rpc_server import RpcSocket, token_of

Answer = tuple[int, Any]


class HttpServer:
    def __init__(self, person: Person, *options: str, **environment: str) -> None:
        command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--no-sync", "--json", *options]
        self._stderr = tempfile.NamedTemporaryFile("r")  # noqa: SIM115 - open for as long as the server is
        with Path(self._stderr.name).open("a") as stderr:
            env = {**person.env, **environment}
            self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.stderr_text()
        self.announcement = json.loads(line)
        self.url = self.announcement["url"]
        self.host = urlsplit(self.url).netloc
        self.rpc_port = int(self.announcement["rpc"].rpartition(":")[2]) if self.announcement["rpc"] else None
        self.token = token_of(person, options, environment)
        self.bearer = {"authorization": f"Bearer {self.token}"} if self.token is not None else {}

    def __enter__(self) -> "HttpServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.wait_for_exit()

    def wait_for_exit(self) -> None:
        """Wait until the server has exited with code 0 and without a traceback."""
        code, stderr = self.process.wait(timeout=30), self.stderr_text()
        assert self.process.stdout
        self.process.stdout.close()
        self._stderr.close()
        assert code == 0, stderr
        assert "Traceback" not in stderr, stderr

    def stderr_text(self) -> str:
        """The text that the server has written to standard error."""
        self._stderr.seek(0)
        return self._stderr.read()

    def raw(self, request: bytes) -> bytes:
        """Send any bytes, valid HTTP or not, and return everything up to the end of the connection."""
        address = urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port), 30) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def rpc(self) -> RpcSocket:
        """A connection to the JSON-RPC port."""
        assert self.rpc_port is not None
        return RpcSocket(self.rpc_port, self.token)

    @contextmanager
    def response(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """An open response. A body that is not bytes is sent as JSON; the token is sent unless a test removes it."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, content, {**self.bearer, **(headers or {})})
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request and return the status and the JSON of the response."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with self.response(method, path, body, named) as response:
            content = response.read()
        return response.status, json.loads(content) if content else None

    @contextmanager
    def events(self, path: str, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
        """A stream of Server-Sent Events whose response has begun."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with self.response("GET", path, headers=named) as response:
            assert response.status == 200, response.read()
            yield events_of(response)


def events_of(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """The data of every event, with its name if it has one."""
    name = ""
    for raw in response:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = json.loads(line.removeprefix("data: "))
            yield {"named": name, **data} if name else data
        elif not line:
            name = ""
