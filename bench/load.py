"""Many clients of an HTTP server at once, each with a connection of its own that it keeps; the clock is the client's.

Runs in a process of its own, so that it takes no time from what it measures:

    python bench/load.py HOST:PORT CLIENTS < requests

A request is a line of JSON: [method, path, body, headers]; with three clients, the first asks the first, the fourth …
One line of JSON comes out: the milliseconds of every request, the seconds of all, and how many were refused.
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
    """What came of many requests."""

    ms: list[float]
    seconds: float
    refused: int

    def per_second(self) -> float:
        return len(self.ms) / self.seconds


def send_all(address: str, clients: int, requests: Iterable[Request]) -> Load:
    """Ask all of it, from another process."""
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
    named = {"host": address, "content-length": str(len(content)), "content-type": "application/json", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content


async def answer(reader: asyncio.StreamReader) -> int:
    """Read one answer; its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


async def client(address: str, requests: list[bytes], load: Load) -> None:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 24)
    for request in requests:
        began = time.perf_counter()
        writer.write(request)
        status = await answer(reader)
        load.ms.append((time.perf_counter() - began) * 1000)
        load.refused += status != 200
    writer.close()


async def main() -> None:
    address, clients = sys.argv[1], int(sys.argv[2])
    requests = [encoded(address, json.loads(line)) for line in sys.stdin]
    load = Load([], 0.0, 0)
    began = time.perf_counter()
    await asyncio.gather(*(client(address, requests[one::clients], load) for one in range(clients)))
    load.seconds = time.perf_counter() - began
    sys.stdout.write(msgspec.json.encode(load).decode())


if __name__ == "__main__":
    asyncio.run(main())
