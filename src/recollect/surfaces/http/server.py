"""The HTTP server: a port, the application, and an orderly shutdown."""

import asyncio
import errno
import logging
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from recollect.errors import BadSettings
from recollect.live import LiveRealm
from recollect.loopback import is_loopback
from recollect.operations import FAMILIES, toolset_of
from recollect.surfaces.http.app import create_app
from recollect.surfaces.http.connection import MAX_CONNECTIONS, Connection
from recollect.surfaces.http.dispatcher import Dispatcher
from recollect.surfaces.http.sign_in import SignIn
from recollect.surfaces.rpc.tcp import listen
from recollect.surfaces.transport.port import address_of, listening_socket
from recollect.surfaces.transport.thread_pool import ThreadPool

IDLE_S = 75  # seconds that a connection may be idle between two requests
SHUTDOWN_S = 5  # seconds that running requests have when the server stops
MAX_FILES = 4 * MAX_CONNECTIONS  # open at once: connections, databases, and pipes to agents
RESOURCE_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
RETRY_FAILED = "_start_serving"  # asyncio tries to listen again a second later, when the port may be closed
LOG_AGAIN_S = 60.0  # seconds between two warnings

log = logging.getLogger(__name__)


@contextmanager
def open_server(realm: LiveRealm, host: str, port: int, rpc_port: int | None, token: str | None) -> Iterator["HttpServer"]:
    """A server that listens but does not serve yet. It has JSON-RPC on another port, for programs on this machine."""
    if token is None and not is_loopback(host):
        raise BadSettings(f"Other machines can reach {host}, so callers must send a token. Leave out --no-token.")
    with listening_socket(host, port) as listening:
        if rpc_port is None:
            yield HttpServer(realm, listening, host, None, token)
            return
        with listen(realm, "127.0.0.1", rpc_port, token) as rpc:
            yield HttpServer(realm, listening, host, rpc.address, token)


class HttpServer:
    """A listening server. `run` serves; before that, connections wait."""

    def __init__(self, realm: LiveRealm, listening: socket.socket, host: str, rpc: str | None, token: str | None) -> None:
        self.url = f"http://{address_of(listening)}"
        self.rpc = rpc
        self._listening = listening
        self._sign_in = SignIn(token, listening.getsockname()[1]) if token is not None else None
        self._threads = ThreadPool()
        self._dispatcher = Dispatcher(realm, self._threads)
        app = create_app(
            self._dispatcher, toolset_of(tuple(FAMILIES)), sign_in=self._sign_in, is_public=not is_loopback(host), rpc=rpc
        )
        self._server = _Server(
            uvicorn.Config(
                app,
                access_log=False,  # a path may contain private text
                log_level="warning",
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # the guard handles proxy headers
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=SHUTDOWN_S,
                http=Connection,
            ),
            self._dispatcher,
        )

    def link(self) -> str | None:
        """A link that signs in a browser of this machine, once; None without a token."""
        if self._sign_in is None:
            return None
        return self._sign_in.link(f"http://{address_of(self._listening, to_connect=True)}")

    def run(self) -> None:
        """Serve until a signal comes. Then end event streams and interrupt turns."""
        _raise_file_limit()
        try:
            asyncio.run(self._serve())
        finally:
            self._threads.finish()

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(_LoopErrors())
        await self._server.serve(sockets=[self._listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, dispatcher: Dispatcher) -> None:
        super().__init__(config)
        self._dispatcher = dispatcher

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Also end turns and event streams: uvicorn waits for running requests, and these would go on."""
        super().handle_exit(sig, frame)
        threading.Thread(target=self._finish, daemon=True).start()

    def _finish(self) -> None:
        self._dispatcher.threads.finish()
        self._dispatcher.close()


def _raise_file_limit() -> None:
    """Raise the limit of open files, if the system allows it: on some systems it starts at 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class _LoopErrors:
    """Handles errors of the event loop. asyncio would log a lack of file descriptors a thousand times a second."""

    def __init__(self) -> None:
        self._next_at = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        if isinstance(fault, OSError) and fault.errno in RESOURCE_LIMITS:
            self._warn(fault)
        elif RETRY_FAILED not in context.get("message", ""):
            loop.default_exception_handler(context)

    def _warn(self, fault: OSError) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + LOG_AGAIN_S
            log.warning("Cannot accept more connections now: %s.", fault.strerror)
