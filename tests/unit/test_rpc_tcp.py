"""The JSON-RPC port when the system cannot provide a thread or a valid socket for a connection."""

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

HUGE_STACK = 1 << 46  # bytes: no system gives a thread such a stack


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[RpcListener]:
    with listen(LiveRealm(Settings(home=tmp_path), "main"), "127.0.0.1", 0, None) as listener:
        yield listener


@contextmanager
def no_threads() -> Iterator[None]:
    usual = threading.stack_size(HUGE_STACK)
    try:
        yield
    finally:
        threading.stack_size(usual)


def test_a_connection_is_closed_when_no_thread_can_start_and_the_next_is_served(listener: RpcListener) -> None:
    with no_threads():
        for _ in range(3):
            with RpcSocket(listener.port, None) as refused:
                assert refused.hear() is None
    with RpcSocket(listener.port, None) as served:
        assert served.result("ping") == {}
        assert len(listener._connections) == 1


def test_a_connection_that_breaks_at_its_start_is_removed(listener: RpcListener) -> None:
    """A connection that stayed would use up one of the allowed connections. A socket pair has no TCP options to set."""
    here, there = socket.socketpair()
    with here:
        listener._start_connection(there)
        assert here.recv(1) == b""
        until(lambda: not listener._connections)
