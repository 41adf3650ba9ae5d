"""MCP over standard input and output: one JSON message a line. A small loop of our own, because it starts at once."""

import queue
import sys
import threading
import time
from typing import BinaryIO

from recollect.operations import Clock, Offer
from recollect.realms import Realm
from recollect.surfaces._json import decoded
from recollect.surfaces.mcp import PARSE_ERROR, Job, McpServer, Message, encode

WORKERS = 4  # tool calls that may run side by side, besides those that take as long as an agent does
LAST_S = 2.0  # seconds that turns have left when the client closes its end; then they are interrupted
GONE_S = 8.0  # seconds that their agents may take to end


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
                message = decoded(line)
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
        if not jobs.are_done(LAST_S):
            server.cancel_all()
            jobs.are_done(GONE_S)


class _Workers:
    """Threads that are started when there is work for them. Those that wait cost nothing."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._long: list[threading.Thread] = []
        self._idle = 0
        self._counting = threading.Lock()

    def run(self, job: Job, is_long: bool) -> None:
        """What may take long has a thread of its own: however many of that are under way, others are answered."""
        if is_long:
            thread = threading.Thread(target=_try, args=(job,), daemon=True)
            self._long = [*(other for other in self._long if other.is_alive()), thread]
            thread.start()
            return
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
            if not _try(job):
                return
            with self._counting:
                self._idle += 1

    def finish(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(timeout=5)

    def are_done(self, seconds: float) -> bool:
        """Wait for what takes long; False where it took longer."""
        until = time.monotonic() + seconds
        for thread in self._long:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._long)


def _try(job: Job) -> bool:
    """Do it; False where the client is gone, which the reading loop will see too."""
    try:
        job()
    except (BrokenPipeError, ValueError):
        return False
    return True


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The real streams. Whatever else prints goes to standard error, where it cannot break the protocol."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    return stdin, stdout
