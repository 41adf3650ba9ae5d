"""MCP over standard input and output: one JSON message a line. A small loop of our own, because it starts at once."""

import sys
from pathlib import Path
from typing import Any, BinaryIO

from recollect.lenient_json import decode
from recollect.live import LiveRealm
from recollect.operations import RequestContext, Toolset
from recollect.surfaces.mcp.server import INVALID_REQUEST, PARSE_ERROR, PROGRESS, Job, McpServer, Message, RpcError
from recollect.surfaces.transport.line_reader import HEED_S, TOO_LONG, heard, is_read, lines
from recollect.surfaces.transport.thread_pool import ThreadPool
from recollect.surfaces.transport.warm_up import WarmUp
from recollect.surfaces.transport.write_queue import WriteQueue, line_of, write_all

GONE_S = 8.0  # seconds that their agents may take to end


def serve(realm: LiveRealm, offer: Toolset, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer all that the client asks until it closes its end. Nothing that it sends can end the loop."""
    work, warm_up = ThreadPool(), WarmUp(realm)
    outbox = WriteQueue(warm_up.after(lambda line: write_all(stdout.fileno(), line)))

    def send(message: Message) -> None:
        line = line_of(message)
        if message.get("method") == PROGRESS:
            outbox.note(line)
        else:
            outbox.answer(line)

    def run(job: Job, is_long: bool) -> bool:
        return work.take(job, is_long=is_long)

    server = McpServer(realm, offer, send)
    server.folder = _working_folder()
    server.on_initialize = warm_up.want
    if realm.settings.extraction.by == "sampling":
        from recollect.surfaces.mcp.sampling import Sampling  # which hardly anybody asks for: the rest starts at once

        server.sampling = Sampling(realm, send, server.is_busy)
    try:
        for line in lines(lambda: heard(stdin.fileno())):
            outbox.wait_for_room()
            context = RequestContext.now()
            if line is not None and not line.strip():
                continue
            try:
                server.receive(_message(line), context, run)
            except RpcError as refused:
                send(refused.answer())
        while not work.rests(HEED_S) and is_read(stdout.fileno()):
            pass
    except KeyboardInterrupt:
        pass
    finally:
        if server.sampling is not None:
            server.sampling.close()
        if not work.rests(0):
            server.cancel_all()
            work.rests(GONE_S)
        outbox.close()
        warm_up.close()


def _working_folder() -> str | None:
    """Where the agent works: it starts its servers there. None where the folder is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def _message(line: bytes | None) -> Any:
    if line is None:
        raise RpcError(INVALID_REQUEST, TOO_LONG)
    try:
        return decode(line)
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "not JSON") from None


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The real streams. Whatever else prints goes to standard error, where it cannot break the protocol."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    return stdin, stdout
