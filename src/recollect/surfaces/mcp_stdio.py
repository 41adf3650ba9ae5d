"""MCP over standard input and output: one JSON message a line. A small loop of our own, because it starts at once."""

import sys
from typing import BinaryIO

from recollect.operations import Clock, Offer
from recollect.realms import Realm
from recollect.surfaces._json import decoded
from recollect.surfaces._lines import TOO_LONG, heard, lines
from recollect.surfaces._outbox import Outbox, line_of, write_all
from recollect.surfaces._work import Work
from recollect.surfaces.mcp import INVALID_REQUEST, PARSE_ERROR, PROGRESS, Job, McpServer, Message, RpcError

LAST_S = 2.0  # seconds that turns have left when the client closes its end; then they are interrupted
GONE_S = 8.0  # seconds that their agents may take to end


def serve(realm: Realm, offer: Offer, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer until the client closes its end. Nothing that it sends can end the loop."""
    work, outbox = Work(), Outbox(lambda line: write_all(stdout.fileno(), line))

    def send(message: Message) -> None:
        line = line_of(message)
        if message.get("method") == PROGRESS:
            outbox.note(line)
        else:
            outbox.answer(line)

    def run(job: Job, is_long: bool) -> bool:
        return work.take(job, is_long=is_long)

    server = McpServer(realm, offer, send)
    if realm.settings.extraction.by == "sampling":
        from recollect.surfaces.mcp_sampling import Sampling  # which hardly anybody asks for: the rest starts at once

        server.sampling = Sampling(realm, send, server.is_busy)
    try:
        for line in lines(lambda: heard(stdin.fileno())):
            outbox.wait_for_room()
            clock = Clock.now()
            if line is None:
                send(RpcError(INVALID_REQUEST, TOO_LONG).answer())
            elif line.strip():
                try:
                    message = decoded(line)
                except (ValueError, RecursionError):
                    send(RpcError(PARSE_ERROR, "not JSON").answer())
                    continue
                server.receive(message, clock, run)
    except KeyboardInterrupt:
        pass
    finally:
        if server.sampling is not None:
            server.sampling.close()
        if not work.rests(LAST_S):
            server.cancel_all()
            work.rests(GONE_S)
        outbox.close()


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The real streams. Whatever else prints goes to standard error, where it cannot break the protocol."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    return stdin, stdout
