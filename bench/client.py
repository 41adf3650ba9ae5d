"""A small MCP client over stdio that measures the time of each call.

    python bench/client.py TOOL '{"query": "…"}' -- SERVER COMMAND

Its errors: `ServerEnded` (the server ended or stopped answering), `RpcError` (it returned a JSON-RPC error) and
`InvalidMessage` (it wrote invalid JSON-RPC).
"""

import argparse
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Self

import msgspec
from report import MeasureError

PROTOCOL = "2025-06-18"
TIMEOUT_S = 120.0  # without output: a peer may need minutes; a server that never answers is an error
CHUNK = 1 << 20


class Reply(msgspec.Struct):
    """A response. Notifications and log messages have no id."""

    id: int | str | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


REPLY = msgspec.json.Decoder(Reply)


class ServerEnded(MeasureError):
    def __init__(self, command: Sequence[str], output: str) -> None:
        super().__init__(f"No answer from {' '.join(command)}: {output or 'it printed nothing'}")


class RpcError(MeasureError):
    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{method}: {error.get('message', error)}")


class InvalidMessage(MeasureError):
    def __init__(self, line: bytes) -> None:
        super().__init__(f"The server wrote an invalid JSON-RPC message: {line[:80]!r}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool, and the milliseconds until it arrived."""

    ms: float
    content: dict[str, Any]
    failed: bool
    text: str = ""


class Client:
    """One server, started for this client and stopped with it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.command = command
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the client)
        self.server = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0
        )
        self.unread = b""
        self.requests = 0

    def __enter__(self) -> Self:
        me = {"name": "recollect-bench", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": me})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self.server.stdin and self.server.stdout
        self.server.stdin.close()
        try:
            self.server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.server.stdout.close()
        self.errors.close()

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.request("tools/list", {})["tools"]]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        began = time.perf_counter()
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        ms = (time.perf_counter() - began) * 1000
        content = result.get("structuredContent") or {}
        text = "".join(block.get("text", "") for block in result.get("content", ()))
        return Answer(ms, content, failed=bool(result.get("isError")) or "error" in content, text=text)

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.requests += 1
        self.send({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params})
        while (reply := self.reply()).id != self.requests:
            pass
        if reply.error is not None:
            raise RpcError(method, reply.error)
        return reply.result or {}

    def reply(self) -> Reply:
        line = self.line()
        try:
            return REPLY.decode(line)
        except msgspec.DecodeError:
            raise InvalidMessage(line) from None

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.server.stdin
        try:
            self.server.stdin.write(msgspec.json.encode(message) + b"\n")
        except BrokenPipeError:
            raise self.ended() from None

    def line(self) -> bytes:
        assert self.server.stdout
        output = self.server.stdout.fileno()
        pieces = [self.unread]
        while b"\n" not in pieces[-1]:
            readable, _, _ = select.select([output], [], [], TIMEOUT_S)
            piece = os.read(output, CHUNK) if readable else b""
            if not piece:
                raise self.ended()
            pieces.append(piece)
        line, _, self.unread = b"".join(pieces).partition(b"\n")
        return line

    def ended(self) -> ServerEnded:
        self.server.kill()
        self.errors.seek(0)
        return ServerEnded(self.command, self.errors.read()[-2000:].decode(errors="replace").strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("arguments", type=msgspec.json.decode, help="the tool's arguments as JSON")
    parser.add_argument("command", nargs="+", help="the server's command line")
    options = parser.parse_args()
    with Client(options.command, os.environ) as client:
        answer = client.call(options.tool, options.arguments)
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(answer.content)).decode() + "\n")
    print(f"{answer.ms:.1f} ms{', failed' if answer.failed else ''}", file=sys.stderr)


if __name__ == "__main__":
    main()
