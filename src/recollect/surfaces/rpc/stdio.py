"""JSON-RPC over standard input and output: one message a line."""

from typing import BinaryIO

from recollect.live import LiveRealm
from recollect.surfaces.rpc.server import RpcConnection
from recollect.surfaces.transport.line_reader import heard, is_read, lines
from recollect.surfaces.transport.thread_pool import ThreadPool
from recollect.surfaces.transport.write_queue import WriteQueue, write_all


def serve(realm: LiveRealm, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Answer all that the client asks until it closes its end. A signal ends it sooner, and so does a client that reads no
    answers any more: then what is quick is still answered, and turns are interrupted."""
    work, outbox = ThreadPool(), WriteQueue(lambda line: write_all(stdout.fileno(), line))
    connection = RpcConnection(realm, work, outbox)
    try:
        for line in lines(lambda: heard(stdin.fileno())):
            connection.receive(line)
        connection.settle(lambda: is_read(stdout.fileno()))
    finally:
        work.finish()
        outbox.close()
