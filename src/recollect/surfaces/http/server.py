"""The process that serves HTTP: a port, the application, and an end in good order."""

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
from recollect.surfaces.http.connection import MOST_AT_ONCE, Connection
from recollect.surfaces.http.dispatcher import Dispatcher
from recollect.surfaces.http.sign_in import SignIn
from recollect.surfaces.rpc.tcp import listen
from recollect.surfaces.transport.port import address_of, bound
from recollect.surfaces.transport.thread_pool import ThreadPool

IDLE_S = 75  # seconds that a connection may be silent between two requests
ENDED_WITHIN_S = 5  # seconds that answers under way have when the server ends
MOST_FILES = 4 * MOST_AT_ONCE  # open at once: connections, databases, and what is between us and agents
FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
LISTENING_AGAIN = "_start_serving"  # which asyncio does a second later, to a port that may be closed by then
AGAIN_S = 60.0  # seconds before we say again that no more connections can be had

log = logging.getLogger(__name__)


@contextmanager
def opened(realm: LiveRealm, host: str, port: int, rpc_port: int | None, token: str | None) -> Iterator["HttpServer"]:
    """A server that is bound and not yet serving; JSON-RPC beside it, for programs on this machine."""
    if token is None and not is_loopback(host):
        raise BadSettings(f"{host} can be reached from other machines, so callers must bring a token: leave out --no-token.")
    with bound(host, port) as listening:
        if rpc_port is None:
            yield HttpServer(realm, listening, host, None, token)
            return
        with listen(realm, "127.0.0.1", rpc_port, token) as rpc:
            yield HttpServer(realm, listening, host, rpc.address, token)


class HttpServer:
    def __init__(self, realm: LiveRealm, listening: socket.socket, host: str, rpc: str | None, token: str | None) -> None:
        self.url = f"http://{address_of(listening)}"
        self.rpc = rpc
        self._listening = listening
        self._sign_in = SignIn(token, listening.getsockname()[1]) if token is not None else None
        self._work = ThreadPool()
        self._dispatcher = Dispatcher(realm, self._work)
        app = create_app(
            self._dispatcher, toolset_of(tuple(FAMILIES)), sign_in=self._sign_in, is_public=not is_loopback(host), rpc=rpc
        )
        self._server = _Server(
            uvicorn.Config(
                app,
                access_log=False,  # a path may hold what nobody else should read
                log_level="warning",
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # who asks is who is connected; the guard looks at what proxies say
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=ENDED_WITHIN_S,
                http=Connection,
            ),
            self._dispatcher,
        )

    def link(self) -> str | None:
        """An address that signs a browser of this machine in, once; None where nobody has to sign in."""
        if self._sign_in is None:
            return None
        return self._sign_in.link(f"http://{address_of(self._listening, to_connect=True)}")

    def run(self) -> None:
        """Serve until a signal comes. Then readers of events are let go, and turns are interrupted."""
        _make_room()
        try:
            asyncio.run(self._serve())
        finally:
            self._work.finish()

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(_Complaints())
        await self._server.serve(sockets=[self._listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, dispatcher: Dispatcher) -> None:
        super().__init__(config)
        self._dispatcher = dispatcher

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """While uvicorn waits for answers under way: turns would keep it waiting, and so would readers of events."""
        super().handle_exit(sig, frame)
        threading.Thread(target=self._wind_up, daemon=True).start()

    def _wind_up(self) -> None:
        self._dispatcher.work.finish()
        self._dispatcher.close()


def _make_room() -> None:
    """As many open files as we may need, where the system lets us have them: some begin with 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class _Complaints:
    """What goes wrong beside all requests. That no more connections can be had is said once in a while: asyncio would say it
    with all its frames, a thousand times a second."""

    def __init__(self) -> None:
        self._again_at = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        if isinstance(fault, OSError) and fault.errno in FULL:
            self._say(fault)
        elif LISTENING_AGAIN not in context.get("message", ""):
            loop.default_exception_handler(context)

    def _say(self, fault: OSError) -> None:
        if time.monotonic() >= self._again_at:
            self._again_at = time.monotonic() + AGAIN_S
            log.warning("No more connections can be had for now: %s.", fault.strerror)
