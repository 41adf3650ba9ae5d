"""Listening sockets and their addresses."""

import socket

from recollect.errors import BadSettings, StoreBusy

BACKLOG = 128  # connections that wait to be accepted
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # how to connect to a socket that listens on every address


def listening_socket(host: str, port: int) -> socket.socket:
    """A listening socket. Port 0 picks a free port."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as reason:
        raise BadSettings(f"{host!r} is not an address of this machine.") from reason
    listening = socket.socket(family, kind, protocol)  # with the protocol, asyncio sets TCP_NODELAY
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as reason:
        listening.close()
        why = getattr(reason, "strerror", None) or reason
        raise StoreBusy(f"Cannot listen on port {port} of {host}: {why}. Use --port 0 to pick a free port.") from reason
    return listening


def address_of(listening: socket.socket, *, to_connect: bool = False) -> str:
    """The address of a listening socket. `to_connect` replaces a wildcard address by the loopback address."""
    host, port = listening.getsockname()[:2]
    if to_connect:
        host = LOOPBACK.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
