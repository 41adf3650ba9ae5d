"""MCP over standard input and output: one JSON message a line. A small loop of our own, because it starts at once."""

import sys
import threading
from contextlib import suppress
from typing import BinaryIO

from recollect.operations import Clock, Offer
from recollect.realms import Realm
from recollect.surfaces._json import decoded
from recollect.surfaces._lines import TOO_LONG, heard, lines
from recollect.surfaces._work import Work
from recollect.surfaces.mcp import INVALID_REQUEST, PARSE_ERROR, Job, McpServer, Message, encode

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
    work = Work()

    def run(job: Job, is_long: bool) -> bool:
        return work.take(lambda: _try(job), is_long=is_long)

    try:
        for line in lines(lambda: heard(stdin.fileno())):
            clock = Clock.now()
            if line is None:
                send(_refusal(INVALID_REQUEST, TOO_LONG))
            elif line.strip():
                try:
                    message = decoded(line)
                except (ValueError, RecursionError):
                    send(_refusal(PARSE_ERROR, "not JSON"))
                    continue
                server.receive(message, clock, run)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        if server.sampling is not None:
            server.sampling.close()
        if not work.rests(LAST_S):
            server.cancel_all()
            work.rests(GONE_S)


def _refusal(code: int, message: str) -> Message:
    """What is answered to a line that is no message, and so has no id."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


def _try(job: Job) -> None:
    """Do it. Where the client is gone, the reading loop will see that too."""
    with suppress(BrokenPipeError, ValueError):
        job()


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The real streams. Whatever else prints goes to standard error, where it cannot break the protocol."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    return stdin, stdout
