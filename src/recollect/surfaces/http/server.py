"""The process that serves HTTP: a port, the application, and an end in good order."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from recollect.errors import BadSettings
from recollect.operations import TOOLSETS, offer_of
from recollect.realms import Realm
from recollect.surfaces._port import TOKEN, address_of, bound, is_loopback, token
from recollect.surfaces._work import Work
from recollect.surfaces.http._desk import Desk
from recollect.surfaces.http.app import made
from recollect.surfaces.rpc_tcp import listen

IDLE_S = 75  # seconds that a connection may be silent between two requests
ENDED_WITHIN_S = 5  # seconds that answers under way have when the server ends
MOST_AT_ONCE = 2_048  # connections and requests; who comes then is told to come again


def check(host: str) -> None:
    """Who serves other machines needs a token, and one that nobody guesses."""
    if token() is None and not is_loopback(host):
        raise BadSettings(
            f"{host} can be reached from other machines, so callers must bring a token: set {TOKEN} to one, such as what "
            "`openssl rand -hex 32` prints."
        )


@contextmanager
def opened(realm: Realm, host: str, port: int, rpc_port: int | None) -> Iterator["HttpServer"]:
    """A server that is bound and not yet serving; JSON-RPC beside it, for programs on this machine."""
    check(host)
    with bound(host, port) as listening:
        if rpc_port is None:
            yield HttpServer(realm, listening, host, None)
            return
        with listen(realm, "127.0.0.1", rpc_port) as rpc:
            yield HttpServer(realm, listening, host, rpc.address)


class HttpServer:
    def __init__(self, realm: Realm, listening: socket.socket, host: str, rpc: str | None) -> None:
        self.url = f"http://{address_of(listening)}"
        self.rpc = rpc
        self._listening = listening
        self._work = Work()
        self._desk = Desk(realm, self._work)
        app = made(self._desk, offer_of(tuple(TOOLSETS)), token=token(), is_public=not is_loopback(host), rpc=rpc)
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
                limit_concurrency=MOST_AT_ONCE,
            ),
            self._desk,
        )

    def run(self) -> None:
        """Serve until a signal comes. Then readers of events are let go, and turns are interrupted."""
        try:
            asyncio.run(self._server.serve(sockets=[self._listening]))
        finally:
            self._work.finish()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, desk: Desk) -> None:
        super().__init__(config)
        self._desk = desk

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """While uvicorn waits for answers under way: turns would keep it waiting, and so would readers of events."""
        super().handle_exit(sig, frame)
        threading.Thread(target=self._wind_up, daemon=True).start()

    def _wind_up(self) -> None:
        self._desk.work.finish()
        self._desk.close()
