"""A port of this machine."""

import socket

from recollect.errors import BadSettings, StoreBusy

WAITING = 128  # that want to connect
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # of every address


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Port 0 is any that is free."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as reason:
        raise BadSettings(f"{host!r} is no address of this machine.") from reason
    listening = socket.socket(family, kind, protocol)  # asyncio sends answers at once only where the protocol is named
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(WAITING)
    except (OSError, OverflowError) as reason:
        listening.close()
        why = getattr(reason, "strerror", None) or reason
        raise StoreBusy(f"Port {port} of {host} cannot be had: {why}; --port 0 takes any that is free.") from reason
    return listening


def address_of(listening: socket.socket, *, to_connect: bool = False) -> str:
    """Where a socket listens. With `to_connect`, every address of this machine becomes its loopback address."""
    host, port = listening.getsockname()[:2]
    if to_connect:
        host = LOOPBACK.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
