"""JSON-RPC over TCP, to programs on this machine: one message a line.

Any page in a browser can send a request to a port of this machine, and what follows the request line is the page's own text.
So the first line that is not a JSON-RPC object closes the connection, unanswered, and nothing behind it is run.
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
from recollect.surfaces.rpc.server import NotARequest, RpcConnection
from recollect.surfaces.transport.line_reader import LONGEST, BadLine, object_lines
from recollect.surfaces.transport.port import address_of, bound
from recollect.surfaces.transport.thread_pool import ThreadPool
from recollect.surfaces.transport.write_queue import DRAIN_S, WriteQueue

CHUNK = 1 << 16  # bytes that are read at once
MOST_CONNECTIONS = 256  # each has two threads
PAUSE_S = 0.1  # seconds before another is tried, where the system has no more room
GREETING_S = 10.0  # seconds for `initialize` to come in: a caller without the token must not hold a connection
LONGEST_GREETING = 1 << 16  # bytes of it: nor our memory

log = logging.getLogger(__name__)


@contextmanager
def listen(realm: LiveRealm, host: str, port: int, token: str | None) -> Iterator["RpcListener"]:
    """Serve until the block ends; then turns are interrupted. Port 0 is any that is free."""
    if not is_loopback(host):
        raise BadSettings(f"JSON-RPC is served to this machine only: {host} is no loopback address.")
    listener = RpcListener(realm, bound(host, port), token)
    try:
        yield listener
    finally:
        listener.close()


class RpcListener:
    """A port, and everybody who is connected to it."""

    def __init__(self, realm: LiveRealm, listening: socket.socket, token: str | None) -> None:
        self.host, self.port = listening.getsockname()[:2]
        self.address = address_of(listening)
        self._realm = realm
        self._token = token
        self._listening = listening
        self._work = ThreadPool()
        self._closing = False
        self._served: dict[threading.Thread, socket.socket] = {}
        self._changing = threading.Lock()
        self._accepting = threading.Thread(target=self._accept, daemon=True, name="rpc")
        self._accepting.start()

    def close(self) -> None:
        """Take nobody more, interrupt turns, and let everybody have what is left to be said."""
        self._closing = True
        with suppress(OSError), socket.create_connection((self.host, self.port), DRAIN_S):
            pass  # wakes the one that accepts, which no system does alike when a socket is closed
        self._accepting.join(DRAIN_S)
        self._listening.close()
        self._work.finish()
        with self._changing:
            served = dict(self._served)
        for connected in served.values():
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RD)
        for thread in served:
            thread.join(2 * DRAIN_S)

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:  # too many files are open: those who are connected go on
                if self._closing:
                    return
                time.sleep(PAUSE_S)
                continue
            if self._closing:
                connected.close()
                return
            self._begin(connected)

    def _begin(self, connected: socket.socket) -> None:
        thread = threading.Thread(target=self._serve, args=(connected,), daemon=True, name="rpc connection")
        with self._changing:
            if len(self._served) >= MOST_CONNECTIONS:
                connected.close()
                return
            self._served[thread] = connected
        try:
            thread.start()
        except RuntimeError:  # the system gives no more threads: those who are connected go on
            self._let_go(connected, thread)

    def _serve(self, connected: socket.socket) -> None:
        thread = threading.current_thread()
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            outbox = WriteQueue(connected.sendall)
        except (OSError, RuntimeError):  # it is gone already, or the system gives no more threads
            self._let_go(connected, thread)
            return
        try:
            self._talk(connected, outbox)
        finally:
            outbox.drop()
            self._let_go(connected, thread)

    def _let_go(self, connected: socket.socket, thread: threading.Thread) -> None:
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)
        connected.close()
        with self._changing:
            del self._served[thread]

    def _talk(self, connected: socket.socket, outbox: WriteQueue) -> None:
        connection = RpcConnection(self._realm, self._work, outbox, self._token)
        greeted_by = time.monotonic() + GREETING_S

        def read() -> bytes:
            return _received(connected, None if connection.is_admitted() else greeted_by - time.monotonic())

        try:
            for line in object_lines(read, lambda: LONGEST if connection.is_admitted() else LONGEST_GREETING):
                connection.receive_strictly(line)
            connection.settle(lambda: not outbox.is_gone())
        except (BadLine, NotARequest):
            log.info("A connection was closed: it sent a line that is not JSON-RPC.")
        outbox.close()


def _received(connected: socket.socket, seconds: float | None) -> bytes:
    """What comes next, within so many seconds; nothing at the end."""
    if seconds is not None and seconds <= 0:
        return b""
    try:
        connected.settimeout(seconds)
        return connected.recv(CHUNK)
    except OSError:  # it is gone, in the way that programs go when they crash, or too late
        return b""
