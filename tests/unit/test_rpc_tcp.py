"""A port that serves JSON-RPC, where the system refuses what a connection needs."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.live import LiveRealm
from recollect.settings import Settings
from recollect.surfaces.rpc.tcp import RpcListener, listen
from tests.e2e.processes import until
from tests.rpc_server import RpcSocket

TOO_MUCH = 1 << 46  # bytes of a stack: no system gives a thread that


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[RpcListener]:
    with listen(LiveRealm(Settings(home=tmp_path), "main"), "127.0.0.1", 0, None) as listener:
        yield listener


@contextmanager
def no_threads() -> Iterator[None]:
    usual = threading.stack_size(TOO_MUCH)
    try:
        yield
    finally:
        threading.stack_size(usual)


def test_who_comes_while_there_are_no_threads_is_let_go_and_the_next_is_served(listener: RpcListener) -> None:
    with no_threads():
        for _ in range(3):
            with RpcSocket(listener.port, None) as refused:
                assert refused.hear() is None
    with RpcSocket(listener.port, None) as served:
        assert served.result("ping") == {}
        assert len(listener._connections) == 1


def test_a_connection_that_breaks_at_its_beginning_is_forgotten(listener: RpcListener) -> None:
    """Each that stayed would be one less of those that may be served. A pair has no TCP whose ways could be set."""
    here, there = socket.socketpair()
    with here:
        listener._start_connection(there)
        assert here.recv(1) == b""
        until(lambda: not listener._connections)
