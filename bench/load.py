"""Sends requests of many concurrent clients to an HTTP server, and times them at the client.

Each client has one connection for all its requests. Runs in its own process, so that it does not slow down the server's:

    python bench/load.py HOST:PORT CLIENTS < requests

A request is a line of JSON: [method, path, body, headers]. Of three clients, the first sends the first line, the fourth, …
Prints one line of JSON: the milliseconds of every request, the seconds of all together, and the number of refused ones.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from report import MeasureError

Request = tuple[str, str, Any, dict[str, str]]


class Load(msgspec.Struct):
    """The times of many requests."""

    ms: list[float]
    seconds: float
    refused: int

    def per_second(self) -> float:
        return len(self.ms) / self.seconds


def send_all(address: str, clients: int, requests: Iterable[Request]) -> Load:
    """Send all requests from another process."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    command = [sys.executable, str(Path(__file__)), address, str(clients)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasureError(f"the clients failed: {done.stderr.strip()[-300:]}")
    load = msgspec.json.decode(done.stdout, type=Load)
    if load.refused:
        raise MeasureError(f"{load.refused} of {len(load.ms)} requests were refused.")
    return load


def encoded(address: str, request: Request) -> bytes:
    method, path, body, headers = request
    content = b"" if body is None else json.dumps(body).encode()
    fields = {"host": address, "content-length": str(len(content)), "content-type": "application/json", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content


async def read_response(reader: asyncio.StreamReader) -> int:
    """Read one response. Returns its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"transfer-encoding: chunked" in head:
        while size := int((await reader.readline()).partition(b";")[0], 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    else:
        await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
    return int(head.split(b" ", 2)[1])


async def client(address: str, requests: list[bytes], load: Load) -> None:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 24)
    for request in requests:
        began = time.perf_counter()
        writer.write(request)
        status = await read_response(reader)
        load.ms.append((time.perf_counter() - began) * 1000)
        load.refused += status != 200
    writer.close()


async def main() -> None:
    address, clients = sys.argv[1], int(sys.argv[2])
    requests = [encoded(address, json.loads(line)) for line in sys.stdin]
    load = Load([], 0.0, 0)
    began = time.perf_counter()
    await asyncio.gather(*(client(address, requests[first::clients], load) for first in range(clients)))
    load.seconds = time.perf_counter() - began
    sys.stdout.write(msgspec.json.encode(load).decode())


if __name__ == "__main__":
    asyncio.run(main())
