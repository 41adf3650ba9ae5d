"""MCP over standard input and output: one JSON message a line. A small loop of our own, because it starts at once."""

import json
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from recollect.operations import Clock, Offer
from recollect.realms import Realm
from recollect.surfaces.mcp import PARSE_ERROR, McpServer, Message, encode

WORKERS = 4  # tool calls that may run side by side
Job = Callable[[], None]


def serve(realm: Realm, offer: Offer, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer until the client closes its end. Nothing that it sends can end the loop."""
    writing = threading.Lock()

    def send(message: Message) -> None:
        line = encode(message) + b"\n"
        with writing:
            stdout.write(line)
            stdout.flush()

    server = McpServer(realm, offer, send)
    if realm.settings.extraction.by == "sampling":
        from recollect.surfaces.mcp_sampling import Sampling  # which hardly anybody asks for: the rest starts at once

        server.sampling = Sampling(realm, send, server.is_busy)
    jobs = _Workers()
    try:
        for line in stdin:
            clock = Clock.now()
            if not line.strip():
                continue
            try:
                message = _decoded(line)
            except (ValueError, RecursionError):
                send({"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "not JSON"}})
                continue
            server.receive(message, clock, jobs.run)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        if server.sampling is not None:
            server.sampling.close()
        jobs.finish()


def _decoded(line: bytes) -> Any:
    """A message. JavaScript clients may send half of a surrogate pair, which is JSON but no text: it is replaced."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        lenient = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(lenient)


class _Workers:
    """Threads that are started when there is work for them. Those that wait cost nothing."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._counting = threading.Lock()

    def run(self, job: Job) -> None:
        with self._counting:
            if self._idle == 0 and len(self._threads) < WORKERS:
                thread = threading.Thread(target=self._work, daemon=True)
                self._threads.append(thread)
                thread.start()
            else:
                self._idle -= 1
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except (BrokenPipeError, ValueError):  # the client is gone; the reading loop will see it too
                return
            with self._counting:
                self._idle += 1

    def finish(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout=5)


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The real streams. Whatever else prints goes to standard error, where it cannot break the protocol."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    return stdin, stdout
