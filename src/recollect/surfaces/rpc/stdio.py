"""JSON-RPC over standard input and output: one message per line."""

from typing import BinaryIO

from recollect.live import LiveRealm
from recollect.surfaces.rpc.server import RpcConnection
from recollect.surfaces.transport.line_reader import has_reader, read_chunk, read_lines
from recollect.surfaces.transport.thread_pool import ThreadPool
from recollect.surfaces.transport.write_queue import WriteQueue, write_all


def serve(realm: LiveRealm, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer requests until the client closes standard input.

    A signal ends it earlier, and so does a client that no longer reads: turns are interrupted, quick requests answered.
    """
    threads, write_queue = ThreadPool(), WriteQueue(lambda line: write_all(stdout.fileno(), line))
    connection = RpcConnection(realm, threads, write_queue)
    try:
        for line in read_lines(lambda: read_chunk(stdin.fileno())):
            connection.receive(line)
        connection.wait_until_answered(lambda: has_reader(stdout.fileno()))
    finally:
        threads.finish()
        write_queue.close()
