"""MCP over standard input and output: one JSON message per line."""

import sys
from pathlib import Path
from typing import Any, BinaryIO

from recollect.lenient_json import decode
from recollect.live import LiveRealm
from recollect.operations import RequestContext, Toolset
from recollect.surfaces.mcp.server import PROGRESS, Job, McpServer, Message, RpcError
from recollect.surfaces.transport.error_codes import INVALID_REQUEST, PARSE_ERROR
from recollect.surfaces.transport.line_reader import POLL_S, TOO_LONG, has_reader, read_chunk, read_lines
from recollect.surfaces.transport.thread_pool import ThreadPool
from recollect.surfaces.transport.warm_up import WarmUp
from recollect.surfaces.transport.write_queue import WriteQueue, encode_line, write_all

AGENT_EXIT_S = 8.0  # seconds for running agents to end


def serve(realm: LiveRealm, toolset: Toolset, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer messages until the client closes standard input. No message ends the loop."""
    threads, warm_up = ThreadPool(), WarmUp(realm)
    write_queue = WriteQueue(warm_up.then_start(lambda line: write_all(stdout.fileno(), line)))

    def send(message: Message) -> None:
        line = encode_line(message)
        if message.get("method") == PROGRESS:
            write_queue.put_progress(line)
        else:
            write_queue.put_response(line)

    def run(job: Job, is_long: bool) -> bool:
        return threads.submit(job, is_long=is_long)

    server = McpServer(realm, toolset, send)
    server.folder = _working_folder()
    server.on_initialize = warm_up.request
    if realm.settings.extraction.by == "sampling":
        from recollect.surfaces.mcp.sampling import Sampling  # takes 40 ms, and is rarely configured

        server.sampling = Sampling(realm, send, server.is_busy)
    try:
        for line in read_lines(lambda: read_chunk(stdin.fileno())):
            write_queue.wait_for_space()
            context = RequestContext.now()
            if line is not None and not line.strip():
                continue
            try:
                server.receive(_message(line), context, run)
            except RpcError as error:
                send(error.response())
        while not threads.wait(POLL_S) and has_reader(stdout.fileno()):
            pass
    except KeyboardInterrupt:
        pass
    finally:
        if server.sampling is not None:
            server.sampling.close()
        if not threads.wait(0):
            server.cancel_all()
            threads.wait(AGENT_EXIT_S)
        write_queue.close()
        warm_up.close()


def _working_folder() -> str | None:
    """The agent's working folder, in which agents start servers. None if it was deleted."""
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
    """The real streams. Other output goes to standard error, where it cannot break the protocol."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    return stdin, stdout
