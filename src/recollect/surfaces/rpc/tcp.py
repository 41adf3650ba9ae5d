"""JSON-RPC over TCP for programs on this machine: one message per line.

Any web page can send an HTTP request to a port of this machine, with a body of its choice. So the first line that is not a
JSON-RPC object closes the connection without a response, and nothing after it is read.
"""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from recollect.errors import BadSettings
from recollect.live import LiveRealm
from recollect.loopback import is_loopback
from recollect.surfaces.rpc.server import InvalidRequest, RpcConnection
from recollect.surfaces.transport.line_reader import CHUNK, MAX_BYTES, BadLine, read_object_lines
from recollect.surfaces.transport.port import address_of, listening_socket
from recollect.surfaces.transport.thread_pool import ThreadPool
from recollect.surfaces.transport.write_queue import DRAIN_S, WriteQueue

MAX_CONNECTIONS = 256  # each has two threads
PAUSE_S = 0.1  # seconds until the next accept, after a system limit was reached
TOKEN_TIMEOUT_S = 10.0  # seconds for `initialize`: a caller without the token must not hold a connection
MAX_TOKEN_BYTES = 1 << 16  # of `initialize`: such a caller must not fill our memory either

log = logging.getLogger(__name__)


@contextmanager
def listen(realm: LiveRealm, host: str, port: int, token: str | None) -> Iterator["RpcListener"]:
    """Serve until the block ends, then interrupt turns. Port 0 picks a free port."""
    if not is_loopback(host):
        raise BadSettings(f"JSON-RPC is served to this machine only, and {host} is not a loopback address. Use 127.0.0.1.")
    listener = RpcListener(realm, listening_socket(host, port), token)
    try:
        yield listener
    finally:
        listener.close()


class RpcListener:
    """A port and its connections."""

    def __init__(self, realm: LiveRealm, listening: socket.socket, token: str | None) -> None:
        self.host, self.port = listening.getsockname()[:2]
        self.address = address_of(listening)
        self._realm = realm
        self._token = token
        self._listening = listening
        self._threads = ThreadPool()
        self._closing = False
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._changing = threading.Lock()
        self._accepting = threading.Thread(target=self._accept, daemon=True, name="rpc")
        self._accepting.start()

    def close(self) -> None:
        """Accept no more connections, interrupt turns, and send the rest of the responses."""
        self._closing = True
        with suppress(OSError), socket.create_connection((self.host, self.port), DRAIN_S):
            pass  # wakes the accepting thread: on some systems, closing the socket does not
        self._accepting.join(DRAIN_S)
        self._listening.close()
        self._threads.finish()
        with self._changing:
            connections = dict(self._connections)
        for client in connections.values():
            with suppress(OSError):
                client.shutdown(socket.SHUT_RD)
        for thread in connections:
            thread.join(2 * DRAIN_S)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # too many open files: existing connections continue
                if self._closing:
                    return
                time.sleep(PAUSE_S)
                continue
            if self._closing:
                client.close()
                return
            self._start_connection(client)

    def _start_connection(self, client: socket.socket) -> None:
        thread = threading.Thread(target=self._serve, args=(client,), daemon=True, name="rpc connection")
        with self._changing:
            if len(self._connections) >= MAX_CONNECTIONS:
                client.close()
                return
            self._connections[thread] = client
        try:
            thread.start()
        except RuntimeError:  # the system's limit of threads: existing connections continue
            self._disconnect(client, thread)

    def _serve(self, client: socket.socket) -> None:
        thread = threading.current_thread()
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            write_queue = WriteQueue(client.sendall)
        except (OSError, RuntimeError):  # the client is gone, or the system's limit of threads
            self._disconnect(client, thread)
            return
        try:
            self._answer_lines(client, write_queue)
        finally:
            write_queue.discard()
            self._disconnect(client, thread)

    def _disconnect(self, client: socket.socket, thread: threading.Thread) -> None:
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()
        with self._changing:
            del self._connections[thread]

    def _answer_lines(self, client: socket.socket, write_queue: WriteQueue) -> None:
        connection = RpcConnection(self._realm, self._threads, write_queue, self._token)
        token_deadline = time.monotonic() + TOKEN_TIMEOUT_S

        def read() -> bytes:
            return _receive(client, None if connection.has_token() else token_deadline - time.monotonic())

        try:
            for line in read_object_lines(read, lambda: MAX_BYTES if connection.has_token() else MAX_TOKEN_BYTES):
                connection.receive_strictly(line)
            connection.wait_until_answered(lambda: not write_queue.is_closed())
        except (BadLine, InvalidRequest):
            log.info("Closed a connection that sent a line that is not JSON-RPC.")
        write_queue.close()


def _receive(client: socket.socket, seconds: float | None) -> bytes:
    """The next bytes; empty at the end, and after this many seconds."""
    if seconds is not None and seconds <= 0:
        return b""
    try:
        client.settimeout(seconds)
        return client.recv(CHUNK)
    except OSError:  # the client crashed, or the time is over
        return b""
