"""`recollect rpc` and its pipes, or a connection to its port, for messages that a valid client would not send."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from tests.conftest import Person

Message = dict[str, Any]


def token_of(person: Person, options: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The token of a server that has just started, from the environment or its file."""
    if "--no-token" in options:
        return None
    return environment.get("RECOLLECT_TOKEN") or (person.state / "token").read_text().strip()


class RpcConnection:
    """One connection, over any transport. `earlier_messages` has the messages that came before the awaited answers."""

    def __init__(self, reading: IO[bytes], write: Callable[[bytes], Any]) -> None:
        self._reading = reading
        self._write = write
        self._last = 0
        self.earlier_messages: list[Message] = []

    def say(self, line: str | bytes) -> None:
        self._write((line.encode() if isinstance(line, str) else line) + b"\n")

    def hear(self) -> Any:
        """Read the next message; None at the end."""
        line = self._reading.readline()
        return json.loads(line) if line else None

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._last += 1
        message = {"jsonrpc": "2.0", "id": self._last, "method": method}
        self.say(json.dumps(message if params is None else {**message, "params": params}))
        return self._last

    def answer(self, identity: int) -> Message:
        while True:
            message: Message = self.hear()
            if message["id" if "id" in message else "jsonrpc"] == identity:
                return message
            self.earlier_messages.append(message)

    def request(self, method: str, /, **params: Any) -> Message:
        """Send a request and return its response, result or error."""
        return self.answer(self.ask(method, params))

    def result(self, method: str, /, **params: Any) -> Any:
        answer = self.request(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, /, **params: Any) -> Any:
        answer = self.request(method, **params)
        assert "error" in answer, answer
        return answer["error"]

    def event(self) -> Message:
        """Read the next event of a turn."""
        message = self.hear()
        assert message["method"] == "session/event", message
        event: Message = message["params"]
        return event

    def events(self) -> list[Message]:
        """The events that came before the awaited answers."""
        return [message["params"] for message in self.earlier_messages if message.get("method") == "session/event"]


class RawRpc(RpcConnection):
    """A server on its standard input and output."""

    def __init__(self, person: Person, *options: str) -> None:
        command = [sys.executable, "-m", "recollect", "rpc", *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=person.env, stdin=pipe, stdout=pipe)
        assert self.process.stdin and self.process.stdout
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        super().__init__(self._stdout, self._write_line)

    def _write_line(self, line: bytes) -> None:
        self._stdin.write(line)
        self._stdin.flush()

    def __enter__(self) -> "RawRpc":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.end() == 0

    def end(self) -> int:
        """Close both pipes, as a client that disconnects, and return the exit code."""
        self._stdin.close()
        self._stdout.close()
        return self.process.wait(timeout=30)


class RpcPort:
    """A server on a free port, and connections to it."""

    def __init__(self, person: Person, *options: str, **environment: str) -> None:
        command = [sys.executable, "-m", "recollect", "rpc", "--port", "0", *options]
        env = {**person.env, **environment}
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.token = token_of(person, options, environment)

    def __enter__(self) -> "RpcPort":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        assert self.process.wait(timeout=30) == 0
        assert self.process.stdout
        self.process.stdout.close()

    def connect(self, *, is_admitted: bool = True) -> "RpcSocket":
        return RpcSocket(self.port, self.token if is_admitted else None)


class RpcSocket(RpcConnection):
    """A connection to a port. With a token, it has been authenticated."""

    def __init__(self, port: int, token: str | None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self._file = self.socket.makefile("rb")
        super().__init__(self._file, self.socket.sendall)
        if token is not None:
            self.result("initialize", token=token)

    def __enter__(self) -> "RpcSocket":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()
